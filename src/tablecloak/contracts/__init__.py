"""Contracts for solvers, intruders, distances, formats, methods and releases of any origin.

Each function takes one part, such as a solver or a format of your own, tries it on small problems
whose answers are known, and raises AssertionError with the first fact that does not hold; pytest
is not needed::

    from tablecloak.contracts import check_solver

    check_solver(MySolver())

For test runners the facts of each contract are also functions of the part: `SOLVER`, `INTRUDER`,
`DISTANCE`, `FORMAT` and `METHOD` list them. `METHOD` and `check_microdata_method`, for methods that
protect records, come from `tablecloak.microdata`.
"""

from __future__ import annotations

import importlib
from typing import Any

from tablecloak.contracts.distance import DISTANCE, check_distance
from tablecloak.contracts.format import FORMAT, check_format
from tablecloak.contracts.intruder import INTRUDER, check_intruder
from tablecloak.contracts.release import check_release
from tablecloak.contracts.solver import SOLVER, check_solver

__all__ = [
    "DISTANCE",
    "FORMAT",
    "INTRUDER",
    "SOLVER",
    "check_distance",
    "check_format",
    "check_intruder",
    "check_release",
    "check_solver",
]

OF_RECORDS = "tablecloak.microdata.contract"
"""Module of the contract of methods for records. Named, not imported: it lies above."""


def __getattr__(name: str) -> Any:
    """Return the contract of methods for records, if it is asked for."""
    if name in ("METHOD", "check_microdata_method"):
        return getattr(importlib.import_module(OF_RECORDS), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

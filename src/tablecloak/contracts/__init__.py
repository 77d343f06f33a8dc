"""Contracts for solvers, intruders, distances, formats, methods and releases of any origin.

Each function takes one part, such as a solver or a format of your own, tries it on small problems
whose answers are known, and raises AssertionError with the first fact that does not hold; pytest
is not needed::

    from tablecloak.contracts import check_solver

    check_solver(MySolver())

For test runners the facts of each contract are also functions of the part: `SOLVER`, `INTRUDER`,
`DISTANCE`, `FORMAT` and `METHOD` list them.
"""

from __future__ import annotations

from tablecloak.contracts.distance import DISTANCE, check_distance
from tablecloak.contracts.format import FORMAT, check_format
from tablecloak.contracts.intruder import INTRUDER, check_intruder
from tablecloak.contracts.microdata import METHOD, check_microdata_method
from tablecloak.contracts.release import check_release
from tablecloak.contracts.solver import SOLVER, check_solver

__all__ = [
    "DISTANCE",
    "FORMAT",
    "INTRUDER",
    "METHOD",
    "SOLVER",
    "check_distance",
    "check_format",
    "check_intruder",
    "check_microdata_method",
    "check_release",
    "check_solver",
]

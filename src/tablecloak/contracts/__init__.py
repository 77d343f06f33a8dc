"""Contracts that parts of any origin can be checked against, without pytest.

Each function takes one part, such as a solver or a format of your own, tries it on small questions
whose answers are known, and raises AssertionError with a sentence that says what it does not do::

    from tablecloak.contracts import check_solver

    check_solver(MySolver())

The facts of each contract are also there one by one, as functions of the part, so that a test
runner can list them: `SOLVER`, `INTRUDER`, `DISTANCE`, `FORMAT` and `METHOD`.
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

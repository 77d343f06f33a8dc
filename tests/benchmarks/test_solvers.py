"""Who can be asked, and what."""

from __future__ import annotations

import pytest

import tablecloak as tc
from bench.instances import generated
from bench.programs import PROGRAMS
from bench.solvers import ask, available_solvers, contestants, solver_named, takes


def test_each_algorithm_of_a_solver_takes_part_by_a_name_of_its_own():
    names = contestants()
    assert {"highs-simplex", "highs-ipm", "highs-mip", "cbc"} <= set(names)
    assert names["highs-simplex"].is_linear and not names["highs-simplex"].is_mixed
    assert names["highs-mip"].is_mixed and not names["highs-mip"].is_linear
    assert available_solvers()[0] == "tablecloak"


def test_programs_go_to_solvers_and_whole_problems_to_us():
    assert takes("highs-simplex", "audit", False)
    assert not takes("highs-simplex", "adjustment-mixed", True)
    assert takes("highs-mip", "adjustment-mixed", True)
    assert not takes("highs-mip", "suppress", False)
    assert takes("tablecloak", "suppress", False)


def test_a_misspelt_solver_is_answered_by_the_likely_one():
    with pytest.raises(tc.InputError, match="highs-mip"):
        solver_named("hihgs-mip")


def test_an_answer_carries_seconds_and_the_course_of_the_search():
    program = PROGRAMS["adjustment-mixed"](generated((3, 3), 0.3))
    found = ask("tablecloak", program, "adjustment-mixed", 10)
    assert found.status == "optimal" and 0 < found.seconds < 60
    whole = ask("tablecloak", tc.examples.cox_rounded(), "suppress", 10)
    assert whole.value == 3076 and whole.history

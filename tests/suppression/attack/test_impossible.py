"""Errors for cells of which it was not settled whether any pattern protects them."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.suppression.attack.impossible import unprotected
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.system.system import System


@pytest.mark.parametrize(("has_figures", "remedy"), [(False, "units"), (True, "fewer `decimals`")])
def test_what_is_not_settled_names_a_remedy_that_the_table_has(has_figures, remedy):
    problem = tc.examples.cox_rounded()
    if has_figures:
        both = tc.join({"a": problem, "b": problem})
        problem = tc.with_derived(both, [tc.Ratio("a / b", decimals=1)])
    question = Question.of(problem, "two-sided", [])
    pool = WitnessPool(
        System.of(problem, question.needs, np.ones(problem.table.n_cells, dtype=bool))
    )
    error = unprotected(problem.table, pool, {}, "at all")
    assert remedy in str(error)

"""Variables of a project, and what is asked of one of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from tablecloak.safe import Appetite
from tablecloak.safe.joint.question import SummedVariables, VariableQuestion
from tablecloak.safe.output import Figures


def total(records, amounts=None, name="turnover"):
    """The sum over some records, one figure."""
    records = np.array(records)
    told = None if amounts is None else np.asarray(amounts, float)[records]
    return Figures(records, np.zeros(len(records), int), csr_array(np.ones((1, 1))), ("all",), told,
                   "records" if amounts is None else name)  # fmt: skip


def question_of(new, contributors=None, earlier=(), n=10, **limits):
    variables = SummedVariables(n)
    for figures in earlier:
        variables.add(figures)
    return VariableQuestion(
        Appetite.of(limits), variables, variables.of(new), [new], contributors, {}
    )


AMOUNTS = np.array([3.0, 0, 7, 1, 12, 5, 8, 2, 9, 4])


@pytest.mark.parametrize(
    ("amounts", "is_same"),
    [
        (AMOUNTS, True),
        (AMOUNTS / 1000, True),
        (AMOUNTS * -3.7, True),
        (AMOUNTS + 1, True),
        (AMOUNTS**2, True),
        ((AMOUNTS * 7) % 11, False),
        (np.zeros(10), False),
        (AMOUNTS + 1e-12, True),
    ],
)
def test_amounts_are_one_variable_where_one_rises_with_the_other(amounts, is_same):
    variables = SummedVariables(10)
    variables.add(total(range(10), AMOUNTS))
    given = total(range(10), amounts, "called otherwise")
    assert (variables.of(given) is variables.variables[1]) == is_same


def test_counts_are_the_first_variable_and_so_are_equal_amounts():
    variables = SummedVariables(10)
    assert variables.of(total(range(4))) is variables.variables[0]
    assert variables.of(total(range(4), np.full(10, 2.5))) is variables.variables[0]


def test_records_that_no_figure_has_told_are_told_apart_by_name_until_one_does():
    variables = SummedVariables(10)
    variables.add(total(range(5), AMOUNTS))
    assert variables.of(total(range(5, 10), AMOUNTS)) is variables.variables[1]
    assert variables.of(total(range(5, 10), AMOUNTS, "wages")) is not variables.variables[1]
    # Later figures in another unit are taken over in that of the first ones.
    variables.add(total(range(3, 10), AMOUNTS / 1000, "in thousands"))
    assert len(variables.variables) == 2
    np.testing.assert_allclose(variables.variables[1].amounts, AMOUNTS)


def test_what_was_asked_is_computed_once_until_it_is_let_go():
    variables = SummedVariables(10)
    figures = total(range(4))
    system = variables.variables[0].system
    first = variables.extended(system, figures)
    assert variables.extended(system, figures) is first
    variables.forget()
    assert variables.extended(system, figures) is not first


def test_a_group_is_known_if_it_followed_before_and_follows_if_it_does_now():
    question = question_of(total(range(8)), earlier=[total(range(10))])
    classes = question.after.class_of
    whole, left = np.ones(2, bool), np.arange(2) == classes[9]
    assert question.is_known(whole)
    assert question.follows(whole)
    assert not question.is_known(left)
    assert question.follows(left)
    assert question.still.all()
    assert question.records(left).tolist() == [8, 9]
    alone = question_of(total(range(8)))
    assert not alone.follows(np.arange(2) == alone.after.class_of[9])


def test_contributors_of_classes_and_kinds_are_counted_one_by_one():
    rng = np.random.default_rng(2)
    for _ in range(10):
        who = rng.integers(0, 5, 10)
        question = question_of(total([0, 1, 2, 3]), who, [total([2, 3, 4, 5])])
        class_of = question.after.class_of
        n = question.after.n_classes
        sets = [set(who[class_of == number].tolist()) for number in range(n)]
        assert question.counted.tolist() == [len(some) for some in sets]
        assert [set(codes.tolist()) for codes in question.members] == sets
        for chosen in itertools.product([False, True], repeat=n):
            group = np.array(chosen)
            behind = set().union(*itertools.compress(sets, chosen))
            assert question.n_contributors(group) == len(behind)
            assert question.is_few(group) == (len(behind) < 10)


def test_contributors_with_one_record_each_need_no_codes():
    question = question_of(total(range(4)), np.arange(10)[::-1].copy())
    assert question.contributors is None
    assert question.members is None
    assert question.counted.sum() == 10


@pytest.mark.parametrize(
    ("amounts", "rule"),
    [
        ([50, 40, 4], "p-ratio"),
        # 10 is not less than a tenth of 60, and 100 of 110 is more than 90 %.
        ([60, 40, 6, 4, 0], "nk-rule"),
        ([30, 30, 20, 20, 0], ""),
        # Everybody knows that each has as much as the smallest.
        ([140, 130, 121, 120], "p-ratio"),
        # Amounts count by their size, whatever their sign.
        ([-50, 40, 1], "p-ratio"),
        ([0, 0, 0], ""),
    ],
)
def test_a_group_that_follows_is_judged_by_the_rules_on_amounts(amounts, rule):
    n = len(amounts)
    question = question_of(total(range(n), amounts), n=n)
    assert question.broken(np.ones(question.after.n_classes, bool)) == rule
    # The same amounts in halves of each contributor are no different.
    halves = np.repeat(np.array(amounts) / 2, 2)
    both = question_of(total(range(2 * n), halves), np.repeat(np.arange(n), 2), n=2 * n)
    assert both.broken(np.ones(both.after.n_classes, bool)) == rule

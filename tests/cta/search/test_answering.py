"""From a question to an answer, in parts where there are any."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, one_row, two_rows
from tablecloak.cta.model.answer import INTERRUPTED, LATE, Answer

PROBLEM = two_rows([50, 60], [70, 80], {"a": (3, 5), "A": (7, 9)})


def test_without_sensitive_cells_nothing_moves_and_nothing_has_to_be_proved():
    one = tc.adjust(one_row([50, 60], {}))
    assert not one.changes.any()
    assert (one.loss, one.bound, one.bound_certificate) == (0, 0, None)
    one.verify()


def test_parts_are_adjusted_apart_and_the_note_counts_them():
    one = tc.adjust(PROBLEM, weights="unit")
    assert one.loss == one.bound == 2 * 3 + 2 * 7
    assert "2 parts that no relation connects" in one.notes[0]


@pytest.mark.parametrize(
    "options", [{"directions": "down"}, {"preserve": ["mean:all"]}, {"distance": "Linf"}]
)
def test_what_holds_over_all_parts_is_asked_at_once(options):
    one = tc.adjust(PROBLEM, weights="unit", **options)
    assert not any("parts" in note for note in one.notes)
    one.verify()


def test_a_part_without_sensitive_cells_stays():
    one = tc.adjust(two_rows([50, 60], [70, 80], {"a": (3, 5)}), weights="unit")
    z = by_code(one.problem, one.changes)
    assert (z["A"], z["B"], z["S"]) == (0, 0, 0)


@pytest.mark.parametrize("threads", [1, 3])
def test_the_error_of_an_impossible_part_names_its_cells(threads):
    problem = two_rows([50, 60, 5], [70, 80, 5], {"a": (5, 5), "A": (7, 9)}, frozen=["T"])
    narrow = problem.with_capacity(np.where(problem.table.keys["code"].isin(["b", "c"]), 2.0, 99.0))
    with pytest.raises(tc.ModelError) as error:
        tc.adjust(narrow, threads=threads)
    assert error.value.cells == (0,)


def test_answers_for_parts_are_put_together():
    part = np.array([0, 0, 1, -1])
    whole = np.array([1, -1, 0, 0], dtype=np.longdouble)
    other = np.array([0, 0, 0.5, 9], dtype=np.longdouble)
    answers = {
        0: Answer(whole, True, None, (LATE, "a note of the search")),
        1: Answer(other, False, None, (INTERRUPTED,)),
    }
    joined = Answer.joined(answers, part, None)
    # The cell that cannot move keeps its value whatever a part says of it.
    assert joined.changes.tolist() == [1, -1, 0.5, 0]
    assert not joined.is_whole
    assert joined.notes[1:] == (INTERRUPTED, LATE)


def test_whole_parts_make_a_whole_table():
    one = Answer(np.ones(2, dtype=np.longdouble), True, None)
    assert Answer.joined({0: one, 1: one}, np.array([0, 1]), None).is_whole

"""From a space to an answer, in parts where there are any."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import by_code, one_row, two_rows
from random_tables import random_problem
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import read, verify
from tablecloak.cta.model.answer import LATE, AdjustmentAnswer
from tablecloak.cta.search import answers
from tablecloak.cta.search.answers import answers_together

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
        0: AdjustmentAnswer(whole, True, None, (LATE, "a note of the search")),
        1: AdjustmentAnswer(other, False, None),
    }
    joined = answers_together(answers, part, None)
    # The cell that cannot move keeps its value whatever a part says of it.
    assert joined.changes.tolist() == [1, -1, 0.5, 0]
    assert not joined.is_whole
    assert joined.notes[1:] == (LATE,)


def test_whole_parts_make_a_whole_table():
    one = AdjustmentAnswer(np.ones(2, dtype=np.longdouble), True, None)
    assert answers_together({0: one, 1: one}, np.array([0, 1]), None).is_whole


FIRST_ORDER = "first-order methods"


@pytest.fixture
def every_table_is_large(monkeypatch):
    monkeypatch.setattr(answers, "FIRST_ORDER_CELLS", 0)


def adjusted(problem, **options):
    return tc.adjust(problem, time_limit=1000, **options)


@pytest.mark.parametrize("kind", ["crossed", "uneven", "coupled"])
@pytest.mark.parametrize("seed", [1, 4])
def test_losses_and_bounds_of_both_ways_do_not_contradict_each_other(monkeypatch, kind, seed):
    problem = random_problem(seed, kind=kind)
    exact = adjusted(problem)
    monkeypatch.setattr(answers, "FIRST_ORDER_CELLS", 0)
    found = adjusted(problem)
    assert FIRST_ORDER in found.notes and FIRST_ORDER not in exact.notes
    found.verify()
    assert exact.is_optimal
    assert found.bound <= exact.loss * (1 + 1e-9) <= found.loss * (1 + 2e-9)


@pytest.mark.parametrize("seed", [0, 2, 3])
def test_given_directions_are_solved_to_optimality_in_whole_numbers(every_table_is_large, seed):
    problem = random_problem(seed, (4, 5), 4)
    found = adjusted(problem, directions="up")
    assert FIRST_ORDER in found.notes and found.integer
    assert found.gap <= 1e-3
    assert np.all(found.changes[problem.sensitive] > 0)
    assert not np.any(problem.table.relations @ found.changes)


def test_real_numbers_keep_relations_exactly_as_well(every_table_is_large):
    problem = random_problem(5, (4, 5), 4)
    found = adjusted(problem, integer=False)
    assert FIRST_ORDER in found.notes
    assert not np.any(problem.table.relations @ found.changes)


def test_the_answer_does_not_depend_on_the_number_of_threads(every_table_is_large):
    problem = random_problem(6, (4, 5), 4)
    one, two = adjusted(problem, threads=1), adjusted(problem, threads=2)
    assert np.array_equal(one.values, two.values)
    assert one.bound == two.bound


def test_a_file_proves_the_answer_without_us(every_table_is_large, tmp_path):
    problem = random_problem(7, (4, 5), 4)
    for directions in ("search", "up"):
        path = tmp_path / f"{directions}.npz"
        write_certificate(adjusted(problem, directions=directions), path)
        assert verify(read(path))[0].startswith("PROVED")


def test_statistics_and_other_distances_are_left_to_programs(every_table_is_large):
    problem = random_problem(8)
    assert FIRST_ORDER not in adjusted(problem, preserve=["mean"]).notes
    assert FIRST_ORDER not in adjusted(problem, distance="Linf").notes


def test_a_problem_without_an_answer_is_proved_so_by_programs(every_table_is_large):
    problem = random_problem(9, (3, 3), 2)
    # One cell must move by its level, and all others are held in place.
    chosen = np.flatnonzero(problem.sensitive)[:1]
    alone = np.arange(problem.table.n_cells) == chosen
    level = np.where(alone, 5.0, 0.0)
    stuck = problem.with_changes(
        status=np.where(alone, "u", "s"),
        lower_protection=level,
        upper_protection=level,
        lower_bound=np.where(alone, 0.0, problem.table.values - 1),
        upper_bound=np.where(alone, 1e4, problem.table.values + 1),
    )
    with pytest.raises(tc.ModelError):
        adjusted(stuck, integer=False)

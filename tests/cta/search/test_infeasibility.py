"""Why there is no adjustment: proved, or merely not found."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from hand_tables import cross, one_row, place
from random_tables import random_problem
from tablecloak.cta.search.infeasibility import EPSILON, loosened
from tight_forms import all_directions, form_of, value_of


def test_capacities_too_small_for_a_level_are_a_conflict_that_names_the_cell():
    problem = one_row([50, 60, 70], {"a": (5, 5)}, frozen=["Total"]).with_capacity(2)
    with pytest.raises(tc.ModelError, match="satisfies all levels, bounds, capacities") as error:
        tc.adjust(problem)
    assert error.value.cells == (place(problem, "a"),)
    assert "proved by" in str(error.value)


def test_the_error_says_what_would_have_to_give_way():
    problem = one_row([50, 60, 70], {"a": (5, 5)}, frozen=["Total"]).with_capacity(2)
    with pytest.raises(tc.ModelError, match="An adjustment exists after these changes: relaxed 1"):
        tc.adjust(problem)


def test_given_directions_that_are_impossible_are_called_so():
    """Up needs 5 from cells that give 4; down needs 3."""
    problem = one_row([50, 60, 70], {"a": (3, 5)}, frozen=["Total"]).with_capacity(2)
    with pytest.raises(tc.ModelError, match="with these directions"):
        tc.adjust(problem, directions="up")
    assert tc.adjust(problem, directions="down", weights="unit").loss == 6


def test_statistics_against_levels_are_proved_impossible():
    problem = one_row([50, 60], {"a": (4, 4)})
    with pytest.raises(tc.ModelError, match="(?s)No (additive table|choice of directions)"):
        tc.adjust(problem, preserve=["mean:sensitive"], integer=False)


def test_only_a_complete_search_of_directions_shows_that_none_will_do():
    """The relaxation meets the mean by halves of both directions; whole ones never do."""
    problem = cross([[50, 60], [70, 80]], {"11": (4, 4), "12": (6, 6)})
    with pytest.raises(tc.ModelError, match="complete search|elastic program") as error:
        tc.adjust(problem, preserve=["mean:sensitive"], sensitive_limit=1.0, integer=False)
    assert set(error.value.cells) <= {place(problem, "11"), place(problem, "12")}
    assert error.value.cells


def test_what_gives_way_makes_the_table_possible():
    problem = one_row([50, 60, 70], {"a": (5, 5)}, frozen=["Total"]).with_capacity(2)
    repaired = tc.adjust(problem, repair=True, weights="unit")
    repaired.verify()
    assert any(note.startswith("relaxed 1: ") for note in repaired.notes)


def far_from_bounds(relations, values, sides, status, levels, low, high) -> tc.ProtectionProblem:
    n = len(values)
    table = tc.Table(
        keys=pd.DataFrame({"code": list("abcdef"[:n])}),
        values=np.array(values),
        relations=csr_array(np.array(relations)),
        right_hand_side=np.array(sides),
    )
    lower, upper = (np.array(level, dtype=float) for level in levels)
    return tc.ProtectionProblem(
        table, np.array(list(status)), lower, upper, np.zeros(n), np.array(low), np.array(high),
        np.ones(n),
    )  # fmt: skip


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
def test_in_far_rooms_the_one_pair_of_directions_that_goes_is_found(distance):
    """b and e move in opposite directions: b by -0.002855 of what e moves."""
    problem = far_from_bounds(
        [[0, -1, 0, 0, -0.002855, 1], [-494.6, 0, -1, 0, 0, 100], [0, 0, 1, -1, 0, 1]],
        [197452.6, 28.5, 3.2, 29987.6, 166.8, -260501.8],
        [-260530.776214, -123710239.16, -290486.2],
        "suzsuz",
        ([0, 0.1, 0, 0, 0.1, 0], [0, 0.1, 0, 0, 0.1, 0]),
        [0.0] * 5 + [-np.inf],
        [np.inf] * 6,
    )
    weights = np.array([0.0101, 0.0, 24610.0, 1.802e-05, 0.0, 0.0])
    adjusted = tc.adjust(problem, distance=distance, weights=weights)
    adjusted.verify()
    assert np.count_nonzero(adjusted.changes[[1, 4]] > 0) == 1


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("options", [{}, {"free": False}, {"maximum": True}])
def test_every_number_is_loosened_and_none_by_more_than_rounding(seed, options):
    form = form_of(random_problem(seed), **options)
    program, loose = form.program, loosened(form)
    assert np.all(loose.cost <= program.cost)
    assert np.all(loose.upper >= program.upper)
    finite = np.isfinite(program.row_lower)
    assert np.all(loose.row_lower[finite] <= program.row_lower[finite])
    finite = np.isfinite(program.row_upper)
    assert np.all(loose.row_upper[finite] >= program.row_upper[finite])
    reach = 1 + np.abs(program.upper[np.isfinite(program.upper)]).max()
    finite = np.isfinite(program.row_lower)
    gap = program.row_lower[finite] - loose.row_lower[finite]
    assert np.all(gap <= 1e-12 * reach)
    assert loose.integral is program.integral


@pytest.mark.parametrize("seed", range(2))
def test_what_is_possible_stays_possible_at_no_higher_cost(seed):
    form = form_of(random_problem(seed))
    loose = loosened(form)
    for y in all_directions(form):
        strict = value_of(form.directed(y))
        if strict < np.inf:
            assert value_of(form.directed(y, loose)) <= strict + 1e-6


def test_rows_of_whole_numbers_over_single_cells_are_not_rounded_at_all():
    form = form_of(one_row([50, 60], {"a": (3, 5)}), free=False)
    loose = loosened(form)
    # The relation has coefficients 1, which scaling by powers of two keeps exact: what is left is
    # the product with the direction.
    gap = (form.program.row_lower - loose.row_lower)[0]
    assert 0 < gap <= 20 * EPSILON * (abs(form.program.row_lower[0]) + 8)

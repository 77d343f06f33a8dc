"""Programs loosened by what their numbers may have been rounded."""

from __future__ import annotations

import numpy as np
import pytest

from hand_tables import one_row
from random_tables import random_problem
from tablecloak.cta.model.loosened import EPSILON, loosened
from tight_forms import all_directions, form_of, value_of


@pytest.mark.parametrize("seed", range(4))
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


@pytest.mark.parametrize("seed", range(3))
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

"""Variables of a joined table: which cells are theirs, and weights that can be compared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.tables.table import TableVariables

UNITS = {"gas": "GWh", "sales": "EUR", "taxes": "EUR"}
VARIABLES = TableVariables("variable", UNITS, {"gas": 0, "sales": 1, "taxes": 1})
KEYS = pd.DataFrame({"variable": ["gas", "gas", "sales", "taxes", "~sum~gas+sales"]})


def test_a_sum_over_several_variables_belongs_to_none_of_them():
    assert VARIABLES.of_cells(KEYS).tolist() == [0, 0, 1, 2, 3]


def test_an_average_cell_of_each_measure_weighs_the_same_and_free_cells_nothing():
    weights = VARIABLES.comparable(np.array([1.0, 3.0, 4e6, 2e6, 0.0]), KEYS)
    assert weights == pytest.approx([0.5, 1.5, 4 / 3, 2 / 3, 0])


def test_weights_of_one_measure_or_of_nothing_stay_as_they_are():
    same = TableVariables("variable", UNITS, dict.fromkeys(UNITS, 0))
    given = np.array([1.0, 3.0, 4e6, 2e6, 0.0])
    assert same.comparable(given, KEYS) is given
    assert np.array_equal(VARIABLES.comparable(np.zeros(5), KEYS), np.zeros(5))

"""Files whose numbers have more digits than a double holds."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tablecloak as tc
from hand_tables import problem_of
from tablecloak.tables.formats.lost_digits import lost_digits

LEVEL = 1e-6


def cells(value: str, side: str = "0", level: str = "0.000001") -> str:
    """A sensitive cell a, and b = 2 a, whose numbers may be written with many digits."""
    return (
        f"0\n2\n0 0.5 1 u 0 inf {level} {level} 0\n1 {value} 1 s -inf inf 0 0 0\n"
        f"1\n{side} 2 : 1 (-1) 0 (2)\n"
    )


def test_a_number_of_eighteen_digits_is_refused_where_they_count(tmp_path):
    path = tmp_path / "long.jj"
    path.write_text(cells("42601928018.0199376", side="-42601928017.0199376"))
    with pytest.raises(tc.InputError, match="value of cell 1 is 42601928018.0199376") as error:
        tc.read_jj(path)
    assert f"{path}, line 4: " in str(error.value)
    assert "Round the numbers of the file to 15 digits" in str(error.value)


def test_a_right_hand_side_of_eighteen_digits_is_refused_as_well(tmp_path):
    path = tmp_path / "long.jj"
    path.write_text(cells("42601928018.0199", side="-42601928017.01990001"))
    with pytest.raises(tc.InputError, match="the right-hand side of relation 0 is") as error:
        tc.read_jj(path)
    assert "line 6: " in str(error.value)


def test_digits_that_are_lost_far_below_all_levels_do_no_harm(tmp_path):
    path = tmp_path / "long.jj"
    path.write_text(cells("1.00000000000000000001"))
    assert tc.read_jj(path).table.values[1] == 1
    path.write_text(cells("42601928018.0199376", side="-42601928017.0199376", level="100"))
    assert tc.read_jj(path).n_sensitive == 1


def test_what_prints_a_double_is_never_refused():
    """Programs write doubles with 15, 17 or 19 digits, or to a fixed number of decimals."""
    random = np.random.default_rng(2)
    numbers = random.standard_normal(400) * 10.0 ** random.integers(-3, 16, 400)
    for written in (repr, "{:.17g}".format, "{:.18e}".format, "{:.20f}".format, "{:.15g}".format):
        texts = [written(float(number)) for number in numbers]
        held = np.array([float(text) for text in texts])
        assert not len(lost_digits(texts, held, 1e-9)), texts[0]


def test_a_csv_file_is_refused_with_line_and_column(tmp_path):
    problem = problem_of(
        "ab", [0.5, 42601928018], [[2, -1]], {"a": (LEVEL, LEVEL)}, bounds=(-np.inf, np.inf),
        sides=[-42601928017],
    )  # fmt: skip
    path = tmp_path / "cells.csv"
    tc.write_problem(problem, path)
    assert tc.read_problem(path).n_sensitive == 1
    text = path.read_text()
    assert len(re.findall(r"42601928018(\.0)?,", text)) == 1
    path.write_text(re.sub(r"42601928018(\.0)?,", "42601928018.0000001,", text))
    with pytest.raises(tc.InputError, match="value is 42601928018.0000001") as error:
        tc.read_problem(path)
    assert f"{path}, line 3: " in str(error.value)

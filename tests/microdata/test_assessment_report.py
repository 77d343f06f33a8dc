"""The page on a release of microdata: its figures, and that it is not for everybody."""

from __future__ import annotations

import re
import stat

import numpy as np
import pandas as pd
import pytest

from tablecloak.microdata.assessment import assess
from tablecloak.microdata.assessment_report import write_report


@pytest.fixture
def people() -> pd.DataFrame:
    random = np.random.default_rng(1)
    wage = random.normal(3000, 500, 60)
    return pd.DataFrame(
        {
            "wage": wage,
            "rent": 0.3 * wage + random.normal(0, 50, 60),
            "sex": np.where(np.arange(60) % 2, "f", "m"),
            "age": [str(20 + at % 9) for at in range(60)],
        }
    )


def page(tmp_path, original, released, **options) -> str:
    path = tmp_path / "report.html"
    given = {"title": "T", "summary": "done", "parameters": {"rate": 0.1, "none": None}}
    write_report(
        path, original, released, assessment=assess(original, released, **options), **given
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    return path.read_text()


def row(text: str, name: str) -> list[str]:
    found = re.search(rf"<th[^>]*>{re.escape(name)}</th>(.*?)</tr>", text, re.DOTALL)
    assert found, name
    return re.findall(r"<td[^>]*>(.*?)</td>", found.group(1))


def test_an_unchanged_file_is_found_again_throughout(tmp_path, people):
    text = page(tmp_path, people, people)
    assert row(text, "nearest record is the right one")[:2] == ["1", "1"]
    assert row(text, "mean absolute change (IL1s)")[:2] == ["0", "0"]
    assert "the largest change is 0" in text
    assert row(text, "wage")[4] == "0"


def test_parameters_are_shown_but_those_that_were_not_given(tmp_path, people):
    text = page(tmp_path, people, people)
    assert row(text, "rate") == ["0.1"]
    assert "<th>none</th>" not in text


def test_means_and_deviations_stand_beside_each_other(tmp_path, people):
    released = people.assign(wage=people["wage"] + 100)
    found = row(page(tmp_path, people, released), "wage")
    before, after = (float(mean.replace(",", "")) for mean in found[:2])
    assert after - before == pytest.approx(100, abs=0.1)
    assert found[2] == found[3]
    assert found[4] == "1"


def test_rare_combinations_of_keys_are_counted_before_and_after(tmp_path):
    original = pd.DataFrame({"age": [1, 1, 2, 3, 3, 3], "sex": list("mmfmmm")})
    released = original.assign(age=[1, 1, 1, 3, 3, 3])
    text = page(tmp_path, original, released, keys=["age"])
    assert row(text, "sample uniques")[:2] == ["1", "0"]
    assert row(text, "records below k = 3")[:2] == ["3", "0"]
    assert row(text, "expected re-identifications")[:2] == ["3", "2"]


def test_numbers_that_were_read_as_text_are_numbers(tmp_path, people):
    assert (
        row(page(tmp_path, people, people), "age")[0] == f"{people['age'].astype(int).mean():.6g}"
    )


def test_without_numbers_nobody_is_linked(tmp_path, people):
    text = page(tmp_path, people[["sex"]], people[["sex"]])
    assert "Not measured: no columns of numbers" in row(text, "nearest record is the right one")[0]
    assert row(text, "sex")[0] == "2"


def test_a_constant_column_is_no_scale_to_link_by(tmp_path, people):
    original = people[["wage"]].assign(one=5.0)
    text = page(tmp_path, original, original)
    assert row(text, "nearest record is the right one")[:2] == ["1", "1"]

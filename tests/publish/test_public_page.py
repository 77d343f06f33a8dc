"""The page for readers: made from what is released alone."""

from __future__ import annotations

import re

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.publish.public_page import public_report
from tablecloak.tables.leaving import Leaving

TREE = {"town": tc.Hierarchy.flat(["a", "b"], "Total")}
ABOUT = {"measure": "sales", "unit": "EUR", "reading": "x is confidential", "method": "suppression"}


def page(values, status=None, **about) -> str:
    frame = pd.DataFrame({"town": ["Total", "a", "b"], "sales": values})
    if status is not None:
        frame["status"] = status
    leaving = Leaving(frame, TREE, "sales", "EUR", 0, len(frame), {}, [])
    return public_report("Sales <2020>", leaving, {**ABOUT, **about}).html()


def squares(text: str) -> list[str]:
    return re.findall(
        r"<td[^>]*>([^<]*)</td>", text.split("<tbody>")[1].split("</tbody>", maxsplit=1)[0]
    )


def test_hidden_cells_are_crosses_and_their_values_nowhere():
    text = page([30.0, None, None], ["published", "suppressed", "suppressed"])
    assert squares(text) == ["30", "x", "x"]
    assert "town=a: confidential" in text
    assert '<span class="suppressed">confidential</span>' in text


def test_without_hidden_cells_nothing_is_called_confidential():
    text = page([30.0, 10.0, 20.0], reading="")
    assert "confidential" not in re.sub(r"<style>.*?</style>", "", text, flags=re.DOTALL)


@pytest.mark.parametrize(("decimals", "shown"), [(0, "1,235"), (1, "1,234.6"), (2, "1,234.56")])
def test_values_have_the_digits_that_are_declared(decimals, shown):
    assert squares(page([1234.56, 0, 1234.56], decimals=decimals))[0] == shown


def test_the_page_names_measure_unit_and_method_and_no_internal_word():
    text = page([30.0, 10.0, 20.0])
    assert "<h2>sales, EUR</h2>" in text
    assert "suppression" in text
    assert "Sales &lt;2020&gt;" in text
    for word in ("Internal", "primary", "secondary", "sensitive"):
        assert word not in text


def test_what_is_empty_is_not_told():
    text = page([30.0, 10.0, 20.0], unit="", source="")
    assert "<h2>sales</h2>" in text
    assert "<td>source</td>" not in text

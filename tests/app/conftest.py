"""The table that the pages of the app are tried on."""

from __future__ import annotations

import pytest

import tablecloak as tc


@pytest.fixture
def problem():
    table = tc.tabulate(tc.examples.firms(), ["region", "industry"], "turnover", contributor="firm")
    return table.protect(tc.PPercent(10), tc.MinimumFrequency(3))

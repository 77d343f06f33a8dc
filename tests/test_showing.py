"""Results ask a hook how they are shown; drawings register there."""

from __future__ import annotations

import subprocess
import sys

import pytest

import tablecloak as tc
from tablecloak import showing


class Weather:
    """A result that the package does not know."""

    def summary(self) -> str:
        return "wind < 3"


class Storm(Weather):
    """One with a drawing of its own."""


@showing.html.register
def storm(shown: Storm) -> str:
    return f"<b>{shown.summary()}</b>"


def test_a_result_without_a_drawing_shows_its_summary():
    assert showing.html(Weather()) == "<p>wind &lt; 3</p>"


def test_a_drawing_of_ones_own_is_used():
    assert showing.html(Storm()) == "<b>wind < 3</b>"


def test_what_nobody_draws_is_refused():
    with pytest.raises(tc.InputError, match="There is no picture of 'Weather'"):
        showing.plot(Weather())
    with pytest.raises(tc.InputError, match="There is no page on 'Weather'"):
        showing.page(Weather())


def test_results_load_no_drawing_before_they_are_shown():
    program = """
import sys
import tablecloak as tc, tablecloak.microdata, tablecloak.comparison, tablecloak.publish.audit as _
assert not [name for name in sys.modules if name.startswith("tablecloak.render")], sys.modules
text = tc.examples.cox_rounded().table._repr_html_()
assert "<table" in text and "tablecloak.render.drawings" in sys.modules
"""
    command = [sys.executable, "-c", program]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr

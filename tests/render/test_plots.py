"""Plots: what is drawn, and files that are whole and for their owner alone."""

from __future__ import annotations

import stat

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak import showing
from tablecloak.render.plotting import new_figure, picture_format, save_secret
from tablecloak.risk_utility_map import RiskUtilityMap


@pytest.mark.parametrize("name", ["a.png", "b.SVG", "c.x.pdf", "d.png/"])
def test_the_name_of_a_file_says_what_kind_of_picture_it_is(name):
    assert picture_format(name) == name.rstrip("/").rsplit(".", 1)[1].lower()


@pytest.mark.parametrize("name", ["a", "a.txt", "a.pn"])
def test_other_names_are_refused_with_a_suggestion(name):
    with pytest.raises(tc.InputError, match="is no picture"):
        picture_format(name)


def test_a_picture_is_whole_and_for_its_owner_alone(tmp_path):
    figure, axes = new_figure(2, 2)
    axes.plot([0, 1])
    path = tmp_path / "p.png"
    save_secret(figure, path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_without_a_path_nothing_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_secret(new_figure(2, 2)[0], None)
    assert list(tmp_path.iterdir()) == []


def test_an_audit_is_a_point_for_each_sensitive_cell_and_a_diagonal():
    problem = tc.examples.cox_rounded()
    audit = tc.audit(problem, tc.suppress(problem))
    axes = showing.plot(audit).axes[0]
    points = {each.get_label(): len(each.get_offsets()) for each in axes.collections}
    assert points == {"protected (7)": 7, "attackable (0)": 0, "undecided (0)": 0}
    (diagonal,) = axes.lines
    assert np.array_equal(diagonal.get_xdata(), diagonal.get_ydata())
    # Protected cells lie on the diagonal or above.
    required, achieved = np.asarray(axes.collections[0].get_offsets()).T
    assert np.all(achieved >= required * (1 - 1e-9))
    assert axes.get_title().startswith("Internal")


def test_a_pattern_that_hides_nothing_more_has_attackable_points():
    problem = tc.examples.cox_rounded()
    audit = tc.audit(problem, problem.sensitive)
    axes = showing.plot(audit).axes[0]
    counts = {each.get_label().split()[0]: len(each.get_offsets()) for each in axes.collections}
    assert counts["attackable"] == 7 - counts["protected"] > 0


def test_the_frontier_is_connected_in_the_order_of_risk():
    table = pd.DataFrame(
        {
            "risk": [0.3, 0.1, 0.2],
            "utility": [0.9, 0.2, 0.1],
            "risk_error": [0.01, np.nan, 0.0],
            "utility_error": [0.02, np.nan, 0.0],
            "frontier": [True, True, False],
        },
        index=["a", "b", "c"],
    )
    axes = RiskUtilityMap(table).plot().axes[0]
    line = next(each for each in axes.lines if each.get_label() == "frontier")
    assert line.get_xdata().tolist() == [0.1, 0.3]
    assert line.get_ydata().tolist() == [0.2, 0.9]
    assert {text.get_text() for text in axes.texts} == {"a", "b", "c"}

"""The two figures of Duncan, Keller-McNulty and Stokes: curves through the published points."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.microdata import plot_mean_map, plot_slope_map


def height(line, utility: float) -> float:
    """Risk of a curve at a utility."""
    x, y = line.get_xdata(), line.get_ydata()
    order = np.argsort(x)
    return float(np.exp(np.interp(utility, x[order], np.log(y[order]))))


def test_figure_1_goes_through_the_published_points():
    figure = plot_mean_map(
        {"salary": 13.3**2, "extra": 18.6**2}, 1000, masked_variance=13.3**2, tolerated_error=5
    )
    axes = figure.axes[0]
    salary, unmasked, extra, *_ = axes.lines
    for utility, other, risk in (
        (4.95319233, 2.53257657, 0.04),
        (4.91585289, 2.51348485, 0.03768821),
        (4.52258466, 2.31240606, 0.02261292),
        (2.82661541, 1.44525379, 0.00565323),
    ):
        assert height(salary, utility) == pytest.approx(risk, rel=1e-3)
        assert height(extra, other) == pytest.approx(risk, rel=1e-3)
    assert unmasked.get_xdata()[0] == pytest.approx(5.65323082)
    assert "0.1413" in axes.get_title()


def test_figure_2_shows_what_knowledge_of_the_noise_is_worth(tmp_path):
    path = tmp_path / "figure2.svg"
    figure = plot_slope_map([0.3, 0.5], 200, path=path)
    plain, corrected, plain_strong, corrected_strong, marked = figure.axes[0].lines
    risk = marked.get_ydata()[0]
    assert risk == pytest.approx(6.6666666667)
    assert height(plain, 35.85720840) == pytest.approx(risk, rel=1e-3)
    assert height(corrected, 69.52941176) == pytest.approx(risk, rel=1e-3)
    assert height(plain_strong, 45.44832098) == pytest.approx(risk, rel=1e-3)
    assert height(corrected_strong, 151.53846154) == pytest.approx(risk, rel=1e-3)
    assert path.read_text().startswith("<?xml")
    assert path.stat().st_mode & 0o077 == 0


def test_bad_parameters_are_refused():
    with pytest.raises(tc.InputError):
        plot_slope_map([1.5], 200)

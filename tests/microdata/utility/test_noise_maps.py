"""The two figures of Duncan, Keller-McNulty and Stokes: curves through the published points."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import tablecloak as tc
from tablecloak.microdata import plot_mean_map, plot_slope_map
from tablecloak.microdata.utility import noise_maps as nz


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
    assert axes.get_yscale() == "log"


def test_figure_2_shows_what_knowledge_of_the_noise_is_worth(tmp_path):
    path = tmp_path / "figure2.svg"
    figure = plot_slope_map([0.3, 0.5], 200, path=path)
    plain, corrected, plain_strong, corrected_strong, marked = figure.axes[0].lines
    assert corrected.get_linewidth() > plain.get_linewidth()
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


PRINTED, EXACT = 18.6**2, 17.5**2 + 13.3**2 - 2 * 8.3**2


@pytest.mark.parametrize(
    ("noise", "salary", "difference", "exact", "risk", "error"),
    [
        (0.0, 5.65323082, 2.89050757, 2.89552930, np.inf, 0.0),
        (0.141330770535, 4.95319233, 2.53257657, 2.53697646, 0.04, 5.0),
        (0.15, 4.91585289, 2.51348485, 2.51785157, 0.03768821, 5.151068),
        (0.25, 4.52258466, 2.31240606, 2.31642344, 0.02261292, 6.65),
        (1.0, 2.82661541, 1.44525379, 1.44776465, 0.00565323, 13.3),
    ],
)
def test_figure_of_the_means(noise, salary, difference, exact, risk, error):
    assert nz.mean_utility(noise, 13.3**2, 1000) == pytest.approx(salary, abs=1e-8)
    assert nz.mean_utility(noise, PRINTED, 1000) == pytest.approx(difference, abs=1e-8)
    assert nz.mean_utility(noise, EXACT, 1000) == pytest.approx(exact, abs=1e-8)
    assert nz.risk(noise, 13.3**2) == pytest.approx(risk, abs=1e-8)
    assert np.sqrt(noise) * 13.3 == pytest.approx(error, abs=1e-6)


def test_noise_that_a_tolerated_error_of_5000_needs():
    assert nz.tolerated_noise(5.0, 13.3**2) == pytest.approx(25 / 13.3**2)
    assert nz.tolerated_noise(5.0, 13.3**2) == pytest.approx(0.141331, abs=1e-6)


@pytest.mark.parametrize(
    ("noise", "r2", "plain", "corrected"),
    [
        (0.0, 0.3, 84.42857143, 84.42857143),
        (0.0, 0.5, 197.0, 197.0),
        (0.05, 0.3, 72.57894737, 78.8),
        (0.05, 0.5, 136.38461538, 179.09090909),
        (0.15, 0.3, 35.85720840, 69.52941176),
        (0.15, 0.5, 45.44832098, 151.53846154),
        (1.0, 0.3, 3.88815789, 34.76470588),
        (1.0, 0.5, 3.94, 65.66666667),
    ],
)
def test_figure_of_the_slopes(noise, r2, plain, corrected):
    assert nz.slope_utility(noise, r2, 200) == pytest.approx(plain, abs=1e-8)
    assert nz.corrected_slope_utility(noise, r2, 200) == pytest.approx(corrected, abs=1e-8)
    assert nz.slope_utility(noise, r2, 200, masked="response") == pytest.approx(corrected, abs=1e-8)
    assert nz.slope_utility(noise, r2, 200, masked="both") == pytest.approx(
        nz.slope_utility(0.0, r2, 200)
    )


@pytest.mark.parametrize(("r2", "variance"), [(0.3, 0.0108751627), (0.5, 0.0049897805)])
def test_variance_of_the_attenuated_slope(r2, variance):
    """MSE = variance + bias^2, with the bias 1 / (1 + l) - 1."""
    mse = 1 / float(nz.slope_utility(0.15, r2, 200))
    assert mse - (0.15 / 1.15) ** 2 == pytest.approx(variance, abs=1e-9)
    assert pytest.approx(0.8695652174, abs=1e-10) == 1 / 1.15
    assert nz.risk(0.15, 1.0) == pytest.approx(6.6666666667)


@pytest.mark.parametrize(
    ("r2", "at", "utility"), [(0.3, 0.00341297, 84.51070039), (0.1, 0.02083333, 22.08924485)]
)
def test_a_little_noise_raises_the_utility_of_the_uncorrected_slope(r2, at, utility):
    found = minimize_scalar(
        lambda noise: -float(nz.slope_utility(noise, r2, 200)),
        bounds=(0, 0.2),
        method="bounded",
        options={"xatol": 1e-12},
    )
    assert found.x == pytest.approx(at, abs=1e-7)
    assert -found.fun == pytest.approx(utility, abs=1e-8)


def test_an_error_that_is_not_positive_is_refused():
    with pytest.raises(tc.InputError, match="must be positive"):
        nz.tolerated_noise(0, 1)

"""The picture of a noise map: one curve for each analysis."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablecloak import showing
from tablecloak.microdata.utility.noise_maps import Curve, NoiseMap
from tablecloak.render.plotting import new_figure, save_secret

COLOURS = ("#1d3557", "#d62828", "#2a9d8f", "#e9c46a", "#6d597a")


@showing.plot.register
def plot_noise(shown: NoiseMap, path: str | Path | None = None) -> Any:
    """Draw the curves, their limits without noise, and the risk to compare them at."""
    figure, axes = new_figure(7, 5)
    for curve in shown.curves:
        _draw(axes, curve)
    if shown.largest_risk is not None:
        axes.axhline(shown.largest_risk, color="grey", linestyle="--", linewidth=0.8)
    if shown.marked_risk is not None:
        axes.axhline(shown.marked_risk, color="grey", linestyle=":", linewidth=1)
    if shown.title:
        axes.set_title(shown.title)
    axes.set_yscale("log")
    axes.set_xlabel("utility: 1 / mean squared error of the estimate")
    axes.set_ylabel("risk: 1 / mean squared error of the intruder")
    axes.legend()
    return save_secret(figure, path)


def _draw(axes: Any, curve: Curve) -> None:
    colour = COLOURS[curve.family % len(COLOURS)]
    width = 2.2 if curve.emphasised else 0.9
    axes.plot(curve.utility, curve.risk, color=colour, linewidth=width, label=curve.label)
    if curve.limit is not None:
        axes.axvline(curve.limit, color=colour, linestyle="--", linewidth=0.8)

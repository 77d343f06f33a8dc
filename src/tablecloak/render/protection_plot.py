"""The picture of an audit: the protection that each sensitive cell needs, and what it has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from tablecloak import showing
from tablecloak.render.plotting import new_figure, save_secret
from tablecloak.suppression.attack.audit import Audit

__all__ = ["plot_protection"]

COLOURS = {"protected": "#2a9d8f", "attackable": "#d62828", "undecided": "#f4a261"}


@showing.plot.register
def plot_protection(audit: Audit, path: str | Path | None = None) -> Any:
    """Draw achieved against required protection on logarithmic axes.

    Points on the diagonal meet the requirement exactly. Intervals without an end lie on the upper
    edge.
    """
    frame = audit.to_frame()
    figure, axes = new_figure(6, 5)
    required = frame["required_width"].to_numpy(dtype=float)
    achieved = (frame["reached_upper"] - frame["reached_lower"]).to_numpy(dtype=float)
    floor = max(float(required[required > 0].min(initial=1.0)) / 100, 1e-12)
    widest = float(achieved[np.isfinite(achieved)].max(initial=1))
    ends = [floor, max(float(required.max(initial=1)), widest) * 1.3]
    achieved = np.minimum(achieved, ends[1])
    for verdict, colour in COLOURS.items():
        chosen = (frame["verdict"] == verdict).to_numpy()
        axes.scatter(
            np.maximum(required[chosen], floor),
            np.maximum(achieved[chosen], floor),
            s=14,
            color=colour,
            label=f"{verdict} ({int(chosen.sum())})",
            alpha=0.7,
        )
    axes.plot(ends, ends, color="black", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
    axes.set_xlabel("required width of the intruder's interval")
    axes.set_ylabel("exact width" if audit.exact else "width proved so far (at least)")
    axes.set_title("Internal: audit of a suppression pattern")
    axes.legend()
    save_secret(figure, path)
    return figure

"""What all plots share: matplotlib loaded late, and files that appear whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablecloak.storage import replacing

__all__ = ["new_figure", "save_secret"]


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """Return an empty figure and its axes; sizes in inches."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def save_secret(figure: Any, path: str | Path | None) -> None:
    """Write a figure that is not for publication; None writes nothing."""
    if path is None:
        return
    with replacing(path, secret=True) as temporary:
        figure.savefig(temporary, format=Path(path).suffix.lstrip(".") or "png", dpi=150)

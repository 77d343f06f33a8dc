"""What all plots share: matplotlib loaded late, and files that appear whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablecloak.errors import InputError, suggestion
from tablecloak.extras import required
from tablecloak.storage import replacing

FORMATS = ("eps", "jpg", "pdf", "png", "svg", "tif", "webp")
"""Kinds of pictures that matplotlib writes without further programs."""


def new_figure(width: float, height: float) -> tuple[Any, Any]:
    """Return an empty figure and its axes; sizes in inches."""
    required("matplotlib", "Plots")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots()


def add_legend(figure: Any) -> None:
    """Say below a figure what its colours mean, where it covers nothing that is drawn."""
    figure.legend(loc="outside lower center", ncols=4, frameon=False)


def picture_format(path: str | Path) -> str:
    """Return the kind of picture that the name of a file asks for.

    Raises
    ------
    InputError
        If it is none that can be drawn, or if matplotlib is not installed.
    """
    required("matplotlib", "Plots")
    ending = Path(path).suffix.lstrip(".").lower()
    if ending not in FORMATS:
        raise InputError(
            f"{path}: a name that ends in {ending!r} is no picture.{suggestion(ending, FORMATS)}"
        )
    return ending


def save_secret(figure: Any, path: str | Path | None) -> Any:
    """Write a figure that is not for publication, and return it; None writes nothing."""
    if path is not None:
        kind = picture_format(path)
        with replacing(path, secret=True) as temporary:
            figure.savefig(temporary, format=kind, dpi=150)
    return figure

"""How things are shown: results ask here, and drawings register here.

Results and tables know nothing of drawing. Their `_repr_html_` and `plot` call these functions;
the modules of `tablecloak.render` register how each kind of thing is drawn::

    @showing.html.register
    def _(pattern: SuppressionPattern) -> str: ...

The drawings are loaded when something is shown for the first time.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import singledispatch
from html import escape
from pathlib import Path
from typing import Any, Generic, TypeVar

from tablecloak.errors import InputError
from tablecloak.extras import is_installed

DRAWINGS = (
    "tablecloak.render.drawings",
    "tablecloak.publish.audit",
    "tablecloak.publish.publication",
)
"""Modules that register drawings. Named, not imported: they lie above, and a wing may be absent."""

FIRST_ROWS = 20
"""Rows of a frame that a notebook shows of results without a drawing of their own."""

SECRET = (
    "<p><strong>SECRET: shows hidden values; clear this output before you share the notebook"
    "</strong></p>"
)
"""Begins what a notebook shows of true values of a problem: notebooks keep their outputs."""

T = TypeVar("T")


class Hook(Generic[T]):
    """A function that knows how to show things by their class.

    Parameters
    ----------
    default : callable
        Shows objects of a class without a drawing.
    """

    def __init__(self, default: Callable[..., T]) -> None:
        self._by_class = singledispatch(default)

    def register(self, drawing: Callable[..., T]) -> Callable[..., T]:
        """Add a drawing for the class that its first parameter is annotated with."""
        self._by_class.register(drawing)
        return drawing

    def __call__(self, shown: object, *arguments: Any) -> T:
        """Show it."""
        for module in filter(is_installed, DRAWINGS):
            importlib.import_module(module)
        return self._by_class(shown, *arguments)


def _summary_and_first_rows(shown: Any) -> str:
    text = f"<p>{escape(shown.summary())}</p>"
    if hasattr(shown, "to_frame"):
        # Frames of what is made of a problem have the true values of its sensitive cells.
        text = SECRET * hasattr(shown, "problem") + text
        text += shown.to_frame().head(FIRST_ROWS).to_html(index=False)
    return text


def _no_picture(shown: object, path: str | Path | None = None) -> Any:
    raise InputError(f"There is no picture of {type(shown).__name__!r}.")


def _no_page(shown: object) -> Any:
    raise InputError(f"There is no page on {type(shown).__name__!r}.")


def _no_file(shown: object, path: str | Path) -> Path:
    raise InputError(f"Nothing of {type(shown).__name__!r} is published as a table ({path}).")


def _no_attack(shown: object, problem: object) -> Any:
    raise InputError(f"There is no attack on {type(shown).__name__!r}.")


html: Hook[str] = Hook(_summary_and_first_rows)
"""Return how a notebook shows a thing. Secret, as the thing itself."""

plot: Hook[Any] = Hook(_no_picture)
"""Return a figure of matplotlib; with a path, also write it, readable by its owner alone."""

page: Hook[Any] = Hook(_no_page)
"""Return a page that can be written: one HTML file for those who decide."""

file: Hook[Path] = Hook(_no_file)
"""Write what may be published to a path whose ending chooses the format."""

attacked: Hook[Any] = Hook(_no_attack)
"""Return the audit of a release for a problem, as everybody who has it can attack. Secret."""

"""One self-contained HTML page: text, tables and figures, nothing fetched from anywhere."""

from __future__ import annotations

import io
import re
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablecloak.storage import write_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Page"]

STYLE = """
:root { color-scheme: light dark; --line: #8886; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
table { border-collapse: collapse; margin: .5rem 0; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid var(--line); padding: .2rem .6rem; text-align: right; }
th:first-child, td:first-child { text-align: left; }
tr:nth-child(even) td { background: var(--soft); }
figure { margin: 1rem 0; background: #fff; color: #222; border-radius: 4px; padding: .5rem; }
figure svg { max-width: 100%; height: auto; }
.secret { border: 1px solid #d62828; padding: .4rem .8rem; border-radius: 4px; }
@media print { body { margin: 0; max-width: none; } h2 { break-after: avoid; } }
"""


class Page:
    """A page in the making.

    Parameters
    ----------
    title : str
    secret : bool, default=True
        Whether it must stay inside: it then says so, and its file is readable by its owner alone.
    """

    def __init__(self, title: str, *, secret: bool = True) -> None:
        self.title = title
        self.secret = secret
        self.parts: list[str] = []

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(f"<p>{escape(text)}</p>")

    def table(self, frame: pd.DataFrame, *, index: bool = True) -> None:
        """Add a table; numbers with six significant digits."""
        plain = frame.rename_axis(None)
        text = plain.to_html(index=index, border=0, float_format=lambda value: f"{value:.6g}")
        self.parts.append(text.replace(' class="dataframe"', ""))

    def figure(self, figure: Any, caption: str) -> None:
        """Add a figure of matplotlib as a drawing in the page itself."""
        buffer = io.StringIO()
        # Without a date the same input gives the same page.
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        drawing = re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), flags=re.DOTALL)
        drawing = drawing.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
        self.parts.append(f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>")

    def html(self) -> str:
        """Return the whole page."""
        note = (
            '<p class="secret">Internal: it shows how far protection reaches. Do not publish.</p>'
            if self.secret
            else ""
        )
        body = "\n".join(self.parts)
        return (
            '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">'
            '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
            "style-src 'unsafe-inline'; img-src data:\">"
            f"<title>{escape(self.title)}</title><style>{STYLE}</style></head>"
            f"<body><h1>{escape(self.title)}</h1>{note}{body}</body></html>\n"
        )

    def write(self, path: str | Path) -> None:
        """Write the page, at once or not at all."""
        write_text(path, self.html(), secret=self.secret)

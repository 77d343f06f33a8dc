"""One self-contained HTML page: text, tables and figures, nothing fetched from anywhere."""

from __future__ import annotations

import base64
import hashlib
import io
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from tablecloak.arrays import own_digits
from tablecloak.errors import TablecloakWarning
from tablecloak.extras import how_to_install, is_installed
from tablecloak.render.palette import PUBLIC, colours
from tablecloak.storage import write_text

if TYPE_CHECKING:
    import pandas as pd


def text_of(package: str, name: str) -> str:
    """Return a file that lies in a package: a style or a script."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


MANY_SQUARES = 4_000
"""Squares above which a browser lays a grid out in strips; of fewer it measures every square."""

ROWS_OF_STRIP = 10
"""Rows of a strip: what is out of sight is neither measured nor painted."""

INDENT = 0.8
"""Indentation of a level of a hierarchy, in units of the font of the page."""

COLUMNS_ON_PAPER = 12
"""Columns above which a table can be wider than a sheet of paper."""

ON_PAPER = (
    '<p class="paper">Rows that are wider than the paper go on in further lines. A value stands '
    "where its code stands in the header, which is repeated on each sheet.</p>"
)
"""Shown in print alone, without a number: pages of releases are searched for hidden values."""

# A public page does not contain even the style names of internal ones.
_STYLES = ("page.css", "grid.css", "internal.css")
_PAGE, _GRID, _INTERNAL = (text_of("tablecloak", name) for name in _STYLES)
PUBLIC_STYLE = colours(PUBLIC) + _PAGE + _GRID
STYLE = colours() + PUBLIC_STYLE + _INTERNAL
NOTEBOOK_STYLE = (
    ":root { --line: rgb(128 134 142 / .35); --soft: rgb(128 134 142 / .09); }\n"
    ".grid { background: var(--paper); color: var(--ink); }\n"
) + "".join([colours(), _GRID, _INTERNAL])


MOST_CHARACTERS = 15
"""Length up to which a fraction is written with all its digits."""


def as_number(value: float) -> str:
    """Write a value for people: all its digits, or six at least where they do not end."""
    value = own_digits(value)
    if float(f"{value:.0f}") == value:
        return f"{value + 0.0:,.0f}"
    short = f"{value:,}"
    if len(short) <= MOST_CHARACTERS:
        return short
    return f"{value:,.6g}" if abs(value) < 1e4 else f"{value:,.2f}"


def document(
    title: str,
    style: str,
    body: str,
    *,
    script: str = "",
    kind: str = "",
    has_pictures: bool = True,
) -> str:
    """Return a whole page that fetches nothing, and runs no script but the one it is given.

    Parameters
    ----------
    title : str
        Plain text.
    style : str
        CSS.
    body : str
        HTML.
    script : str, default=""
        JavaScript, which the policy of the page allows by its digest.
    kind : {"", "module"}, default=""
        Type of the script.
    has_pictures : bool, default=True
        Whether pictures that lie in the page itself may be shown.
    """
    allowed, tag = "; img-src data:" if has_pictures else "", ""
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        allowed += f"; script-src 'sha256-{digest}'"
        tag = f'<script type="{kind}">{script}</script>' if kind else f"<script>{script}</script>"
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'{allowed}\">"
        f"<title>{escape(title)}</title><style>{style}</style></head>"
        f"<body>{body}{tag}</body></html>\n"
    )


@dataclass(frozen=True)
class Square:
    """One square of a grid.

    Parameters
    ----------
    text : str
        What is written in it.
    kind : str, default=""
        Names of styles: suppressed, primary, secondary, up, down, sensitive, frozen, none.
    hover : str, default=""
        What is shown when it is pointed at.
    share : float, default=0
        Strength of the colour of ``up`` and ``down``, from 0 to 1.
    """

    text: str
    kind: str = ""
    hover: str = ""
    share: float = 0.0

    def html(self) -> str:
        """Return the square."""
        hover = f' title="{escape(self.hover)}"' if self.hover else ""
        kind = f' class="{escape(self.kind)}"' if self.kind else ""
        colour = f' style="--share:{100 * self.share:.0f}%"' if self.share else ""
        return f"<td{kind}{colour}{hover}>{escape(self.text)}</td>"


@dataclass(frozen=True)
class SquareGrid:
    """A table drawn as squares.

    Parameters
    ----------
    rows, columns : sequence of (str, int)
        Code and its depth in the hierarchy.
    squares : sequence of sequence of Square
    caption : str, default=""
        What the table shows, for who cannot see it.
    """

    rows: Sequence[tuple[str, int]]
    columns: Sequence[tuple[str, int]]
    squares: Sequence[Sequence[Square]]
    caption: str = ""

    def html(self) -> str:
        """Return the grid."""
        head = "".join(f'<th scope="col">{escape(code)}</th>' for code, _ in self.columns)
        lines = [
            f'<tr><th scope="row" style="padding-left:{0.5 + INDENT * depth:g}rem">'
            + f"{escape(code)}</th>"
            + "".join(square.html() for square in line)
            + "</tr>"
            for (code, depth), line in zip(self.rows, self.squares, strict=True)
        ]
        style, kind, note, strip = "", "grid", "", max(len(lines), 1)
        if len(self.columns) > COLUMNS_ON_PAPER:
            texts = (square.text for line in self.squares for square in line)
            widest = max(map(len, texts), default=0)
            style, kind, note = f"--widest:{widest + 2}ch;", "grid wide", ON_PAPER
        if len(lines) * len(self.columns) > MANY_SQUARES:
            style, kind = f"{style}--columns:{self._widths()}", f"{kind} strips"
            strip = ROWS_OF_STRIP
        body = "".join(
            f"<tbody>{''.join(lines[start : start + strip])}</tbody>"
            for start in range(0, len(lines), strip)
        )
        name = f' role="region" aria-label="{escape(self.caption)}"' if self.caption else ""
        styled = f' style="{style}"' if style else ""
        return (
            f'{note}<div class="scroll" tabindex="0"{name}><table class="{kind}"{styled}>'
            f"<caption>{escape(self.caption)}</caption><thead><tr><td></td>{head}</tr></thead>"
            f"{body}</table></div>"
        )

    def _widths(self) -> str:
        """Return the width of each column in CSS: strips are laid out before all are measured."""
        # Bold figures and capitals are wider than a zero, whose width is the unit.
        longest = max(len(code) for code, _ in self.rows)
        # Levels are indented in another unit than letters: as much room as the deepest one needs.
        deepest = INDENT * max(depth for _, depth in self.rows)
        first = f"calc({ceil(1.1 * longest)}ch + {1 + deepest:g}rem)"
        others = (
            max(len(code), *(len(line[column].text) for line in self.squares))
            for column, (code, _) in enumerate(self.columns)
        )
        return " ".join([first, *(f"calc({ceil(1.1 * length)}ch + 1rem)" for length in others)])


_PROSE = re.compile(r"<td>(?=[^<]* [^<]* [^<]* [^<]* )")
"""Begins a square of a table that holds a sentence: at least five words."""


def with_code(text: str) -> str:
    """Return escaped text whose names in backticks are shown as code."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", text)


def with_scopes(table: str, caption: str) -> str:
    """Return a table of pandas that says of each header what it heads, and what it shows itself."""
    head, body = table.replace(' class="dataframe"', "").split("</thead>", 1)
    head = head.replace("<th></th>", "<td></td>", 1).replace("<th>", '<th scope="col">')
    head = head.replace("<thead>", f"<caption>{escape(caption)}</caption><thead>", 1)
    return head + "</thead>" + body.replace("<th>", '<th scope="row">')


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
        self.section = title
        self.lacks_plots = False

    def heading(self, text: str) -> None:
        """Begin a section."""
        self.section = text
        self.parts.append(f"<h2>{escape(text)}</h2>")

    def text(self, text: str) -> None:
        """Add a paragraph."""
        self.parts.append(f"<p>{with_code(escape(text))}</p>")

    def link(self, text: str, path: str) -> None:
        """Add a link to a file, relative to the page."""
        self.parts.append(f'<p><a href="{escape(quote(path))}">{escape(text)}</a></p>')

    def table(
        self, frame: pd.DataFrame, *, index: bool = True, folded: str = "", caption: str = ""
    ) -> None:
        """Add a table, floats by `as_number`; folded away below a title if one is given."""
        plain = frame.rename_axis(None)
        text = plain.to_html(index=index, border=0, na_rep="", float_format=as_number)
        text = with_code(_PROSE.sub(r'<td class="prose">', text))
        self._fold(with_scopes(text, folded or caption or self.section), folded)

    def grid(self, grid: SquareGrid, *, folded: str = "") -> None:
        """Add a table as squares; folded away below a title if one is given."""
        self._fold(grid.html(), folded)

    def _fold(self, text: str, title: str) -> None:
        if title:
            text = f"<details><summary>{escape(title)}</summary>{text}</details>"
        self.parts.append(text)

    def legend(self, kinds: Mapping[str, str]) -> None:
        """Explain the colours of a grid: style and meaning."""
        spans = [f'<span class="{kind}">{escape(text)}</span>' for kind, text in kinds.items()]
        self.parts.append(f'<p class="legend">{"".join(spans)}</p>')

    def code(self, text: str) -> None:
        """Add text as it was typed."""
        self.parts.append(f"<pre>{escape(text)}</pre>")

    def folded(self, title: str, text: str) -> None:
        """Add text as it was typed, folded away below a title."""
        self._fold(f"<pre>{escape(text)}</pre>", title)

    def close_with(self, settings: pd.DataFrame, source: str) -> None:
        """Add how a release was made, which ends each report: settings, and the job if any."""
        self.heading("How it was done")
        self.table(settings, index=False)
        if source:
            self.code(source)

    def drawing(self, svg: str, caption: str) -> None:
        """Add a drawing in SVG that is made already; its texts must be escaped."""
        drawing = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(caption)}" ', 1)
        self.parts.append(f"<figure>{drawing}<figcaption>{escape(caption)}</figcaption></figure>")

    def figure(self, draw: Callable[[], Any], caption: str) -> None:
        """Add what `draw` returns, a figure of matplotlib, as a drawing in the page itself.

        Without matplotlib the page says what is missing in its place.
        """
        if not is_installed("matplotlib"):
            self._leave_out(caption)
            return
        import matplotlib as mpl

        figure = draw()
        buffer = io.StringIO()
        # Without a date, and with names made of the content, the same input gives the same page.
        with mpl.rc_context({"svg.hashsalt": "tablecloak"}):
            figure.savefig(
                buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
            )
        drawing = re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), flags=re.DOTALL)
        # Black and white become the colours of the page, so that dark ones can be read too.
        for colour, role in (("#000000", "currentColor"), ("#ffffff", "var(--paper)")):
            drawing = re.sub(f"(fill|stroke): {colour}", rf"\1: {role}", drawing)
        self.drawing(drawing, caption)

    def _leave_out(self, caption: str) -> None:
        hint = f"Plots need the library matplotlib. {how_to_install('matplotlib')}"
        if not self.lacks_plots:
            warnings.warn(
                f"The page {self.title!r} is written without its plots. {hint}",
                TablecloakWarning,
                stacklevel=2,
            )
        self.lacks_plots = True
        self.text(f"Plot left out: {caption}. {hint}")

    def html(self) -> str:
        """Return the whole page."""
        note = (
            '<p class="secret">Internal: it shows how far protection reaches. Do not publish.</p>'
            if self.secret
            else ""
        )
        body = "\n".join(self.parts)
        style = STYLE if self.secret else PUBLIC_STYLE
        return document(self.title, style, f"<h1>{escape(self.title)}</h1>{note}{body}")

    def write(self, path: str | Path) -> None:
        """Write the page, at once or not at all."""
        write_text(path, self.html(), secret=self.secret)

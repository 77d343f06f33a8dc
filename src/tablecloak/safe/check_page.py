"""The page for the checker: every output, what it would disclose, and where to decide on it.

One file without any outside part. Decisions are made in the page and saved by the browser as
``decisions.json``; nothing is sent anywhere.
"""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import PurePath
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.render.page import PUBLIC_STYLE, document, text_of
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.output import Output, Reason

MOST_ROWS, MOST_COLUMNS = 300, 60
"""Most lines and columns of a table that the page draws; the file has them all."""

MOST_NAMED = 12
"""Most cells that a reason names on the page; checks.json has them all."""

MOST_PICTURE = 4_000_000
"""Bytes above which a picture is linked and not drawn."""

MOST_TEXT = 4_000
"""Letters of a text file that the page shows."""

PICTURES = {".png": "png", ".jpg": "jpeg", ".jpeg": "jpeg", ".gif": "gif", ".webp": "webp"}
TEXTS = {".txt", ".csv", ".json", ".md", ".log", ".tex"}

STYLED = ("threshold", "p-ratio", "nk-rule", "differencing", "missing", "zeros", "secondary")
"""Rules with a colour of their own."""


@dataclass(frozen=True)
class BundleFile:
    """A file of an output within a bundle.

    Parameters
    ----------
    name : str
    frame : DataFrame, optional
        Its figures as they leave; None for a file that was copied.
    digits : str, default=""
        Its SHA-256 once it is written: what the decision is about.
    content : bytes
        What a copied file holds.
    """

    name: str
    frame: pd.DataFrame | None = None
    digits: str = ""
    content: bytes = b""


def check_page(
    outputs: Mapping[str, Output],
    shown: Mapping[str, Sequence[BundleFile]],
    appetite: Appetite,
    data: str,
) -> str:
    """Return the page for a checker.

    Parameters
    ----------
    outputs : mapping of str to Output
    shown : mapping of str to sequence of BundleFile
        The files of each output; frames come first, in the order of the output.
    appetite : Appetite
        Limits, told at the top.
    data : str
        What is known of the data.
    """
    links = {name: f"output-{number}" for number, name in enumerate(outputs)}
    body = "\n".join(
        [
            '<a class="skip" href="#outputs">Skip to the outputs</a>',
            "<h1>Outputs to be checked</h1>",
            '<p class="secret">For the checker alone. Gaps are gaps in the files as well; their '
            "reasons tell more than may leave: zeros stands for an empty cell, and groups that "
            "follow are told with their number of contributors.</p>",
            f"<p><strong>Data:</strong> {escape(data)}</p>",
            _tools(outputs),
            _limits(appetite),
            _overview(outputs, links),
            '<main id="outputs" tabindex="-1">',
            *(_section(output, shown[name], links) for name, output in outputs.items()),
            "</main>",
        ]
    )
    style = PUBLIC_STYLE + text_of("tablecloak.safe", "check.css")
    script = text_of("tablecloak.safe", "check.js")
    return document("Outputs to be checked", style, body, script=script)


# -- above the outputs --------------------------------------------------------------------


def _tools(outputs: Mapping[str, Output]) -> str:
    """Return filters, the name of the checker, and the buttons for the file of decisions."""
    counted = Counter(output.outcome.status for output in outputs.values())
    kinds = {"all": len(outputs), "fail": counted["fail"], "review": counted["review"]}
    kinds |= {"pass": counted["pass"]}
    buttons = "".join(
        f'<button type="button" data-filter="{kind}" '
        f'aria-pressed="{"true" if kind == "all" else "false"}">{kind} ({n})</button>'
        for kind, n in kinds.items()
    )
    buttons += (
        '<button type="button" data-filter="undecided" aria-pressed="false">'
        f'undecided (<span id="undecided">{len(outputs)}</span>)</button>'
    )
    return (
        f'<div class="tools"><div role="group" aria-label="Show outputs">{buttons}</div>'
        '<label>Checker <input id="who" autocomplete="name"></label>'
        '<button type="button" id="save">Save decisions.json</button>'
        '<label>Go on with decisions.json <input type="file" id="load" accept=".json"></label>'
        '<p id="told" role="status" aria-live="polite"></p></div>'
    )


def _limits(appetite: Appetite) -> str:
    fields = type(appetite).model_fields
    rows = "".join(
        f'<tr><th scope="row">{escape(key)}</th><td>{escape(str(value))}</td>'
        f"<td>{escape(fields[key].description or '')}</td></tr>"
        for key, value in appetite.model_dump(mode="json").items()
    )
    return (
        "<details><summary>Limits that outputs were checked against</summary>"
        f"<table><tbody>{rows}</tbody></table></details>"
    )


def _overview(outputs: Mapping[str, Output], links: Mapping[str, str]) -> str:
    """Return a table with a line for each output."""
    lines = []
    for name, output in outputs.items():
        reasons = "; ".join(dict.fromkeys(reason.rule for reason in output.outcome.reasons))
        gaps = sum(int(frame.isna().to_numpy().sum()) for frame in output.frames)
        lines.append(
            f'<tr data-row="{links[name]}"><th scope="row"><a href="#{links[name]}">'
            f"{escape(name)}</a></th><td>{_badge(output.outcome.status)}</td>"
            f"<td>{escape(output.kind)}</td><td>{gaps or ''}</td><td>{escape(reasons)}</td>"
            '<td class="decided">undecided</td></tr>'
        )
    titles = ("output", "status", "kind", "gaps", "speaks against it", "decision")
    heads = "".join(f'<th scope="col">{title}</th>' for title in titles)
    return (
        '<table class="overview"><caption>All outputs</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _badge(status: str) -> str:
    return f'<span class="badge {status}">{status}</span>'


# -- one output ---------------------------------------------------------------------------


def _section(output: Output, shown: Sequence[BundleFile], links: Mapping[str, str]) -> str:
    """Return all of one output, with its decision at the end."""
    at, status = links[output.name], output.outcome.status
    name = escape(output.name)
    digits = escape(json.dumps({file.name: file.digits for file in shown}))
    asked = output.exception or ("none is given" if status != "pass" else "")
    parts = [
        f'<section class="output" id="{at}" data-name="{name}" data-status="{status}" '
        f'data-files="{digits}" aria-labelledby="{at}-title" tabindex="-1">',
        f'<h2 id="{at}-title">{name} {_badge(status)} <small>{escape(output.kind)}</small></h2>',
        f"<pre>{escape(output.command)}</pre>",
        _listed("What speaks against it", [_told(r, links) for r in output.outcome.reasons]),
        _listed("What was done", [_linked(note, links) for note in output.outcome.notes]),
        _listed("Why it is wanted all the same", [escape(asked)] if asked else []),
        _listed("Comments of the researcher", [escape(text) for text in output.comments]),
    ]
    legend = _legend(output)
    for number, file in enumerate(shown):
        parts.append(f'<h3>{escape(file.name)} <a href="{escape(file.name)}">open</a></h3>')
        if file.frame is None:
            parts.append(_other_file(file, output.name))
        else:
            places = output.places if number == 0 else {}
            parts.append((legend if number == 0 else "") + _table(file, places))
    parts.append(_decision(output, at))
    return "".join([*parts, "</section>"])


def _listed(title: str, items: Sequence[str]) -> str:
    if not items:
        return ""
    return f"<h3>{title}</h3><ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def _told(reason: Reason, links: Mapping[str, str]) -> str:
    """Return a reason with its status, its rule and the first of its cells."""
    cells = ""
    if reason.cells:
        rest = len(reason.cells) - MOST_NAMED
        named = "; ".join(reason.cells[:MOST_NAMED]) + (f" and {rest} more" if rest > 0 else "")
        cells = f'<br><span class="cells">{escape(named)}</span>'
    rule = f"<b>{escape(reason.rule)}</b>"
    return f"{_badge(reason.status)} {rule}: {_linked(reason.text, links)}{cells}"


def _linked(text: str, links: Mapping[str, str]) -> str:
    """Return text in which the names of outputs lead to them."""
    if not links:
        return escape(text)
    names = sorted(links, key=len, reverse=True)
    pattern = re.compile(r"(?<!\w)(" + "|".join(map(re.escape, names)) + r")(?!\w)")
    parts = pattern.split(text)
    return "".join(
        f'<a href="#{links[part]}">{escape(part)}</a>' if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def _decision(output: Output, at: str) -> str:
    name = escape(output.name)
    choices = "".join(
        f'<label><input type="radio" name="{at}" value="{state}"> {word}</label>'
        for state, word in (("approved", "approve"), ("rejected", "reject"))
    )
    return (
        f"<fieldset><legend>Decision on {name}</legend>{choices}"
        f'<label class="wide">Comment <textarea rows="2"></textarea></label></fieldset>'
    )


# -- tables and other files ---------------------------------------------------------------


def _style(rule: str) -> str:
    return rule if rule in STYLED else "other"


def _legend(output: Output) -> str:
    """Explain the colours of the first table."""
    if not output.frames:
        return ""
    rules, shown = output.places, output.leaving[0].isna().to_numpy()
    kinds = {_style(rule): rule for rule, places in rules.items() if places}
    gaps = {tuple(place) for place in np.argwhere(shown).tolist()}
    explained = {tuple(place) for places in rules.values() for place in places}
    spans = [f'<span class="{kind}">{escape(rule)}</span>' for kind, rule in kinds.items()]
    if gaps - explained:
        spans.append('<span class="gap">gap without a broken rule</span>')
    return f'<p class="legend">{"".join(spans)}</p>' if spans else ""


def _table(file: BundleFile, places: Mapping[str, Sequence[Sequence[int]]]) -> str:
    """Return a frame with its gaps coloured by the rule that was broken there."""
    assert file.frame is not None
    frame = file.frame.iloc[:MOST_ROWS, :MOST_COLUMNS]
    rules: dict[tuple[int, int], list[str]] = {}
    for rule, found in places.items():
        for row, column in found:
            rules.setdefault((int(row), int(column)), []).append(rule)
    labels, values = list[Any](frame.index), frame.astype(object).to_numpy()
    lines = []
    for row, label in enumerate(labels):
        parts = label if isinstance(label, tuple) else (label,)
        heads = "".join(f'<th scope="row">{escape(str(part))}</th>' for part in parts)
        squares = "".join(
            _square(values[row, column], rules.get((row, column), []))
            for column in range(frame.shape[1])
        )
        lines.append(f"<tr>{heads}{squares}</tr>")
    whole = file.frame.shape
    cut = (
        f"<p>Shown are {frame.shape[0]} of {whole[0]} lines and {frame.shape[1]} of {whole[1]} "
        "columns; the file has them all.</p>"
        if frame.shape != whole
        else ""
    )
    return (
        f'<table class="figures" tabindex="0" aria-label="{escape(file.name)}">'
        f"<thead>{_heads(frame)}</thead><tbody>{''.join(lines)}</tbody></table>{cut}"
    )


def _heads(frame: pd.DataFrame) -> str:
    """Return a line for each level of the columns, with the names of the levels."""
    lines = []
    labels = list[Any](frame.columns)
    last = frame.columns.nlevels - 1
    left = frame.index.nlevels
    for level in range(frame.columns.nlevels):
        corner: list[Any] = list(frame.index.names) if level == last else [""] * left
        if frame.columns.nlevels > 1 and level != last:
            corner[-1] = frame.columns.names[level]
        heads = "".join(f"<td>{escape(str(name or ''))}</td>" for name in corner)
        for label in labels:
            text = str(label[level] if isinstance(label, tuple) else label)
            heads += f'<th scope="col">{escape(text)}</th>'
        lines.append(f"<tr>{heads}</tr>")
    return "".join(lines)


def _square(value: Any, rules: Sequence[str]) -> str:
    """Return one cell; a gap says why it is one, for those who do not see colours."""
    is_gap = bool(pd.isna(value))
    text = "" if is_gap else _written(value)
    if rules:
        said = ", ".join(rules)
        shown = f"<i>{escape(said)}</i>{' ' * bool(text)}{escape(text)}"
        return f'<td class="{_style(rules[0])}{" gap" * is_gap}">{shown}</td>'
    return '<td class="gap"><i>hidden</i></td>' if is_gap else f"<td>{escape(text)}</td>"


def _written(value: Any) -> str:
    """Return a value as people write it; the file has all digits."""
    if isinstance(value, float):
        # Six digits, and as many as stand before the point.
        is_rounded = value == round(value) or abs(value) >= 1e5
        return f"{value:,.0f}" if is_rounded and abs(value) < 1e15 else f"{value:,.6g}"
    return str(value)


def _other_file(file: BundleFile, output: str) -> str:
    """Return a picture or the beginning of a text; of others, that they must be opened."""
    suffix = PurePath(file.name).suffix.casefold()
    if suffix in PICTURES and len(file.content) <= MOST_PICTURE:
        data = base64.b64encode(file.content).decode()
        alt = escape(f"{file.name}, a picture of {output}")
        return f'<img alt="{alt}" src="data:image/{PICTURES[suffix]};base64,{data}">'
    if suffix in TEXTS:
        text = file.content.decode("utf-8", errors="replace")
        cut = "\n..." if len(text) > MOST_TEXT else ""
        return f"<pre>{escape(text[:MOST_TEXT] + cut)}</pre>"
    return "<p>This page cannot show files of this kind: open the file itself.</p>"

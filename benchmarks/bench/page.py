"""The page of results, written from stored results alone: a section for each claim."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from bench.claims import Claim, Column, claims_in
from bench.records import Record, Source, latest, read_records
from tablecloak.storage import write_text

__all__ = ["results_page", "stored", "write_results"]

HEAD = """\
# Measured results

Written by `python -m benchmarks --write-results` from the files in `results/`; do not edit it. A
section for each claim that README and the docs make, with the command that measures it again.
"CPU s" are seconds of the processor and "MiB" the peak memory of the whole run, tables made and
audits included. What was not written down is "not recorded".
"""


def stored(folder: Path) -> tuple[dict[str, Claim], dict[str, list[Record]]]:
    """Return the claims of a folder of benchmarks, and their stored results."""
    claims = claims_in(folder / "claims")
    return claims, {name: read_records(folder / "results" / f"{name}.jsonl") for name in claims}


def write_results(folder: Path) -> Path:
    """Write the page and its plots into a folder of benchmarks."""
    claims, records = stored(folder)
    for name, claim in claims.items():
        if claim.draw is not None and records[name]:
            claim.draw([found[0] for found in latest(records[name]).values()], folder)
    path = folder / "RESULTS.md"
    write_text(path, results_page(claims, records))
    return path


def results_page(claims: Mapping[str, Claim], records: Mapping[str, Sequence[Record]]) -> str:
    """Return the page in Markdown."""
    sections = [HEAD]
    for name, claim in claims.items():
        sections.append("\n".join(_section(claim, list(latest(records[name]).values()))))
    return "\n".join(sections)


def _section(claim: Claim, found: list[list[Record]]) -> Iterator[str]:
    yield f"## {claim.title}\n"
    yield f"{claim.text.strip()}\n"
    yield f"Measured by `python -m benchmarks {claim.name}`. Said in {', '.join(claim.said_in)}.\n"
    if claim.page is not None:
        yield f"The figures stand in [{claim.page}](../{claim.page}), which is written from them.\n"
        return
    names = [method.name for method in claim.methods]
    if claim.split:
        # Methods come in the order of the claim; those no longer in the claim come last.
        found.sort(key=lambda group: _place(names, group[0]))
        for (method, limit), part in groupby(found, key=lambda g: (g[0].method, g[0].limit)):
            about = next((m.about for m in claim.methods if m.name == method), "")
            limited = "" if limit is None else f", limit {limit:g} s"
            yield f"**{method}**{limited}{': ' if about else ''}{about}\n"
            yield from _table(claim, list(part), ())
    elif found:
        yield from _table(claim, found, ("method", "limit"))
    else:
        yield "Not measured yet.\n"
    if claim.remark is not None and found:
        yield f"{claim.remark([group[0] for group in found]).strip()}\n"
    if claim.findings:
        yield f"{claim.findings.strip()}\n"


def _place(names: list[str], record: Record) -> tuple[int, str, float]:
    known = names.index(record.method) if record.method in names else len(names)
    return known, record.method if known == len(names) else "", record.limit or 0.0


def _table(claim: Claim, found: list[list[Record]], keys: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a table of records; in each group the latest record comes first."""
    last = [group[0] for group in found]
    keys = [key for key in keys if len({getattr(record, key) for record in last}) > 1]
    known = {name for record in last for name in record.figures}
    columns = [column for column in claim.columns if column.figure in known]
    headings = ["instance", *keys, *(column.heading for column in columns)]
    compared = [_before(claim, group) for group in found]
    if any(compared):
        headings += [f"{claim.before} before", "change"]
    spent = [name for name in ("cpu_seconds", "peak_mib") if any(getattr(r, name) for r in last)]
    headings += [{"cpu_seconds": "CPU s", "peak_mib": "MiB"}[name] for name in spent]
    sources = list(dict.fromkeys(_source(record) for record in last))
    if len(sources) > 1:
        headings.append("run")
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for record, before in zip(last, compared, strict=True):
        row = [record.instance, *(_shown(getattr(record, key), "g") for key in keys)]
        row += _figures(record, columns)
        row += (before or ["-", "-"]) if any(compared) else []
        row += [_shown(getattr(record, name), ",.0f") for name in spent]
        row += [_letter(sources.index(_source(record)))] if len(sources) > 1 else []
        yield f"| {' | '.join(row)} |"
    yield ""
    for number, source in enumerate(sources):
        yield f"- {f'Run {_letter(number)}: ' if len(sources) > 1 else ''}{source}"
    yield ""


def _figures(record: Record, columns: Sequence[Column]) -> list[str]:
    if "failure" in record.figures:
        return [f"failed: {record.figures['failure']}", *["-"] * (len(columns) - 1)]
    return [_shown(record.figures.get(column.figure), column.form) for column in columns]


def _before(claim: Claim, group: list[Record]) -> list[str]:
    """Show the compared figure at the previous commit, and its change; empty if there is none."""
    if claim.before is None or len(group) == 1:
        return []
    form = next(column.form for column in claim.columns if column.figure == claim.before)
    now, old = (record.figures.get(claim.before) for record in group[:2])
    if now is None or not old:
        return [_shown(old, form), "-"]
    change = now / old - 1
    # All compared figures are losses or seconds; a change below 1e-4 counts as rounding.
    return [_shown(old, form), f"**{change:+.1%}**" if change > 1e-4 else f"{change:+.1%}"]


def _shown(value: Any, form: str) -> str:
    if value is None or value != value:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else format(value, form)


def _letter(number: int) -> str:
    """Name a run: a to z, then aa, ab."""
    first, second = divmod(number, 26)
    return (ascii_lowercase[first - 1] if first else "") + ascii_lowercase[second]


def _source(record: Record) -> str:
    source: Source = record.source
    clock = (
        f"seconds of the {record.clock}"
        if record.clock in ("processor", "wall")
        else "clock not recorded"
    )
    # Results that were stored while the command was part of the package name its former name.
    told = re.sub(r"^tablecloak bench\b", "python -m benchmarks", source.command)
    command = told if " " not in told or told == "not recorded" else f"`{told}`"
    return (
        f"machine: {source.machine}; versions: {source.versions}; commit: {source.commit}; "
        f"command: {command}; date: {source.date}; {clock}."
    )

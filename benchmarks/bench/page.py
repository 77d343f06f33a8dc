"""The page of results, written from stored results alone: a line and a section for each claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from bench.claims import Claim, Column, claims_in
from bench.records import Record, latest, read_records
from tablecloak.storage import write_text

__all__ = ["results_page", "stored", "write_results"]

HEAD = """\
# Measured results

Written by `python -m benchmarks --write-results` from the files in `results/`; do not edit it. It
shows the last figures of each claim that README and the docs make, and only those of which machine,
versions, commit and command are known; earlier ones stay in the files. "CPU s" are seconds of the
processor, "wall s" seconds of the clock and "MiB" the peak memory of a whole run, tables made and
audits included. All of it is measured again by `python -m benchmarks all`.
"""

SPENT = {"cpu_seconds": "CPU s", "seconds": "wall s", "peak_mib": "MiB"}
"""Headings of what a whole run used."""


def stored(folder: Path) -> tuple[dict[str, Claim], dict[str, list[Record]]]:
    """Return the claims of a folder of benchmarks, and the last records of each."""
    claims = claims_in(folder / "claims")
    return claims, {
        name: latest(read_records(folder / "results" / f"{name}.jsonl")) for name in claims
    }


def write_results(folder: Path) -> Path:
    """Write the page and its plots into a folder of benchmarks."""
    claims, records = stored(folder)
    for name, claim in claims.items():
        if claim.draw is not None and records[name]:
            claim.draw(records[name], folder)
    path = folder / "RESULTS.md"
    write_text(path, results_page(claims, records))
    return path


def results_page(claims: Mapping[str, Claim], records: Mapping[str, Sequence[Record]]) -> str:
    """Return the page in Markdown; claims without a record are not in it."""
    measured = [claim for name, claim in claims.items() if records[name]]
    machines: list[tuple[str, str]] = []
    sections = ["\n".join(_section(c, list(records[c.name]), machines)) for c in measured]
    lines = ["| claim | figure | command |", "|---|---|---|"]
    lines += [
        f"| [{claim.title}](#{_anchor(claim.title)}) | {_headline(claim, records[claim.name])} "
        f"| `python -m benchmarks {claim.name}` |"
        for claim in measured
    ]
    last = ["## Machines\n"]
    last += [f"{number}. {machine}; {of}" for number, (machine, of) in enumerate(machines, 1)]
    return "\n".join([HEAD, *lines, "", *sections, *last, ""])


def _anchor(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _headline(claim: Claim, records: Sequence[Record]) -> str:
    """Say the figures of the last instance by the first method, which are the claim's largest."""
    names = [method.name for method in claim.methods]
    first = min(_place(names, record)[0] for record in records)
    record = [one for one in records if _place(names, one)[0] == first][-1]
    told = [
        f"{column.heading} {_shown(record.figures[column.figure], column.form)}"
        for column in claim.columns
        if record.figures.get(column.figure) is not None
    ]
    return f"{record.instance}: {', '.join(told[:4]) or record.figures.get('failure', '-')}"


def _section(
    claim: Claim, records: list[Record], machines: list[tuple[str, str]]
) -> Iterator[str]:
    yield f"## {claim.title}\n"
    yield f"{claim.text.strip()}\n"
    yield f"Measured by `python -m benchmarks {claim.name}`. Said in {', '.join(claim.said_in)}.\n"
    if claim.page is not None:
        yield f"The figures stand in [{claim.page}](../{claim.page}), which is written from them.\n"
        return
    names = [method.name for method in claim.methods]
    if claim.split:
        # Methods come in the order of the claim; those no longer in the claim come last.
        records.sort(key=lambda record: _place(names, record))
        for (method, limit), part in groupby(records, key=lambda r: (r.method, r.limit)):
            about = next((m.about for m in claim.methods if m.name == method), "")
            limited = "" if limit is None else f", limit {limit:g} s"
            yield f"**{method}**{limited}{': ' if about else ''}{about}\n"
            yield from _table(claim, list(part), (), machines)
    else:
        yield from _table(claim, records, ("method", "limit"), machines)
    if claim.remark is not None:
        yield f"{claim.remark(records).strip()}\n"
    if claim.findings:
        yield f"{claim.findings.strip()}\n"


def _place(names: list[str], record: Record) -> tuple[int, str, float]:
    known = names.index(record.method) if record.method in names else len(names)
    return known, record.method if known == len(names) else "", record.limit or 0.0


def _table(
    claim: Claim, records: list[Record], keys: Sequence[str], machines: list[tuple[str, str]]
) -> Iterator[str]:
    """Yield the lines of a table of records, and under it where they come from."""
    keys = [key for key in keys if len({getattr(record, key) for record in records}) > 1]
    known = {name for record in records for name in record.figures}
    columns = [column for column in claim.columns if column.figure in known]
    spent = [name for name in SPENT if any(getattr(record, name) for record in records)]
    sources = list(dict.fromkeys(_source(record, machines) for record in records))
    headings = ["instance", *keys, *(column.heading for column in columns)]
    headings += [SPENT[name] for name in spent] + ["run"] * (len(sources) > 1)
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for record in records:
        row = [record.instance, *(_shown(getattr(record, key), "g") for key in keys)]
        row += _figures(record, columns)
        row += [_shown(getattr(record, name), ",.0f") for name in spent]
        row += [_letter(sources.index(_source(record, machines)))] if len(sources) > 1 else []
        yield f"| {' | '.join(row)} |"
    yield ""
    for number, source in enumerate(sources):
        yield f"- {f'Run {_letter(number)}: ' if len(sources) > 1 else ''}{source}"
    yield ""


def _figures(record: Record, columns: Sequence[Column]) -> list[str]:
    if "failure" in record.figures:
        return [f"failed: {record.figures['failure']}", *["-"] * (len(columns) - 1)]
    return [_shown(record.figures.get(column.figure), column.form) for column in columns]


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


def _source(record: Record, machines: list[tuple[str, str]]) -> str:
    """Say where a record comes from; its machine by its number, which is listed once."""
    source = record.source
    machine = source.machine, source.versions
    if machine not in machines:
        machines.append(machine)
    return (
        f"`{source.command}`, commit {source.commit}, {source.date}, seconds of the "
        f"{record.clock}, machine {machines.index(machine) + 1}"
    )

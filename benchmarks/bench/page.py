"""The page of results, written from stored results alone: a line and a section for each claim."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.claims import Claim, Column, claims_in
from bench.records import Record, Source, latest, read_records
from tablecloak.storage import write_text

__all__ = ["results_page", "stored", "write_results"]

HEAD = """\
# Measured results

Written by `python -m benchmarks --write-results` from the files in `results/`; do not edit it. It
shows the last figures of each claim that README and the docs make, and only those of which machine,
versions, commit and command are known; earlier ones stay in the files. "CPU s" are seconds of the
processor, "wall s" seconds that passed and "MiB" the peak memory of a whole run, tables made and
audits included; "clock" says whose seconds limits and all other seconds are, and "run" which of the
commands at the end gave a row. All of it is measured again by `python -m benchmarks all`.
"""

SPENT = {"cpu_seconds": "CPU s", "seconds": "wall s", "peak_mib": "MiB"}
"""Headings of what a whole run used."""

MOST_LINES = 500
"""Lines of the page; so many rows of each claim are shown that it stays below."""

MOST_ROWS = 40
"""Rows that are shown of a claim at most."""


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
    for most in range(MOST_ROWS, 0, -1):
        runs: list[Source] = []
        lines = [HEAD, "| claim | figure | command |", "|---|---|---|"]
        lines += [
            f"| [{claim.title}](#{_anchor(claim.title)}) | {_headline(claim, records[claim.name])} "
            f"| `python -m benchmarks {claim.name}` |"
            for claim in measured
        ]
        for claim in measured:
            lines += ["", *_section(claim, records[claim.name], most, runs)]
        lines += ["", "## Runs", ""]
        lines += [
            f"{number}. `{run.command}`, commit {run.commit}, {run.date}; {run.machine}; "
            f"{run.versions}"
            for number, run in enumerate(runs, 1)
        ]
        page = "\n".join([*lines, ""])
        if page.count("\n") <= MOST_LINES:
            break
    return page


def _anchor(title: str) -> str:
    """Return the anchor that GitHub gives a heading."""
    kept = "".join(letter for letter in title.lower() if letter.isalnum() or letter in " -_")
    return kept.replace(" ", "-")


def _headline(claim: Claim, records: Sequence[Record]) -> str:
    """Say the figures of the last instance by the first method, which are the claim's largest."""
    names = [method.name for method in claim.methods]
    first = min(_place(names, record) for record in records)
    record = [one for one in records if _place(names, one) == first][-1]
    told = [
        f"{column.heading} {_shown(record.figures[column.figure], column.form)}"
        for column in claim.columns
        if record.figures.get(column.figure) is not None
    ]
    return f"{record.instance}: {', '.join(told[:4]) or record.figures.get('failure', '-')}"


def _section(
    claim: Claim, records: Sequence[Record], most: int, runs: list[Source]
) -> Iterator[str]:
    """Yield the lines of a claim; runs that it names are added to those of the page."""
    yield f"## {claim.title}\n"
    told = f"{claim.text} {claim.findings} Said in {', '.join(claim.said_in)}."
    yield f"{' '.join(told.split())}\n"
    if claim.page is not None:
        yield f"The figures stand in [{claim.page}](../{claim.page}), which is written from them."
        return
    names = [method.name for method in claim.methods]
    longest: dict[tuple[str, str], Record] = {}
    for record in sorted(records, key=lambda record: record.limit or 0.0):
        longest[record.instance, record.method] = record
    shown = [record for record in records if record in longest.values()]
    shown.sort(key=lambda record: _place(names, record))
    yield from _table(claim, shown[:most], runs)
    if len(records) > len(shown[:most]):
        yield (
            f"\n{len(records) - len(shown[:most])} more rows, such as those with shorter limits, "
            f"stand in [results/{claim.name}.jsonl](results/{claim.name}.jsonl)."
        )
    if claim.remark is not None:
        yield f"\n{claim.remark(records).strip()}"


def _place(names: list[str], record: Record) -> int:
    """Return where a method stands in its claim; those no longer in the claim come last."""
    return names.index(record.method) if record.method in names else len(names)


def _table(claim: Claim, records: Sequence[Record], runs: list[Source]) -> Iterator[str]:
    """Yield the lines of a table of records."""
    keys = [k for k in ("method", "limit") if len({getattr(record, k) for record in records}) > 1]
    known = {name for record in records for name in record.figures}
    columns = [column for column in claim.columns if column.figure in known]
    spent = [name for name in SPENT if any(getattr(record, name) for record in records)]
    headings = ["instance", *keys, *(column.heading for column in columns)]
    headings += [*(SPENT[name] for name in spent), "clock", "run"]
    yield f"| {' | '.join(headings)} |"
    yield "|---" * len(headings) + "|"
    for record in records:
        if record.source not in runs:
            runs.append(record.source)
        row = [record.instance, *(_shown(getattr(record, key), "g") for key in keys)]
        row += _figures(record, columns)
        row += [_shown(getattr(record, name), ",.0f") for name in spent]
        yield f"| {' | '.join([*row, record.clock, str(runs.index(record.source) + 1)])} |"


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

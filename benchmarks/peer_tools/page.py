"""The page of the report, written from the file of results alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bench.records import Record

Row = dict[str, Any]

SAME = 1e-6
"""Losses that differ by a smaller share are equal: weights may be halves."""

OURS = "tablecloak"

COLUMNS = (
    *("tool", "limit", "seconds", "loss", "cells"),
    *("attackable", "contributors", "groups", "dimension", "gap at most", "MiB", "it says"),
)
"""Of the table of runs."""

HEAD, QUOTED = (Path(__file__).with_name(f"{name}.md") for name in ("head", "quoted"))
"""What stands before and after the tables."""


FACTS = {
    "about": "about", "table_cells": "cells", "relations": "relations", "sensitive": "sensitive",
    "sensitive_loss": "sensitive_loss",
}  # fmt: skip
"""Figures of a record that say what was asked, and what they are called here."""


def page(records: Sequence[Record]) -> str:
    """Return the page: what was asked, who lost least, and every run."""
    tables = by_table(records)
    parts = [HEAD.read_text(), *_machines(tables), "## Who loses least", *_summary(tables), ""]
    for name, table in tables.items():
        parts += [f"## {name[0].upper()}{name[1:]}", "", *_table(table), ""]
    return "\n".join([*parts, QUOTED.read_text()])


def by_table(records: Sequence[Record]) -> dict[str, Any]:
    """Return for each table its facts and its runs, ours first."""
    tables: dict[str, Any] = {}
    for record in records:
        # A run that failed says nothing about its table; another one does.
        if "about" in record.figures and record.instance not in tables:
            facts = {shown: record.figures[name] for name, shown in FACTS.items()}
            tables[record.instance] = facts | {"rows": [], "sources": []}
    for record in records:
        told = {name: value for name, value in record.figures.items() if name not in FACTS}
        if "failure" in told:
            told["message"] = told.pop("failure")
        if record.instance in tables:
            table = tables[record.instance]
            run = {"tool": record.method, "limit": record.limit, "mib": record.peak_mib}
            table["rows"].append(run | told)
            table["sources"].append(record.source)
    for table in tables.values():
        # Stored in the order of runs, some of which were made again.
        tools = list(dict.fromkeys(row["tool"] for row in table["rows"]))
        order = {tool: (not tool.startswith(OURS), number) for number, tool in enumerate(tools)}
        table["rows"].sort(key=lambda row: (order[row["tool"]], row["limit"]))
    return tables


def _machines(tables: dict[str, Any]) -> Iterator[str]:
    ran = sorted(
        {
            (source.machine, source.versions.partition(",")[0], source.commit)
            for table in tables.values()
            for source in table["sources"]
        }
    )
    for machine, python, commit in ran:
        yield f"Machine: {machine}; {python}; tablecloak at commit {commit}."
    versions = {
        (row["tool"].partition(",")[0], row["version"])
        for table in tables.values()
        for row in table["rows"]
        if "version" in row
    }
    yield "Versions: " + ", ".join(f"{tool} {number}" for tool, number in sorted(versions)) + ".\n"


def is_safe(row: Row) -> bool:
    """Whether a run ended with a pattern in which no cell is attackable."""
    return "loss" in row and row["attackable"] == 0 and row["undecided"] == 0


def _summary(tables: dict[str, Any]) -> Iterator[str]:
    yield ""
    yield (
        "Patterns in which no cell is attackable; ours within the last limit, and within the other "
        "tool's seconds. The last column names the cheapest pattern that costs less than ours and "
        "leaves cells attackable."
    )
    yield ""
    yield "| table | cells | ours | best other | its seconds | ours in no more | outcome | unsafe |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, table in tables.items():
        yield f"| {name} | {table['cells']:,} | {' | '.join(_against(table['rows']))} |"


def _against(rows: list[Row]) -> Iterator[str]:
    """Yield ours, the best of the others, and what is cheaper without being safe."""
    ours = [row for row in rows if row["tool"] == OURS and is_safe(row)]
    others = [row for row in rows if not row["tool"].startswith(OURS) and "loss" in row]
    last = min((row["loss"] for row in ours[-1:]), default=float("inf"))
    yield _loss(last)
    best = min(filter(is_safe, others), key=_loss_of, default=None)
    if best is None:
        yield from ("none", "-", "-", "no rival")
    else:
        # A search that ends a little later than the other one counts.
        within = [row for row in ours if row["seconds"] <= 1.1 * best["seconds"]]
        yield f"{_loss(best['loss'])} ({best['tool']})"
        yield f"{best['seconds']:.1f}"
        yield _loss(min(map(_loss_of, within), default=float("inf")))
        yield _outcome(last, best["loss"])
    cheaper = [row for row in others if not is_safe(row) and row["loss"] < last]
    unsafe = min(cheaper, key=_loss_of, default=None)
    yield (
        "-"
        if unsafe is None
        else f"{_loss(unsafe['loss'])} ({unsafe['tool']}, {unsafe['attackable']} attackable)"
    )


def _loss_of(row: Row) -> float:
    return float(row["loss"])


def _outcome(ours: float, other: float) -> str:
    if ours < (1 - SAME) * other:
        return "won"
    return "equal" if ours <= (1 + SAME) * other else "**lost**"


def _loss(loss: float) -> str:
    return "none" if loss == float("inf") else f"{loss:,.0f}"


def _table(table: dict[str, Any]) -> Iterator[str]:
    yield (
        f"{table['about'][0].upper()}{table['about'][1:]}. {table['cells']:,} cells, "
        f"{table['relations']:,} relations, {table['sensitive']:,} sensitive cells, which lose "
        f"{table['sensitive_loss']:,.0f} in any case."
    )
    yield ""
    yield f"| {' | '.join(COLUMNS)} |"
    yield "|---" * len(COLUMNS) + "|"
    bound = proved_bound(table["rows"])
    for row in table["rows"]:
        start = f"| {row['tool']} | {row['limit']:g} |"
        if "message" in row:
            nothing = "- | " * (len(COLUMNS) - 3)
            yield f"{start} {nothing}{row['message'].replace('|', '/')} |"
            continue
        contributors = "-"
        if "contributors" in row:
            contributors = _with_open(row["contributors"], row["contributors_open"])
        yield (
            f"{start} {row['seconds']:.1f} | {row['loss']:,.0f} | {row['cells']:,} | "
            f"{_with_open(row['attackable'], row['undecided'])} | {contributors} | "
            f"{row.get('groups', '-')} | {row['dimension']:,} | {_gap(row, bound)} | "
            f"{_memory(row)} | {judged_claim(row, bound)} |"
        )


def proved_bound(rows: Sequence[Row]) -> float:
    """Return the best bound on the loss against outsiders that some run of ours proved."""
    bounds = [0.0]
    for row in rows:
        if row["tool"] == OURS and "loss" in row:
            told = row["claim"].split()[-1].replace(",", "")
            bounds.append(_loss_of(row) if told == "optimal" else float(told))
    return max(bounds)


def judged_claim(row: Row, bound: float) -> str:
    """Return what a tool says, and whether it is wrong.

    A tool that ends says that all its cells are protected; the optimal method of pytauargus says
    with code 0 that no pattern costs less.
    """
    said = str(row["claim"])
    if row["attackable"]:
        return f"{said}; **wrong**, cells are attackable"
    if said in ("optimal", "code 0") and bound and _loss_of(row) > (1 + SAME) * bound:
        return f"{said}; not confirmed"
    return said


def _gap(row: Row, bound: float) -> str:
    """Return how far a pattern may be from the cheapest one; nothing for one that leaks."""
    if row["attackable"] or not bound:
        return "-"
    return f"{max(1 - bound / _loss_of(row), 0):.1%}"


def _memory(row: Row) -> str:
    return "-" if row["mib"] is None else f"{row['mib']:,.0f}"


def _with_open(count: int, not_decided: int) -> str:
    return f"{count:,} + {not_decided:,} open" if not_decided else f"{count:,}"

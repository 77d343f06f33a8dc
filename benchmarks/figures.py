"""What several claims measure alike: patterns, their certificates and audits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import tablecloak as tc
from bench.claims import Column, Figures, Instance, Setting
from bench.measure import timed

DATA = Path(__file__).resolve().parents[1] / "tests" / "data"
"""Instances that are shipped."""

COX = Instance("cox", tc.examples.cox_rounded)
"""The smallest table: 50 cells."""

PATTERN = (
    Column("cells", "cells", ",d"),
    Column("sensitive", "sensitive", ",d"),
    Column("search", "search"),
    Column("loss", "loss", ",.0f"),
    Column("bound", "bound", ",.0f"),
    Column("gap", "gap", ".2%"),
    Column("optimal", "optimal"),
    Column("hidden", "hidden", ",d"),
    Column("first", "first pattern, s", ".1f"),
    Column("seconds", "s", ".1f"),
    Column("cpu", "CPU s of the search", ".1f"),
    Column("under_protected", "under-protected", ",d"),
)
"""Columns for the figures of a pattern."""


AUDITED_CELLS = 15_000
"""Most cells of a table that is attacked anew: on larger ones that takes longer than any search, so
that only the certificate of the pattern is checked."""


def pattern_figures(problem: tc.ProtectionProblem, setting: Setting, **options: Any) -> Figures:
    """Suppress within the limit, on one thread; count the cells that an audit does not protect."""
    options = {"time_limit": setting.limit, "seed": setting.seed, "threads": 1} | options
    pattern, spent = timed(lambda: tc.suppress(problem, **options))
    is_bounded = pattern.bound_certificate is not None
    found: Figures = {
        "cells": problem.table.n_cells,
        "sensitive": int(problem.n_sensitive),
        "search": pattern.method,
        "loss": pattern.loss,
        "bound": pattern.bound if is_bounded else None,
        "gap": pattern.gap if is_bounded else None,
        "optimal": pattern.is_optimal,
        "hidden": int(pattern.suppressed.sum()),
        "first": pattern.first_seconds,
        **spent,
    }
    protected = int(problem.n_sensitive)
    if problem.table.n_cells <= AUDITED_CELLS:
        protected = tc.audit(problem, pattern).count(tc.Verdict.PROTECTED)
    else:
        pattern.verify()
    return found | {"under_protected": int(problem.n_sensitive) - protected}


def castro(folder: Path | None) -> Iterable[Instance]:
    """Castro's tables, smallest file first; those that may not be shipped need a folder."""
    paths = (folder or DATA / "castro-cta-jj").glob("*.jj.gz")
    for path in sorted(paths, key=lambda path: (path.stat().st_size, path.name)):
        yield Instance(path.name.removesuffix(".jj.gz"), lambda path=path: tc.read_jj(path))


def cox_and_castro(folder: Path | None) -> Iterable[Instance]:
    """The table of Cox with its decimals, and those of Castro."""
    yield Instance("Cox 4x9", tc.examples.cox)
    yield from castro(folder)

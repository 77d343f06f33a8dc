"""What tests of batches share."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak.argus.methods as methods

PATTERNS: dict[object, object] = {}
"""Patterns and their audits, by all that a problem holds and who else must not attack it."""


@pytest.fixture
def solved_once(monkeypatch):
    """Solve each problem once, up to its first pattern: what a batch does with it is tested here.

    The same problem has the same pattern, whatever else was changed in the batch.
    """
    solve, attack = methods.suppress, methods.audit

    def key(problem, against):
        names = ("status", "lower_protection", "upper_protection", "lower_bound", "upper_bound")
        arrays = [getattr(problem, name).tobytes() for name in (*names, "weights")]
        table = problem.table
        relations = table.relations.indices.tobytes(), table.relations.indptr.tobytes()
        codes = tuple(table.keys.itertuples(index=False, name=None))
        return (*arrays, table.values.tobytes(), *relations, codes, str(against))

    def stop(stage, loss, *_):
        if stage != "protecting" and np.isfinite(loss):
            raise KeyboardInterrupt

    def suppress(problem, *, protect_against=(), **options):
        found = key(problem, protect_against)
        if found not in PATTERNS:
            first = {**options, "method": "sequential", "progress": stop, "time_limit": 1e6}
            pattern = solve(problem, protect_against=protect_against, **first)
            PATTERNS[found] = pattern
            PATTERNS["audit", found] = attack(
                problem, pattern, intruders=protect_against or "external"
            )
        return PATTERNS[found]

    def audit(problem, pattern, *, intruders="external", **options):
        found = "audit", key(problem, [] if intruders == "external" else intruders)
        if found not in PATTERNS:
            # Not a pattern of a suppression, but what a batch adjusted or rounded.
            return attack(problem, pattern, intruders=intruders, **options)
        return PATTERNS[found]

    monkeypatch.setattr(methods, "suppress", suppress)
    monkeypatch.setattr(methods, "audit", audit)

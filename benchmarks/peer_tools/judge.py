"""One audit for all patterns, on the problem as it was given."""

from __future__ import annotations

from typing import Any

import numpy as np

import tablecloak as tc
from peer_tools.tables import Case

AUDIT_SECONDS = 300.0
"""Limit of the attack by outsiders; what is open then is told."""

JUDGE_SECONDS = 60.0
"""Limit of the attack by contributors; what is open then is told."""

MOST_CELLS = 1_000
"""Beyond, contributors are not tried one by one: it takes minutes for each pattern."""


SUMS = (tc.PPercent(10),)
"""What the sum of all hidden cells of a relation must obey, where the others tell it."""


def table_facts(case: Case, problem: tc.ProtectionProblem) -> dict[str, Any]:
    """Say what was asked."""
    return {
        "about": case.about,
        "table_cells": problem.table.n_cells,
        "relations": problem.table.n_relations,
        "sensitive": int(problem.n_sensitive),
        "sensitive_loss": float(problem.weights[problem.sensitive].sum()),
    }


def judged(problem: tc.ProtectionProblem, hidden: np.ndarray) -> dict[str, Any]:
    """Measure any pattern by our audit, on the given problem."""
    sums = SUMS if are_told_apart(problem) else ()
    found = tc.audit(problem, hidden, groups=sums, threads=1, time_limit=AUDIT_SECONDS)
    counts = {verdict.value: found.count(verdict) for verdict in set(found.verdicts)}
    judgement = {
        "loss": float(problem.weights[hidden].sum()),
        "cells": int(hidden.sum()),
        "attackable": counts.get("attackable", 0),
        "undecided": counts.get("undecided", 0),
        "dimension": int(found.robustness.dimension),
    }
    if sums:
        judgement["groups"] = len(found.groups)
    if can_try_contributors(problem):
        attacked = tc.audit(
            problem, hidden, intruders="contributors", threads=1, time_limit=JUDGE_SECONDS
        )
        judgement["contributors"] = len({attack.intruder for attack in attacked.attacks})
        judgement["contributors_open"] = attacked.n_not_judged
    return judgement


def can_try_contributors(problem: tc.ProtectionProblem) -> bool:
    """Whether contributors are told apart, and few enough to try each as an intruder."""
    return are_told_apart(problem) and problem.table.n_cells <= MOST_CELLS


def are_told_apart(problem: tc.ProtectionProblem) -> bool:
    """Whether contributors have names, so that their values in several cells can be added up."""
    contributions = problem.table.contributions
    return contributions is not None and contributions.names is not None


def pattern_of(problem: tc.ProtectionProblem, answer: dict[str, Any]) -> np.ndarray:
    """Return all hidden cells; tools that list secondaries hide the sensitive ones besides."""
    hidden = problem.sensitive | problem.forced
    hidden[[*answer.get("hidden", ()), *answer.get("secondary", ())]] = True
    if "secondary_codes" in answer:
        keys = problem.table.keys.astype(str)
        number = {key: cell for cell, key in enumerate(zip(*map(keys.get, keys), strict=True))}
        # A level with a single child is one cell there; we get the codes of both.
        for codes in answer["secondary_codes"]:
            hidden[number[tuple(codes)]] = True
    return hidden

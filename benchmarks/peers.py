"""Suppression beside other tools: the same tables, the same limit, one audit for all patterns.

    python -m venv PEERS && PEERS/bin/pip install pytauargus==0.6.0 gconfid==2.0.4
    python benchmarks/peers.py --peers PEERS/bin/python --instances FOLDER \\
        --results docs/peers.json --page docs/peers.md

FOLDER holds the published tables of rtauargus; without it they are left out. Tables that the file
of results has already are run again only if they are named with `--only`; `--page` writes the page
from all results. Each search runs in a process of its own on one thread; all seconds are those of
the processor.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from peer_tools.contestants import OURS, OURS_AGAINST_CONTRIBUTORS, PEERS, Contestant
from peer_tools.files import write_all
from peer_tools.page import page
from peer_tools.tables import Case, cases
from two_way import ProcessorClock

import tablecloak as tc
import tablecloak.budget

JUDGE_SECONDS = 60.0
"""Limit of the attack by contributors; what is open then is told."""

MOST_CELLS = 1_000
"""Beyond, contributors are not tried one by one: it takes minutes for each pattern."""


def judged(problem: tc.ProtectionProblem, hidden: np.ndarray) -> dict[str, Any]:
    """Measure any pattern by our audit, on the given problem."""
    found = tc.audit(problem, hidden, threads=1)
    counts = {verdict.value: found.count(verdict) for verdict in set(found.verdicts)}
    judgement = {
        "loss": float(problem.weights[hidden].sum()),
        "cells": int(hidden.sum()),
        "attackable": counts.get("attackable", 0),
        "undecided": counts.get("undecided", 0),
        "dimension": int(found.robustness.dimension),
    }
    if can_try_contributors(problem):
        attacked = tc.audit(
            problem, hidden, intruders="contributors", threads=1, time_limit=JUDGE_SECONDS
        )
        judgement["contributors"] = len({attack.intruder for attack in attacked.attacks})
        judgement["contributors_open"] = attacked.n_not_judged
    return judgement


def can_try_contributors(problem: tc.ProtectionProblem) -> bool:
    """Whether contributors are told apart, and few enough to try each as an intruder."""
    contributions = problem.table.contributions
    is_named = contributions is not None and contributions.names is not None
    return is_named and problem.table.n_cells <= MOST_CELLS


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


def one(
    who: Contestant, problem: tc.ProtectionProblem, folder: Path, limit: float, python: str
) -> dict[str, Any]:
    """Run and judge one tool."""
    answer = who.run(python, folder, limit)
    row = {"tool": who.name, "limit": limit}
    row |= {
        name: answer[name]
        for name in ("seconds", "process_seconds", "claim", "message", "version")
        if name in answer
    }
    if "message" not in answer:
        row |= judged(problem, pattern_of(problem, answer))
    print(f"  {row}", flush=True)
    return row


def compared(case: Case, peers: str | None) -> dict[str, Any]:
    """Run all tools on one table."""
    problem = case.make()
    print(f"{case.name}: {problem.summary()}", flush=True)
    limits = case.limits
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        write_all(problem, folder, is_one_table=case.is_one_table)
        for limit in limits:
            rows.append(one(OURS, problem, folder, limit, sys.executable))
        if can_try_contributors(problem):
            who = OURS_AGAINST_CONTRIBUTORS
            rows.append(one(who, problem, folder, limits[-1], sys.executable))
        for who in PEERS if peers else ():
            if who.needs_one_table and not case.is_one_table:
                message = "not asked: it takes one table, not linked ones"
                rows.append({"tool": who.name, "limit": limits[-1], "message": message})
            else:
                rows.append(one(who, problem, folder, limits[-1], str(peers)))
    return {
        "about": case.about,
        "cells": problem.table.n_cells,
        "relations": problem.table.n_relations,
        "sensitive": int(problem.n_sensitive),
        "sensitive_loss": float(problem.weights[problem.sensitive].sum()),
        "rows": rows,
    }


def where() -> dict[str, str]:
    """Say what was run on what."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    processor = platform.processor() or platform.machine()
    told = Path("/proc/cpuinfo")
    if told.exists():
        names = [line for line in told.read_text().splitlines() if line.startswith("model name")]
        processor = names[0].partition(":")[2].strip() if names else processor
    return {"commit": commit, "processor": processor, "python": platform.python_version()}


def main() -> None:
    """Run what is missing or named, and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--peers", help="a Python that has pytauargus and gconfid")
    parser.add_argument("--instances", type=Path, help="folder with turnover_act_size.csv.gz")
    parser.add_argument("--only", nargs="*", default=[], help="names of tables")
    parser.add_argument("--results", type=Path, default=Path("peers.json"))
    parser.add_argument("--page", type=Path)
    options = parser.parse_args()
    tablecloak.budget.time = SimpleNamespace(monotonic=ProcessorClock())
    results: dict[str, Any] = {"tables": {}}
    if options.results.exists():
        results = json.loads(options.results.read_text())
    for case in cases(options.instances):
        if case.name in options.only or not (options.only or case.name in results["tables"]):
            results["tables"][case.name] = compared(case, options.peers) | where()
            options.results.write_text(json.dumps(results, indent=1) + "\n")
    if options.page:
        options.page.write_text(page(results))


if __name__ == "__main__":
    main()

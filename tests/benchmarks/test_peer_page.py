"""The page of other tools judges what every tool says, ours included."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    from peer_tools import page

    return page


def run(tool: str, claim: str, loss: float, attackable: int = 0) -> dict[str, object]:
    return {"tool": tool, "claim": claim, "loss": loss, "attackable": attackable}


def test_claims_that_audit_or_bound_refute_are_marked(page):
    rows = [run("tablecloak", "at least 90", 100.0), run("tablecloak", "optimal", 95.0)]
    bound = page.proved_bound([*rows, run("other", "optimal", 99.0), {"tool": "x", "message": ""}])
    assert bound == 95.0
    assert page.judged_claim(run("other", "ended", 80.0, attackable=2), bound).endswith(
        "**wrong**, cells are attackable"
    )
    assert page.judged_claim(run("tablecloak", "optimal", 95.0), bound) == "optimal"
    assert "not confirmed" in page.judged_claim(run("other", "code 0", 99.0), bound)
    assert page.judged_claim(run("tablecloak", "at least 90", 100.0), bound) == "at least 90"

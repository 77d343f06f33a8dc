"""The programs that alter and forge certificates of every kind of release, for a short while."""

from __future__ import annotations

import importlib
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from tablecloak.certificates import verifier

FOLDER = Path(__file__).parents[2] / "benchmarks"

sys.path.insert(0, str(FOLDER))
attacks: Any = importlib.import_module("attack_claims")
forged: Any = importlib.import_module("forged_claims")
sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("kind", list(attacks.KINDS))
def test_an_altered_certificate_is_refused_or_true(kind):
    counts, faults = attacks.campaign(kind, count=15, seed=7)
    assert not faults
    assert sum(counts.values()) == 15
    assert counts["REFUSED / REFUSED"] > 3


@pytest.mark.parametrize(
    ("kind", "claim"),
    [
        ("L1", "bound"), ("L1", "loss"), ("L1", "protection"), ("L1", "additivity"),
        ("statistics", "statistics"), ("rounding", "bound"), ("rounding", "additivity"),
        ("intervals", "bound"), ("suppression", "bound"), ("small counts", "additivity"),
    ],
)  # fmt: skip
def test_the_judge_notices_a_verifier_without_a_check(kind, claim, monkeypatch):
    monkeypatch.setitem(verifier.CHECKS, claim, lambda data, relations: [(True, "nothing")])
    faults = []
    for seed in range(8):
        faults = attacks.campaign(kind, count=40, seed=seed, each=40)[1]
        if faults:
            break
    assert faults


def test_no_claim_that_is_forged_by_hand_is_believed_or_fatal(capsys):
    assert len({one.idea for one in forged.FORGERIES}) >= 90
    assert forged.main(["--second"] * bool(shutil.which("node"))) == 0, capsys.readouterr().out


@pytest.mark.parametrize("claim", ["protection", "additivity", "statistics", "loss", "bound"])
def test_a_believed_claim_is_noticed(claim, monkeypatch, capsys):
    monkeypatch.setitem(verifier.CHECKS, claim, lambda data, relations: [(True, "nothing")])
    assert any(forged.main([one.name]) for one in forged.FORGERIES)
    assert ": believed: " in capsys.readouterr().out

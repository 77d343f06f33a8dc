"""The program that climbs from true proofs to false bounds, for a short while."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "attack_bounds.py"

_SPEC = importlib.util.spec_from_file_location("attack_bounds", PROGRAM)
assert _SPEC is not None and _SPEC.loader is not None
attacks: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["attack_bounds"] = attacks
_SPEC.loader.exec_module(attacks)


@pytest.mark.parametrize("kind", list(attacks.KINDS))
def test_no_altered_proof_proves_more_than_a_release_that_exists_loses(kind):
    _, fault = attacks.attack(kind, np.random.default_rng(0), steps=60)
    assert not fault


def test_the_program_notices_a_verifier_that_proves_too_much(monkeypatch):
    true = attacks.proved
    monkeypatch.setattr(attacks, "proved", lambda arrays: 1.01 * true(arrays) + 1.0)
    _, fault = attacks.attack("L1", np.random.default_rng(0), steps=3)
    assert fault.startswith("L1: ")

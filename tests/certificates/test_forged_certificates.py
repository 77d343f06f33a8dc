"""Certificates forged by hand are refused, and true ones of unusual problems are proved."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tablecloak as tc
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import main

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "forged_certificates.py"

_SPEC = importlib.util.spec_from_file_location("forged_certificates", PROGRAM)
assert _SPEC is not None and _SPEC.loader is not None
forged: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["forged_certificates"] = forged
_SPEC.loader.exec_module(forged)


def test_no_forgery_is_believed_or_fatal(capsys):
    assert len(forged.FORGERIES) >= 100
    assert len({one.idea for one in forged.FORGERIES}) == len(forged.FORGERIES)
    assert forged.main(["--second"] * bool(shutil.which("node"))) == 0, capsys.readouterr().out


def test_believed_forgery_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr("tablecloak.certificates.verifier.check_relations", lambda *_: 0)
    assert forged.main(["swallowed_by_a_large_move"]) == 1
    assert "1 forgeries, 1 believed or fatal" in capsys.readouterr().out


# -- true certificates of unusual problems --------------------------------------------------------

SUMS, VALUES = forged.SUMS, forged.VALUES


def scaled(unit: float, **changes: Any) -> dict[str, Any]:
    """The honest table in another unit, with exact decimals."""
    values = [round(value * unit, 6) for value in VALUES]
    return forged.honest(
        values, levels={0: 5 * unit}, upper_bound=np.full(16, 1e3 * unit),
        right_hand_side=np.zeros(8), **changes,
    )  # fmt: skip


def with_terms(first: list[tuple[int, float]]) -> dict[str, Any]:
    """The honest table with another first relation."""
    return forged.honest(relations=[first, *SUMS[1:]])


def times(factor: float) -> list[tuple[int, float]]:
    return [(cell, sign * factor) for cell, sign in SUMS[0]]


def width_only() -> dict[str, Any]:
    return forged.honest(levels={0: 0.0}, sliding_protection=np.array([8.0, *[0.0] * 15]))


UNUSUAL: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "plain": (forged.honest(), {}),
    "width": (forged.honest(), {"require": "width"}),
    "upper": (forged.honest(), {"require": "upper"}),
    "sliding level only": (width_only(), {}),
    "two decimals": (scaled(0.01), {}),
    "seven hundredths": (scaled(0.07), {}),
    "billions": (scaled(1e9), {}),
    "real coefficients": (with_terms(times(np.pi)), {}),
    "small real coefficients": (with_terms(times(1e-7 / 3)), {}),
    "decimal coefficients": (with_terms(times(0.1)), {}),
    "large coefficients": (with_terms(times(3e9)), {}),
    "an empty relation": (forged.honest(relations=[*SUMS, []]), {}),
    "a relation twice": (forged.honest(relations=[*SUMS, SUMS[0]]), {}),
    "infinite bounds": (forged.honest(upper_bound=np.full(16, np.inf)), {}),
    "negative bounds": (forged.honest(lower_bound=np.full(16, -50.0)), {}),
    "narrow bounds": (forged.honest(lower_bound=np.array(VALUES) - 7.25), {}),
    "two sensitive cells": (forged.honest(levels={0: 5.0, 10: 7.5}, lower_witness=[0, 0]), {}),
    "levels of 0 below": (forged.honest(lower_protection=np.zeros(16)), {}),
    "one who knows zeros": (forged.honest(), {"protect_against": "zeros"}),
    "weights": (forged.honest(), {"weights": "value"}),
}


@pytest.mark.parametrize("name", UNUSUAL)
def test_true_certificates_of_unusual_problems_are_proved(tmp_path, capsys, name):
    arrays, options = UNUSUAL[name]
    problem, proof = tmp_path / "p.jj", tmp_path / "c.npz"
    problem.write_text(forged.problem_of(arrays))
    pattern = tc.suppress(tc.read_jj(problem), **options)
    write_certificate(pattern.certificate, proof)
    assert main([str(proof), str(problem)]) == 0, capsys.readouterr().out
    assert main([str(proof)]) == 0


def test_true_certificate_of_a_table_with_a_tolerance_is_proved(tmp_path, capsys):
    arrays = forged.honest([*VALUES[:3], 90.5, *VALUES[4:]], right_hand_side=np.zeros(8))
    problem, proof = tmp_path / "p.jj", tmp_path / "c.npz"
    problem.write_text(forged.problem_of(arrays))
    pattern = tc.suppress(tc.read_jj(problem, tolerance=0.5))
    write_certificate(pattern.certificate, proof)
    assert main([str(proof), str(problem)]) == 0
    assert "additivity of the true table: within 0.5" in capsys.readouterr().out

"""Certificates forged by hand are refused, and true ones of unusual problems are proved."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

PROGRAM = Path(__file__).parents[1] / "benchmarks" / "forged_certificates.py"

_SPEC = importlib.util.spec_from_file_location("forged_certificates", PROGRAM)
assert _SPEC is not None and _SPEC.loader is not None
forged: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["forged_certificates"] = forged
_SPEC.loader.exec_module(forged)


def test_no_forgery_is_believed_or_fatal(capsys):
    assert len(forged.FORGERIES) >= 100
    assert len({one.idea for one in forged.FORGERIES}) == len(forged.FORGERIES)
    assert forged.main([]) == 0, capsys.readouterr().out


def test_believed_forgery_is_noticed(monkeypatch, capsys):
    monkeypatch.setattr("tablecloak.verify_certificate.check_relations", lambda *_: 0)
    assert forged.main(["swallowed_by_a_large_move"]) == 1
    assert "1 forgeries, 1 believed or fatal" in capsys.readouterr().out

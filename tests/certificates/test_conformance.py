"""Each conformance file of the certificate format has the verdict and the code of its index."""

from __future__ import annotations

import ast
import importlib
import itertools
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tablecloak.certificates import verifier

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "data" / "certificates"
INDEX = json.loads((FOLDER / "index.json").read_text("utf-8"))
PAGE = (ROOT / "docs" / "certificate.md").read_text("utf-8")

if str(ROOT / "benchmarks") not in sys.path:
    sys.path.insert(0, str(ROOT / "benchmarks"))
made: Any = importlib.import_module("certificate_files")


@pytest.mark.parametrize("entry", INDEX, ids=lambda entry: Path(entry["file"]).stem)
def test_a_file_has_the_verdict_the_code_and_the_sentences_of_the_index(entry):
    problem = FOLDER / entry["problem"] if entry["problem"] else None
    code, lines = made.answer(FOLDER / entry["file"], problem)
    assert made.VERDICTS[code] == entry["verdict"]
    assert lines == entry["lines"]
    assert entry["code"] == (made.code_of(lines[0], PAGE) if code == 1 else None)
    assert (entry["group"] == "false") == (code == 1)


def test_there_are_five_true_ten_altered_and_twenty_false_files_of_each_kind():
    counted = Counter((entry["kind"], entry["group"]) for entry in INDEX)
    assert {kind for kind, _ in counted} == set(made.KINDS)
    for kind in made.KINDS:
        assert all(counted[kind, group] >= least for group, least in made.COUNTS.items()), kind


def test_the_folder_has_the_files_of_the_index_and_stays_small():
    named = {entry[key] for entry in INDEX for key in ("file", "problem")} - {None}
    assert {path.name for path in FOLDER.iterdir()} == named | {"index.json"}
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 5 * 2**20


def test_the_program_makes_the_files_that_are_there(tmp_path):
    """Members, not bytes: libraries compress differently."""
    made.main([str(tmp_path / "made")])
    assert json.loads((tmp_path / "made" / "index.json").read_text("utf-8")) == INDEX


def test_the_page_lists_a_code_for_every_reason_that_the_verifier_gives_and_no_others():
    listed = [sentence for _, sentence in made.sentences(PAGE)]
    source = ast.walk(ast.parse(Path(verifier.__file__).read_text("utf-8")))
    calls = [node for node in source if isinstance(node, ast.Call)]
    required = [call for call in calls if getattr(call.func, "id", "") == "require"]
    patterns = {pattern_of(call.args[1]): call.lineno for call in required}
    assert len(patterns) > 100
    for pattern, line in patterns.items():
        assert any(re.fullmatch(pattern, sentence) for sentence in listed), (
            f"line {line}: {pattern}"
        )
    texts = Path(verifier.__file__).read_text("utf-8")
    for sentence in listed:
        known = any(re.fullmatch(pattern, sentence) for pattern in patterns if pattern != ".+")
        assert known or re.split(r"{\w*}", sentence)[0].strip() in texts, sentence


def pattern_of(reason: ast.expr) -> str:
    """Return a pattern of the sentences that an expression in the source stands for."""
    if isinstance(reason, ast.Constant):
        return re.escape(str(reason.value))
    parts = reason.values if isinstance(reason, ast.JoinedStr) else [reason]
    return "".join(pattern_of(one) if isinstance(one, ast.Constant) else ".+" for one in parts)


def test_each_theorem_is_named_at_a_check_and_no_other_number_is():
    page = (ROOT / "docs" / "theorems.md").read_text("utf-8")
    proved = set(re.findall(r"^### Theorem (\d+)$", page, re.MULTILINE))
    named = set(re.findall(r"theorem (\d+)", Path(verifier.__file__).read_text("utf-8"), re.I))
    assert len(proved) > 10
    assert named == proved
    second = Path(verifier.__file__).with_name("verify.mjs").read_text("utf-8")
    fractions = proved - {"12"}  # sums that do not round ask for no theorem
    assert set(re.findall(r"theorem (\d+)", second, re.I)) == fractions
    assert set(re.findall(r"theorems\.md#theorem-(\d+)", PAGE)) <= proved


@pytest.mark.parametrize("side", [1 - 1e-15, 1.0, 1 + 1e-15, 1 + 1e-7, 1.3])
def test_a_rounded_sum_holds_for_all_patterns_and_does_not_jump_at_whole_numbers(side):
    """Theorem 6 by enumeration; what rounding leaves of a whole number changes nothing."""
    forged: Any = importlib.import_module("forged_claims")
    sums = {
        "cut_kind": np.array([0, 4]), "cut_cell": np.array([0, 0]),
        **{f"{way}_starts": np.zeros(3, np.int64) for way in ("up", "down")},
        "sum_starts": np.array([0, 0, 1]), "sum_cuts": np.array([0]), "sum_data": np.array([1.0]),
        "turned_starts": np.zeros(3, np.int64), "turned_cells": np.zeros(0, np.int64),
    }  # fmt: skip
    data = forged.hidden(**sums)
    prices = verifier.PatternPrices(data, verifier.Relations(data))
    cells, terms = np.array([1, 4, 5]), np.array([0.7, 0.4, 0.6])
    prices.known[0] = (side, cells, terms)
    least, own, rounded = prices.rounded(1)
    assert len(own) == 3
    for pattern in itertools.product((0, 1), repeat=3):
        if np.dot(terms, pattern) >= side:
            assert np.dot(rounded, pattern) >= least
    if side < 1 + 1e-6:
        np.testing.assert_allclose([least, *rounded], [1, *terms], atol=1e-12)

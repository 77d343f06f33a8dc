"""The stand-alone verifier: forged and altered certificates are refused, true ones accepted."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.certificates.verifier import main
from tablecloak.cli.main import app

VERIFIER = Path(tc.__file__).parent / "certificates" / "verifier.py"
PROGRAM = Path(__file__).parents[2] / "benchmarks" / "attack_certificates.py"

_SPEC = importlib.util.spec_from_file_location("attack_certificates", PROGRAM)
assert _SPEC is not None and _SPEC.loader is not None
attacks: Any = importlib.util.module_from_spec(_SPEC)
sys.modules["attack_certificates"] = attacks
_SPEC.loader.exec_module(attacks)

Terms = list[tuple[int, float]]

# 20 30 40 |  90
# 25 35 45 | 105
# 50 60 70 | 180
# 95 125 155 375
VALUES = [20.0, 30, 40, 90, 25, 35, 45, 105, 50, 60, 70, 180, 95, 125, 155, 375]
SUMS: list[Terms] = [
    *([(4 * r + c, 1.0) for c in range(3)] + [(4 * r + 3, -1.0)] for r in range(4)),
    *([(4 * r + c, 1.0) for r in range(3)] + [(12 + c, -1.0)] for c in range(4)),
]
BLOCK = (0, 1, 4, 5)
"""Hidden cells; cell 0 is sensitive, with levels of 5 on both sides."""


def rectangle(size: float) -> Terms:
    return [(0, size), (1, -size), (4, -size), (5, size)]


def joined(lists: list[list[tuple[Any, ...]]], number: int, kind: type = float) -> Any:
    return np.array([entry[number] for part in lists for entry in part], dtype=kind)


def starts(lists: list[Any]) -> Any:
    return np.cumsum([0, *map(len, lists)], dtype=np.int64)


def certificate(
    values: list[float] = VALUES,
    relations: list[Terms] = SUMS,
    hidden: tuple[int, ...] = BLOCK,
    levels: dict[int, float] | None = None,
    witnesses: list[Terms] | None = None,
    upper: tuple[int, ...] = (0,),
    lower: tuple[int, ...] = (1,),
    insiders: list[list[tuple[int, float, float]]] | None = None,
    **changes: Any,
) -> dict[str, Any]:
    """A certificate from plain lists; `levels` of the sensitive cells on both sides."""
    levels = {0: 5.0} if levels is None else levels
    witnesses = [rectangle(5.0), rectangle(-5.0)] if witnesses is None else witnesses
    insiders = insiders or []
    n = len(values)
    level = np.array([levels.get(cell, 0.0) for cell in range(n)])
    arrays = {
        "format": np.array("tablecloak suppression certificate"),
        "version": np.array(2),
        "requirement": np.array("two-sided"),
        "tolerance": np.array(0.0),
        "values": np.array(values, dtype=float),
        "status": np.array(["u" if cell in levels else "s" for cell in range(n)]),
        "lower_bound": np.zeros(n),
        "upper_bound": np.full(n, 1e3),
        "lower_protection": level,
        "upper_protection": level,
        "sliding_protection": np.zeros(n),
        "suppressed": np.isin(np.arange(n), hidden),
        "right_hand_side": np.zeros(len(relations)),
        "relation_starts": starts(relations),
        "relation_cells": joined(relations, 0, int),
        "relation_data": joined(relations, 1),
        "witness_starts": starts(witnesses),
        "witness_cells": joined(witnesses, 0, int),
        "witness_data": joined(witnesses, 1),
        "upper_witness": np.array(upper),
        "lower_witness": np.array(lower),
        "intruder_names": np.array([f"firm {number}" for number in range(len(insiders))], "U"),
        "intruder_starts": starts(insiders),
        "intruder_cells": joined(insiders, 0, int),
        "intruder_lower": joined(insiders, 1),
        "intruder_upper": joined(insiders, 2),
        "claim_starts": np.zeros(len(insiders) + 1, dtype=np.int64),
        "claim_index": np.zeros(0, dtype=np.int64),
        "claim_upper": np.zeros(0, dtype=np.int64),
        "claim_lower": np.zeros(0, dtype=np.int64),
    }
    return arrays | {name: np.array(value) for name, value in changes.items()}


@pytest.fixture
def verdict(tmp_path, capsys):
    """Check arrays in this process; return the exit code and what is printed."""

    def check(arrays: dict[str, Any], problem: str | None = None) -> tuple[int, str]:
        files = [str(write(tmp_path / "c.npz", arrays))]
        if problem is not None:
            (tmp_path / "p.jj").write_text(problem)
            files.append(str(tmp_path / "p.jj"))
        code = main(files)
        printed = capsys.readouterr()
        assert not printed.err
        return code, printed.out

    return check


ALONE = """
import resource, runpy, sys
main = runpy.run_path(sys.argv[1])["main"]
for path in sys.argv[2:]:
    print(main([path]), flush=True)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def alone(*paths: Path) -> tuple[list[str], int]:
    """Check files with the one file, in a process of its own; return lines and memory in kB."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ALONE, str(VERIFIER), *map(str, paths)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    *lines, memory = done.stdout.splitlines()
    return lines, int(memory)


def write(path: Path, arrays: dict[str, Any]) -> Path:
    path.write_bytes(attacks.packed(arrays, np.random.default_rng(0)))
    return path


# -- true certificates ---------------------------------------------------------------------------


def test_true_certificate_is_accepted_and_the_verdict_says_what_was_not_checked(verdict):
    arrays = certificate()
    code, text = verdict(arrays)
    assert code == 0
    assert text.startswith("PROVED: 1 sensitive cells, two-sided: ")
    assert "not checked: the problem itself was not compared" in text
    code, text = verdict(arrays, attacks.problem_file(arrays))
    assert code == 0
    assert "not checked" not in text


def test_true_certificates_of_random_tables_are_accepted(verdict):
    """Also with decimals, dust, a coefficient of 0 or a cell that a relation lists twice."""
    for seed in range(20):
        arrays, problem = attacks.true_certificate(np.random.default_rng(seed))
        code, text = verdict(arrays, problem)
        assert code == 0, (seed, text)
        assert f"{attacks.judge(arrays)['insiders']} different insiders" in text


def test_verifier_needs_numpy_and_the_standard_library_only():
    imported = {
        line.split()[1].split(".")[0]
        for line in VERIFIER.read_text().splitlines()
        if line.startswith(("import ", "from "))
    }
    assert imported - {"numpy"} <= sys.stdlib_module_names


@pytest.mark.parametrize("unit", [0.07, 0.01, 1e-6])
def test_dust_that_binary_sums_leave_in_decimal_tables_is_no_error(verdict, unit):
    values = [value * unit for value in VALUES]
    arrays = certificate(
        values=values,
        levels={0: 5 * unit},
        witnesses=[rectangle(2 * 5 * unit), rectangle(-2 * 5 * unit)],
        right_hand_side=np.array([sum(s * values[c] for c, s in terms) for terms in SUMS]),
    )
    assert np.any(arrays["right_hand_side"] != 0)
    problem = attacks.problem_file(arrays | {"right_hand_side": np.zeros(len(SUMS))})
    assert verdict(arrays, problem)[0] == 0


def test_table_that_is_off_by_its_last_digit_is_not_additive(verdict):
    values = [value * 1e8 for value in VALUES]
    values[3] += 1
    arrays = certificate(values=values, upper_bound=np.full(16, np.inf))
    assert verdict(arrays) == (1, "REFUSED: the true table is not additive in 2 relations\n")
    values[3] += 0.25
    assert verdict(arrays | {"values": np.array(values)})[0] == 1


def test_stated_tolerance_is_used_and_printed(verdict):
    values = [*VALUES]
    values[3] += 1
    arrays = certificate(values=values)
    assert verdict(arrays)[0] == 1
    code, text = verdict(arrays | {"tolerance": np.array(1.0)})
    assert code == 0
    assert "additivity of the true table: within 1" in text


def test_witness_of_very_different_sizes_is_checked_in_whole_numbers(verdict):
    """2**60 and 1 do not fit one float; the product is 0 all the same, or not."""
    relations = [[(0, 1.0), (1, 1.0), (2, -1.0), (3, -1.0)]]
    both = [(0, 2.0**60), (1, 1.0), (2, 2.0**60), (3, 1.0)]
    arrays = certificate(
        values=[20.0] * 4, relations=relations, hidden=(0, 1, 2, 3), levels={1: 1.0},
        witnesses=[both, [(1, -1.0), (3, -1.0)]],
        lower_bound=np.full(4, -np.inf), upper_bound=np.full(4, np.inf),
    )  # fmt: skip
    assert verdict(arrays)[0] == 0
    arrays["witness_data"][3] = 2.0
    assert verdict(arrays) == (1, "REFUSED: witness 0 breaks relation 0\n")


# -- forgeries -----------------------------------------------------------------------------------


def test_entries_that_cancel_are_refused_beside_the_true_problem(verdict):
    """Each alone is within its bound and reaches a level; together they move nothing."""
    arrays = certificate(
        hidden=(0, 1), lower_bound=np.zeros(16),
        witnesses=[[(0, 5.0), (0, -5.0), (1, -5.0), (1, 5.0)], [(0, -5.0), (0, 5.0)]],
    )  # fmt: skip
    code, text = verdict(arrays, attacks.problem_file(arrays))
    assert (code, text) == (1, "REFUSED: witness: numbers are twice or out of order\n")


@pytest.mark.parametrize("share", [0.4, 0.6, 0.99])
@pytest.mark.parametrize("side", [0, 1])
def test_a_witness_that_reaches_less_than_the_level_on_one_side_is_refused(verdict, side, share):
    reached = [5.0, -5.0]
    assert verdict(certificate(witnesses=[rectangle(each) for each in reached]))[0] == 0
    reached[side] *= share
    code, text = verdict(certificate(witnesses=[rectangle(each) for each in reached]))
    assert code == 1 and text.startswith("REFUSED")


def test_small_cell_that_a_witness_moves_alone_is_refused_beside_large_levels(verdict):
    values = [value * 1e9 for value in VALUES]
    for cell, change in ((0, 18.0 - values[0]),):
        for at in (cell, 3, 12, 15):
            values[at] += change
    arrays = certificate(
        values=values, hidden=(0, 1, 4, 5), levels={0: 2.0, 5: 3.5e9},
        upper_bound=np.full(16, 1e13), upper=(0, 2), lower=(1, 3),
        witnesses=[[(0, 2.0)], [(0, -2.0)], rectangle(3.5e9), rectangle(-18.0)],
    )  # fmt: skip
    assert verdict(arrays)[1] == "REFUSED: witness 0 breaks relation 0\n"


def test_cells_that_follow_from_single_relations_are_disclosed(verdict):
    """Cell 8 is alone in its row, then 0 is alone in its column, then 1 in its row."""
    arrays = certificate(hidden=(0, 1, 8), levels={1: 5.0})
    code, text = verdict(arrays)
    assert code == 1
    assert "1 sensitive cells follow from single relations" in text


def without_levels(arrays, **changes):
    """The same certificate where nothing is asked of sensitive cells, and no witness is given."""
    return arrays | {"upper_protection": np.zeros(16), "lower_protection": np.zeros(16),
                     "upper_witness": np.array([-1]), "lower_witness": np.array([-1]),
                     "witness_starts": np.zeros(1, int), "witness_data": np.zeros(0),
                     "witness_cells": np.zeros(0, int)} | changes  # fmt: skip


@pytest.mark.parametrize("requirement", ["two-sided", "width", "upper"])
def test_cells_without_levels_are_disclosed_too_if_they_are_alone(verdict, requirement):
    arrays = certificate(hidden=(0, 1, 8), levels={1: 5.0})
    code, text = verdict(without_levels(arrays, requirement=np.array(requirement)))
    assert code == 1
    assert "1 sensitive cells follow from single relations" in text


@pytest.mark.parametrize("requirement", ["two-sided", "width", "upper"])
def test_cells_without_levels_need_a_witness_that_moves_them(verdict, requirement):
    arrays = certificate(hidden=(0, 1, 4, 5), levels={1: 5.0})
    asked = {"requirement": np.array(requirement)}
    code, text = verdict(without_levels(arrays, **asked))
    assert code == 1
    assert "1 sensitive cells are not proved against everybody" in text
    moved = certificate(hidden=(0, 1, 4, 5), levels={0: 5.0}, witnesses=[rectangle(5.0)])
    kept = {name: moved[name] for name in moved if name.startswith("witness")}
    code, text = verdict(without_levels(moved, **kept, **asked, upper_witness=np.array([0])))
    assert code == 0
    assert "of them, 1 have no level, and are only proved not to be known exactly" in text


def test_bound_of_a_small_cell_gives_way_to_no_large_level(verdict):
    arrays = certificate(levels={0: 5.0, 5: 5.0}, upper=(0, 0), lower=(1, 1))
    assert verdict(arrays)[0] == 0
    for slack, code in ((0.0, 0), (1e-14, 0), (1e-12, 1), (1e-7, 1)):
        low = np.where(np.arange(16) == 1, 25.0 + slack, 0.0)
        assert verdict(arrays | {"lower_bound": low})[0] == code, slack
    low = np.where(np.arange(16) == 0, 15.0 + 1e-7, 0.0)
    assert verdict(arrays | {"lower_bound": low})[0] == 1


def test_level_below_the_precision_of_a_value_cannot_be_proved(verdict):
    values = [value * (1e10 + 0.0625) for value in VALUES]
    for level, code in ((1e3, 0), (1e2, 1), (1e-3, 1)):
        arrays = certificate(
            values=values, levels={0: level}, upper_bound=np.full(16, 1e15),
            witnesses=[rectangle(level), rectangle(-level)],
        )  # fmt: skip
        found, text = verdict(arrays)
        assert found == code
        assert code == 0 or "below the precision of its value" in text
    whole = [value * 1e10 for value in VALUES]
    arrays = certificate(
        values=whole, levels={0: 1.0}, upper_bound=np.full(16, 1e15),
        witnesses=[rectangle(1.0), rectangle(-1.0)],
    )  # fmt: skip
    assert verdict(arrays)[0] == 0


def test_decimal_coefficients_are_read_as_decimals(verdict):
    """0.1 + 0.2 - 0.3 is 0 for decimals, not for the binary numbers that stand for them."""
    relations = [[(0, 0.1), (1, 0.2), (2, -0.3)]]
    arrays = certificate(
        values=[20.0] * 3, relations=relations, hidden=(0, 1, 2),
        witnesses=[[(0, 6.0), (1, 6.0), (2, 6.0)], [(0, -6.0), (1, -6.0), (2, -6.0)]],
    )  # fmt: skip
    assert 0.1 * 6.0 + 0.2 * 6.0 - 0.3 * 6.0 != 0
    code, text = verdict(arrays)
    assert (code, "real coefficients" in text) == (0, False)
    arrays["witness_data"][2] = np.nextafter(6.0, 7)
    assert verdict(arrays)[1] == "REFUSED: witness 0 breaks relation 0\n"


def test_relations_with_real_coefficients_are_counted_and_held_to_the_level(verdict):
    relations = [[(0, np.pi), (1, np.e)], [(0, 1.0), (2, 1.0)]]
    up = [(0, 5.0), (1, -5.0 * np.pi / np.e), (2, -5.0)]
    arrays = certificate(
        values=[20.0] * 3, relations=relations, hidden=(0, 1, 2),
        right_hand_side=np.array([20 * (np.pi + np.e), 40.0]),
        witnesses=[up, [(cell, -move) for cell, move in up]],
    )  # fmt: skip
    code, text = verdict(arrays)
    assert code == 0
    assert "1 relations with real coefficients: as if these were known to 9 digits" in text
    arrays["witness_data"][1] += 1e-8
    assert verdict(arrays)[0] == 1


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e-13])
def test_real_relation_proves_no_more_when_it_is_made_small(verdict, scale):
    relations = [[(0, np.pi * scale), (1, np.e * scale), (2, scale / 3)]]
    arrays = certificate(
        values=[20.0] * 3, relations=relations, hidden=(0, 1, 2),
        right_hand_side=np.array([20 * (np.pi + np.e + 1 / 3) * scale]),
        witnesses=[[(0, 5.0)], [(0, -5.0)]],
    )  # fmt: skip
    assert verdict(arrays) == (1, "REFUSED: witness 0 breaks relation 0\n")


def test_requirement_is_named_in_the_verdict(verdict):
    texts = [verdict(certificate(requirement=name)) for name in ("two-sided", "width", "upper")]
    assert [code for code, _ in texts] == [0, 0, 0]
    assert len({text.splitlines()[0] for _, text in texts}) == 3
    assert "NOTHING IS ASKED BELOW" in texts[2][1]
    assert "ONE SIDE MAY BE CLOSE" in texts[1][1]


def test_cells_without_levels_do_not_pass_for_protected_ones(verdict):
    arrays = certificate(upper_protection=np.zeros(16), lower_protection=np.zeros(16))
    told = "of them, 1 have no level, and are only proved not to be known exactly"
    assert told in verdict(arrays)[1]


def test_invented_insiders_are_not_counted(verdict):
    narrow = [(1, 29.0, 31.0)]
    assert verdict(certificate(insiders=[narrow])) == (
        1, "REFUSED: 1 sensitive cells are not proved against insider 0\n"
    )  # fmt: skip
    wide = [(1, 20.0, 40.0)]
    code, text = verdict(certificate(insiders=[wide] * 1000))
    assert code == 0
    assert "against everybody and 1 different insiders" in text
    assert "not checked: who the insiders are" in text
    assert "two insiders have the same name" in verdict(
        certificate(insiders=[wide, wide], intruder_names=["x", "x"])
    )[1]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ([], "knows nothing beyond what everybody knows"),
        ([(1, 0.0, 1e3)], "knows nothing beyond what everybody knows"),
        ([(1, -5.0, 40.0)], "an insider knows less than everybody"),
        ([(2, 40.0, 40.0)], "an insider knows a bound on a published cell"),
        ([(1, 31.0, 40.0)], "an insider excludes the truth"),
        ([(1, np.nan, 40.0)], "an insider excludes the truth"),
        ([(1, 20.0, 40.0), (1, 20.0, 40.0)], "numbers are twice or out of order"),
        ([(4, 20.0, 40.0), (1, 20.0, 40.0)], "numbers are twice or out of order"),
    ],
)
def test_insiders_that_are_none_are_refused(verdict, facts, reason):
    code, text = verdict(certificate(insiders=[facts]))
    assert code == 1
    assert reason in text


def test_witness_that_an_insider_can_rule_out_counts_for_nothing_against_it(verdict):
    """A claim may name another witness; it must be one that this insider cannot rule out."""
    hidden = (0, 1, 2, 4, 5, 6)
    other = [(0, 5.0), (2, -5.0), (4, -5.0), (6, 5.0)]
    witnesses = [rectangle(5.0), rectangle(-5.0), other, [(cell, -move) for cell, move in other]]
    claim = {"claim_starts": [0, 1], "claim_index": [0], "claim_upper": [2], "claim_lower": [3]}
    exact = [(1, 30.0, 30.0)]
    arrays = certificate(hidden=hidden, witnesses=witnesses, insiders=[exact], **claim)
    assert verdict(arrays)[0] == 0
    assert verdict(arrays | {"claim_upper": np.array([0])})[0] == 1
    assert verdict(arrays | {"intruder_cells": np.array([2]), "intruder_lower": np.array([40.0]),
                             "intruder_upper": np.array([40.0])})[0] == 1  # fmt: skip


# -- the form ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        {"status": np.array(["u", *"xssssssssssssss"])},
        {"suppressed": np.isin(np.arange(16), BLOCK).reshape(4, 4)},
        {"suppressed": np.isin(np.arange(16), BLOCK).reshape(1, 16)},
        {"suppressed": np.isin(np.arange(16), BLOCK).astype(float)},
        {"values": np.array(VALUES, dtype=np.float16)},
        {"values": np.array(VALUES, dtype=int).astype("datetime64[s]")},
        {"values": np.array(VALUES, dtype=">f8")},
        {"values": np.array(VALUES, dtype=object)},
        {"version": np.array(1.9)},
        {"version": np.array(2.0)},
        {"version": np.array([2])},
        {"version": np.array(1)},
        {"version": np.array(True)},
        {"upper_protection": np.array([5.0, *[np.nan] * 15])},
        {"upper_protection": np.array([5.0, *[-1.0] * 15])},
        {"sliding_protection": np.full(16, np.inf)},
        {"tolerance": np.array(np.nan)},
        {"tolerance": np.array(np.inf)},
        {"tolerance": np.array(-1.0)},
        {"requirement": np.array("one-sided")},
        {"format": np.array("tablecloak")},
        {"lower_bound": np.full(16, np.nan)},
        {"lower_bound": np.zeros(1)},
        {"upper_bound": np.full(1, 1e3)},
        {"sliding_protection": np.zeros(1)},
        {"sliding_protection": np.zeros(17)},
        {"right_hand_side": np.zeros(1)},
        {"comment": np.array("hello")},
        {"intruder_names": np.array(["x" * 201])},
        {"relation_data": np.append(joined(SUMS, 1)[:-1], 0.0)},
        {"witness_data": np.append([5.0, -5, -5, 5, -5, 5, 5], 0.0)},
        {"witness_starts": np.array([0, 4])},
        {"witness_starts": np.array([1, 4, 8])},
        {"witness_starts": np.array([0, 9, 8])},
        {"witness_starts": np.array([0, -(2**62), 8])},
        {"witness_starts": np.zeros(0, dtype=np.int64)},
        {"upper_witness": np.array([2])},
        {"upper_witness": np.array([-2])},
        {"upper_witness": np.array([0, 0])},
    ],
)
def test_certificates_of_another_form_are_refused(verdict, change):
    code, text = verdict(certificate() | change)
    assert code == 1
    assert text.startswith("REFUSED: ")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"requirement": "one-sided"}, "unknown requirement"),
        ({"lower_bound": np.zeros(17)}, "lower_bound has a wrong length"),
        ({"relation_data": [0.0, *joined(SUMS, 1)[1:]]}, "a relation holds a coefficient of 0"),
        (
            {"witness_data": [5.0, -5, -5, 5, -5, 5, 5, 0]},
            "a witness lists a cell that it does not",
        ),
        ({"upper_witness": [2]}, "upper_witness: no such witness"),
        ({"lower_witness": [-2]}, "lower_witness: no such witness"),
        ({"witness_starts": [0, 9, 8]}, "witness_starts out of range"),
        ({"witness_starts": [0, -1, 8]}, "witness_starts out of range"),
        ({"witness_starts": [0, 8, 4, 8]}, "witness_starts do not increase"),
        ({"witness_starts": [4, 4, 8]}, "witness_starts leave something out"),
        ({"witness_starts": [0, 4, 7]}, "witness_starts leave something out"),
        ({"witness_cells": [0, 1, 4, 16, 0, 1, 4, 5]}, "witness: a number is out of range"),
        ({"witness_cells": [-1, 1, 4, 5, 0, 1, 4, 5]}, "witness: a number is out of range"),
        ({"witness_cells": [0, 4, 1, 5, 0, 1, 4, 5]}, "witness: numbers are twice or out of order"),
        ({"lower_bound": [21.0, *[0.0] * 15]}, "the true table breaks its bounds"),
        ({"upper_bound": [*[1e3] * 15, 374.0]}, "the true table breaks its bounds"),
        ({"witness_cells": [0, 2, 8, 10, 0, 1, 4, 5]}, "a witness moves a published cell"),
        ({"suppressed": np.isin(np.arange(16), (1, 4, 5))}, "a sensitive cell is published"),
        ({"status": [*"ussszsssssssssss"]}, "a frozen cell is hidden"),
        ({"status": [*"usmsssssssssssss"]}, "a sensitive cell is published"),
        ({"right_hand_side": [1.0, *[0.0] * 7]}, "the true table is not additive in 1 relations"),
    ],
)
def test_what_is_wrong_is_named(verdict, change, reason):
    code, text = verdict(certificate(**change))
    assert code == 1
    assert text.startswith(f"REFUSED: {reason}")


@pytest.mark.parametrize("what", sorted({*attacks.ARCHIVES} - {"bytes"}))
def test_right_arrays_in_a_wrong_archive_are_refused(tmp_path, capsys, what):
    random = np.random.default_rng(1)
    (tmp_path / "c.npz").write_bytes(attacks.repacked(certificate(), random, what)[1])
    assert main([str(tmp_path / "c.npz")]) == 1
    assert capsys.readouterr().out.startswith("REFUSED: ")


@pytest.mark.parametrize("name", list(certificate()))
def test_certificate_without_one_of_its_arrays_is_refused(verdict, name):
    arrays = certificate()
    del arrays[name]
    assert verdict(arrays) == (1, "REFUSED: an array is missing, unknown or stored twice\n")


def test_numbers_out_of_range_neither_pass_nor_crash(tmp_path):
    """In a process of its own, because such a number might end it."""
    names = ("relation_cells", "witness_cells", "relation_starts", "witness_starts",
             "upper_witness", "intruder_cells", "intruder_starts", "claim_starts")  # fmt: skip
    paths = []
    for name in names:
        for number in (2**62, -(2**63), -1, 10**9, 2**32):
            arrays = certificate(insiders=[[(1, 20.0, 40.0), (4, 20.0, 40.0)]])
            arrays[name] = arrays[name].copy()
            arrays[name][len(arrays[name]) // 2] = number
            paths.append(write(tmp_path / f"{len(paths)}.npz", arrays))
    lines, _ = alone(*paths)
    assert lines[1::2] == ["1"] * len(paths)
    assert all(line.startswith("REFUSED: ") for line in lines[::2])


def test_small_file_does_not_ask_for_much_memory(tmp_path):
    """Compressed zeros are a thousand times as long."""
    arrays = certificate()
    _, plain = alone(write(tmp_path / "c.npz", arrays))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, array in arrays.items():
            content = attacks.member(array)
            if name == "values":
                with archive.open("values.npy", "w", force_zip64=True) as member:
                    header = io.BytesIO()
                    about = {"descr": "<f8", "fortran_order": False, "shape": (40 * 2**20,)}
                    np.lib.format.write_array_header_1_0(header, about)
                    member.write(header.getvalue())
                    for _ in range(40 * 8):
                        member.write(bytes(2**20))
            else:
                archive.writestr(f"{name}.npy", content)
    (tmp_path / "bomb.npz").write_bytes(stream.getvalue())
    assert len(stream.getvalue()) < 2_000_000
    (text, code), memory = alone(tmp_path / "bomb.npz")
    assert code == "1"
    assert "when unpacked" in text
    assert memory < plain + 50_000


def test_header_that_promises_more_than_the_file_holds_is_refused(tmp_path, capsys):
    arrays = certificate()
    huge = {"descr": "<f8", "fortran_order": False, "shape": (2**60,)}
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, huge)
    with zipfile.ZipFile(tmp_path / "c.npz", "w") as archive:
        for name, array in arrays.items():
            content = header.getvalue() + bytes(8) if name == "values" else attacks.member(array)
            archive.writestr(f"{name}.npy", content)
    assert main([str(tmp_path / "c.npz")]) == 1
    assert capsys.readouterr().out == "REFUSED: values is not as long as it says\n"


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"hello", bytes(1000)])
def test_files_that_are_no_certificates_are_refused(tmp_path, capsys, content):
    (tmp_path / "c.npz").write_bytes(content)
    for path in (tmp_path / "c.npz", tmp_path / "missing.npz", tmp_path):
        assert main([str(path)]) == 1
        assert capsys.readouterr().out.startswith("REFUSED: ")
    assert main([]) == 2
    assert main(["a", "b", "c"]) == 2


# -- the problem file ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("0 20.0 1 u", "0 21.0 1 u"),
        ("0 20.0 1 u", "0 20.0 1 s"),
        ("0 20.0 1 u", "1 20.0 1 u"),
        ("0 20.0 1 u", "00 20.0 1 u"),
        ("u 0.0 1000.0 5.0 5.0 0.0", "u 0.0 1000.0 5.0 6.0 0.0"),
        ("u 0.0 1000.0 5.0 5.0 0.0", "u 0.0 1000.0 4.0 5.0 0.0"),
        ("u 0.0 1000.0 5.0 5.0 0.0", "u 0.0 1000.0 5.0 5.0 1.0"),
        ("u 0.0 1000.0 5.0", "u 1.0 1000.0 5.0"),
        ("u 0.0 1000.0 5.0", "u 0.0 999.0 5.0"),
        ("u 0.0 1000.0 5.0", "u nan 1000.0 5.0"),
        ("3 (-1.0)", "3 (-1.5)"),
        ("3 (-1.0)", "3 (nan)"),
        ("3 (-1.0)", "3 (-1e999)"),
        ("3 (-1.0)", "7 (-1.0)"),
        ("3 (-1.0)", "1000000000 (-1.0)"),
        ("3 (-1.0)", "-1 (-1.0)"),
        ("3 (-1.0)", "3 (-1.0) 4 (1.0)"),
        ("0.0 4 :", "1.0 4 :"),
        ("0.0 4 :", "nan 4 :"),
        ("0.0 4 :", "inf 4 :"),
        ("0.0 4 :", "0.0 1000000000 :"),
        ("\n8\n", "\n7\n"),
        ("\n8\n", "\n1000000000\n"),
        ("0\n16\n", "0\n15\n"),
        ("0\n16\n", "0\n1000000000\n"),
        ("0\n16\n", "1\n16\n"),
        ("15 (-1.0)\n", "15 (-1.0)\nrest\n"),
        ("15 (-1.0)\n", "15 (-1.0)\n0.0 0 :\n"),
    ],
)
def test_certificate_of_another_problem_is_refused(verdict, old, new):
    arrays = certificate()
    problem = attacks.problem_file(arrays)
    assert old in problem
    code, text = verdict(arrays, problem.replace(old, new))
    assert code == 1
    assert text.startswith("REFUSED: ")


def test_bounds_may_be_narrower_than_in_the_problem_and_the_verdict_says_so(verdict):
    arrays = certificate()
    problem = attacks.problem_file(arrays).replace(" 1000.0 ", " inf ")
    code, text = verdict(arrays, problem)
    assert code == 0
    assert "the external bounds are narrower than in the problem file" in text


def test_zero_coefficients_and_cells_listed_twice_are_the_same_problem(verdict):
    arrays = certificate()
    problem = attacks.problem_file(arrays)
    old = "0.0 4 : 0 (1.0) 1 (1.0) 2 (1.0) 3 (-1.0)"
    new = "0.0 9 : 0 (0.1) 0 (0.2) 0 (0.7) 1 (1.0) 2 (1.0) 3 (-1.0) 9 (0) 8 (0.5) 8 (-0.5)"
    assert old in problem
    assert verdict(arrays, problem.replace(old, new))[0] == 0
    assert verdict(arrays, problem.replace(old, new.replace("0.7", "0.6")))[0] == 1


# -- certificates of the tool, through the command line ------------------------------------------


def two_by_two(*inner: str, level: str = "10") -> str:
    """JJ file of a table of 2 x 2 decimal numbers with their totals; the first is sensitive."""
    a, b, c, d = map(Decimal, inner)
    values = [a, b, a + b, c, d, c + d, a + c, b + d, a + b + c + d]
    cells = [f"{cell} {value} 1 s 0 {10 * values[8]} 0 0 0" for cell, value in enumerate(values)]
    cells[0] = f"0 {a} 1 u 0 {10 * values[8]} {level} {level} 0"
    sums = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8)]
    relations = [f"0 3 : {one} (1) {other} (1) {total} (-1)" for one, other, total in sums]
    return "\n".join(["0", "9", *cells, "6", *relations]) + "\n"


WIDE = two_by_two("118.71", "236.38", "90.13", "80.29")


def proved(folder: Path, text: str, *options: str) -> str:
    """Suppress, audit and verify as a user does; return the verdict of the verifier."""
    problem, pattern, proof = (str(folder / name) for name in ("x.jj", "p.csv", "c.npz"))
    Path(problem).write_text(text)
    for command in (
        ["suppress", problem, "-o", pattern, "--weights", "value", *options],
        ["audit", problem, pattern, "--certificate", proof, *options],
        ["verify", proof, problem],
    ):
        result = CliRunner().invoke(app, command)
        assert result.exit_code == 0, result.output
    assert result.output.startswith("PROVED: ")
    return str(result.output)


@pytest.mark.parametrize(
    "inner",
    [
        ("118.71", "236.38", "90.13", "80.29"),
        ("4711815.123456", "236.381", "90.13", "80.29"),
        ("50.1", "98765432109.87", "1234567890123.4", "77777777777777.7"),
        ("50.1", "70.2", "80000000000000.3", "900000000000000"),
    ],
)
def test_decimal_tables_are_proved_through_the_command_line(tmp_path, inner):
    """The binary sums of these numbers are off by dust."""
    (tmp_path / "d.jj").write_text(two_by_two(*inner))
    table = tc.read_jj(tmp_path / "d.jj").table
    assert np.any(table.relations @ table.values)
    assert not np.any(table.right_hand_side)
    assert "not checked" not in proved(tmp_path, two_by_two(*inner))


def test_tables_with_a_tolerance_are_proved_through_the_command_line(tmp_path):
    text = WIDE.replace("8 525.51 ", "8 525.61 ")
    assert text != WIDE
    assert "additivity of the true table: within 0.11" in proved(
        tmp_path, text, "--tolerance", "0.11"
    )
    with pytest.raises(AssertionError, match="not additive"):
        proved(tmp_path, text)


@pytest.mark.parametrize(
    "relation",
    [
        "0 4 : 0 (1) 1 (1) 2 (-1) 5 (0)",
        "0 4 : 0 (0.5) 1 (1) 2 (-1) 0 (0.5)",
        "0 5 : 0 (0.1) 0 (0.2) 0 (0.7) 1 (1) 2 (-1)",
        "0 5 : 2 (-1) 1 (1) 8 (0.1) 8 (-0.1) 0 (1)",
        "0 3 : 0 (0.1) 1 (0.1) 2 (-0.1)",
        "0 0 :",
    ],
)
def test_awkward_relations_are_proved_through_the_command_line(tmp_path, relation):
    assert "\n0 3 : 0 (1) 1 (1) 2 (-1)" in WIDE
    proved(tmp_path, WIDE.replace("\n0 3 : 0 (1) 1 (1) 2 (-1)", f"\n{relation}"))


def test_infinite_bounds_are_proved_through_the_command_line(tmp_path):
    assert " 5255.10 " in WIDE
    text = proved(tmp_path, WIDE.replace(" 5255.10 ", " inf "))
    assert "narrower" not in text


def test_requirements_are_proved_through_the_command_line_under_their_names(tmp_path):
    for require in ("width", "upper"):
        assert f", {require}: " in proved(tmp_path, WIDE, "--require", require)


# -- alterations of every kind -------------------------------------------------------------------


def test_altered_certificates_are_refused_or_still_true():
    """A hundred here; benchmarks/attack_certificates.py makes as many as anybody likes."""
    counts, faults = attacks.campaign(150, seed=1)
    assert not faults
    accepted = sum(number for (_, verdict), number in counts.items() if "PROVED" in verdict)
    assert 15 < accepted < 75
    assert {name for name, _ in counts} >= {step.__name__ for step in attacks.ALTERATIONS}


def test_campaign_notices_a_verifier_that_believes_too_much(monkeypatch):
    monkeypatch.setattr("tablecloak.certificates.verifier.check_relations", lambda *_: 0)
    _, faults = attacks.batch(0, 0, 150)
    assert any("accepted, but not proved: a relation" in fault for fault in faults)


def test_campaign_notices_a_verifier_that_compares_too_little(monkeypatch):
    sides = np.zeros(0)

    def nothing(data, _):
        side = data["right_hand_side"] if len(data["right_hand_side"]) else sides
        return side, []

    monkeypatch.setattr("tablecloak.certificates.verifier.compare", nothing)
    _, faults = attacks.batch(0, 0, 150)
    assert any("another problem" in fault for fault in faults)

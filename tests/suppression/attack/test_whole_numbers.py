"""Counts: hidden ones are whole and not zero, and everybody knows it."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

RUN = CliRunner()


def counts(cells: dict[tuple[str, ...], int]) -> tc.Table:
    """Persons with these numbers in the most detailed cells."""
    rows = [codes for codes, number in cells.items() for _ in range(number)]
    names = [f"d{axis}" for axis in range(len(rows[0]))]
    return tc.tabulate(pd.DataFrame(rows, columns=names), names)


def hidden_cells(table: tc.Table, *codes: tuple[str, ...]) -> np.ndarray:
    flags = np.zeros(table.n_cells, dtype=bool)
    for entry in codes:
        flags[table.cell(**dict(zip(table.keys.columns, entry, strict=True)))] = True
    return flags


def test_two_ones_that_add_up_to_two_are_computed():
    """15 = 10 + 3 + x + x: a hidden count is 1 or more, so that both are 1."""
    table = counts({("a",): 10, ("b",): 3, ("c",): 1, ("d",): 1})
    problem = table.protect(tc.MinimumFrequency(2))
    hidden = hidden_cells(table, ("c",), ("d",))
    assert np.array_equal(problem.sensitive, hidden)
    assert problem.lower_bound.tolist() == [4.0, 1.0, 1.0, 1.0, 1.0]
    assert tc.audit(problem, hidden).count(tc.Verdict.ATTACKABLE) == 2
    pattern = tc.suppress(problem)
    assert pattern.suppressed.sum() > 2
    assert tc.audit(problem, pattern).is_safe


def test_zeros_that_are_suppressed_as_well_leave_a_count_free_to_be_zero():
    table = counts({("a",): 10, ("b",): 3, ("c",): 1, ("d",): 1})
    problem = table.protect(tc.MinimumFrequency(2), zeros_published=False)
    assert problem.lower_bound.tolist() == [0.0] * 5
    assert tc.audit(problem, problem.sensitive).is_safe


def test_magnitudes_in_whole_numbers_are_not_zero_either():
    frame = pd.DataFrame({"r": list("abcd"), "v": [10, 3, 1, 1], "firm": list("efgh")})
    table = tc.tabulate(frame, ["r"], "v", contributor="firm")
    problem = table.protect(tc.Manual([{"r": "c"}, {"r": "d"}]))
    assert tc.audit(problem, problem.sensitive).count(tc.Verdict.ATTACKABLE) == 2


def test_a_given_bound_does_not_take_back_that_hidden_counts_are_not_zero():
    table = counts({("a",): 10, ("b",): 3, ("c",): 1, ("d",): 1})
    problem = table.protect(tc.MinimumFrequency(2), external_bounds=(0, 100))
    assert problem.lower_bound.tolist() == [4.0, 1.0, 1.0, 1.0, 1.0]
    assert np.all(problem.lower_protection <= table.values - 1)


def test_levels_and_bounds_of_counts_are_whole():
    table = counts({("a",): 9, ("b",): 24, ("c",): 8})
    problem = table.protect(tc.MinimumFrequency(10, range=(10, 20)))
    cells = [table.cell(d0="a"), table.cell(d0="c")]
    assert problem.upper_protection[cells].tolist() == [2.0, 2.0]
    assert problem.lower_protection[cells].tolist() == [1.0, 1.0]
    assert np.all(problem.upper_bound == 61)


def test_frequencies_that_came_as_a_table_are_counts():
    frame = pd.DataFrame({"r": ["Total", *"abcd"], "n": [15, 10, 3, 1, 1]})
    table = tc.Table.from_frame(frame, ["r"], "n", frequency="n")
    assert table.is_count
    assert not tc.Table.from_frame(frame, ["r"], "n").is_count


# -- against naive attacks in whole numbers ------------------------------------------------


def naive_interval(problem: tc.ProtectionProblem, hidden: np.ndarray, p: int) -> tuple[int, int]:
    """Smallest and largest count that an intruder must reckon with."""
    a, relations = problem.table.values, problem.table.relations
    known = (problem.table.values >= 1) * 1.0
    bounds = Bounds(np.where(hidden, known, a), np.where(hidden, problem.upper_bound, a))
    ends = []
    for sign in (1.0, -1.0):
        cost = np.zeros(len(a))
        cost[p] = sign
        found = milp(
            cost, constraints=LinearConstraint(relations, relations @ a, relations @ a),
            bounds=bounds, integrality=np.ones(len(a)),
        )  # fmt: skip
        assert found.status == 0
        ends.append(round(found.x[p]))
    return ends[0], ends[1]


def is_protected(problem: tc.ProtectionProblem, hidden: np.ndarray, p: int) -> bool:
    low, high = naive_interval(problem, hidden, p)
    a = problem.table.values[p]
    return (
        high >= a + problem.upper_protection[p]
        and low <= a - problem.lower_protection[p]
        and low < high
    )


def random_counts(seed: int) -> tc.ProtectionProblem:
    random = np.random.default_rng(seed)
    shape = [(3, 4), (4, 5), (3, 3, 3), (2, 3, 4)][seed % 4]
    axes = [[f"{axis}{code}" for code in range(size)] for axis, size in enumerate(shape)]
    cells = {
        codes: int(number)
        for codes in itertools.product(*axes)
        if (number := random.choice([0, 1, 1, 2, 3, 5, 20])) > 0
    }
    return counts(cells).protect(tc.MinimumFrequency(int(random.choice([3, 5, 8]))))


@pytest.mark.parametrize("block", range(2))
def test_verdicts_on_counts_equal_naive_attacks_in_whole_numbers(block):
    attacked = 0
    for seed in range(5 * block, 5 * block + 4):
        problem = random_counts(seed)
        random = np.random.default_rng([seed, 1])
        for share in (0.1, 0.4, 0.7):
            free = ~problem.frozen & (random.random(problem.table.n_cells) < share)
            hidden = problem.sensitive | free
            found = tc.audit(problem, hidden)
            ours = {
                int(cell)
                for cell, verdict in zip(found.needs.cells, found.verdicts, strict=True)
                if verdict is tc.Verdict.PROTECTED
            } - {finding.cell for finding in found.findings}
            for p in np.flatnonzero(problem.sensitive):
                fine = is_protected(problem, hidden, p)
                assert fine == (p in ours), (seed, share, problem.table.label(p))
                attacked += not fine
    assert attacked > 0


def test_patterns_of_counts_withstand_naive_attacks_in_whole_numbers():
    protected = 0
    for seed in range(5):
        problem = random_counts(seed)
        sensitive = np.flatnonzero(problem.sensitive)
        try:
            pattern = tc.suppress(problem, time_limit=10)
        except tc.ModelError:
            # Nothing protects some count, and nothing is claimed.
            assert not all(is_protected(problem, ~problem.frozen, p) for p in sensitive), seed
            continue
        assert pattern.is_proved_in_whole_numbers, seed
        assert all(is_protected(problem, pattern.suppressed, p) for p in sensitive), seed
        protected += 1
    assert protected >= 2


def halves(*, last: str = "s") -> tc.ProtectionProblem:
    """2 x0 = x1 + x2 + x3 - 5: with x1 alone x0 moves by a half; x3 is dear, x2 published."""
    table = tc.Table(
        keys=pd.DataFrame({"cell": list("0123")}),
        values=np.array([5.0, 5, 5, 5]),
        relations=np.array([[2.0, -1, -1, -1]]),
        right_hand_side=np.array([-5.0]),
        name="count",
    )
    return tc.ProtectionProblem(
        table=table,
        status=np.array(["u", "s", "z", last]),
        lower_protection=np.array([0.5, 0, 0, 0]),
        upper_protection=np.array([0.5, 0, 0, 0]),
        sliding_protection=np.zeros(4),
        lower_bound=np.array([0.0, 4, 0, 4]),
        upper_bound=np.array([10.0, 6, 10, 6]),
        weights=np.array([1.0, 1, 1, 9]),
    )


def test_pattern_that_only_fractions_hide_is_extended():
    problem = halves()
    narrow = np.array([True, True, False, False])
    assert tc.audit(problem, narrow).count(tc.Verdict.PROTECTED) == 1
    assert not tc.audit(problem, narrow).is_safe
    pattern = tc.suppress(problem)
    assert pattern.suppressed.tolist() == [True, True, False, True]
    assert pattern.is_proved_in_whole_numbers
    assert "in whole numbers" in pattern.summary()


def test_count_that_only_fractions_hide_is_refused():
    with pytest.raises(
        tc.ModelError, match="cannot be protected against an intruder who knows that values"
    ):
        tc.suppress(halves(last="z"))


def test_pattern_says_that_it_is_not_proved_in_whole_numbers(monkeypatch):
    monkeypatch.setattr("tablecloak.suppression.attack.whole_numbers.NODES", 0)
    problem = halves()
    pattern = tc.suppress(problem)
    assert not pattern.is_proved_in_whole_numbers
    assert "not against whole numbers" in pattern.summary()
    assert not tc.audit(problem, pattern).is_safe


def test_total_of_small_counts_is_at_least_the_number_of_its_parts():
    """Margin b2 = 1 + 1: nothing can make it less than 2, so that nothing is asked below."""
    table = counts({("a1", "b1"): 9, ("a2", "b1"): 7, ("a1", "b2"): 1, ("a2", "b2"): 1})
    problem = table.protect(tc.MinimumFrequency(3))
    margin = table.cell(d0="Total", d1="b2")
    assert problem.lower_bound[margin] == 2
    assert problem.lower_protection[margin] == 0
    assert tc.suppress(problem).is_proved_in_whole_numbers


def test_files_remember_that_values_are_counts(tmp_path):
    rows = [("a", "f"), ("a", "f"), ("b", "g"), ("b", "h"), ("c", "k")]
    frame = pd.DataFrame(rows, columns=["r", "firm"])
    problem = tc.tabulate(frame, ["r"], contributor="firm").protect(tc.MinimumFrequency(2))
    for name in ("counts.csv", "counts.parquet"):
        tc.write_problem(problem, tmp_path / name)
        again = tc.read_problem(tmp_path / name)
        assert again.table.is_count
        assert np.array_equal(again.lower_bound, problem.lower_bound)


JOB = """
[data]
file = "persons.csv"
[dimensions.r]
[[rules]]
rule = "minimum-frequency"
minimum = 2
[suppression]
"""


def test_job_for_an_office_that_suppresses_zeros_says_so(tmp_path):
    frame = pd.DataFrame({"r": list("a" * 10 + "b" * 3 + "cd")})
    frame.to_csv(tmp_path / "persons.csv", index=False)
    hidden = {}
    for text in ("", "[protection]\nzeros_published = false\n"):
        (tmp_path / "job.toml").write_text(JOB + text)
        result = tc.run_job(tmp_path / "job.toml")
        assert result.is_safe
        hidden[text] = result.pattern.suppressed.sum()
    assert list(hidden.values()) == [3, 2]


def test_command_line_does_not_release_what_whole_numbers_reveal(tmp_path):
    """The pattern of strangers' zeros: x + x = 2 is found by audit, too."""
    table = counts({("a",): 10, ("b",): 3, ("c",): 1, ("d",): 1})
    problem = table.protect(tc.MinimumFrequency(2))
    tc.write_problem(problem, tmp_path / "counts.csv")
    narrow = table.keys.assign(status=np.where(problem.sensitive, "primary", "published"))
    narrow.to_csv(tmp_path / "narrow.csv", index=False)
    audited = RUN.invoke(app, ["audit", f"{tmp_path}/counts.csv", f"{tmp_path}/narrow.csv"])
    assert audited.exit_code == 1
    assert "2 attackable" in audited.output
    pattern = f"{tmp_path}/pattern.csv"
    done = RUN.invoke(app, ["suppress", f"{tmp_path}/counts.csv", "-o", pattern])
    assert done.exit_code == 0
    assert "in whole numbers" in " ".join(done.output.split())
    assert RUN.invoke(app, ["audit", f"{tmp_path}/counts.csv", pattern]).exit_code == 0

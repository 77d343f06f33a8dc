"""All results report a gap with one tolerance, and the gap on what could be avoided."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.results import OPTIMAL, Result


def results():
    problem = tc.examples.cox_rounded()
    yield tc.suppress(problem)
    yield tc.suppress(problem, method="sequential")
    yield tc.publish_intervals(problem, blur=0, weights="unit")
    yield tc.adjust(problem, weights="unit")
    yield tc.adjust(problem, distance="L2")
    yield tc.adjust(problem, distance="Linf")
    yield tc.controlled_rounding(problem, base=5)
    yield tc.small_count_rounding(tc.examples.cox_rounded(), base=3)


@pytest.fixture(scope="module")
def all_results():
    return list(results())


def test_all_are_results_and_say_both_gaps(all_results):
    assert len(all_results) == 8
    for result in all_results:
        assert isinstance(result, Result)
        assert repr(result) == f"<{result.verdict()}>"
        assert 0 <= result.gap <= result.avoidable_gap + OPTIMAL <= 1 + OPTIMAL
        assert result.is_optimal == (result.gap <= OPTIMAL)
        assert result.unavoidable <= result.loss * (1 + 1e-9)


def test_the_gap_on_secondaries_leaves_the_primaries_out():
    problem = tc.examples.cox_rounded()
    best = tc.suppress(problem)
    primaries = float(problem.weights[problem.sensitive].sum())
    secondaries = float(problem.weights[best.secondary].sum())
    assert best.loss == primaries + secondaries
    half = replace(best, bound=primaries + secondaries / 2)
    assert half.avoidable_gap == pytest.approx(0.5)
    assert half.gap == pytest.approx(0.5 * secondaries / best.loss)
    assert f"({100 * half.avoidable_gap:.2f} % without what every release loses)" in half.summary()


def test_no_adjustment_costs_less_than_what_is_called_unavoidable():
    """By trying all whole-number tables of 2 x 2 cells that move each cell by at most 4."""
    frame = pd.DataFrame({"row": list("aabb"), "column": list("xyxy"), "value": [5, 7, 9, 4]})
    table = tc.tabulate(frame, ["row", "column"], "value")
    cells = [table.cell(row="a", column="x"), table.cell(row="b", column="y")]
    problem = table.protect(tc.Manual([table.keys.iloc[cell].to_dict() for cell in cells], range=0))
    levels = np.zeros(table.n_cells)
    levels[cells] = 2.0, 3.0
    problem = problem.with_changes(lower_protection=levels, upper_protection=levels)
    for distance, cost in (("L1", np.sum), ("L2", lambda z: np.sum(z**2)), ("Linf", np.max)):
        result = tc.adjust(problem, weights="unit", distance=distance)
        losses = [
            cost(np.abs([a, b, a + b, c, d, c + d, a + c, b + d, a + b + c + d]))
            for a, b, c, d in itertools.product(range(-4, 5), repeat=4)
            if abs(a) >= 2 and abs(d) >= 3
        ]
        assert 0 < result.unavoidable <= min(losses)


def test_the_verdict_says_in_four_lines_what_the_pattern_shows():
    problem = tc.examples.cox_rounded()
    best = tc.suppress(problem)
    safe, hidden, good, following = best.verdict().splitlines()
    assert safe.startswith("Safe against all who know the published cells")
    assert f"{problem.n_sensitive} sensitive cells" in safe
    n, table = problem.table.n_cells, problem.table
    inner = (table.keys != "Total").all(axis=1).to_numpy()
    share = table.values[inner & best.suppressed].sum() / table.values[inner].sum()
    assert f"{best.n_suppressed} of {n} cells ({100 * best.n_suppressed / n:.1f} %)" in hidden
    assert hidden.endswith(f"{100 * share:.1f} %.")
    assert "proved to be the best" in good and "publish" in following
    half = replace(best, bound=(best.unavoidable + best.loss) / 2)
    assert "beside the sensitive cells, at most 50 % could be saved" in half.verdict()
    assert "no bound" in tc.suppress(problem, method="sequential").verdict()
    assert "only upper" in tc.suppress(problem, require="upper").verdict()


def test_the_verdict_of_an_adjusted_table_says_how_much_is_changed():
    adjusted = tc.adjust(tc.examples.cox_rounded())
    lines = adjusted.verdict().splitlines()
    assert len(lines) == 5
    assert lines[2].startswith(f"Changed: {int(adjusted.is_changed.sum())} of 50 cells")


def test_a_release_is_written_to_one_file_of_the_kind_that_its_name_asks_for(tmp_path):
    pattern = tc.suppress(tc.examples.cox_rounded())
    for name in ("a.csv", "a.xlsx", "a.parquet"):
        path = pattern.write(tmp_path / name)
        read = getattr(pd, {"csv": "read_csv", "xlsx": "read_excel"}.get(name[2:], "read_parquet"))
        values = read(path).iloc[:, 2]
        assert (values.isna() | (values.astype(str) == "x")).sum() == pattern.n_suppressed
        assert path.stat().st_mode & 0o004
    with pytest.raises(tc.InputError, match="unknown kind of file"):
        pattern.write(tmp_path / "a.doc")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.csv", "a.parquet", "a.xlsx"]


def test_patterns_and_adjusted_tables_are_drawn(tmp_path):
    problem = tc.examples.cox_rounded()
    for result in (tc.suppress(problem), tc.adjust(problem)):
        figure = result.plot(tmp_path / "a.png")
        assert (tmp_path / "a.png").stat().st_mode & 0o077 == 0
        legend = [text.get_text() for text in figure.legends[0].get_texts()]
        assert any(f"({problem.n_sensitive})" in text for text in legend)
    with pytest.raises(tc.InputError, match="no picture"):
        tc.controlled_rounding(problem, base=5).plot()


def test_a_table_without_rules_is_sent_to_protect_first():
    table = tc.examples.cox_rounded().table
    ways = (tc.suppress, tc.adjust, tc.publish_intervals, tc.controlled_rounding)
    for way in ways:
        with pytest.raises(tc.InputError, match="Call protect first"):
            way(table)


@pytest.mark.parametrize("method", [tc.suppress, tc.adjust])
def test_a_result_says_that_ctrl_c_took_the_best_so_far(method):
    told = []

    def press_once(stage, loss, bound, left):
        if bound > -np.inf and not told:
            told.append(stage)
            raise KeyboardInterrupt

    early = method(tc.examples.cox_rounded(), progress=press_once)
    early.verify()
    assert told and "\nInterrupted: " in early.verdict()
    assert "nterrupted" not in method(tc.examples.cox_rounded()).verdict()

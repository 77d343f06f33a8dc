"""What follows from perturbed counts: compared with all tables that there are."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from cellkey.golden import ons_records
from mock_solver import MockSolver, infeasible
from tablecloak.cellkey import KeyRows, attack_counts, design_count_table, perturb_counts
from tablecloak.cellkey.attack import cycle_of, joint_relations
from tablecloak.errors import InputError
from tablecloak.solve.solver import using_solver
from tablecloak.tables.hierarchy import Hierarchy

TREES = {"a": Hierarchy.flat(["x", "y"]), "b": Hierarchy.flat(["p", "q"])}
THREE = {**TREES, "c": Hierarchy.flat(["m", "n"])}
LEAVES = list(itertools.product("xy", "pq", "mn"))


def _enumerated(attack):
    """Smallest and largest count of each cell over all tables that fit."""
    cells = {tuple(codes): cell for cell, codes in enumerate(attack.codes.to_numpy())}
    possible = [set(attack.guesses.counts[case].tolist()) for case in attack.guesses.case]
    leaves = list(itertools.product("xy", "pq"))
    low, high = np.full(len(cells), 10**6), np.full(len(cells), -1)
    for counts in itertools.product(*(sorted(possible[cells[leaf]]) for leaf in leaves)):
        table = np.zeros(len(cells), dtype=int)
        for (a, b), count in zip(leaves, counts, strict=True):
            for cell in itertools.product((a, "Total"), (b, "Total")):
                table[cells[cell]] += count
        if all(table[cell] in possible[cell] for cell in range(len(cells))):
            low, high = np.minimum(low, table), np.maximum(high, table)
    return low, high


def _records(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 14))
    return pd.DataFrame(
        {
            "a": random.choice(["x", "y"], n),
            "b": random.choice(["p", "q"], n),
            "record_key": random.integers(0, 10**8, n) / 10**8,
        }
    )


def test_intervals_are_those_of_an_enumeration():
    for seed in range(6):
        deviation, blocked = 1 + seed % 3, min(seed % 2, seed % 3)
        table = design_count_table(deviation, [1.1, 2.2, 3.0][deviation - 1], blocked=blocked)
        attacked = attack_counts(perturb_counts(_records(seed), TREES, table))
        low, high = _enumerated(attacked)
        assert attacked.lower.tolist() == low.tolist()
        assert attacked.upper.tolist() == high.tolist()
        assert attacked.is_exact.all()


def _sums(counts, cell):
    """Sum over the combinations that a cell of some of the dimensions a, b, c stands for."""
    members = [
        all(code in ("Total", own) for code, own in zip(cell, leaf, strict=True)) for leaf in LEAVES
    ]
    return counts[..., members].sum(axis=-1)


def _cells_of(table: str):
    return list(
        itertools.product(*(THREE[name].codes if name in table else ["Total"] for name in "abc"))
    )


def _every_table(published, deviation: int, threshold: int):
    """All counts of the eight combinations that can lead to what is published, by enumeration."""
    most = [
        min(
            max(count, threshold - 1 if count < max(threshold, 1) else 0) + deviation
            for cell, count in published.items()
            if all(code in ("Total", own) for code, own in zip(cell, leaf, strict=True))
        )
        for leaf in LEAVES
    ]
    counts = np.stack(np.meshgrid(*(np.arange(n + 1) for n in most), indexing="ij"), axis=-1)
    counts = counts.reshape(-1, len(LEAVES))
    assert len(counts) < 3 * 10**6
    for cell, count in published.items():
        true = _sums(counts, cell)
        if count >= max(threshold, 1):
            # A cell without records has no key, and stays 0.
            fits = (true >= 1) & (np.abs(true - count) <= deviation)
        else:
            fits = true < max(threshold, 1) + deviation
        counts = counts[fits]
    return counts


@pytest.mark.parametrize(
    "tables", [["a", "bc"], ["ab", "bc"], ["ab", "bc", "ac"], ["abc", "ac"]], ids="+".join
)
def test_intervals_of_several_tables_are_those_of_an_enumeration_where_only_d_is_known(tables):
    for seed in range(1, 8):
        random = np.random.default_rng(seed)
        deviation, threshold = 1 + seed % 2, 2 * (seed % 3 == 0)
        true = random.choice([0, 0, 0, 1, 2], len(LEAVES))
        published = {}
        for cell in dict.fromkeys(itertools.chain.from_iterable(map(_cells_of, tables))):
            count = int(_sums(true, cell))
            lowest = -min(count, deviation)
            published[cell] = count + int(random.integers(lowest, deviation + 1)) if count else 0
        frames = []
        for table in tables:
            shown = {
                cell: published[cell]
                for cell in _cells_of(table)
                if published[cell] >= max(threshold, 1)
            }
            frame = pd.DataFrame(list(shown), columns=list("abc"), dtype=object)
            frames.append(frame[list(table)].assign(count=list(shown.values())))
        attacked = attack_counts(
            *frames, deviation=deviation, hierarchies=THREE, threshold=threshold
        )
        counts = _every_table(published, deviation, threshold)
        assert len(counts) and attacked.is_exact.all()
        ends = zip(attacked.lower.tolist(), attacked.upper.tolist(), strict=True)
        for cell, (lower, upper) in zip(attacked.codes.to_numpy().tolist(), ends, strict=True):
            sums = _sums(counts, cell)
            assert (cell, lower, upper) == (cell, sums.min(), sums.max())


def test_a_published_count_above_zero_has_records_also_where_only_d_is_known():
    release = pd.DataFrame({"a": ["x", "Total"], "count": [3, 9]})
    attacked = attack_counts(release, deviation=3, hierarchies={"a": TREES["a"]})
    found = attacked.to_frame().set_index("a")
    assert found.loc["x", ["lower", "upper"]].tolist() == [3, 6]
    alone = attack_counts(
        release.head(1).assign(a="Total"), deviation=3, hierarchies={"a": TREES["a"]}
    )
    assert alone.to_frame().set_index("a").loc["Total", ["lower", "upper"]].tolist() == [1, 6]


def test_a_mean_beside_a_perturbed_count_undoes_it():
    """3 or 6 records can have a mean of 33.67 in whole years, and with a total of 101 only 3."""
    release = pd.DataFrame({"a": ["x", "Total"], "count": [5, 6]})
    means = pd.DataFrame({"a": ["x"], "mean": [33.67]})
    known = {"deviation": 3, "hierarchies": {"a": TREES["a"]}, "decimals": 2}
    ends = []
    for told in (None, means, means.assign(total=101)):
        frame = attack_counts(release, means=told, **known).to_frame().set_index("a")
        ends.append(frame.loc["x", ["lower", "upper"]].tolist())
    assert ends == [[2, 8], [3, 6], [3, 3]]
    with pytest.raises(InputError, match="No table of whole counts"):
        attack_counts(release, means=means.assign(mean=33.41), **(known | {"deviation": 1}))


def test_tables_that_agree_two_by_two_but_are_those_of_no_records_are_found_out():
    # a goes with b and b with c, but a with the other c.
    pairs = {"ab": ["xp", "yq"], "bc": ["pm", "qn"], "ac": ["xn", "ym"]}
    frames = []
    for table, shown in pairs.items():
        cells = [*shown, *((code, "Total") for pair in shown for code in pair[:1])]
        cells += [("Total", pair[1]) for pair in shown]
        frame = pd.DataFrame([tuple(cell) for cell in cells], columns=list(table))
        frame = pd.concat(
            [
                frame.assign(count=1),
                pd.DataFrame([["Total", "Total", 2]], columns=[*table, "count"]),
            ]
        )
        frames.append(frame)
    for two in itertools.combinations(frames, 2):
        assert attack_counts(*two, deviation=0, hierarchies=THREE).determined.all()
    with pytest.raises(InputError, match="No table of whole counts fits"):
        attack_counts(*frames, deviation=0, hierarchies=THREE)


def test_intervals_are_outer_bounds_where_tables_leave_out_too_many_combinations(monkeypatch):
    random = np.random.default_rng(3)
    people = pd.DataFrame(
        {
            **{name: random.choice(THREE[name].leaves, 40) for name in "abc"},
            "record_key": random.integers(0, 10**8, 40) / 10**8,
        }
    )
    made = [
        perturb_counts(people, {name: THREE[name] for name in names}, design_count_table(2, 1.5))
        for names in ("ab", "bc", "ac")
    ]
    joint = attack_counts(*made)
    monkeypatch.setattr("tablecloak.cellkey.attack.MOST_JOINT", 7)
    without = attack_counts(*made)
    assert joint.is_exact.all()
    assert np.array_equal(without.is_exact, without.determined) and not without.is_exact.all()
    assert ((without.lower <= joint.lower) & (joint.upper <= without.upper)).all()


def test_true_counts_lie_within_their_intervals():
    records = ons_records(300).drop(columns="record_key")
    records["record_key"] = np.random.default_rng(2).integers(0, 10**8, 300) / 10**8
    made = perturb_counts(records, ["var1", "var3"], design_count_table(3, 2, blocked=1))
    attacked = attack_counts(made)
    true = attacked.codes.merge(made.codes.assign(n=made.counts), how="left").n.fillna(0)
    assert ((attacked.lower <= true) & (true <= attacked.upper)).all()
    assert attacked.best_guess_share(true.to_numpy(int)) > 0.2


def test_margins_that_rule_out_all_but_one_table_determine_its_counts():
    # Parts of at most 4 add up to a total of at least 8 in one way only.
    release = pd.DataFrame({"a": ["x", "y", "Total"], "count": [3, 3, 9]})
    attacked = attack_counts(release, deviation=1, hierarchies={"a": TREES["a"]})
    found = attacked.to_frame().set_index("a")
    assert found.loc["x", ["lower", "upper"]].tolist() == [4, 4]
    assert found.loc["Total", ["lower", "upper"]].tolist() == [8, 8]
    assert attacked.determined_share == 1.0


def test_a_posterior_weighs_counts_by_the_chance_of_what_was_published():
    table = design_count_table(1, 0.8, monotone=False)
    release = pd.DataFrame({"a": ["x", "y", "Total"], "count": [5, 5, 10]})
    attacked = attack_counts(release, perturbations=table, hierarchies={"a": TREES["a"]})
    cell = attacked.codes.index[attacked.codes.a == "x"][0]
    chances = {n: table.chances(n)[5 - n] for n in (4, 5, 6)}
    expected = {n: chance / sum(chances.values()) for n, chance in chances.items()}
    assert attacked.posterior()[cell] == pytest.approx(expected)
    known = attacked.posterior({4: 1.0})[cell]
    assert known == {4: 1.0, 5: 0.0, 6: 0.0}


def test_several_tables_leave_a_posterior_only_what_all_of_them_leave_possible():
    table = design_count_table(2, 1.1, blocked=1)
    # A table of both dimensions, and its margins alone.
    made = [
        perturb_counts(_records(6), {name: TREES[name] for name in names}, table)
        for names in ("ab", "a", "b")
    ]
    attacked = attack_counts(*made)
    likely, chance = attacked.most_likely()
    for cell, chances in enumerate(attacked.posterior()):
        assert sum(chances.values()) == pytest.approx(1)
        assert attacked.lower[cell] <= min(chances) <= max(chances) <= attacked.upper[cell]
        assert chances[likely[cell]] == max(chances.values()) == chance[cell]
    assert attacked.to_frame()["likely"].tolist() == likely.tolist()


def test_a_second_table_of_the_same_records_never_widens_an_interval():
    records = ons_records(200).drop(columns="record_key")
    records["record_key"] = np.random.default_rng(4).integers(0, 10**8, 200) / 10**8
    table = design_count_table(2, 1.5)
    one = perturb_counts(records, ["var1"], table)
    other = perturb_counts(records, ["var1", "var2"], table)
    alone, both = attack_counts(one), attack_counts(one, other)
    joined = alone.to_frame().merge(
        both.to_frame().query("var2 == 'Total'"), on="var1", suffixes=("", "_both")
    )
    assert len(joined) == 6
    assert (joined.lower_both >= joined.lower).all() and (joined.upper_both <= joined.upper).all()


def test_rounding_below_a_threshold_leaves_an_interval_of_its_width():
    records = pd.DataFrame({"a": ["x"] * 12 + ["y"] * 4, "record_key": 1})
    made = perturb_counts(records, {"a": TREES["a"]}, KeyRows.rounding(), threshold=10)
    attacked = attack_counts(made).to_frame().set_index("a")
    # y is not listed: 0 to 9; x is 10 to 12; the total 13 to 17.
    assert attacked.loc["y", ["lower", "upper"]].tolist() == [1, 7]
    assert attacked.loc["x", ["lower", "upper"]].tolist() == [10, 12]


def test_a_deviation_that_is_too_small_is_found_out():
    release = pd.DataFrame({"a": ["x", "y", "Total"], "count": [3, 3, 12]})
    with pytest.raises(InputError, match="No table of whole counts fits"):
        attack_counts(release, deviation=1, hierarchies={"a": TREES["a"]})


def test_a_count_that_the_perturbation_table_never_publishes_is_named():
    table = design_count_table(5, 3, blocked=2)
    release = pd.DataFrame({"a": ["x", "Total"], "count": [2, 9]})
    with pytest.raises(InputError, match="The published count 2 follows from no true count"):
        attack_counts(release, perturbations=table, hierarchies={"a": TREES["a"]})


def test_a_program_without_any_table_of_whole_counts_is_told_like_an_empty_interval():
    release = pd.DataFrame({"a": ["x", "y", "Total"], "count": [3, 3, 6]})
    with (
        using_solver(MockSolver([infeasible()])),
        pytest.raises(InputError, match="No table of whole counts fits.*only tables of the same"),
    ):
        attack_counts(release, deviation=1, hierarchies={"a": TREES["a"]})


def test_tables_that_contradict_each_other_are_refused():
    one = pd.DataFrame({"a": ["x", "Total"], "count": [3, 5]})
    other = pd.DataFrame({"a": ["x", "Total"], "count": [4, 5]})
    with pytest.raises(InputError, match="different counts in two tables"):
        attack_counts(one, other, deviation=2, hierarchies={"a": TREES["a"]})


@pytest.mark.parametrize("count", ["x", -1, 2.5, np.inf])
def test_a_published_count_that_is_not_whole_is_named_by_its_row(count):
    sound = pd.DataFrame({"a": ["x", "Total"], "count": [3, 5]})
    wrong = pd.DataFrame({"a": ["x", "Total"], "count": [3, count]})
    with pytest.raises(InputError, match="Table 2, row 2: column 'count'"):
        attack_counts(sound, wrong, deviation=2, hierarchies={"a": TREES["a"]})


LONGER = {
    "a": Hierarchy.flat(["x", "y"]),
    "b": Hierarchy.flat(["p", "q", "r"]),
    "c": Hierarchy.flat(["m", "n"]),
}


@pytest.mark.parametrize(
    ("tables", "cycle"),
    [
        (["ab"], []),
        (["ab", "c"], []),
        (["ab", "bc"], []),
        (["ab", "bc", "cd", "ce"], []),
        (["ab", "bc", "ac"], ["ab", "bc", "ac"]),
        (["abc", "ab", "bc", "ac"], []),
        (["abd", "bce", "acf"], ["ab", "bc", "ac"]),
        (["ab", "bc", "cd", "da", "ef"], ["ab", "bc", "cd", "da"]),
        (["ab", "ab", "bc", "ac"], ["ab", "bc", "ac"]),
    ],
)
def test_a_cycle_is_what_is_left_without_dimensions_of_one_table_and_parts_of_others(tables, cycle):
    assert sorted(map(sorted, cycle_of(tables))) == sorted(map(sorted, cycle))


def test_each_cell_of_a_margin_is_the_sum_of_its_combinations():
    codes = [LONGER[name].codes for name in "abc"]
    cells = pd.DataFrame(list(itertools.product(*codes)), columns=list("abc"), dtype=object)
    cells = cells.sample(frac=1, random_state=1).reset_index(drop=True)
    counts = dict(
        zip(
            itertools.product(*(LONGER[name].leaves for name in "abc")),
            np.random.default_rng(3).integers(0, 9, 12).tolist(),
            strict=True,
        )
    )
    shown = [
        sum(
            count
            for leaf, count in counts.items()
            if all(code in ("Total", own) for code, own in zip(cell, leaf, strict=True))
        )
        for cell in cells.itertuples(index=False, name=None)
    ]
    relations = joint_relations(cells, ["ab", "bc", "ac"], LONGER, 12)
    assert relations.shape == (6 + 6 + 4, len(cells) + 12)
    assert not (relations @ np.array([*shown, *counts.values()])).any()
    assert joint_relations(cells, ["ab", "bc", "ac"], LONGER, 11) is None

"""Who contributed what: what rules rest on, and what of it cannot be true."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tablecloak as tc
from contributors import with_contributors
from tablecloak.tables.contributions import Contributions, implausible
from tablecloak.tables.sums import joined_contributions


def firms_and_waivers(seed: int, n_cells: int = 25, *, negative: bool = False) -> pd.DataFrame:
    """Records of up to six firms in each cell, some of them with two records, some in two cells."""
    random = np.random.default_rng(seed)
    rows = []
    for cell in range(n_cells):
        sizes = random.choice([60, 30, 9, 7, 3, 1, 0], random.integers(1, 7))
        for number, size in enumerate(sizes):
            firm = f"f{cell - (random.random() < 0.2)}_{number}"
            sign = -1 if negative and random.random() < 0.3 else 1
            for part in [size] if random.random() < 0.7 else [size // 2, size - size // 2]:
                own = float(random.choice([0, 2, 10, 40, 90])) if random.random() < 0.3 else None
                said = str(random.choice(["yes", "no", "", "Yes", "1"]))
                rows.append((f"c{cell:02d}", firm, sign * part, said, own))
    frame = pd.DataFrame(rows, columns=["cell", "firm", "value", "waiver", "own_p"])
    weights = random.integers(1, 4, frame["firm"].nunique())
    numbers = pd.factorize(frame["firm"])[0]
    return frame.assign(weight=weights[numbers])


def table_of(frame: pd.DataFrame, *, weighted: bool = False, n_largest: int = 9, **more: str):
    return with_contributors(
        frame, ["cell"], "value", contributor="firm", weight="weight" if weighted else None,
        n_largest=n_largest, **more,
    )  # fmt: skip


WAIVERS = {"waiver": "waiver", "waiver_p": "own_p"}


def margin_of(records: pd.DataFrame, p: float) -> float:
    """What the most careful record of a firm needs, by the definition."""
    margins = []
    for said, own in zip(records["waiver"], records["own_p"], strict=True):
        if not pd.isna(own):
            margins.append(own)
        else:
            margins.append(0.0 if said in ("yes", "Yes", "1") else p)
    return max(margins)


def worst_attack(records: pd.DataFrame, p: float, coalition: int, q: float, weighted: bool):
    """Largest shortfall of a cell over all pairs of a target and a coalition of others."""
    units = []  # one for each contributor that a record stands for: size and margin
    total = 0.0
    for _, own in records.groupby("firm"):
        copies = int(own["weight"].iloc[0]) if weighted else 1
        units += [(abs(own["value"].sum()), margin_of(own, p))] * copies
        total += own["value"].sum() * copies
    worst = None
    for target, (size, margin) in enumerate(units):
        if margin == 0 or size == 0:
            continue
        others = [other for at, (other, _) in enumerate(units) if at != target]
        for attackers in combinations(others, min(coalition, len(others))):
            excess = min(margin, q) / q * size + size + sum(attackers) - total
            worst = excess if worst is None else max(worst, excess)
    return worst


def disagreements(
    seed: int, *, negative: bool, weighted: bool, rule: tc.PPercent, n_cells: int = 25
) -> list[str]:
    frame = firms_and_waivers(seed, n_cells, negative=negative)
    # Where nothing is negative, three contributors tell all.
    table = table_of(
        frame, weighted=weighted, n_largest=9 if negative or weighted else 3, **WAIVERS
    )
    unsafe, short = rule.unsafe(table), rule.safe_distance(table)
    found = []
    for at, cell in enumerate(table.keys["cell"]):
        records = frame if cell == "Total" else frame[frame["cell"] == cell]
        if cell == "Total" and rule.coalition > 1:
            continue
        worst = worst_attack(records, rule.p, rule.coalition, rule.q, weighted)
        expected = worst is not None and worst > 1e-9
        if unsafe[at] != expected or (expected and abs(short[at] - worst) > 1e-6):
            found.append(f"{seed} {cell}: {unsafe[at]}, {short[at]}, but {worst}")
    return found


RULES = [tc.PPercent(10), tc.PPercent(25, 2), tc.PriorPosterior(15, 60)]


@pytest.mark.parametrize(
    ("negative", "weighted"), [(False, False), (True, False), (False, True), (True, True)]
)
@pytest.mark.filterwarnings("ignore:Some contributions are negative")
def test_sensitivity_and_levels_are_those_of_the_worst_pair(negative, weighted):
    for seed, rule in enumerate(RULES):
        found = disagreements(seed, negative=negative, weighted=weighted, rule=rule, n_cells=10)
        assert not found


@pytest.mark.filterwarnings("ignore:Some contributions are negative")
def test_what_is_not_listed_is_judged_on_the_side_of_protection():
    frame = firms_and_waivers(11, negative=True)
    for rule in RULES[::2]:
        few, all_ = (table_of(frame, n_largest=n, **WAIVERS) for n in (2, 9))
        none = table_of(frame, n_largest=2)
        assert not np.any(rule.unsafe(all_) & ~rule.unsafe(few))
        short = [np.maximum(rule.safe_distance(table), 0) for table in (few, all_)]
        assert np.all(short[0] >= short[1] - 1e-9)
        lower = frame.assign(own_p=frame["own_p"].clip(upper=rule.p))
        lowered = table_of(lower, n_largest=2, **WAIVERS)
        assert not np.any(rule.unsafe(lowered) & ~rule.unsafe(none))


EVERY_RULE = [
    tc.PPercent(10), tc.PriorPosterior(15, 60), tc.Dominance(1, 70), tc.Dominance(2, 85),
    tc.MinimumFrequency(3), tc.ZeroUnsafe(1),
]  # fmt: skip


def test_a_column_in_which_nobody_waives_changes_nothing():
    frame = firms_and_waivers(3).assign(waiver="no")
    with_column, without = table_of(frame, waiver="waiver"), table_of(frame)
    for rule in EVERY_RULE:
        one, two = (table.protect(rule) for table in (with_column, without))
        assert np.array_equal(one.status, two.status)
        assert np.array_equal(one.lower_protection, two.lower_protection)
        assert np.array_equal(one.upper_protection, two.upper_protection)


def test_one_more_waiver_never_makes_a_cell_sensitive_or_a_level_larger():
    frame = firms_and_waivers(5).assign(own_p=np.nan)
    more = frame.assign(waiver=np.where(frame.index % 3 == 0, "yes", frame["waiver"]))
    before, after = (table_of(each, n_largest=3, **WAIVERS) for each in (frame, more))
    for rule in EVERY_RULE:
        assert not np.any(rule.unsafe(after) & ~rule.unsafe(before)), rule
    both = [table.protect(*EVERY_RULE[:4], floor=0) for table in (after, before)]
    assert np.all(both[0].upper_protection <= both[1].upper_protection + 1e-9)


def test_if_everybody_waives_nothing_is_sensitive():
    table = table_of(firms_and_waivers(7).assign(waiver=True), waiver="waiver")
    for rule in EVERY_RULE:
        assert not np.any(rule.unsafe(table)), rule
        assert np.all((rule.safe_distance(table) is None) or (rule.safe_distance(table) <= 0))


def small(values, waivers, **more):
    frame = pd.DataFrame({"value": values, "waiver": waivers, "cell": "a"} | more)
    frame["firm"] = more.get("firm", [f"f{row}" for row in range(len(frame))])
    return with_contributors(
        frame, ["cell"], "value", contributor="firm", waiver="waiver",
        holding="holding" if "holding" in more else None,
    )  # fmt: skip


def test_the_largest_without_a_waiver_is_protected_from_one_with_it():
    assert not tc.PPercent(10).unsafe(small([80, 15, 5], [1, 0, 0])).any()
    # The waived 80 leaves of the 15 all but 1: it still attacks.
    assert tc.PPercent(10).unsafe(small([80, 15, 1], [1, 0, 0])).all()


def test_dominance_is_met_only_if_all_that_dominate_have_waived():
    rule = tc.Dominance(2, 85)
    assert rule.unsafe(small([80, 15, 5], [1, 0, 0])).all()
    assert not rule.unsafe(small([80, 15, 5], [1, 1, 0])).any()


def test_few_contributors_are_safe_only_if_all_of_them_have_waived():
    rule = tc.MinimumFrequency(3)
    assert rule.unsafe(small([4, 3], [1, 0])).all()
    assert not rule.unsafe(small([4, 3], [1, 1])).any()


def test_a_holding_waives_if_all_its_members_do():
    rule = tc.PPercent(10, level="holding")
    records = {"holding": ["h", "h", "g", "k"]}
    assert not rule.unsafe(small([40, 40, 15, 5], [1, 1, 0, 0], **records)).any()
    assert rule.unsafe(small([40, 40, 15, 5], [1, 0, 0, 0], **records)).all()


def test_a_contributor_that_waives_in_one_cell_only_is_protected_in_the_margin():
    frame = pd.DataFrame(
        {
            "cell": ["a", "a", "b", "b"], "firm": ["f", "g", "f", "h"],
            "value": [50, 4, 50, 3], "waiver": ["yes", "yes", "no", "yes"],
        }
    )  # fmt: skip
    table = tc.tabulate(frame, ["cell"], "value", contributor="firm", waiver="waiver")
    unsafe = dict(zip(table.keys["cell"], tc.PPercent(10).unsafe(table), strict=True))
    assert unsafe == {"Total": True, "a": False, "b": True}


@pytest.mark.parametrize(
    ("column", "entries", "message"),
    [
        ("waiver", ["yes", "maybe"], "Row 2: column 'waiver' is maybe, but must be yes or no"),
        ("waiver", [1, 2], "Row 2: column 'waiver' is 2, but must be yes or no"),
        ("waiver_p", [5.0, 101.0], "Row 2: column 'waiver_p' is 101.0, but must be a percentage"),
        ("waiver_p", [-1.0, 5.0], "Row 1: column 'waiver_p' is -1.0, but must be a percentage"),
        ("waiver_p", ["5", "x"], "Column 'waiver_p' must hold numbers"),
    ],
)
def test_entries_that_say_neither_are_refused_with_row_and_column(column, entries, message):
    frame = pd.DataFrame({"cell": ["a", "b"], "value": [1, 2], column: entries})
    with pytest.raises(tc.InputError, match=message):
        tc.tabulate(frame, ["cell"], "value", **{column: column})


def test_waivers_survive_a_file_a_link_and_a_choice_of_cells():
    table = table_of(firms_and_waivers(9), n_largest=3, **WAIVERS)
    given = table.contributions
    kept = Contributions.from_frame(given.to_frame())
    both = Contributions.concatenate([given, replace(given, waivers=None)])
    n = len(given.count)
    for each in fields(given.waivers):
        expected = getattr(given.waivers, each.name)
        assert np.array_equal(getattr(kept.waivers, each.name), expected)
        assert np.array_equal(getattr(both.take(np.arange(n)).waivers, each.name), expected)
    assert not np.any(both.waivers.full[n:])
    assert np.array_equal(both.waivers.unwaived[n:], given.largest_weight > 0)
    assert given.padded(5).waivers.own_p.shape == (n, 5)


def test_a_group_of_cells_needs_what_its_contributors_need():
    frame = firms_and_waivers(13)
    group, cell = np.repeat(np.arange(12), 2), np.arange(1, 25)
    whole = table_of(frame, **WAIVERS).contributions
    sums = joined_contributions(whole, group, cell, 12)
    rule = tc.PPercent(10)
    names = [f"c{number:02d}" for number in range(25)]
    for at in range(12):
        records = frame[frame["cell"].isin([names[2 * at], names[2 * at + 1]])]
        worst = worst_attack(records, 10, 1, 100, weighted=False)
        assert rule.exceeds(sums, 2)[at] == (worst is not None and worst > 1e-9)


def test_groups_of_which_little_is_listed_are_judged_on_the_side_of_protection():
    frame = firms_and_waivers(13)
    group, cell = np.repeat(np.arange(8), 3), np.arange(1, 25)
    rule = tc.PPercent(10)
    tables = [table_of(frame, n_largest=n, **WAIVERS) for n in (9, 2)]
    tables.append(table_of(frame.assign(own_p=np.nan), n_largest=2))
    found = [
        rule.exceeds(joined_contributions(table.contributions, group, cell, 8), 2)
        for table in tables
    ]
    assert not np.any(found[0] & ~found[1])


def given_largest(count, total, largest, **more) -> Contributions:
    return Contributions.from_largest(
        np.array(count, dtype=float), np.array(total, dtype=float), np.array(largest, dtype=float),
        **more,
    )  # fmt: skip


def weighted(largest, weights) -> Contributions:
    """One cell whose contributors have weights."""
    largest, weights = np.array([largest], dtype=float), np.array([weights], dtype=float)
    return Contributions(
        count=np.array([int((weights > 0).sum())]),
        weighted_count=weights.sum(axis=1),
        total=(largest * weights).sum(axis=1),
        largest=largest,
        largest_weight=weights,
        largest_contributor=np.full(largest.shape, -1),
        largest_request=np.zeros((1, 2)),
        shortfall=np.zeros(1),
    )


def same(one: Contributions, two: Contributions) -> bool:
    names = [field.name for field in fields(Contributions) if field.name != "names"]
    return all(np.array_equal(getattr(one, name), getattr(two, name)) for name in names)


def test_what_a_file_leaves_empty_is_nobody():
    found = given_largest([2, 1, 0], [9, 4, 0], [[6, 3], [4, np.nan], [0, np.nan]])
    assert found.largest.tolist() == [[6, 3], [4, 0], [0, 0]]
    assert found.largest_weight.tolist() == [[1, 1], [1, 0], [0, 0]]
    assert not found.is_weighted
    # Nobody knows who they are, nor what smaller ones may take away.
    assert np.all(found.largest_contributor == -1)
    assert np.all(np.isinf(found.shortfall))


def test_contributions_are_ranked_by_their_size_without_sign():
    assert given_largest([2], [1], [[-4, 3]]).largest.tolist() == [[4, 3]]


@pytest.mark.parametrize(
    ("count", "total", "largest", "message"),
    [
        ([1.5], [3], [[3]], "1.5, but must be a whole number"),
        ([-1], [3], [[3]], "-1, but must be a whole number"),
        ([np.nan], [3], [[3]], "missing, but must be a whole number"),
        ([0], [3], [[0]], "0, but its value is 3: such a cell must have a contributor"),
        ([2], [3], [[2, np.nan]], "missing, but the cell has 2 contributors"),
        ([1], [3], [[3, 1]], "1, but the cell has only 1 contributors"),
        ([2], [5], [[2, 3]], "3, more than the one before it, 2"),
        ([2], [9], [[3, 2]], "too small: 2 contributors"),
        ([3], [10], [[3, 2]], "make up 7"),
    ],
)
def test_figures_that_cannot_be_true_are_refused(count, total, largest, message):
    with pytest.raises(tc.InputError, match=message):
        given_largest(count, total, largest)


def test_the_position_of_what_is_wrong_is_named():
    cell, _, rank = implausible([1, 2], np.array([3.0, 5.0]), np.array([[3.0, 0], [2, 3]]))
    assert (cell, rank) == (1, 1)
    assert implausible([1], np.array([3.0]), np.array([[3.0]])) is None
    # Without any largest contribution only counts can be wrong.
    assert implausible([7], np.array([3.0]), np.zeros((1, 0))) is None


def test_contributors_beyond_the_last_one_listed_are_no_larger_than_it():
    assert implausible([4], np.array([11.0]), np.array([[5.0, 2]])) is None
    # Each of five figures may have lost half a unit.
    assert implausible([4], np.array([13.0]), np.array([[5.0, 2]])) is None
    assert implausible([4], np.array([14.0]), np.array([[5.0, 2]])) is not None


def test_figures_may_be_off_by_their_rounding_and_by_a_tolerance():
    assert implausible([2], np.array([7.0]), np.array([[4.0, 2]])) is None
    assert implausible([2], np.array([8.0]), np.array([[4.0, 2]])) is not None
    assert implausible([2], np.array([8.0]), np.array([[4.0, 2]]), tolerance=1) is None


def test_the_sum_of_the_largest_counts_each_as_often_as_its_weight():
    found = weighted([10, 4, 1], [1.5, 2, 1])
    assert found.sum_of_largest(1).tolist() == [10]
    assert found.sum_of_largest(2).tolist() == [15 + 2]
    assert found.sum_of_largest(9).tolist() == [15 + 8 + 1]
    assert found.is_weighted


def test_a_weight_below_one_counts_as_one_so_that_rules_err_on_the_safe_side():
    assert weighted([10, 4], [0.25, 1]).sum_of_largest(1).tolist() == [10]


def test_a_rule_that_needs_more_than_was_kept_is_refused():
    found = given_largest([5], [20], [[9, 8]])
    with pytest.raises(tc.InputError, match="n_largest=3"):
        found.sum_of_largest(3)
    # A cell of two contributors has no third one.
    assert given_largest([2], [17], [[9, 8]]).sum_of_largest(3).tolist() == [17]


def test_cells_are_taken_in_any_order():
    found = given_largest([2, 1], [9, 4], [[6, 3], [4, 0]])
    assert same(found.take(np.array([1, 0])).take(np.array([1, 0])), found)
    assert found.take(np.array([1])).count.tolist() == [1]


def named(names, who) -> Contributions:
    """Cells with one contributor each."""
    n = len(who)
    plain = given_largest([1] * n, [5] * n, [[5]] * n)
    return replace(
        plain,
        largest_contributor=np.array(who)[:, None],
        names=None if names is None else np.array(names, dtype=object),
    )


def test_the_same_name_is_the_same_contributor_in_several_tables():
    both = Contributions.concatenate([named(["x", "y"], [0, 1]), named(["y", "z"], [1, 0])])
    called = [both.name_of(number) for number in both.largest_contributor[:, 0]]
    assert called == ["x", "y", "z", "y"]


def test_without_names_nobody_is_taken_for_somebody_else():
    both = Contributions.concatenate([named(None, [0, 1]), named(None, [0, -1])])
    numbers = both.largest_contributor[:, 0].tolist()
    assert len(set(numbers[:3])) == 3
    assert numbers[3] == -1
    mixed = Contributions.concatenate([named(["x"], [0]), named(None, [0])])
    assert len(set(mixed.largest_contributor[:, 0].tolist())) == 2


@given(st.integers(0, 10**6), st.integers(0, 3), st.integers(0, 4))
def test_contributions_come_back_from_a_frame(seed, k, n):
    random = np.random.default_rng(seed)
    count = random.integers(0, 5, n)
    known = np.arange(k) < count[:, None]
    largest = np.where(known, -np.sort(-random.integers(1, 9, (n, k)), axis=1), 0).astype(float)
    who = np.where(known, random.integers(0, 3, (n, k)), -1)
    found = Contributions(
        count=count, weighted_count=count * 1.5, total=largest.sum(axis=1), largest=largest,
        largest_weight=known.astype(float), largest_contributor=who,
        largest_request=random.integers(0, 3, (n, 2)).astype(float),
        shortfall=random.choice([0, 0.5, np.inf], n), names=np.array(["p", "q", "r"], dtype=object),
    )  # fmt: skip
    back = Contributions.from_frame(found.to_frame())
    for name in ("count", "weighted_count", "total", "largest", "largest_weight", "shortfall"):
        assert np.array_equal(getattr(back, name), getattr(found, name))
    pairs = zip(found.largest_contributor.flat, back.largest_contributor.flat, strict=True)
    for ours, theirs in pairs:
        assert (ours < 0) == (theirs < 0)
        assert ours < 0 or found.name_of(ours) == back.name_of(theirs)


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        ("count", 1.5, "a whole number of contributors"),
        ("weighted_count", -1, "not negative"),
        ("total", np.inf, "a finite number"),
        ("shortfall", np.nan, "a number, not negative"),
        ("largest_1", "many", "a finite number, not negative"),
    ],
)
def test_a_frame_with_an_impossible_entry_is_refused_in_its_row(column, entry, message):
    frame = given_largest([1, 1], [5, 4], [[5], [4]]).to_frame().astype({column: object})
    frame.loc[1, column] = entry
    with pytest.raises(
        tc.InputError, match=f"Row 2: column '{column}' of contributions is .*{message}"
    ):
        Contributions.from_frame(frame)


def test_a_frame_without_a_column_is_refused():
    frame = given_largest([1], [5], [[5]]).to_frame()
    with pytest.raises(tc.InputError, match="column 'weight_1' is missing"):
        Contributions.from_frame(frame.drop(columns="weight_1"))


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    wrong = []
    for seed in range(100, 125):
        for negative in (False, True):
            for weighted in (False, True):
                for rule in RULES:
                    wrong += disagreements(seed, negative=negative, weighted=weighted, rule=rule)
    print(f"{25 * 4 * 3} tables, {len(wrong)} cells differ from the enumeration")
    print("\n".join(wrong[:10]))

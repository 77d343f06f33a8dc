"""Local suppression: the optimum by enumeration, bounds that are proved, and counts by hand."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.microdata import LocalSuppression, group_diversity
from tablecloak.microdata.anonymity.search import RecordClasses


def small_file(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    n, n_keys = int(random.integers(4, 30)), int(random.integers(1, 5))
    sizes = random.integers(2, 5, n_keys)
    return pd.DataFrame({f"q{at}": random.integers(0, size, n) for at, size in enumerate(sizes)})


def small_question(seed: int) -> tuple[pd.DataFrame, LocalSuppression]:
    frame, random = small_file(seed), np.random.default_rng(seed + 1000)
    keys = list(frame.columns)
    options: dict = {"k": int(random.integers(2, 5))}
    match seed % 4:
        case 1:
            options["subsets"] = int(random.integers(1, len(keys) + 1))
        case 2:
            size = int(random.integers(1, len(keys) + 1))
            options["combinations"] = [keys[:size], keys[-size:]]
        case 3:
            options["weights"] = {key: float(random.integers(1, 9)) / 4 for key in keys[1:]}
    return frame, LocalSuppression(keys, anonymity="1-k", **options)


def cheapest_by_enumeration(frame: pd.DataFrame, method: LocalSuppression) -> float:
    """Try all sets of keys for each record, counting record by record."""
    rows = frame.to_dict("records")
    total = 0.0
    for row in rows:
        best = np.inf
        there = [key for key in method.keys if not pd.isna(row[key])]
        for size in range(len(there) + 1):
            for lost in itertools.combinations(there, size):
                cost = sum(method.costs[key] for key in lost)
                if cost < best and all(
                    sum(
                        all(other[key] == row[key] for key in set(asked) & set(there) - set(lost))
                        for other in rows
                    )
                    >= method.k
                    for asked in method.asked().combinations
                ):
                    best = cost
        total += best
    return total


def matching_anywhere(released: pd.DataFrame, keys: list[str]) -> np.ndarray:
    """Count records that match each record, missing values matching all: fk of sdcMicro."""
    values = released[list(keys)].astype(object)
    agree = np.ones((len(values), len(values)), dtype=bool)
    for key in keys:
        column, missing = values[key].to_numpy(), values[key].isna().to_numpy()
        same = np.array(
            [[a is not pd.NA and b is not pd.NA and a == b for b in column] for a in column]
        )
        agree &= same | missing[:, None] | missing[None, :]
    return agree.sum(axis=1)


@pytest.mark.parametrize("seed", range(16))
def test_the_loss_is_the_least_of_all_suppressions_and_the_bound_says_so(seed):
    frame, method = small_question(seed)
    release = method.protect(frame)
    assert release.loss == pytest.approx(cheapest_by_enumeration(frame, method))
    assert release.is_optimal
    assert release.verify(frame) == release.bound
    for combination in method.asked().combinations:
        assert matching_anywhere(release.frame, combination).min() >= method.k
    greedy = replace(method, search="greedy").protect(frame)
    assert greedy.bound <= release.loss <= greedy.loss + 1e-9
    assert greedy.verify(frame) == greedy.bound


@pytest.mark.parametrize("seed", range(8))
def test_missing_values_stay_missing_at_no_cost_and_others_of_the_record_are_protected(seed):
    frame, method = small_question(seed)
    frame = frame.mask(np.random.default_rng(seed).random(frame.shape) < 0.15)
    release = method.protect(frame)
    assert release.loss == pytest.approx(cheapest_by_enumeration(frame, method))
    assert release.verify(frame) == release.bound == pytest.approx(release.loss)
    gone = release.frame.isna().to_numpy()
    assert (gone == (release.suppressed | frame.isna().to_numpy())).all()
    greedy = replace(method, search="greedy").protect(frame)
    assert greedy.bound <= release.loss <= greedy.loss + 1e-9


def test_a_record_that_is_unique_by_two_pairs_loses_the_key_that_they_share():
    frame = pd.DataFrame({"a": [1, 1, 1, 1, 2], "b": [1, 1, 1, 2, 2], "c": [1, 1, 2, 2, 2]})
    frame = pd.concat([frame] * 2 + [pd.DataFrame({"a": [1], "b": [2], "c": [1]})])
    frame = frame.reset_index(drop=True)
    release = LocalSuppression(["a", "b", "c"], k=2, anonymity="1-k").protect(frame)
    assert release.n_suppressed == 1
    assert release.suppressed[-1].sum() == 1
    assert release.per_key().sum() == 1


def test_a_dear_key_is_kept_as_long_as_others_are_cheaper_together():
    frame = pd.DataFrame({"a": [1, 1, 1, 2], "b": [1, 1, 1, 1], "c": [1, 1, 1, 1]})
    alone = LocalSuppression(["a", "b"], 3, anonymity="1-k")
    assert alone.protect(frame).suppressed[3].tolist() == [True, False]
    frame["b"] = [1, 1, 1, 2]
    frame["a"] = [1, 1, 1, 1]
    dear = replace(alone, weights={"b": 7}).protect(frame)
    assert (dear.loss, dear.n_suppressed) == (7, 1)


def test_whole_numbers_stay_whole_and_text_stays_text():
    frame = pd.DataFrame({"a": [1, 1, 1, 2], "b": ["01", "01", "01", "01"]}, index=[9, 8, 7, 6])
    release = LocalSuppression(["a", "b"], 3, anonymity="1-k").protect(frame)
    assert release.frame.a.astype(object).tolist() == [1, 1, 1, pd.NA]
    assert release.frame.b.tolist() == frame.b.tolist()
    assert release.frame.index.tolist() == [9, 8, 7, 6]


@pytest.mark.parametrize("anonymity", ["k", "1-k"])
def test_columns_of_all_types_are_suppressed_and_checked(anonymity):
    random = np.random.default_rng(0)
    days = pd.to_timedelta(random.integers(0, 3, 80), unit="D")
    columns = {
        "category": pd.Categorical(random.choice(list("abc"), 80)),
        "text": pd.array(random.choice(["x", "y", "z"], 80), dtype="string"),
        "flag": random.random(80) < 0.2,
        "half": random.integers(0, 4, 80) / 2,
        "whole": pd.array(random.integers(0, 3, 80), dtype="Int64"),
        "day": pd.to_datetime("2020-01-01") + days,
    }
    frame = pd.DataFrame(columns, index=random.permutation(80))
    release = LocalSuppression(list(columns), 3, anonymity=anonymity, time_limit=2).protect(frame)
    assert release.n_suppressed
    assert release.verify(frame) >= release.bound
    assert release.frame.isna().to_numpy().tolist() == release.suppressed.tolist()


def test_a_file_that_is_safe_already_is_left_alone():
    frame = pd.DataFrame({"a": ["x"] * 3 + ["y"] * 3})
    release = LocalSuppression(["a"], 3).protect(frame)
    assert release.frame.equals(frame)
    assert (release.loss, release.bound, release.gap) == (0, 0, 0)


def test_without_time_the_release_is_safe_and_the_bound_still_holds():
    random = np.random.default_rng(3)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 4, 300) for at in range(8)})
    method = LocalSuppression(list(frame.columns), 3, anonymity="1-k")
    best = method.protect(frame)
    hasty = replace(method, time_limit=1e-9).protect(frame)
    assert hasty.bound <= best.loss <= hasty.loss
    assert hasty.verify(frame) == hasty.bound
    assert not hasty.is_optimal


# -- sensitive values ---------------------------------------------------------------------


KINDS = [
    {"diversity": 2},
    {"diversity": 1.8, "diversity_kind": "entropy"},
    {"diversity": 2, "diversity_kind": "recursive", "ratio": 2},
    {"closeness": 0.3},
    {"diversity": 2, "closeness": 0.4},
]


def is_satisfied(group: pd.Series, whole: pd.Series, method: LocalSuppression) -> bool:
    """Ask the group of one record, by the definitions."""
    frame = pd.DataFrame({"in": [1] * len(group) + [0] * len(whole), "s": [*group, *whole]})
    counts = group.value_counts()
    found = group_diversity(frame.iloc[: len(group)], ["in"], "s")
    least = method.diversity or 0
    good = len(group) >= method.k
    if method.diversity_kind == "distinct":
        good &= found.distinct_l >= least
    elif method.diversity_kind == "entropy":
        good &= found.entropy_l >= least - 1e-9
    else:
        good &= counts.iloc[0] < method.ratio * counts.iloc[int(least) - 1 :].sum()
    if method.closeness is not None:
        shares = counts / counts.sum() - whole.value_counts(normalize=True)
        lost = whole.value_counts(normalize=True).drop(counts.index)
        good &= (shares.abs().sum() + lost.sum()) / 2 <= method.closeness + 1e-9
    return bool(good)


@pytest.mark.parametrize("seed", range(10))
def test_groups_become_diverse_for_the_least_of_all_suppressions(seed):
    random = np.random.default_rng(seed)
    n, n_keys = int(random.integers(8, 30)), int(random.integers(1, 4))
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, n) for at in range(n_keys)})
    frame["s"] = random.choice(list("xyz"), n, p=[0.5, 0.3, 0.2])
    keys = list(frame.columns[:-1])
    subsets = n_keys if seed % 2 else 1
    method = LocalSuppression(
        keys, 2, subsets=subsets, sensitive="s", anonymity="1-k", **KINDS[seed % 5]
    )
    release = method.protect(frame)
    total = 0
    for _, row in frame.iterrows():
        for size in range(n_keys + 1):
            if any(
                all(
                    is_satisfied(frame.s[(frame[left] == row[left]).all(axis=1)], frame.s, method)
                    for left in (
                        [key for key in asked if key not in lost]
                        for asked in method.asked().combinations
                    )
                )
                for lost in itertools.combinations(keys, size)
            ):
                total += size
                break
    assert release.loss == total
    assert release.verify(frame) == release.bound == total
    assert release.frame.s.equals(frame.s)


@pytest.mark.parametrize("search", ["optimal", "greedy"])
@pytest.mark.parametrize("seed", range(5))
def test_released_groups_are_diverse_by_the_definitions(seed, search):
    random = np.random.default_rng(seed)
    n, n_keys = int(random.integers(8, 60)), int(random.integers(1, 4))
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, n) for at in range(n_keys)})
    frame["s"] = random.choice(list("xyz"), n, p=[0.5, 0.3, 0.2])
    keys = list(frame.columns[:-1])
    method = LocalSuppression(
        keys, 2, subsets=n_keys if seed % 2 else 1, sensitive="s", search=search, time_limit=0.3,
        **KINDS[seed % 5],
    )  # fmt: skip
    release = method.protect(frame)
    for combination in method.asked().combinations:
        for _, group in release.frame.groupby(list(combination), dropna=False):
            assert is_satisfied(group.s, frame.s, method)
    assert release.bound <= release.loss
    assert release.verify(frame) >= release.bound
    without = replace(method, sensitive=None, diversity=None, closeness=None).protect(frame)
    assert without.bound <= release.loss
    swapped = release.frame.assign(s=frame.s.sort_values().to_numpy())
    with pytest.raises(tc.VerificationError):
        replace(release, frame=swapped).verify(frame)


def test_one_record_that_a_large_group_can_spare_makes_a_uniform_group_diverse():
    frame = pd.DataFrame({"a": [1] * 50 + [2] * 3, "s": ["x"] * 25 + ["y"] * 25 + ["x"] * 3})
    release = LocalSuppression(["a"], 3, sensitive="s", diversity=2).protect(frame)
    assert release.n_suppressed == 4


def test_without_time_released_groups_are_diverse_all_the_same():
    random = np.random.default_rng(5)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 4, 300) for at in range(4)})
    frame["s"] = random.choice(list("xyz"), 300)
    keys = list(frame.columns[:-1])
    method = LocalSuppression(keys, 3, sensitive="s", diversity=3, time_limit=1e-9)
    release = method.protect(frame)
    groups = release.frame.groupby(keys, dropna=False).s
    assert groups.nunique().min() == 3
    assert release.verify(frame) >= release.bound


# -- what an outsider counts --------------------------------------------------------------


def outsider(original: pd.DataFrame, released: pd.DataFrame, keys: list[str]) -> np.ndarray:
    """Count, person by person, the released records that agree in all keys that they have."""
    true, shown = original[keys].to_numpy(object), released[keys].astype(object).to_numpy()
    count = []
    for person in true:
        fits = [
            all(pd.isna(theirs) or theirs == mine for mine, theirs in zip(person, row, strict=True))
            for row in shown
        ]
        count.append(sum(fits))
    return np.array(count)


@pytest.mark.parametrize("anonymity", ["k", "1-k"])
def test_the_summary_says_what_an_outsider_counts_in_the_released_file(anonymity):
    exposed, n_files = 0, 24
    for seed in range(n_files):
        random = np.random.default_rng(seed)
        n, n_keys = int(random.integers(6, 40)), int(random.integers(1, 5))
        frame = pd.DataFrame({f"q{at}": random.integers(0, 4, n) for at in range(n_keys)})
        keys, k = list(frame.columns), int(random.integers(2, 5))
        release = LocalSuppression(
            keys, k, anonymity=anonymity, search="greedy" if seed % 2 else "optimal",
            time_limit=0.05,
        ).protect(frame)  # fmt: skip
        found = outsider(frame, release.frame, keys)
        assert (release.fitting(frame) == found).all()
        text, groups = release.summary(), release.frame.astype(object).fillna("").value_counts()
        if anonymity == "k":
            assert groups.min() >= k and found.min() >= k
            assert f"smallest group of the released file has {groups.min()} records" in text
        else:
            exposed += (found == 1).any()
            few, alone = (found < k).sum(), (found == 1).sum()
            assert f"(1,{k})" in text
            assert (
                f"fewer than {k} records that fit for {few} persons, and one alone for {alone}"
                in text
            )
    assert (exposed > n_files / 4) == (anonymity == "1-k")


def test_a_release_that_does_not_hold_is_not_returned(monkeypatch):
    frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 1, 1, 0], "c": [0, 0, 0, 0]})
    release = LocalSuppression(["a", "b", "c"], 3).protect(frame)
    assert release.group_sizes.min() >= 3
    monkeypatch.setattr(
        "tablecloak.microdata.anonymity.combined_keys.cheapest_classes",
        lambda *_, **__: RecordClasses(np.zeros((4, 3), dtype=np.int64), np.zeros(2), 0.0),
    )
    with pytest.raises(tc.VerificationError, match="is equal to 2 records"):
        LocalSuppression(["a", "b", "c"], 3).protect(frame)


def test_a_file_with_fewer_values_than_asked_for_is_refused():
    frame = pd.DataFrame({"a": [1, 1, 2, 2], "s": ["x", "y", "x", "x"]})
    with pytest.raises(tc.InputError, match=r"distinct 3-diversity of s by 1 keys\. Ask for less"):
        LocalSuppression(["a"], 2, sensitive="s", diversity=3).protect(frame)


# -- equal released records --------------------------------------------------------------


def fewest_equal(frame: pd.DataFrame, costs: dict[str, float], k: int) -> float:
    """Try all partitions into classes: each loses the keys in which its records differ."""
    codes, weight = frame.to_numpy(dtype=float), np.array(list(costs.values()))
    n = len(codes)
    price = {}
    for size in range(k, n + 1):
        for part in itertools.combinations(range(n), size):
            # NaN differs from everything, so that a class without it keeps no such key.
            differs = (codes[list(part)] != codes[part[0]]).any(axis=0)
            price[part] = float(((~np.isnan(codes[list(part)])) & differs).sum(axis=0) @ weight)

    @cache
    def best(rest: tuple[int, ...]) -> float:
        if not rest:
            return 0.0
        first, others = rest[0], rest[1:]
        return min(
            (
                price[first, *more] + best(tuple(x for x in others if x not in more))
                for size in range(k - 1, len(others) + 1)
                for more in itertools.combinations(others, size)
            ),
            default=np.inf,
        )

    return best(tuple(range(n)))


@pytest.mark.parametrize("seed", range(6))
def test_equal_records_are_at_least_k_and_the_least_loss_is_proved(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, 9) for at in range(3)})
    if seed % 2:
        frame = frame.mask(random.random(frame.shape) < 0.15)
    # Thirds have no end in binary, and are 10^-9 of the other cost.
    weights = {"q0": float(random.integers(1, 4)) / (3e9 if seed % 4 == 3 else 1)}
    method = LocalSuppression(list(frame.columns), 2 + seed % 2, weights=weights)
    strict_method, alone = method, replace(method, anonymity="1-k")
    strict = strict_method.protect(frame)
    assert strict.frame.groupby(list(frame.columns), dropna=False).size().min() >= method.k
    fewest = fewest_equal(frame, method.costs, method.k)
    assert strict.bound == pytest.approx(fewest) == strict.loss
    assert strict.verify(frame) >= strict.bound
    greedy = replace(strict_method, search="greedy").protect(frame)
    assert greedy.loss >= fewest
    assert greedy.verify(frame) >= greedy.bound
    assert alone.protect(frame).loss <= fewest


@pytest.mark.parametrize("seed", range(3))
def test_classes_of_larger_files_are_proved_within_a_tenth(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{at}": random.binomial(5, 0.3, 1200) for at in range(4)})
    if seed:
        frame = frame.mask(random.random(frame.shape) < 0.02)
    method = LocalSuppression(list(frame.columns), 3, time_limit=1)
    release, greedy = method.protect(frame), replace(method, search="greedy").protect(frame)
    assert release.verify(frame) >= release.bound
    assert release.loss <= greedy.loss
    assert release.gap < 0.1
    lone = replace(release, frame=release.frame.assign(q0=frame.q0))
    with pytest.raises(tc.VerificationError, match="is equal to . records"):
        lone.verify(frame)
    with pytest.raises(tc.VerificationError, match=r"said to be .*, but .* is proved"):
        raised = {keys: 1.5 * price for keys, price in release.prices.items()}
        replace(release, trees={}, prices=raised).verify(frame)


@pytest.mark.parametrize("seed", range(4))
def test_equal_records_in_several_combinations_each_satisfy_k_and_the_bound_holds(seed):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, 5) for at in range(3)})
    keys = list(frame)
    if seed % 2:
        frame.loc[1, "q1"] = None
    asked = {"subsets": 2} if seed % 4 < 2 else {"combinations": [["q0", "q1"], ["q2"]]}
    method = LocalSuppression(keys, 2, time_limit=2, **asked)
    release = method.protect(frame)
    values = frame.to_numpy(dtype=float)
    lost = (np.arange(2**15)[:, None] >> np.arange(15) & 1).astype(bool).reshape(-1, 5, 3)
    gone = np.where(lost | np.isnan(values), -1, np.nan_to_num(values))
    good = np.ones(len(gone), dtype=bool)
    for combination in method.asked().combinations:
        assert release.frame.groupby(list(combination), dropna=False).size().min() >= 2
        part = gone[:, :, [keys.index(name) for name in combination]]
        same = (part[:, :, None, :] == part[:, None, :, :]).all(axis=3).sum(axis=2)
        good &= (same >= 2).all(axis=1)
    fewest = (lost & ~np.isnan(values)).sum(axis=(1, 2))[good].min()
    assert release.bound <= fewest <= release.loss <= fewest + 2
    assert release.verify(frame) >= release.bound
    assert replace(method, search="greedy").protect(frame).loss >= fewest


def test_the_least_loss_of_a_file_whose_prices_prove_less_is_proved_by_cases():
    random = np.random.default_rng(2)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, 12) for at in range(4)})
    keys = tuple(frame)
    release = LocalSuppression(keys, 3).protect(frame)
    assert release.verify(frame) == release.bound == release.loss
    tree = release.trees[keys]
    assert len(tree.nodes) > 1
    less = replace(release, trees={}, prices={keys: tree.rounds[-1]})
    with pytest.raises(tc.VerificationError, match=r"said to be .*, but .* is proved"):
        less.verify(frame)

    def forged(message, **changed):
        other = replace(release, trees={keys: replace(tree, **changed)})
        with pytest.raises(tc.VerificationError, match=message):
            other.verify(frame)

    forged("which leaf .* does not reach", bound=tree.bound + 1)
    leaf = max(tree.prices)
    forged("which leaf .* does not reach", prices=tree.prices | {leaf: 0 * tree.rounds[0]})
    forged("not cover all releases", nodes=tree.nodes[:-1])
    same = replace(tree.nodes[-1], exists=not tree.nodes[-1].exists)
    forged("not cover all releases", nodes=[*tree.nodes[:-1], same])
    forged("comes before its parent", nodes=[*tree.nodes[:-1], replace(same, parent=99)])


def test_with_many_keys_the_nearest_records_prove_a_bound_and_not_all_is_lost():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, 200) for at in range(20)})
    release = LocalSuppression(list(frame), 3, time_limit=0.5).protect(frame)
    codes = frame.to_numpy()
    differ = (codes[:, None] != codes[None]).sum(axis=2)
    assert release.bound >= np.sort(differ, axis=1)[:, 2].sum()
    assert release.bound <= release.loss < 0.95 * frame.size


def test_a_file_of_uniques_loses_everything_if_missing_values_are_a_category():
    frame = pd.DataFrame({"a": range(60), "b": range(60)})
    release = LocalSuppression(["a", "b"], 3).protect(frame)
    assert (release.loss, release.bound) == (120, 120)


def test_a_single_rare_record_recruits_others():
    frame = pd.DataFrame({"a": [1] * 9 + [2], "b": [1] * 10})
    release = LocalSuppression(["a", "b"], 3).protect(frame)
    assert release.suppressed.sum(axis=0).tolist() == [3, 0]
    assert (release.loss, release.bound) == (3, 3)


# -- strata and importance ----------------------------------------------------------------


@pytest.mark.parametrize("anonymity", ["k", "1-k"])
@pytest.mark.parametrize("seed", range(5))
def test_in_strata_each_is_protected_by_itself(seed, anonymity):
    random = np.random.default_rng(seed)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 3, 24) for at in range(3)})
    frame["place"] = np.repeat(["a", "b", None], 8)
    keys = ["q0", "q1", "q2"]
    method = LocalSuppression(keys, 2, anonymity=anonymity, strata=["place"], time_limit=2)
    release, alone = method.protect(frame), replace(method, strata=None)
    parts = [alone.protect(part) for _, part in frame.groupby("place", dropna=False)]
    assert release.loss == sum(part.loss for part in parts)
    assert release.verify(frame) == release.bound
    assert release.frame.place.equals(frame.place)
    assert replace(method, search="greedy").protect(frame).verify(frame) <= release.loss
    if anonymity == "k":
        size = release.frame.groupby(["place", *keys], dropna=False).size()
        assert size.min() >= 2


def test_an_important_key_is_lost_only_where_all_others_do_not_suffice():
    random = np.random.default_rng(4)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 4, 80) for at in range(3)})
    frame.loc[7, "q1"] = 9
    method = LocalSuppression(["q0", "q1", "q2"], 3, importance={"q1": 1, "q0": 2}, anonymity="1-k")
    assert method.costs == {"q0": 2, "q1": 4, "q2": 1}
    lost = method.protect(frame).suppressed
    both = frame.groupby("q1").q0.transform("size")
    assert (lost[:, 1] == (both < 3).to_numpy()).all() and lost[7, 1]


# -- what the check refuses ---------------------------------------------------------------


@pytest.fixture
def checked():
    random = np.random.default_rng(8)
    frame = pd.DataFrame({f"q{at}": random.integers(0, 4, 60) for at in range(4)})
    frame["wage"] = random.normal(size=60)
    return frame, LocalSuppression(["q0", "q1", "q2", "q3"], 3, anonymity="1-k").protect(frame)


def test_a_value_that_was_restored_is_found(checked):
    frame, release = checked
    at = np.argwhere(release.suppressed)[0]
    restored = release.frame.copy()
    restored.iloc[at[0], at[1]] = frame.iloc[at[0], at[1]]
    with pytest.raises(tc.VerificationError, match=f"Record {at[0] + 1}: the group by"):
        replace(release, frame=restored).verify(frame)


@pytest.mark.parametrize("column", ["q0", "wage"])
def test_a_value_that_was_changed_is_found(checked, column):
    frame, release = checked
    row = int(np.flatnonzero(~release.suppressed[:, 0])[0])
    changed = release.frame.copy()
    changed.loc[row, column] = 77
    with pytest.raises(tc.VerificationError, match=f"Column '{column}', row {row}"):
        replace(release, frame=changed).verify(frame)


def test_a_bound_above_the_truth_is_found(checked):
    frame, release = checked
    floor = release.floor.copy()
    floor[0] += 1
    with pytest.raises(tc.VerificationError, match="Record 1 is safe already without"):
        replace(release, floor=floor).verify(frame)


# -- what is refused ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keys": "a"}, "must be a list of one or more names"),
        ({"k": 1}, "`k` must be a whole number >= 2. Got 1"),
        ({"subsets": 3}, "`subsets` is 3, but there are only 2 keys"),
        ({"subsets": 1, "combinations": [["a"]]}, "not both"),
        ({"combinations": [["a", "bb"]]}, "names 'bb', which is not among the keys"),
        (
            {"weights": {"A": 2}},
            "`weights` names 'A', which is not among the keys. Known are: a, b",
        ),
        ({"weights": {"a": 0}}, "The weight of 'a' must be above 0. Got 0"),
        ({"weights": {"a": float("nan")}}, "The weight of 'a' must be above 0"),
        ({"importance": {"a": 1}, "weights": {"a": 1}}, "`weights` or `importance`, not both"),
        ({"importance": {"a": 3}}, "The importance of 'a' is a rank from 1 to 2. Got 3"),
        ({"importance": {"c": 1}}, "`importance` names 'c'"),
        ({"strata": ["a"]}, "'a' is a key, so that it cannot be in `strata`"),
        ({"sensitive": "s"}, "together with `diversity` or `closeness`"),
        ({"closeness": 0.2}, "Give `sensitive`"),
        ({"sensitive": "a", "diversity": 2}, "'a' is also a key"),
        ({"anonymity": "own"}, "must be 'k' or '1-k'"),
        (
            {"sensitive": "s", "diversity": 2.5, "diversity_kind": "recursive"},
            "l of recursive diversity must be whole. Got 2.5",
        ),
        ({"sensitive": "s", "closeness": 2}, "`closeness` is a share between 0 and 1"),
        ({"search": "best"}, "must be 'optimal' or 'greedy'"),
        ({"time_limit": 0}, "`time_limit` must be a finite number > 0"),
    ],
)
def test_questions_that_are_none(options, message):
    with pytest.raises(tc.InputError, match=message):
        LocalSuppression(**{"keys": ["a", "b"], **options})


@pytest.mark.parametrize(
    ("frame", "keys", "message"),
    [
        (
            {"a": [1, 2]},
            ["a"],
            "Not even the whole file of 2 records .* at least 3 equal released records",
        ),
        ({"a": [1, 1, 1]}, ["b"], "There is no column 'b'"),
        ({"a": []}, ["a"], "There are no records"),
        (
            {f"q{at}": [1] * 3 for at in range(31)},
            [f"q{at}" for at in range(31)],
            "31 keys are too",
        ),
    ],
)
def test_files_that_cannot_be_searched(frame, keys, message):
    with pytest.raises(tc.InputError, match=message):
        LocalSuppression(keys).protect(pd.DataFrame(frame))


def test_too_many_combinations_are_refused_before_the_search():
    frame = pd.DataFrame({f"q{at}": [1] * 3 for at in range(25)})
    with pytest.raises(tc.InputError, match="5,200,300 combinations of keys"):
        LocalSuppression(list(frame.columns), subsets=12).protect(frame)

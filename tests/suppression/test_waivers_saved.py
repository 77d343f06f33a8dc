"""What waivers save, against the same data tabulated without each of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from contributors import with_contributors
from tablecloak.suppression.waivers_saved import ALL_TOGETHER, saved_by_waivers

RULES = [tc.PPercent(15), tc.MinimumFrequency(2), tc.Dominance(1, 80)]


def firms(seed: int) -> pd.DataFrame:
    random = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "firm": [f"f{number}" for number in random.integers(0, 40, 70)],
            "region": random.choice(list("abcd"), 70),
            "branch": random.choice(list("xyz"), 70),
            "value": random.choice([400, 90, 30, 9, 3, 1], 70),
        }
    )
    waives = random.random(40) < 0.5
    own = np.where(random.random(40) < 0.2, 5.0, np.nan)
    number = frame["firm"].str[1:].astype(int).to_numpy()
    return frame.assign(waiver=np.where(waives, "yes", "")[number], own=own[number])


def table_of(frame: pd.DataFrame) -> tc.Table:
    return with_contributors(
        frame, ["region", "branch"], "value", contributor="firm", waiver="waiver", waiver_p="own"
    )


def without(frame: pd.DataFrame, firm: str) -> pd.DataFrame:
    mine = (frame["firm"] == firm) | (firm == ALL_TOGETHER)
    return frame.assign(waiver=frame["waiver"].mask(mine, ""), own=frame["own"].mask(mine))


@pytest.mark.parametrize("seed", range(2))
def test_a_waiver_saves_the_cells_that_are_sensitive_without_it(seed):
    frame = firms(seed)
    problem = table_of(frame).protect(*RULES)
    found = saved_by_waivers(problem, RULES).set_index("contributor")
    waiving = set(frame["firm"][(frame["waiver"] == "yes") | frame["own"].notna()])
    for firm in [*sorted(waiving), ALL_TOGETHER]:
        other = table_of(without(frame, firm)).protect(*RULES)
        again = other.sensitive & ~problem.sensitive
        if firm not in found.index:  # not among the largest of any cell
            assert not again.any()
            continue
        assert found.loc[firm, "cells"] == again.sum()
        assert found.loc[firm, "value"] == problem.table.values[again].sum()
    assert found.loc[ALL_TOGETHER, "cells"] > 0


def test_values_that_a_pattern_publishes_are_told_apart_from_those_it_hides():
    problem = table_of(firms(1)).protect(*RULES)
    pattern = tc.suppress(problem, time_limit=1000)
    found = tc.waivers_saved(problem.table, *RULES, pattern=pattern).set_index("contributor")
    bare = table_of(without(firms(1), ALL_TOGETHER)).protect(*RULES)
    published = bare.sensitive & ~problem.sensitive & ~pattern.suppressed
    assert found.loc[ALL_TOGETHER, "published"] == published.sum()
    assert found.loc[ALL_TOGETHER, "published_value"] == problem.table.values[published].sum()


def test_the_loss_that_a_waiver_saves_lies_between_its_proved_bounds():
    frame = pd.DataFrame(
        {
            "firm": list("abcdefghijkl"), "region": list("NNNNNNSSSSSS"),
            "branch": list("xxxyyyxxxyyy"), "value": [80, 5, 2, 40, 38, 20, 30, 29, 8, 50, 52, 9],
            "waiver": ["yes"] + [""] * 11,
        }
    )  # fmt: skip
    dimensions, rule = ["region", "branch"], tc.PPercent(7)
    tables = [
        with_contributors(each, dimensions, "value", contributor="firm", waiver="waiver")
        for each in (frame, frame.assign(waiver=""))
    ]
    losses = [tc.suppress(table.protect(rule), time_limit=1000).loss for table in tables]
    found = tc.waivers_saved(tables[0], rule, time_limit=1000)
    assert losses == [0, 363]
    for bound in ("loss_saved_at_least", "loss_saved_at_most"):
        assert found[bound].tolist() == [363, 363]


def test_a_cell_that_a_person_declared_safe_is_saved_by_nobody():
    table = table_of(firms(1))
    bare = table_of(without(firms(1), ALL_TOGETHER)).protect(*RULES)
    freed = np.flatnonzero(bare.sensitive & ~table.protect(*RULES).sensitive)
    declared = [*RULES, tc.Manual(freed[:1].tolist(), "safe")]
    found = tc.waivers_saved(table, *declared).set_index("contributor")
    assert found.loc[ALL_TOGETHER, "cells"] == len(freed) - 1


def test_it_is_an_error_if_nobody_could_waive():
    bare = with_contributors(firms(0), ["region", "branch"], "value", contributor="firm")
    with pytest.raises(tc.InputError, match="Nobody waived"):
        tc.waivers_saved(bare, tc.PPercent(10))


def test_who_waived_still_attacks_what_stays_sensitive():
    problem = table_of(firms(2)).protect(tc.PPercent(15))
    alone = tc.suppress(problem, time_limit=1000)
    held = tc.suppress(problem, protect_against="contributors", hold="possible", time_limit=1000)
    given = problem.table.contributions
    waived = ~given.known_waivers.unwaived & (given.largest_weight > 0)
    who = {given.name_of(number) for number in given.largest_contributor[waived].tolist()}
    found = tc.audit(problem, alone, intruders="contributors")
    attacks = {each.intruder.split(": ")[1] for each in found.findings}
    assert attacks & who
    assert held.suppressed[problem.sensitive].all()
    assert held.insiders is not None and held.loss >= alone.loss

"""Measures of risk: by keys that few others share, by inference within groups, and by distance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np

from tablecloak.errors import InputError
from tablecloak.microdata.columns import some_rows
from tablecloak.microdata.measures.measure import SAMPLE, Case, Figure, Measures
from tablecloak.microdata.risk.groups import GroupLikeness, diversity_of, grouped_values, is_ordered
from tablecloak.microdata.risk.intruders import fitting
from tablecloak.microdata.risk.keys import risk_by_household
from tablecloak.microdata.risk.linkage import (
    MANY_COLUMNS,
    interval_disclosure,
    mixed_linkage,
    probabilistic_linkage,
    rank_intervals,
    record_linkage,
)
from tablecloak.microdata.risk.population import population_risk
from tablecloak.microdata.risk.special_uniques import MANY_KEYS, special_unique_risk

RISKS = Measures("risk")
"""All measures of risk."""

MANY_CELLS = 100_000
"""Combinations of keys up to which the model of the population has interactions of pairs."""


@RISKS.measure("sample uniques", "keys")
def frequencies(measure: str, case: Case) -> Iterator[Figure]:
    """Yield uniques, and the records that violate 3- and 5-anonymity."""
    try:
        one, other = case.risks
    except InputError:  # Counts need no weights, which may be wrong.
        one, other = case.risks_by(None)
    yield from Figure.pairs(one, other, [
        (measure, lambda risk: risk.violations(2),
         "Records whose keys no other record of the same file has."),
        ("records below k = 3", lambda risk: risk.violations(3),
         "Records of a group of fewer than three in the same file."),
        ("records below k = 5", lambda risk: risk.violations(5),
         "Records of a group of fewer than five in the same file."),
    ])  # fmt: skip


@RISKS.measure("persons whom one record fits", "keys", "pairs")
def fitting_records(measure: str, case: Case) -> Iterator[Figure]:
    """Yield how many persons one released record alone fits, and how many fewer than three."""
    one, other = case.files
    keys = list(case.keys)
    changed = other[keys].notna() & (other[keys] != one[keys]) & one[keys].notna()
    if changed.any(axis=None):
        raise InputError(
            "Keys were changed, not only suppressed, so that no record need fit its person."
        )
    before, after = (fitting(one, frame, [keys]) for frame in (one, other))
    knowing = "who knows all keys, a missing key fitting everybody"
    yield from Figure.pairs(before, after, [
        (measure, lambda fits: (fits == 1).sum(),
         f"Persons for whom one released record alone is possible to an outsider {knowing}."),
        ("persons whom fewer than 3 fit", lambda fits: (fits < 3).sum(),
         f"Persons for whom fewer than three records are possible to an outsider {knowing}."),
    ])  # fmt: skip


@RISKS.measure("expected re-identifications", "keys")
def reidentifications(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the number and the share, and the largest risk of a record."""
    one, other = case.risks
    told = "by the weights" if case.weight else "if the file is the whole population"
    yield from Figure.pairs(one, other, [
        (measure, "expected", f"Expected number of right matches by the keys, {told}."),
        ("re-identification rate", "share",
         f"Share of the records that are matched rightly, {told}."),
        ("largest individual risk", lambda risk: risk.individual.max(),
         "Probability of a right match for the record that is most at risk."),
    ])  # fmt: skip


@RISKS.measure("households with a re-identified member", "keys", "household")
def household_matches(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the number of households and of records in them."""
    assert case.household is not None
    one, other = (
        risk_by_household(frame[case.household], risk.individual)
        for frame, risk in zip(case.files, case.risks, strict=True)
    )
    yield from Figure.pairs(one, other, [
        (measure, "expected_households",
         "Expected number of households of which at least one member is matched rightly."),
        ("records in such households", "expected",
         "Expected number of records that whoever finds one member of their household finds."),
    ])  # fmt: skip


@RISKS.measure("special uniques", "keys")
def special_uniques(measure: str, case: Case) -> Iterator[Figure]:
    """Yield their number, the largest score, and the matches by DIS-SUDA."""
    # All subsets of the keys are examined; those of three show the records most at risk.
    largest = None if len(case.keys) <= MANY_KEYS // 2 else 3
    told = "" if largest is None else f", of at most {largest} keys"
    one, other = (special_unique_risk(frame, case.keys, largest=largest) for frame in case.files)
    yield from Figure.pairs(one, other, [
        (measure, lambda risk: (risk.score > 0).sum(),
         f"Records that a set of known keys makes unique{told}."),
        ("largest SUDA2 score", lambda risk: risk.score.max(),
         f"Score of the record that the smallest and most sets of keys make unique{told}."),
        ("DIS-SUDA matches", lambda risk: risk.disclosure.sum(),
         "Expected number of right matches of unique records, if one in a hundred persons is "
         "in the file."),
    ])  # fmt: skip


@RISKS.measure("population uniques (tau 1)", "keys", "weight")
def population(measure: str, case: Case) -> Iterator[Figure]:
    """Yield tau 1 and tau 2 of a log-linear model."""
    sizes = [np.prod([frame[key].nunique() + 1.0 for key in case.keys]) for frame in case.files]
    interactions: Literal["all", "none"] = "all" if max(sizes) <= MANY_CELLS else "none"
    terms = "all pairs of keys" if interactions == "all" else "independent keys"
    one, other = (
        population_risk(frame, case.keys, weight=case.weight, interactions=interactions)
        for frame in case.files
    )
    yield from Figure.pairs(one, other, [
        (measure, "tau1", "Sample uniques that are unique in the population, by a log-linear "
         f"model of {terms}."),
        ("right matches of uniques (tau 2)", "tau2",
         "Expected number of right matches of sample uniques, by a log-linear model of "
         f"{terms}."),
    ])  # fmt: skip


@RISKS.measure("diversity", "keys", "sensitive")
def diversity(measure: str, case: Case) -> Iterator[Figure]:
    """Yield l of two kinds, t, and how often the best guess is right, for each attribute."""
    for name in case.sensitive:
        keys = [key for key in case.keys if key != name]
        if not keys:
            raise InputError(f"The only key is the sensitive attribute {name!r} itself.")
        ordered = is_ordered(case.original[name]) and is_ordered(case.released[name])
        groups = [grouped_values(frame, keys, name, "category") for frame in case.files]
        one, other = (diversity_of(*shares, ordered=ordered) for shares in groups)
        yield from Figure.pairs(one, other, [
            (f"distinct l of {name}", "distinct_l",
             f"Smallest number of different values of {name} in a group with the same keys."),
            (f"entropy l of {name}", "entropy_l",
             f"Number of equally frequent values of {name} that would be as uncertain as those "
             "of the most uniform group."),
            (f"t of {name}", "t",
             f"Largest distance of the distribution of {name} in a group from that of the "
             "file."),
            (f"best guess of {name}", lambda groups: groups.most_frequent.mean(),
             f"Share of the records whose {name} is the most frequent value of their group."),
        ])  # fmt: skip
        alike, like = (GroupLikeness(group, shares) for shares, group in groups)
        yield from Figure.pairs(alike, like, [
            (f"alpha of {name}", "alpha",
             f"Largest share of one value of {name} in a group: 1 if a group tells it."),
            (f"beta of {name}", "beta",
             f"Largest relative growth of the share of a value of {name} from file to group."),
            (f"delta of {name}", "delta",
             f"Largest logarithm of the ratio of the shares of a value of {name} in group and "
             "file."),
        ])  # fmt: skip


PAIRED = 1000
"""Records all pairs of which are compared."""


@RISKS.measure("nearest record is the right one", "numbers", "pairs")
def linkage(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the share of released records that are linked rightly."""
    names = case.varying_numbers()
    part = f", in {SAMPLE:,} random ones" if len(case.original) > SAMPLE else ""
    yield Figure(
        measure,
        record_linkage(case.original, case.original, names, most=SAMPLE),
        record_linkage(case.original, case.released, names, most=SAMPLE),
        f"Share of released records whose nearest original by numbers is their own{part}.",
    )


@RISKS.measure("all numbers within 5 % of a deviation", "numbers", "pairs")
def intervals(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the share of records that are disclosed."""
    names = case.varying_numbers()
    yield Figure(
        measure,
        1.0,
        interval_disclosure(case.original, case.released, names),
        "Share of records whose true numbers all lie within a twentieth of a standard "
        "deviation of the released ones.",
    )


@RISKS.measure("numbers within 5 % of ranks", "numbers", "pairs")
def ranked_intervals(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the mean share over the columns, and that of the worst column."""
    shares = rank_intervals(case.original, case.released, case.varying_numbers()).per_column()
    worst = f"{shares.idxmax()}, " if shares.notna().any() else ""
    yield Figure(
        measure,
        1.0,
        float(shares.mean()),
        "Share of the true numbers between the released numbers that are 5 % of all ranks "
        "below and above their own.",
    )
    meaning = f"This share for {worst}the column in which it is largest."
    yield Figure("the same for the worst column", 1.0, float(shares.max()), meaning)


@RISKS.measure("linked by keys and numbers", "keys", "pairs")
def mixed_linkages(measure: str, case: Case) -> Iterator[Figure]:
    """Yield the shares of right links by distance, by assignment and by probabilities."""
    rows = some_rows(len(case.original), PAIRED)
    part = ""
    if len(case.original) > PAIRED:
        part = f", among {PAIRED:,} random records, which is easier than among all"
    names = list(dict.fromkeys([*case.keys, *case.numbers]))
    # Keys as text, since their numbers are codes.
    one, other = (
        frame[names].iloc[rows].astype(dict.fromkeys(case.keys, object)) for frame in case.files
    )
    for figure, assign, said in (
        (measure, False, "is nearest by keys and numbers"),
        ("assigned by keys and numbers", True, "fits best where each original is linked once"),
    ):
        yield Figure(
            figure,
            mixed_linkage(one, one, names, assign=assign).share,
            mixed_linkage(one, other, names, assign=assign).share,
            f"Share of released records whose own original {said}{part}.",
        )
    known = names[:MANY_COLUMNS]
    yield Figure(
        "linked by agreeing columns",
        probabilistic_linkage(one, one, known).share,
        probabilistic_linkage(one, other, known).share,
        "Share of released records whose own original agrees most by the weights of Fellegi "
        f"and Sunter{part}.",
    )

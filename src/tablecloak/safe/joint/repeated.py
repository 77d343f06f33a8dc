"""What contributors have in several records: it cancels where figures are subtracted.

Wages of persons by quarter, the turnover of a firm beside each of its sites, the income of a
household beside each member: rows of one contributor with the same amount are one unknown, which
figures add up as often as it has rows. What one quarter less another one tells is then the wage of
those who left. Amounts that rise alike from code to code, as by three per cent a year, are the same
but for a factor that everybody knows. Rows that are counted are one unknown whatever they hold:
what is counted of who is there in both quarters is gone from the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.safe.output import Figures

NEARLY = 0.01
"""Relative difference up to which amounts of a contributor are one: what is left of many such
differences is little beside the amount of one who is in one sum alone."""

MOST_ALIKE, LEAST_BOTH = 0.5, 10
"""Share of the contributors with amounts in two codes whose ratio must be nearly the same for it to
be a factor that everybody knows, and least number of them. Factors count that explain half as many
of all pairs: amounts of few digits have some by chance."""

SAMPLED = 20_000
"""Records of contributors by which factors are looked for."""

Unknowns = tuple[Integers, Floats]
"""For each record the one that stands for its unknown, -1 where no figure adds it up, and how many
times the unknown it has."""


@dataclass
class RepeatedAmounts:
    """The figures of a project with what a contributor has several times as one.

    A figure is merged anew only if amounts that were not known before change what is equal.
    """

    _unknowns: dict[str, Unknowns] = field(default_factory=dict)
    _merged: dict[int, tuple[Figures, Figures]] = field(default_factory=dict)

    def merged(
        self,
        new: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        contributors: Integers,
        codes: Sequence[Integers] = (),
    ) -> tuple[list[Figures], dict[str, list[Figures]], list[int]]:
        """Return figures in which each unknown of a contributor stands once.

        Parameters
        ----------
        new : sequence of Figures
        earlier : mapping of str to sequence of Figures
        contributors : (n_records,) array of int
        codes : sequence of (n_records,) array of int
            Of columns by which amounts may rise alike, such as the year; -1 where not known.

        Returns
        -------
        new : list of Figures
            Of columns in which some contributor has an amount several times, and all counts.
        earlier : dict of str to list of Figures
            All others of these columns.
        places : list of int
            Which of the new figures they are.
        """
        flat = [*new, *(entry for some in earlier.values() for entry in some)]
        unknowns = {}
        for name in {_name(entry) for entry in new}:
            of_name = [entry for entry in flat if _name(entry) == name]
            unknowns[name] = (
                unknowns_of(of_name, contributors, codes) if name else persons(contributors)
            )
            before = self._unknowns.get(name)
            if before is None or not all(map(np.array_equal, unknowns[name], before)):
                self._unknowns[name] = unknowns[name]
                self._merged = {
                    key: pair for key, pair in self._merged.items() if _name(pair[0]) != name
                }
        unknowns = {name: some for name, some in unknowns.items() if _is_repeated(some[0])}

        def some(entries: Sequence[Figures]) -> list[int]:
            return [which for which, entry in enumerate(entries) if _name(entry) in unknowns]

        def once(entries: Sequence[Figures]) -> list[Figures]:
            chosen = [entries[which] for which in some(entries)]
            return [self._of(entry, unknowns[_name(entry)]) for entry in chosen]

        merged, past = once(new), {name: once(entries) for name, entries in earlier.items()}
        asked = {id(entry) for entry in flat}
        self._merged = {key: pair for key, pair in self._merged.items() if key in asked}
        return merged, past, some(new)

    def _of(self, figures: Figures, unknowns: Unknowns) -> Figures:
        if id(figures) not in self._merged:
            self._merged[id(figures)] = (figures, merged_figures(figures, unknowns))
        return self._merged[id(figures)][1]


def _name(figures: Figures) -> str:
    """Return the variable of figures; nothing if they count."""
    return "" if figures.is_count else figures.variable or "amount"


def first_of_each(contributors: Integers) -> Integers:
    """Return the first record of each contributor, by its code."""
    first = np.full(int(contributors.max(initial=-1)) + 1, len(contributors), dtype=np.int64)
    # The last assignment counts.
    first[contributors[::-1]] = np.arange(len(contributors))[::-1]
    return first


def persons(contributors: Integers) -> Unknowns:
    """Return, for each record, the first one of its contributor."""
    return first_of_each(contributors)[contributors], np.ones(len(contributors))


def unknowns_of(
    figures: Sequence[Figures], contributors: Integers, codes: Sequence[Integers] = ()
) -> Unknowns:
    """Return, for each record, the first one of its contributor with nearly the same amount.

    Amounts that rise alike from one code to the next are compared without their factor.
    """
    amounts = np.full(len(contributors), np.nan)
    for entry in figures:
        there = entry.group >= 0
        assert entry.amounts is not None
        amounts[entry.records[there]] = entry.amounts[there]
    factor = factors_by_code(amounts, contributors, codes)
    amounts /= factor
    records = np.flatnonzero(~np.isnan(amounts))
    order = records[np.lexsort((amounts[records], contributors[records]))]
    who, sorted_ = contributors[order], amounts[order]
    step = np.abs(np.diff(sorted_)) > NEARLY * np.abs(sorted_[:-1])
    begins = np.append(True, step | (np.diff(who) != 0))[: len(order)]
    number = np.cumsum(begins) - 1
    least = np.full(int(begins.sum()), len(contributors), dtype=np.int64)
    np.minimum.at(least, number, order)
    first = np.full(len(contributors), -1, dtype=np.int64)
    first[order] = least[number]
    return first, factor


def factors_by_code(amounts: Floats, contributors: Integers, codes: Sequence[Integers]) -> Floats:
    """Return by how much the amounts of all rise with a code of their records; 1 where they do not.

    The first column counts that has such factors. They are medians of what contributors have in one
    code for what they have in the most usual one.
    """
    factor = np.ones(len(amounts))
    there = np.flatnonzero(~np.isnan(amounts))
    if not codes or not len(there):
        return factor
    drawn = np.random.default_rng(0).random(int(contributors.max()) + 1)
    looked_at = there[drawn[contributors[there]] <= SAMPLED / len(there)]
    for column in codes:
        there = looked_at[column[looked_at] >= 0]
        n_codes, n_who = int(column.max(initial=-1)) + 1, len(drawn)
        # The codes of an amount itself, or of classes of it, say nothing of what is in both.
        if not len(there) or len(np.unique(amounts[there])) <= n_codes:
            continue
        place = column[there] * n_who + contributors[there]
        held = np.unique(place)
        added = np.bincount(np.searchsorted(held, place), amounts[there])
        code, who = held // n_who, held % n_who
        usual = int(np.argmax(np.bincount(code)))
        of_usual = np.full(n_who, np.nan)
        of_usual[who[code == usual]] = added[code == usual]
        ratio = np.divide(
            added, of_usual[who], out=np.full(len(held), np.nan), where=of_usual[who] != 0
        )
        by_code, n_explained = np.ones(n_codes), 0
        compared = (code != usual) & (ratio > 0)
        for one in np.unique(code[compared]).tolist():
            both = ratio[compared & (code == one)]
            middle = float(np.median(both))
            n_near = int((np.abs(both / middle - 1) <= NEARLY).sum())
            is_other = abs(middle - 1) > NEARLY and len(both) >= LEAST_BOTH
            if is_other and n_near >= MOST_ALIKE * len(both):
                by_code[one] = middle
                n_explained += n_near
        if n_explained and n_explained >= MOST_ALIKE / 2 * compared.sum():
            factor[column >= 0] = by_code[column[column >= 0]]
            return factor
    return factor


def _is_repeated(first: Integers) -> bool:
    """Whether some contributor has an unknown several times."""
    there = np.flatnonzero(first >= 0)
    return bool((first[there] != there).any())


def merged_figures(figures: Figures, unknowns: Unknowns) -> Figures:
    """Return figures that add up each unknown as often as its contributor has rows of it.

    Groups are then what figures say of such an unknown: in which groups it stands, and how often.
    """
    first, factor = unknowns
    there = np.flatnonzero(figures.group >= 0)
    records = figures.records[there]
    units, one_of, number = np.unique(first[records], return_index=True, return_inverse=True)
    group, n_groups = figures.group[there].astype(np.int64), figures.sums.shape[1]
    shape = (len(units), n_groups)
    often = csr_array((factor[records], (number, group)), shape=shape)
    # Units of the same groups, each as often, have the same sum of these marks.
    mark = np.random.default_rng(0).random(n_groups)
    marks = np.round(often @ mark, 9)
    _, one, pattern = np.unique(marks, return_index=True, return_inverse=True)
    amounts: Floats | None = None
    if figures.amounts is not None:
        amounts = figures.amounts[there][one_of] / factor[records[one_of]]
    return Figures(
        units,
        pattern,
        csr_array(csr_array(figures.sums, dtype=np.float64) @ often[one].T),
        figures.labels,
        amounts,
        figures.variable,
    )

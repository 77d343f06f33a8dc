"""What an intruder can infer from perturbed counts, knowing that true counts add up and are whole.

The intruder has the published table and knows, or guesses, how far a count may be changed. True
counts are whole, at least 0, and add up; published counts do not, so that each relation narrows
the possible counts of its cells. The smallest and the largest possible count of each cell are
found by propagation through the relations, which is fast, and then by integer programs where
propagation does not settle an interval. Each end of an interval is either attained by a table that
agrees with all published counts, or marked as an outer bound.

Where tables of the same records form a cycle, the intruder also knows that counts of combinations
that no table shows are whole and not negative. Tables by region and sex, sex and age, and region
and age must all be margins of one table of region, sex and age. That says more than that each table
adds up and that common margins agree. Where tables form no cycle it says nothing more: they can be
glued together along their common margins, one by one (Vorob'ev 1962, Consistent families of
measures and their extensions; for whole counts by transportation problems, which have whole
solutions).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, hstack, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cellkey.counts import PerturbedCounts
from tablecloak.cellkey.perturbation_table import Perturbations
from tablecloak.comparison.possible_counts import (
    NOTHING_FITS,
    CountGuesses,
    possible_counts,
)
from tablecloak.errors import InputError
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.relations import hierarchical_relations

MOST_DEVIATION = 10_000
"""Largest change that an intruder may assume: each cell lists its true counts one by one."""

MOST_CELLS = 2_000_000
"""Largest number of cells of a grid, empty ones included, so that the attack fits into memory."""

MOST_JOINT = 50_000
"""Largest number of combinations that are added where tables form a cycle. Each is a variable of
every integer program; with more of them few programs end in time."""


def cycle_of(tables: Iterable[Iterable[str]]) -> list[frozenset[str]]:
    """Return what is left of tables where they form a cycle; nothing if they do not.

    Parameters
    ----------
    tables : iterable of iterable of str
        Dimensions of each table.

    Returns
    -------
    list of frozenset of str
        Dimensions of the margins that form the cycle.

    Notes
    -----
    A dimension of one table only is dropped, and so is a table whose dimensions all lie in another,
    until neither is left: the reduction of Graham, and of Yu and Ozsoyoglu (1979).
    """
    left = [frozenset(names) for names in tables]
    while True:
        times = Counter(itertools.chain.from_iterable(left))
        shared = [frozenset(name for name in names if times[name] > 1) for names in left]
        kept = [
            names
            for number, names in enumerate(shared)
            if names
            and not any(
                names < other or (names == other and number > place)
                for place, other in enumerate(shared)
            )
        ]
        if kept == left:
            return kept
        left = kept


def joint_relations(
    cells: pd.DataFrame,
    margins: Iterable[Iterable[str]],
    trees: Mapping[str, Hierarchy],
    largest: int,
) -> csr_array | None:
    """Say of which combinations of all dimensions of a cycle each cell of its margins is the sum.

    Parameters
    ----------
    cells : pandas.DataFrame of str, shape (n_cells, n_dimensions)
    margins : iterable of iterable of str
        From `cycle_of`.
    trees : mapping of str to Hierarchy
    largest : int
        Largest number of combinations.

    Returns
    -------
    scipy.sparse.csr_array, shape (n_relations, n_cells + n_combinations), or None
        Rows whose sum is 0; None if there are too many combinations.
    """
    margins = [set(margin) for margin in margins]
    names = [str(name) for name in cells.columns if any(name in margin for margin in margins)]
    sizes = [len(trees[name].leaves) for name in names]
    n_joint = math.prod(sizes)
    if n_joint > largest:
        return None
    number = pd.Series(np.arange(len(cells)), index=pd.MultiIndex.from_frame(cells))
    places = dict(zip(names, np.unravel_index(np.arange(n_joint), sizes), strict=True))
    rows, columns, signs, n_rows = [], [], [], 0
    for margin in margins:
        own = [name for name in names if name in margin]
        widths = [len(trees[name].leaves) for name in own]
        axes = [
            trees[str(name)].leaves if name in margin else [trees[str(name)].total]
            for name in cells.columns
        ]
        totals = number.loc[pd.MultiIndex.from_product(axes)].to_numpy()
        # The margin lists its dimensions in the order of `cells`, as `names` does.
        part = np.ravel_multi_index([places[name] for name in own], widths)
        rows += [n_rows + np.arange(len(totals)), n_rows + part]
        columns += [totals, len(cells) + np.arange(n_joint)]
        signs += [np.full(len(totals), -1.0), np.ones(n_joint)]
        n_rows += len(totals)
    return csr_array(
        (np.concatenate(signs), (np.concatenate(rows), np.concatenate(columns))),
        shape=(n_rows, len(cells) + n_joint),
    )


@dataclass(frozen=True, eq=False)
class CountAttack:
    """What can be inferred about each true count. Secret: the intervals can give true counts away.

    Parameters
    ----------
    codes : pandas.DataFrame of str, shape (n_cells, n_dimensions)
        All combinations of codes, including those that the release does not list.
    published : numpy.ndarray of int, shape (n_cells,)
        Published counts; -1 where nothing is listed.
    lower, upper : numpy.ndarray of int, shape (n_cells,)
        Smallest and largest true count that agrees with all published counts.
    is_exact : numpy.ndarray of bool, shape (n_cells,)
        Whether both ends are attained by a table; otherwise the interval may be too wide.
    guesses : Guesses
        True counts that can lead to the published ones, with their chances.
    listed : numpy.ndarray of bool, shape (n_cells,)
        Cells that the release lists.
    """

    codes: pd.DataFrame
    published: Integers
    lower: Integers
    upper: Integers
    is_exact: Flags
    guesses: CountGuesses
    listed: Flags

    @property
    def determined(self) -> Flags:
        """Cells whose true count is determined exactly."""
        return np.equal(self.lower, self.upper)

    @property
    def determined_share(self) -> float:
        """Share of the listed cells whose true count is determined exactly."""
        return float(np.mean(self.determined[self.listed])) if self.listed.any() else 0.0

    @property
    def mean_width(self) -> float:
        """Mean width of the intervals of the listed cells; 0 if each count is determined."""
        width = (self.upper - self.lower)[self.listed]
        return float(width.mean()) if len(width) else 0.0

    def posterior(self, prior: Mapping[int, float] | None = None) -> list[dict[int, float]]:
        """Return the probability of each true count, cell by cell.

        Parameters
        ----------
        prior : mapping of int to float, optional
            Share of cells with each true count; by default all counts are equally likely before.

        Returns
        -------
        list of dict
            For each cell the probabilities of the counts in its interval, by Bayes' rule with the
            chances of the perturbation table. Relations enter through the interval only.
        """
        result = []
        ends = zip(self.guesses.case, self.lower, self.upper, strict=True)
        for number, low, high in ends:
            counts, chances = self.guesses.counts[number], self.guesses.chances[number]
            inside = (counts >= low) & (counts <= high)
            weight = chances[inside]
            if prior is not None:
                weight = weight * np.array([prior.get(int(n), 0.0) for n in counts[inside]])
            total = weight.sum()
            share = weight / total if total > 0 else np.full(len(weight), 1.0 / len(weight))
            result.append({int(n): float(p) for n, p in zip(counts[inside], share, strict=True)})
        return result

    def most_likely(self, prior: Mapping[int, float] | None = None) -> tuple[Integers, Floats]:
        """Return the most likely true count of each cell, and its probability; see `posterior`."""
        best = [max(each.items(), key=lambda pair: pair[1]) for each in self.posterior(prior)]
        counts, chances = zip(*best, strict=True) if best else ((), ())
        return np.array(counts, dtype=np.int64), np.array(chances, dtype=np.float64)

    def best_guess_share(self, true: Integers, prior: Mapping[int, float] | None = None) -> float:
        """Share of the listed cells whose most likely count is the true one."""
        right = (self.most_likely(prior)[0] == true)[self.listed]
        return float(np.mean(right)) if len(right) else 0.0

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each cell: its interval, and its most likely count."""
        likely, chance = self.most_likely()
        return self.codes.assign(
            published=pd.Series(self.published).astype("Int64").mask(~self.listed),
            lower=self.lower,
            upper=self.upper,
            exact=self.is_exact,
            likely=likely,
            probability=chance,
        )

    def summary(self) -> str:
        """Say in one line what can be inferred."""
        width = (self.upper - self.lower)[self.listed]
        n_listed, n_found = int(self.listed.sum()), int(self.determined[self.listed].sum())
        text = (
            f"attack on perturbed counts: {n_found:,} of {n_listed:,} published counts follow "
            f"exactly ({100 * self.determined_share:.1f} %), "
            f"{int((width == 1).sum()):,} more up to 1"
        )
        open_ = int((~self.is_exact).sum())
        return text + (f"; {open_:,} intervals may be narrower still" if open_ else "")

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


@on_chosen_solver
def attack_counts(
    *releases: PerturbedCounts | pd.DataFrame,
    perturbations: Perturbations | None = None,
    deviation: int | None = None,
    hierarchies: Mapping[str, Hierarchy] | None = None,
    threshold: int = 0,
    means: pd.DataFrame | None = None,
    decimals: int = 1,
    time_limit: float = 60.0,
    progress: Any = None,
    solver: str | None = None,
) -> CountAttack:
    """Infer intervals of true counts from one or several perturbed tables of the same records.

    Parameters
    ----------
    *releases : PerturbedCounts or pandas.DataFrame
        Tables of the same records. Of a `PerturbedCounts` only the release is used. A frame
        has a column of codes for each dimension, and `count`; cells that are not listed were
        published as 0 or not at all.
    perturbations : Perturbations, optional
        Perturbation table that was used, if the intruder knows it.
    deviation : int, optional
        Largest change that the intruder assumes, if the perturbation table is not known.
    hierarchies : mapping of str to Hierarchy, optional
        Hierarchies of the dimensions; needed for frames.
    threshold : int, default=0
        Counts below it are not published; see `perturb_counts`. A `PerturbedCounts` brings its own.
    means : pandas.DataFrame, optional
        Means of a variable in whole numbers, such as age, that are published beside the counts: a
        column of codes for each dimension, and `mean`. With a column `total` the total of the
        variable is published as well. Both are taken to be those of the true records.
    decimals : int, default=1
        Digits with which means are printed.
    time_limit : float, default=60
        Seconds. Intervals that are not settled by then are outer bounds.
    progress : callable, optional
        Called with the stage and the number of intervals that are not settled.
    solver : str, optional
        Name of the solver of all programs, such as "highs" or "cbc"; by default the one chosen by
        `tablecloak.solve.solver.using_solver`, or else "highs".

    Returns
    -------
    CountAttack

    Raises
    ------
    InputError
        If neither `perturbations` nor `deviation` is given; if no table of whole counts fits what
        is published; if a grid is too large.

    Notes
    -----
    A mean beside a perturbed count undoes it: n records have a total within n times half of the
    last digit of n times the mean, and few n have a whole number there. With the total one n is
    left, or a few. The remedy is to publish the perturbed total over the perturbed count.
    """
    del solver
    budget = Budget.begun(time_limit, progress=progress)
    frames, trees, known, least = _taken(releases, hierarchies, perturbations, deviation, threshold)
    codes, relations = _grid(frames, trees)
    published, listed = _published(frames, codes, trees)
    guesses = guesses_for(published, listed, known, deviation, least)
    if means is not None:
        guesses = _fitting(guesses, means, decimals, _places(means, codes, trees))
    tables = [[str(name) for name in frame if name != "count"] for frame in frames]
    lower, upper, exact = _inferred(guesses, relations, codes, tables, trees, budget)
    return CountAttack(codes, published, lower, upper, exact, guesses, listed)


def _fitting(
    guesses: CountGuesses, means: pd.DataFrame, decimals: int, places: Integers
) -> CountGuesses:
    """Return the guesses for which records with whole values have the means that are printed."""
    case, counts, chances = guesses.case.copy(), list(guesses.counts), list(guesses.chances)
    half = 0.5 * 10.0**-decimals * (1 + 1e-9)
    totals = means["total"] if "total" in means else pd.Series(np.nan, index=means.index)
    printed = zip(places.tolist(), means["mean"].tolist(), totals.tolist(), strict=True)
    for place, mean, total in printed:
        tried = counts[case[place]]
        nearest = np.rint(tried * mean) if np.isnan(total) else total
        fits = (tried > 0) & (np.abs(nearest - tried * mean) <= tried * half)
        if not fits.any():
            raise InputError(NOTHING_FITS)
        counts.append(tried[fits])
        chances.append(chances[case[place]][fits])
        case[place] = len(counts) - 1
    return CountGuesses(case, counts, chances)


def _inferred(
    guesses: CountGuesses,
    relations: csr_array,
    codes: pd.DataFrame,
    tables: Sequence[Sequence[str]],
    trees: Mapping[str, Hierarchy],
    budget: Budget,
) -> tuple[Integers, Integers, Flags]:
    """Return the interval of each true count, and whether both ends are attained by records."""
    cycle = cycle_of(tables)
    if not cycle:
        return possible_counts(guesses, relations, budget)
    joint = joint_relations(codes, cycle, trees, MOST_JOINT)
    if joint is None:
        lower, upper, _ = possible_counts(guesses, relations, budget)
        # Tables of counts that agree need not be those of any records.
        return lower, upper, np.equal(lower, upper)
    n_cells, n_joint = len(codes), joint.shape[1] - len(codes)
    wider = csr_array(hstack([relations, csr_array((relations.shape[0], n_joint))], format="csr"))
    both = csr_array(vstack([wider, joint], format="csr"))
    is_cell = np.arange(n_cells + n_joint) < n_cells
    lower, upper, exact = possible_counts(guesses.with_open(n_joint), both, budget, wanted=is_cell)
    return lower[is_cell], upper[is_cell], exact[is_cell]


def _taken(
    releases: Sequence[Any],
    hierarchies: Mapping[str, Hierarchy] | None,
    perturbations: Perturbations | None,
    deviation: int | None,
    threshold: int,
) -> tuple[list[pd.DataFrame], dict[str, Hierarchy], Perturbations | None, int]:
    """Return published frames, hierarchies, and what is known of the method."""
    if not releases:
        raise InputError(
            "`attack_counts` needs at least one release: a result of `perturb_counts`, or a frame "
            "of published counts."
        )
    frames, trees = [], dict(hierarchies or {})
    for release in releases:
        if isinstance(release, PerturbedCounts):
            if release.is_weighted:
                raise InputError(
                    "Weighted counts are not whole; this attack is for plain counts. Perturb "
                    "counts without `weight` to attack them."
                )
            frames.append(release.release())
            trees |= release.hierarchies
            threshold = max(threshold, release.threshold)
            if deviation is None and perturbations is None:
                perturbations = release.perturbations
        else:
            frames.append(release)
    if deviation is not None and not 0 <= deviation <= MOST_DEVIATION:
        raise InputError(
            f"`deviation` must be a whole number from 0 to {MOST_DEVIATION}. Got {deviation!r}."
        )
    if perturbations is None and deviation is None:
        raise InputError(
            "Releases that are frames do not tell how they were perturbed. Give `perturbations`, "
            "the perturbation table, or `deviation`, the largest change."
        )
    for frame in frames:
        unknown = [name for name in frame.columns if name != "count" and name not in trees]
        if "count" not in frame or unknown:
            raise InputError(
                f"A release needs the column 'count' and dimensions with hierarchies. Found "
                f"{list(frame.columns)}; give `hierarchies` for {unknown or 'all of them'}."
            )
    frames = [_with_whole_counts(frame, number) for number, frame in enumerate(frames, 1)]
    return frames, trees, perturbations if deviation is None else None, threshold


def _with_whole_counts(frame: pd.DataFrame, number: int) -> pd.DataFrame:
    """Return a release whose counts are checked to be whole; missing ones stay missing."""
    counts = pd.to_numeric(frame["count"], errors="coerce").astype(np.float64)
    whole = np.isfinite(counts) & (counts % 1 == 0) & (counts >= 0)
    odd = np.flatnonzero(frame["count"].notna() & ~whole)
    if len(odd):
        raise InputError(
            f"Table {number}, row {odd[0] + 1}: column 'count' is {frame['count'].iloc[odd[0]]}, "
            f"but must be a whole number of 0 or more. Correct it, or leave the cell out."
        )
    for name in frame.columns:
        missing = np.flatnonzero(frame[name].isna())
        if name != "count" and len(missing):
            raise InputError(
                f"Table {number}, row {missing[0] + 1}: the code of dimension {name!r} is missing. "
                f"Fill it in; a total needs a code too."
            )
    return frame.assign(count=counts)


def _grid(
    frames: Sequence[pd.DataFrame], trees: Mapping[str, Hierarchy]
) -> tuple[pd.DataFrame, csr_array]:
    """Return all cells of all tables, and the relations between them."""
    named = [str(name) for frame in frames for name in frame if name != "count"]
    names = list(dict.fromkeys(named))
    grids, pieces = [], []
    for frame in frames:
        own = [name for name in names if name in frame]
        axes = [trees[name].codes if name in own else [trees[name].total] for name in names]
        size = int(np.prod([len(axis) for axis in axes], dtype=np.float64))
        if size > MOST_CELLS:
            raise InputError(
                f"The grid of {', '.join(own)} has {size:,} cells, more than {MOST_CELLS:,}. "
                f"Attack a part of the table."
            )
        grids.append(pd.DataFrame(list(itertools.product(*axes)), columns=names, dtype=object))
    cells = pd.concat(grids, ignore_index=True).drop_duplicates(ignore_index=True)
    number = pd.Series(np.arange(len(cells)), index=pd.MultiIndex.from_frame(cells))
    for grid in grids:
        own = hierarchical_relations(grid, {name: trees[name] for name in names})
        column = number.loc[pd.MultiIndex.from_frame(grid)].to_numpy()
        coordinates = own.tocoo()
        pieces.append(
            csr_array(
                (coordinates.data, (coordinates.coords[0], column[coordinates.coords[1]])),
                shape=(own.shape[0], len(cells)),
            )
        )
    return cells, csr_array(vstack(pieces, format="csr"))


def _published(
    frames: Sequence[pd.DataFrame], codes: pd.DataFrame, trees: Mapping[str, Hierarchy]
) -> tuple[Integers, Flags]:
    """Return the published count of each cell, and which cells are listed."""
    published = np.full(len(codes), -1, dtype=np.int64)
    for frame in frames:
        shown = frame[frame["count"].notna()]
        values = shown["count"].to_numpy(np.float64)
        at = _places(shown, codes, trees)
        clash = (published[at] >= 0) & (published[at] != values)
        if clash.any():
            cell = codes.iloc[at[np.flatnonzero(clash)[0]]].to_dict()
            raise InputError(
                f"The cell {cell} has different counts in two tables. Consistent tables show the "
                f"same; are they of the same records and keys?"
            )
        published[at] = values.astype(np.int64)
    return published, published >= 0


def _places(shown: pd.DataFrame, codes: pd.DataFrame, trees: Mapping[str, Hierarchy]) -> Integers:
    """Return which cell each row of a release is."""
    number = pd.Series(np.arange(len(codes)), index=pd.MultiIndex.from_frame(codes))
    full = pd.DataFrame(
        {
            name: shown[name].astype(str) if name in shown else trees[name].total
            for name in codes.columns
        },
        index=shown.index,
    )
    places = number.reindex(pd.MultiIndex.from_frame(full))
    if places.isna().any():
        row = full[places.isna().to_numpy()].iloc[0].to_dict()
        raise InputError(
            f"The cell {row} has a code that is not in its hierarchy. Add the code to the "
            "hierarchy, or correct the release."
        )
    numbers: Integers = places.to_numpy(np.int64)
    return numbers


def guesses_for(
    published: Integers,
    listed: Flags,
    perturbations: Perturbations | None,
    deviation: int | None,
    threshold: int,
) -> CountGuesses:
    """List the true counts that can lead to each published one.

    Parameters
    ----------
    published : numpy.ndarray of int, shape (n_cells,)
    listed : numpy.ndarray of bool, shape (n_cells,)
        Cells that are not listed were perturbed to 0, or below the threshold.
    perturbations : Perturbations or None
        None: every change of a count above 0 by at most the deviation is possible, and all are
        equally likely; a true count of 0 is never changed.
    deviation : int or None
        Largest change; only used without `perturbations`.
    threshold : int

    Raises
    ------
    InputError
        If a published count follows from no true count.
    """
    shown = np.where(listed, published, -1)
    kinds, case = np.unique(shown, return_inverse=True)
    counts, chances = [], []
    for kind in kinds:
        targets = range(max(threshold, 1)) if kind < 0 else range(int(kind), int(kind) + 1)
        found = _guesses_of(targets, perturbations, deviation)
        if not found:
            raise InputError(
                f"The published count {int(kind)} follows from no true count by the perturbation "
                f"table that is given. Give the one that was used, or only `deviation`."
            )
        counts.append(np.array(sorted(found), dtype=np.int64))
        chances.append(np.array([found[n] for n in sorted(found)]))
    return CountGuesses(case.reshape(-1).astype(np.int64), counts, chances)


def _guesses_of(
    targets: range, perturbations: Perturbations | None, deviation: int | None
) -> dict[int, float]:
    """Return for each true count the chance that it is published as one of the targets."""
    reach = deviation if perturbations is None else round(perturbations.largest_change)
    assert reach is not None
    found: dict[int, float] = {}
    for count in range(max(targets[0] - reach, 0), targets[-1] + reach + 1):
        chances = _assumed(count, reach) if perturbations is None else perturbations.chances(count)
        chance = sum(chances.get(target - count, 0.0) for target in targets)
        if chance > 0:
            found[count] = chance
    return found


def _assumed(count: int, reach: int) -> dict[int, float]:
    """Return the chance of each change of a true count where only the largest change is known.

    A cell without records has no key: cell keys never change a true 0. Of all other counts each
    change that does not lead below 0 is as likely as any other.
    """
    if count == 0:
        return {0: 1.0}
    lowest = -min(count, reach)
    return dict.fromkeys(range(lowest, reach + 1), 1.0 / (reach - lowest + 1))

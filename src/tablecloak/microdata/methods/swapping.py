"""Data swapping as a decision problem: pairs of records exchange some attributes.

A release is made by m pairs of records that exchange the values of all swap attributes together;
the swap rate is the share of *records* in pairs, 2 m / n. Its risk is the share of unswapped
records that lie in cells of count 1 or 2 after the swap, its distortion the distance between
the cross-classifications before and after. Both follow from the swapped records alone and one
table of the original, so that many candidates can be compared.

References
----------
.. [1] Karr, Sanil: Data swapping as a decision problem, 2004.
.. [2] Gomatam, Karr, Sanil: Data swapping as a decision problem, Journal of Official Statistics
   21 (2005).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd
from pydantic import Field

from tablecloak.budget import generator
from tablecloak.errors import InputError, ModelError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import columns_of, taken_from
from tablecloak.microdata.loglinear import LogLinearModel
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order
from tablecloak.microdata.utility.frontier import best_below, frontier

__all__ = ["DataSwapping", "SwapCandidates", "SwapRelease", "SwapReport", "sweep"]

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Change = Literal["none", "some", "all"]

ROUNDS = 500
"""Rounds of pairing at most; each pairs anew the records that found no partner."""

PARTED = 100_000
"""Pairs that are looked at in one round when some have to be parted."""

SMALL = (1, 2)
"""Counts that make an unswapped record risky."""


@dataclass(frozen=True)
class SwapReport:
    """Risk and distortion of one release.

    Parameters
    ----------
    n_records, n_swapped, n_altered : int
        Records, records in pairs, and those among them whose values did change.
    risk : float
        Share of unswapped records in cells of count 1 or 2 after the swap; NaN if every record
        was swapped.
    strict_risk : float
        The same among unaltered records.
    risk_before : float
        Share of all records in such cells before.
    hellinger : float
        sqrt(1/2 sum (sqrt p - sqrt q)^2), at most 1.
    total_variation : float
        1/2 sum |p - q|.
    entropy_change : float
        Entropy after minus before, in nats.
    """

    n_records: int
    n_swapped: int
    n_altered: int
    risk: float
    strict_risk: float
    risk_before: float
    hellinger: float
    total_variation: float
    entropy_change: float

    @property
    def rate(self) -> float:
        """Share of records in pairs."""
        return self.n_swapped / self.n_records if self.n_records else 0.0

    def summary(self) -> str:
        """Say in one line what the swap did."""
        return (
            f"swapping: {self.n_swapped} of {self.n_records} records in pairs "
            f"({100 * self.rate:.3g} %), {self.n_altered} altered; risk {self.risk:.6g} "
            f"({self.risk_before:.6g} before), Hellinger {self.hellinger:.6g}, total variation "
            f"{self.total_variation:.6g}, entropy {self.entropy_change:+.6g}"
        )


@dataclass(frozen=True, eq=False)
class SwapRelease:
    """Swapped records with their report. The pairs are secret.

    Parameters
    ----------
    frame : pandas.DataFrame
        All records in their order, with values exchanged.
    pairs : numpy.ndarray of int, shape (m, 2)
        Positions of the records that exchanged values.
    attributes : tuple of str
    report : SwapReport
    before, after : numpy.ndarray of int, shape (n_cells,)
        Cross-classification of the key attributes before and after.
    records : CodedRecords
        Of the key attributes before the swap.
    """

    frame: pd.DataFrame
    pairs: Integers
    attributes: tuple[str, ...]
    report: SwapReport
    before: Integers
    after: Integers
    records: CodedRecords

    def summary(self) -> str:
        """Say in one line what the swap did."""
        return self.report.summary()

    def model_utility(self, model: LogLinearModel, *, refit: bool = False) -> float:
        """Return the change of the log-likelihood of a log-linear model."""
        shape = self.records.sizes
        before, after = (
            table.reshape(shape).astype(np.float64) for table in (self.before, self.after)
        )
        return model.utility(before, after, refit=refit)

    def association_changes(self) -> pd.DataFrame:
        """Return contingency coefficient and Cramer's V of each pair of attributes."""
        shape = self.records.sizes
        rows = []
        for one, other in itertools.combinations(range(len(shape)), 2):
            rest = tuple(axis for axis in range(len(shape)) if axis not in (one, other))
            found = [
                association(table.reshape(shape).sum(axis=rest).astype(np.float64))
                for table in (self.before, self.after)
            ]
            names = self.records.names[one], self.records.names[other]
            rows.append((*names, *found[0], *found[1]))
        columns = ["one", "other", "contingency", "cramer", "contingency_after", "cramer_after"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<{self.report.summary()}>"


@METHODS.register
@dataclass(frozen=True)
class DataSwapping(Method):
    """Exchange attributes within random pairs of records (data swapping).

    Parameters
    ----------
    attributes : sequence of str
        Swap attributes; a pair exchanges all of them together.
    rate : float
        Share of records in pairs, between 0 and 1.
    must_change : {"none", "some", "all"}, default="none"
        Whether some or all swap attributes must differ within a pair.
    equal_on : sequence of str, default=()
        Unswapped attributes in which both records of a pair agree, such as the region.
    differ_on : sequence of str, default=()
        Unswapped attributes in which they differ.
    keys : sequence of str, optional
        Attributes of the cross-classification on which risk and distortion are measured; by
        default all columns.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": list("mfmfmf"), "job": list("aabbcc")})
    >>> release = DataSwapping(["sex"], rate=0.5).protect(frame, seed=1)
    >>> release.report.n_swapped
    4
    """

    name: ClassVar[str] = "swap"
    guide: ClassVar[str] = (
        "Prints risk (share of unswapped records in cells of 1 or 2) and distortion.\n\n"
        "Example: tablecloak swap people.csv -o swapped.csv --attribute age --rate 0.05 "
        "--equal-on region"
    )

    attributes: Annotated[Sequence[str], option("attribute", "Attribute to swap.", min_length=1)]
    rate: Annotated[float, Field(ge=0, le=1, description="Share of records in pairs.")]
    must_change: Annotated[
        Change, Field(description="Which swapped attributes must differ within a pair.")
    ] = "none"
    equal_on: Annotated[
        Sequence[str], Field(description="Attribute in which a pair must agree.")
    ] = ()
    differ_on: Annotated[
        Sequence[str], Field(description="Attribute in which a pair must differ.")
    ] = ()
    keys: Annotated[
        Sequence[str] | None,
        option("key", "Attribute by which risk and distortion are measured; default all."),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        both = set(self.attributes) & {*self.equal_on, *self.differ_on}
        if both:
            raise InputError(
                f"{sorted(both)} are swapped, so that they cannot be in `equal_on` or `differ_on`."
            )

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the attributes, and those of the constraints and keys."""
        keys = list(known) if self.keys is None else list(self.keys)
        needed = [*self.attributes, *keys, *self.equal_on, *self.differ_on]
        return Columns(changed=self.attributes, categories=needed, keys=keys)

    def n_pairs(self, n_records: int) -> int:
        """Return m = round(rate n / 2), but no more than fit."""
        return min(round(self.rate * n_records / 2), n_records // 2)

    def protect(
        self, frame: pd.DataFrame, *, seed: int | np.random.Generator | None = None
    ) -> SwapRelease:
        """Draw pairs and swap.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row for each record.
        seed : int or numpy.random.Generator, optional
            Whoever knows it can undo the release; by default drawn anew.

        Raises
        ------
        InputError
            If a column is not there or has missing values.
        ModelError
            If the rate cannot be met under the constraints.
        """
        records = CodedRecords.of(frame, self._columns(frame))
        warn_of_order(frame, self.attributes)
        pairs = self.draw(records, generator(seed))
        return self.swap(frame, pairs, records)

    def swap(
        self, frame: pd.DataFrame, pairs: npt.ArrayLike, records: CodedRecords | None = None
    ) -> SwapRelease:
        """Swap given pairs.

        Raises
        ------
        InputError
            If a record is in two pairs, or does not exist.
        """
        if records is None:
            records = CodedRecords.of(frame, self._columns(frame))
        given = _as_pairs(pairs)
        flat = given.ravel()
        if len(np.unique(flat)) != len(flat) or np.any((flat < 0) | (flat >= len(frame))):
            raise InputError("Every record may be in one pair only, by its position from 0.")
        keys = records if self.keys is None else records.only(self.keys)
        table = _Table(keys)
        inside = [name for name in self.attributes if name in keys.names]
        report, after = table.evaluate(given, inside, self.alters(records, given))
        swapped = taken_from(frame, self.attributes, given.ravel(), given[:, ::-1].ravel())
        return SwapRelease(
            swapped, given, tuple(self.attributes), report, table.counts, after, keys
        )

    def alters(self, records: CodedRecords, pairs: Integers) -> Flags:
        """Return which pairs differ in a swap attribute, whether it is a key or not."""
        i, j = pairs[:, 0], pairs[:, 1]
        altered = np.zeros(len(pairs), dtype=bool)
        for name in self.attributes:
            codes = records.codes[records.position(name)]
            altered |= codes[i] != codes[j]
        return altered

    def draw(self, records: CodedRecords, random: np.random.Generator) -> Integers:
        """Return random pairs that satisfy the constraints, shape (m, 2).

        Raises
        ------
        ModelError
            If there are not enough of them: proved where a share is too large, otherwise after
            many rounds of pairing.
        """
        wanted, n = self.n_pairs(records.n_records), records.n_records
        stratum = _codes(records, self.equal_on)
        self._check_rate(records, wanted, stratum)
        free = self.must_change == "none" and not self.differ_on and stratum is None
        if free:
            return random.choice(n, 2 * wanted, replace=False).reshape(-1, 2).astype(np.int64)
        unused = np.ones(n, dtype=bool)
        found: list[Integers] = []
        missing = wanted
        for turn in range(ROUNDS):
            if missing <= 0:
                break
            # At first only as many as are wanted; what is hard to pair needs all that is left.
            some = missing if not turn else n
            candidates = self._paired(np.flatnonzero(unused), stratum, some, random)
            good = candidates[self._fits(records, candidates)][:missing]
            if not len(good) and turn:
                good = self._parted(
                    records, np.concatenate(found), unused, stratum, missing, random
                )
                if not len(good):
                    continue
                found = [good]
                unused[:] = True
                unused[good.ravel()] = False
                missing = wanted - len(good)
                continue
            found.append(good)
            unused[good.ravel()] = False
            missing -= len(good)
        if missing > 0:
            raise ModelError(
                f"Only {wanted - missing} of {wanted} pairs were found that satisfy the "
                f"constraints. Lower `rate`, or ask for less with `must_change`, `equal_on` and "
                f"`differ_on`."
            )
        return np.concatenate([np.empty((0, 2), dtype=np.int64), *found])

    def _columns(self, frame: pd.DataFrame) -> list[str]:
        keys = columns_of(frame) if self.keys is None else list(self.keys)
        return list(dict.fromkeys([*keys, *self.attributes, *self.equal_on, *self.differ_on]))

    def _paired(
        self,
        unused: Integers,
        stratum: Integers | None,
        missing: int,
        random: np.random.Generator,
    ) -> Integers:
        """Pair unused records at random, within strata if there are any."""
        if stratum is None:
            size = min(len(unused) // 2, missing)
            return random.choice(unused, 2 * size, replace=False).reshape(-1, 2)
        # Two in each stratum more than wanted, since one of each may stay alone.
        size = min(len(unused), 2 * missing + 2 * int(stratum.max(initial=0)) + 2)
        shuffled = random.choice(unused, size, replace=False)
        ordered = shuffled[np.argsort(stratum[shuffled], kind="stable")]
        label = stratum[ordered]
        start = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
        within = np.arange(len(label)) - np.repeat(
            start, np.diff(np.concatenate([start, [len(label)]]))
        )
        first = np.flatnonzero((within[:-1] % 2 == 0) & (label[:-1] == label[1:]))
        pairs: Integers = random.permutation(np.column_stack([ordered[first], ordered[first + 1]]))
        return pairs

    def _parted(
        self,
        records: CodedRecords,
        pairs: Integers,
        unused: Flags,
        stratum: Integers | None,
        missing: int,
        random: np.random.Generator,
    ) -> Integers:
        """Part pairs so that both of each find partners among those that fit with nobody else.

        Returns
        -------
        numpy.ndarray of int
            All pairs, more than before; empty if this draw does not help.
        """
        left = random.permutation(np.flatnonzero(unused))
        size = min(len(left) // 2, len(pairs))
        # Many draws for the few that are left, each with a pair of its own.
        repeated = max(1, min(PARTED // max(size, 1), len(pairs) // max(size, 1)))
        at = random.permutation(len(pairs))[: size * repeated]
        one, other = np.tile(left[:size], repeated), np.tile(left[size : 2 * size], repeated)
        first = np.column_stack([one, pairs[at, 0]])
        second = np.column_stack([other, pairs[at, 1]])
        good = self._fits(records, first) & self._fits(records, second)
        if stratum is not None:
            good &= (stratum[pairs[at, 0]] == stratum[one]) & (stratum[one] == stratum[other])
        hits = np.flatnonzero(good)
        # Each left record once.
        hits = hits[np.unique(one[hits], return_index=True)[1]][:missing]
        if not len(hits):
            return np.empty((0, 2), dtype=np.int64)
        kept = np.delete(pairs, at[hits], axis=0)
        return np.concatenate([kept, first[hits], second[hits]])

    def _fits(self, records: CodedRecords, pairs: Integers) -> Flags:
        i, j = pairs[:, 0], pairs[:, 1]
        differs = [
            records.codes[records.position(name)][i] != records.codes[records.position(name)][j]
            for name in self.attributes
        ]
        good = np.ones(len(pairs), dtype=bool)
        if self.must_change == "all":
            good &= np.logical_and.reduce(differs)
        elif self.must_change == "some":
            good &= np.logical_or.reduce(differs)
        for name in self.differ_on:
            codes = records.codes[records.position(name)]
            good &= codes[i] != codes[j]
        return good

    def _check_rate(self, records: CodedRecords, wanted: int, stratum: Integers | None) -> None:
        """Refuse rates that a share makes impossible: of the rest each needs a partner in it."""
        if stratum is None:
            stratum = np.zeros(records.n_records, dtype=np.int64)
        sizes = np.bincount(stratum)
        most = int(np.sum(sizes // 2))
        reason = "records agree in `equal_on`"
        changing = [*self.differ_on, *(self.attributes if self.must_change == "all" else ())]
        if self.must_change == "some":
            together = _codes(records, self.attributes)
            assert together is not None
            most, reason = _limit(most, reason, stratum, together, sizes, "swap attributes")
        for name in changing:
            codes = records.codes[records.position(name)].astype(np.int64)
            most, reason = _limit(most, reason, stratum, codes, sizes, repr(name))
        if wanted > most:
            rate = 2 * most / max(records.n_records, 1)
            raise ModelError(
                f"A rate of {self.rate:g} asks for {wanted} pairs, but at most {most} are "
                f"possible: too many {reason}. The highest rate is {rate:.5f}."
            )


def _as_pairs(pairs: npt.ArrayLike) -> Integers:
    """Return pairs of positions as an array of two columns."""
    given = np.asarray(pairs)
    if given.size == 0:
        return np.empty((0, 2), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != 2 or given.dtype.kind not in "iu":
        raise InputError(
            f"`pairs` must have two columns of whole numbers, one row for each pair. Got an array "
            f"of {given.dtype} with the shape {given.shape}."
        )
    return given.astype(np.int64)


def _limit(
    most: int, reason: str, stratum: Integers, codes: Integers, sizes: Integers, name: str
) -> tuple[int, str]:
    """In each stratum at most half of the records, and at most those without the largest share."""
    count = np.bincount(stratum.astype(np.int64) * (int(codes.max(initial=0)) + 1) + codes)
    within = np.arange(len(count)) // (int(codes.max(initial=0)) + 1)
    largest = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(largest, within, count)
    possible = int(np.sum(np.minimum(sizes // 2, sizes - largest)))
    return (possible, f"records agree in {name}") if possible < most else (most, reason)


def _codes(records: CodedRecords, names: Sequence[str]) -> Integers | None:
    """One number for each combination of some attributes; None without any."""
    if not len(names):
        return None
    found = records.combined(names)
    # Small types are sorted without comparisons.
    return found.astype(np.min_scalar_type(int(found.max(initial=0))))


class _Table:
    """The cross-classification before, from which that after any swap follows quickly."""

    def __init__(self, records: CodedRecords) -> None:
        self.records = records
        self.cells = records.cells()
        self.counts: Integers = np.bincount(self.cells, minlength=records.n_cells)
        self.entropy = entropy(self.counts)
        self.roots = np.sqrt(self.counts.astype(np.float64))

    def evaluate(
        self, pairs: Integers, names: Sequence[str], altered_pairs: Flags | None = None
    ) -> tuple[SwapReport, Integers]:
        """Return report and table after a swap; only swapped records are looked at.

        Parameters
        ----------
        pairs : numpy.ndarray of int, shape (m, 2)
        names : sequence of str
            Swap attributes among the keys.
        altered_pairs : numpy.ndarray of bool, shape (m,), optional
            Pairs whose values differ; by default those whose keys do.
        """
        n, size = self.records.n_records, len(self.counts)
        flat = np.concatenate([pairs[:, 0], pairs[:, 1]])
        old = self.cells[flat]
        moved = self.records.part(names, flat)
        half = len(pairs)
        new = old - moved + np.concatenate([moved[half:], moved[:half]])
        gone = np.bincount(old, minlength=size)
        after = self.counts - gone + np.bincount(new, minlength=size)
        changed = old != new if altered_pairs is None else np.tile(altered_pairs, 2)
        altered = int(changed.sum())
        small = (after >= SMALL[0]) & (after <= SMALL[1])
        unswapped, unaltered = n - len(flat), n - altered
        risky = int((self.counts - gone)[small].sum())
        kept = self.counts - np.bincount(old[changed], minlength=size)
        before = (self.counts >= SMALL[0]) & (self.counts <= SMALL[1])
        difference = self.counts - after
        report = SwapReport(
            n_records=n,
            n_swapped=len(flat),
            n_altered=altered,
            risk=risky / unswapped if unswapped else np.nan,
            strict_risk=int(kept[small].sum()) / unaltered if unaltered else np.nan,
            risk_before=int(self.counts[before].sum()) / n if n else np.nan,
            hellinger=float(np.sqrt(np.sum((self.roots - np.sqrt(after)) ** 2) / 2 / n)),
            total_variation=float(np.abs(difference).sum()) / 2 / n,
            entropy_change=entropy(after) - self.entropy,
        )
        return report, after


@dataclass(frozen=True, eq=False)
class SwapCandidates:
    """Means over replicates of many candidates, and which of them are worth considering.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each candidate: its parameters, means and standard errors of risk and
        distortion, and whether it is on the frontier of the means or within two standard errors
        of it.
    candidates : tuple of DataSwapping
    """

    table: pd.DataFrame
    candidates: tuple[DataSwapping, ...] = field(default=())

    def best(self, risk_limit: float) -> pd.DataFrame:
        """Return the candidates with the least distortion whose risk is tolerable, with ties."""
        rows = best_below(self.table["risk"], -self.table["distortion"], risk_limit)
        return self.table.iloc[rows]


def sweep(
    frame: pd.DataFrame,
    candidates: Sequence[DataSwapping],
    *,
    replicates: int = 20,
    distortion: Literal["hellinger", "total_variation"] = "hellinger",
    seed: int = 0,
) -> SwapCandidates:
    """Compare candidates by the means of some replicates each.

    One replicate tells little at low rates: frontiers of single replicates are mostly chance.

    Parameters
    ----------
    frame : pandas.DataFrame
    candidates : sequence of DataSwapping
        With the same keys.
    replicates : int, default=20
    distortion : {"hellinger", "total_variation"}, default="hellinger"
    seed : int, default=0
        Each candidate and replicate has random numbers of its own, so that results do not
        depend on their order.

    Raises
    ------
    InputError
        If there is no candidate, or no replicate.
    ModelError
        If a rate cannot be met.
    """
    if not len(candidates) or replicates < 1:
        raise InputError("At least one candidate and one replicate are needed.")
    columns = list(dict.fromkeys(itertools.chain(*(c._columns(frame) for c in candidates))))
    records = CodedRecords.of(frame, columns)
    tables: dict[tuple[str, ...], _Table] = {}
    rows: list[dict[str, Any]] = []
    for number, candidate in enumerate(candidates):
        keys = tuple(map(str, frame.columns)) if candidate.keys is None else tuple(candidate.keys)
        if keys not in tables:
            tables[keys] = _Table(records.only(keys))
        swapped = [name for name in candidate.attributes if name in keys]
        found = np.empty((replicates, 2))
        for replicate in range(replicates):
            random = generator([seed, number, replicate])
            pairs = candidate.draw(records, random)
            altered = candidate.alters(records, pairs)
            report, _ = tables[keys].evaluate(pairs, swapped, altered)
            found[replicate] = report.risk, getattr(report, distortion)
        error = found.std(axis=0, ddof=1) / np.sqrt(replicates) if replicates > 1 else [np.nan] * 2
        rows.append(
            {
                "attributes": "+".join(candidate.attributes),
                "rate": candidate.rate,
                "must_change": candidate.must_change,
                "risk": found[:, 0].mean(),
                "risk_error": error[0],
                "distortion": found[:, 1].mean(),
                "distortion_error": error[1],
            }
        )
    table = pd.DataFrame(rows)
    on = frontier(table["risk"], -table["distortion"])
    table["frontier"] = np.isin(np.arange(len(table)), on)
    # Could be on it if risk and distortion were two standard errors lower.
    lower_risk = table["risk"] - 2 * table["risk_error"].fillna(0)
    lower = table["distortion"] - 2 * table["distortion_error"].fillna(0)
    table["near_frontier"] = [
        not bool(np.any((table["risk"][on] < r) & (table["distortion"][on] < d)))
        for r, d in zip(lower_risk, lower, strict=True)
    ]
    return SwapCandidates(table, tuple(candidates))


def entropy(counts: Integers) -> float:
    """Return the Shannon entropy of a table of counts, in nats."""
    full = counts[counts > 0].astype(np.float64)
    n = full.sum()
    return float(np.log(n) - np.sum(full * np.log(full)) / n) if n else 0.0


def association(counts: Floats) -> tuple[float, float]:
    """Return contingency coefficient and Cramer's V of a two-way table; NaN if one is constant."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    n, smaller = counts.sum(), min(counts.shape) - 1
    if n == 0 or smaller < 1:
        return np.nan, np.nan
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    chi2 = float(np.sum((counts - expected) ** 2 / expected))
    return float(np.sqrt(chi2 / (chi2 + n))), float(np.sqrt(chi2 / (n * smaller)))

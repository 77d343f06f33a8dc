"""Data swapping as a decision problem: pairs of records exchange some attributes.

In a release, m random pairs of records, under constraints, exchange the values of all swap
attributes together; the swap rate is the share of *records* in pairs, 2 m / n. Its risk is the
share of unswapped records in cells of count 1 or 2 after the swap, its distortion the distance
between the cross-classifications before and after. Both are computed from the swapped records and
one table of the original, so that many candidates can be compared quickly.

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
from scipy.stats import contingency, entropy

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import generator
from tablecloak.errors import InputError, ModelError
from tablecloak.microdata.coding import MOST_CELLS, CodedRecords
from tablecloak.microdata.columns import columns_of, taken_from
from tablecloak.microdata.loglinear import LogLinearModel
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order
from tablecloak.risk_utility_map import best_below, frontier

Change = Literal["none", "some", "all"]

ROUNDS = 500
"""Most rounds of pairing. Each pairs the records without a partner again.

See docs/decisions, "Swapping".
"""

PARTED = 100_000
"""Most new pairs that are examined in one round when existing pairs are separated.

See docs/decisions, "Swapping".
"""

SMALL = (1, 2)
"""Smallest and largest count of a cell in which an unswapped record is at risk."""


@dataclass(frozen=True)
class PairConstraint:
    """Conditions on the two records of a pair.

    Parameters
    ----------
    attributes : sequence of str
        Attributes that a pair exchanges.
    must_change : {"none", "some", "all"}
        Whether the records must differ in none, some or all of these.
    equal_on, differ_on : sequence of str
        Attributes in which the records must agree, and in which they must differ.
    """

    attributes: Sequence[str]
    must_change: Change = "none"
    equal_on: Sequence[str] = ()
    differ_on: Sequence[str] = ()

    @property
    def is_free(self) -> bool:
        """Whether any two records may be a pair."""
        return self.must_change == "none" and not self.differ_on and not self.equal_on

    def strata(self, records: CodedRecords) -> Integers:
        """Return the combination of `equal_on` of each record, numbered from 0."""
        combination = _codes(records, self.equal_on)
        return np.zeros(records.n_records, dtype=np.int64) if combination is None else combination

    def admits(self, records: CodedRecords, pairs: Integers) -> Flags:
        """Whether each pair of positions differs where it must; `equal_on` is not checked."""
        differs = [_differ(records, name, pairs) for name in self.attributes]
        good = np.ones(len(pairs), dtype=bool)
        if self.must_change == "all":
            good &= np.logical_and.reduce(differs)
        elif self.must_change == "some":
            good &= np.logical_or.reduce(differs)
        for name in self.differ_on:
            good &= _differ(records, name, pairs)
        return good

    def most_pairs(self, records: CodedRecords) -> tuple[int, str]:
        """Return an upper limit on the number of pairs, and its reason in words.

        If more than half of the records agree where a pair must differ, each of them needs a
        partner among the others.
        """
        stratum = self.strata(records).astype(np.int64)
        sizes = np.bincount(stratum)
        limit = int(np.sum(sizes // 2)), "records agree in `equal_on`"
        if self.must_change == "some":
            together = records.combined(self.attributes)
            limit = _lower(limit, stratum, together, sizes, "swap attributes")
        changing = [*self.differ_on, *(self.attributes if self.must_change == "all" else ())]
        for name in changing:
            codes = records.codes[records.position(name)].astype(np.int64)
            limit = _lower(limit, stratum, codes, sizes, repr(name))
        return limit


def draw_pairs(
    records: CodedRecords,
    constraint: PairConstraint,
    wanted: int,
    random: np.random.Generator,
) -> Integers:
    """Return random pairs of positions that satisfy a constraint, shape (wanted, 2).

    Raises
    ------
    ModelError
        If fewer are found in `ROUNDS` rounds of pairing.
    """
    if constraint.is_free:
        chosen = random.choice(records.n_records, 2 * wanted, replace=False)
        return chosen.reshape(-1, 2).astype(np.int64)
    draw = _Draw(records, constraint, random)
    for turn in range(ROUNDS):
        missing = wanted - len(draw.pairs)
        if missing <= 0:
            return draw.pairs
        # The first round pairs only as many records as are wanted; later ones all that are left,
        # since those are harder to pair.
        fitting = draw.fitting(records.n_records if turn else missing)[:missing]
        if len(fitting) or not turn:
            draw.take(np.concatenate([draw.pairs, fitting]))
        else:
            draw.part(missing)
    if len(draw.pairs) < wanted:
        raise ModelError(
            f"Only {len(draw.pairs)} of {wanted} pairs were found that satisfy the "
            f"constraints. Lower `rate`, or relax `must_change`, `equal_on` or `differ_on`."
        )
    return draw.pairs


class _Draw:
    """The pairs that were drawn so far, and the records in none of them."""

    def __init__(
        self, records: CodedRecords, constraint: PairConstraint, random: np.random.Generator
    ) -> None:
        self.records = records
        self.constraint = constraint
        self.random = random
        self.stratum = _codes(records, constraint.equal_on)
        self.pairs: Integers = np.empty((0, 2), dtype=np.int64)
        self.unused: Flags = np.ones(records.n_records, dtype=bool)

    def take(self, pairs: Integers) -> None:
        """Replace all pairs."""
        self.pairs = pairs
        self.unused[:] = True
        self.unused[pairs.ravel()] = False

    def fitting(self, most: int) -> Integers:
        """Pair unused records at random, and return the pairs that satisfy the constraint."""
        candidates = self._paired(np.flatnonzero(self.unused), most)
        return candidates[self.constraint.admits(self.records, candidates)]

    def _paired(self, unused: Integers, most: int) -> Integers:
        """Pair unused records at random, within strata if there are any."""
        if self.stratum is None:
            size = min(len(unused) // 2, most)
            return self.random.choice(unused, 2 * size, replace=False).reshape(-1, 2)
        # Two in each stratum more than wanted, since one of each may stay alone.
        size = min(len(unused), 2 * most + 2 * int(self.stratum.max(initial=0)) + 2)
        shuffled = self.random.choice(unused, size, replace=False)
        ordered = shuffled[np.argsort(self.stratum[shuffled], kind="stable")]
        label = self.stratum[ordered]
        start = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
        within = np.arange(len(label)) - np.repeat(
            start, np.diff(np.concatenate([start, [len(label)]]))
        )
        first = np.flatnonzero((within[:-1] % 2 == 0) & (label[:-1] == label[1:]))
        pairs: Integers = self.random.permutation(
            np.column_stack([ordered[first], ordered[first + 1]])
        )
        return pairs

    def part(self, missing: int) -> None:
        """Separate pairs whose two records can each be paired with an unused record.

        Unused records that fit with no other unused record are paired in this way.
        """
        pairs = self.pairs
        left = self.random.permutation(np.flatnonzero(self.unused))
        size = min(len(left) // 2, len(pairs))
        # Each two unused records are tried with many pairs.
        repeated = max(1, min(PARTED // max(size, 1), len(pairs) // max(size, 1)))
        at = self.random.permutation(len(pairs))[: size * repeated]
        one, other = np.tile(left[:size], repeated), np.tile(left[size : 2 * size], repeated)
        first = np.column_stack([one, pairs[at, 0]])
        second = np.column_stack([other, pairs[at, 1]])
        admits = self.constraint.admits
        good = admits(self.records, first) & admits(self.records, second)
        if self.stratum is not None:
            stratum = self.stratum
            good &= (stratum[pairs[at, 0]] == stratum[one]) & (stratum[one] == stratum[other])
        hits = np.flatnonzero(good)
        # Use each unused record once.
        hits = hits[np.unique(one[hits], return_index=True)[1]][:missing]
        if len(hits):
            kept = np.delete(pairs, at[hits], axis=0)
            self.take(np.concatenate([kept, first[hits], second[hits]]))


def _differ(records: CodedRecords, name: str, pairs: Integers) -> Flags:
    codes = records.codes[records.position(name)]
    return np.asarray(codes[pairs[:, 0]] != codes[pairs[:, 1]])


def _lower(
    limit: tuple[int, str], stratum: Integers, codes: Integers, sizes: Integers, name: str
) -> tuple[int, str]:
    """Lower a limit on pairs whose records must differ in some codes.

    A stratum has at most as many pairs as half of its records, and as its records without the most
    frequent code.
    """
    width = int(codes.max(initial=0)) + 1
    count = np.bincount(stratum * width + codes)
    largest = np.zeros(len(sizes), dtype=np.int64)
    np.maximum.at(largest, np.arange(len(count)) // width, count)
    possible = int(np.sum(np.minimum(sizes // 2, sizes - largest)))
    return (possible, f"records agree in {name}") if possible < limit[0] else limit


def _codes(records: CodedRecords, names: Sequence[str]) -> Integers | None:
    """Return each record's combination of some attributes, numbered from 0; None without any."""
    if not len(names):
        return None
    combination = records.combined(names)
    # Small types are sorted without comparisons.
    return combination.astype(np.min_scalar_type(int(combination.max(initial=0))))


@dataclass(frozen=True)
class SwapReport:
    """Risk and distortion of one release.

    Parameters
    ----------
    n_records, n_swapped, n_altered : int
        Number of records, of records in pairs, and of records whose values changed.
    risk : float
        Share of unswapped records in cells of count 1 or 2 after the swap; NaN if every record
        was swapped.
    strict_risk : float
        Share of unaltered records in such cells; NaN if every record was altered.
    risk_before : float
        Share of all records in such cells before the swap.
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
        """Return rate, risk and distortion in one line."""
        return (
            f"swapping: {self.n_swapped} of {self.n_records} records in pairs "
            f"({100 * self.rate:.3g} %), {self.n_altered} altered; risk {self.risk:.6g} "
            f"({self.risk_before:.6g} before), Hellinger {self.hellinger:.6g}, total variation "
            f"{self.total_variation:.6g}, entropy {self.entropy_change:+.6g}"
        )


class SwapTable:
    """The original cross-classification, from which that after any swap follows quickly."""

    def __init__(self, records: CodedRecords) -> None:
        self.records = records
        self.cells = records.cells()
        self.counts: Integers = np.bincount(self.cells, minlength=records.n_cells)
        self.entropy = float(entropy(self.counts))
        self.roots = np.sqrt(self.counts.astype(np.float64))

    def evaluate(
        self, pairs: Integers, names: Sequence[str], altered_pairs: Flags | None = None
    ) -> tuple[SwapReport, Integers]:
        """Return report and table after a swap, computed from the swapped records only.

        Parameters
        ----------
        pairs : numpy.ndarray of int, shape (m, 2)
        names : sequence of str
            Swap attributes among the keys.
        altered_pairs : numpy.ndarray of bool, shape (m,), optional
            Whether the values of each pair differ; by default, whether its keys differ.
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
            entropy_change=float(entropy(after)) - self.entropy,
        )
        return report, after


def association(counts: Integers) -> tuple[float, float]:
    """Return contingency coefficient and Cramer's V; NaN if an attribute is constant."""
    counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
    if min(counts.shape) < 2:
        return np.nan, np.nan
    return contingency.association(counts, "pearson"), contingency.association(counts, "cramer")


@dataclass(frozen=True, eq=False)
class SwapRelease:
    """Swapped records with their report. The pairs are secret.

    Parameters
    ----------
    frame : pandas.DataFrame
        All records in their original order, with exchanged values.
    pairs : numpy.ndarray of int, shape (m, 2)
        Positions of the records that exchanged values.
    attributes : tuple of str
    report : SwapReport
    before, after : numpy.ndarray of int, shape (n_cells,)
        Cross-classification of the key attributes before and after.
    records : CodedRecords
        Original codes of the key attributes.
    """

    frame: pd.DataFrame
    pairs: Integers
    attributes: tuple[str, ...]
    report: SwapReport
    before: Integers
    after: Integers
    records: CodedRecords

    def summary(self) -> str:
        """Return rate, risk and distortion in one line."""
        return f"{self.report.summary()}; cells of {', '.join(self.records.names)}"

    def model_utility(self, model: LogLinearModel, *, refit: bool = False) -> float:
        """Return the change of the log-likelihood of a log-linear model."""
        shape = self.records.sizes
        before, after = (
            table.reshape(shape).astype(np.float64) for table in (self.before, self.after)
        )
        return model.utility(before, after, refit=refit)

    def association_changes(self) -> pd.DataFrame:
        """Return contingency coefficient and Cramer's V of attribute pairs, before and after."""
        shape = self.records.sizes
        rows = []
        for one, other in itertools.combinations(range(len(shape)), 2):
            rest = tuple(axis for axis in range(len(shape)) if axis not in (one, other))
            measures = [
                association(table.reshape(shape).sum(axis=rest))
                for table in (self.before, self.after)
            ]
            names = self.records.names[one], self.records.names[other]
            rows.append((*names, *measures[0], *measures[1]))
        columns = ["one", "other", "contingency", "cramer", "contingency_after", "cramer_after"]
        return pd.DataFrame(rows, columns=columns)

    def __repr__(self) -> str:
        return f"<{self.report.summary()}>"


@METHODS.register
@dataclass(frozen=True)
class DataSwapping(Method[SwapRelease]):
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
        default all columns of a frame, and if they have too many cells, or of a file, those that
        are swapped and those of the constraints.

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
        "Example: tablecloak records swap people.csv -o swapped.csv --attribute age --rate 0.05 "
        "--equal-on region"
    )

    attributes: Annotated[Sequence[str], option("attribute", "Attribute to swap.", min_length=1)]
    rate: Annotated[float, Field(ge=0, le=1, description="Share of records in pairs.")]
    must_change: Annotated[
        Change, Field(description="How many swapped attributes must differ within a pair.")
    ] = "none"
    equal_on: Annotated[
        Sequence[str], Field(description="Attribute in which a pair must agree.")
    ] = ()
    differ_on: Annotated[
        Sequence[str], Field(description="Attribute in which a pair must differ.")
    ] = ()
    keys: Annotated[
        Sequence[str] | None,
        option(
            "key",
            "Attribute of the cells of risk and distortion; default: those named otherwise.",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        both = set(self.attributes) & {*self.equal_on, *self.differ_on}
        if both:
            raise InputError(
                f"{sorted(both)} are swapped, so that they cannot be in `equal_on` or `differ_on`."
            )

    def uses(self, known: Sequence[str]) -> Columns:
        """Return the attributes to swap, those of the constraints, and the keys."""
        del known
        keys = self.named() if self.keys is None else list(self.keys)
        needed = list(dict.fromkeys([*keys, *self.named()]))
        return Columns(changed=self.attributes, categories=needed, keys=keys)

    def named(self) -> list[str]:
        """Return the attributes that are swapped, and those of the constraints."""
        return list(dict.fromkeys([*self.attributes, *self.equal_on, *self.differ_on]))

    def n_pairs(self, n_records: int) -> int:
        """Return the number of pairs, round(rate n / 2), at most half of the records."""
        return min(round(self.rate * n_records / 2), n_records // 2)

    def apply(self, frame: pd.DataFrame, random: np.random.Generator) -> SwapRelease:
        """Draw pairs and swap.

        Parameters
        ----------
        frame : pandas.DataFrame
            One row for each record.

        Raises
        ------
        InputError
            If a column does not exist or has missing values.
        ModelError
            If the rate cannot be met under the constraints.
        """
        records = CodedRecords.of(frame, self.coded_columns(frame))
        warn_of_order(frame, self.attributes)
        pairs = self.draw(records, random)
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
            records = CodedRecords.of(frame, self.coded_columns(frame))
        given = _as_pairs(pairs)
        flat = given.ravel()
        if len(np.unique(flat)) != len(flat) or np.any((flat < 0) | (flat >= len(frame))):
            raise InputError(
                "Every record may be in one pair only, by its position from 0 to "
                f"{len(frame) - 1}. `pairs` name one twice, or a position outside of this range."
            )
        keys = records if self.keys is None else records.only(self.keys)
        if self.keys is None and records.n_cells > MOST_CELLS:
            keys = records.only(self.named())
        table = SwapTable(keys)
        inside = [name for name in self.attributes if name in keys.names]
        report, after = table.evaluate(given, inside, self.alters(records, given))
        swapped = taken_from(frame, self.attributes, given.ravel(), given[:, ::-1].ravel())
        return SwapRelease(
            swapped, given, tuple(self.attributes), report, table.counts, after, keys
        )

    def alters(self, records: CodedRecords, pairs: Integers) -> Flags:
        """Whether each pair differs in a swap attribute, which may be a key or not."""
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
            If there are too few pairs: either that is proved by counts of equal records, or many
            rounds of pairing found no more.
        """
        wanted, n = self.n_pairs(records.n_records), records.n_records
        constraint = PairConstraint(
            self.attributes, self.must_change, self.equal_on, self.differ_on
        )
        most, reason = constraint.most_pairs(records)
        if wanted > most:
            raise ModelError(
                f"A rate of {self.rate:g} asks for {wanted} pairs, but at most {most} are "
                f"possible: too many {reason}. The highest rate is {2 * most / max(n, 1):.5f}: "
                "lower `rate`, or relax the constraints."
            )
        return draw_pairs(records, constraint, wanted, random)

    def coded_columns(self, frame: pd.DataFrame) -> list[str]:
        """Return the columns to code: keys, swapped attributes, and those of the constraints."""
        keys = columns_of(frame) if self.keys is None else list(self.keys)
        return list(dict.fromkeys([*keys, *self.named()]))


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


@dataclass(frozen=True, eq=False)
class SwapCandidates:
    """Mean risk and distortion of many candidates, and the frontier of the best.

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
        """Return the candidates of least distortion among those within the limit, with ties."""
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
    """Compare candidates by their means over replicates.

    At low rates a single replicate says little, and its frontier is mostly chance.

    Parameters
    ----------
    frame : pandas.DataFrame
    candidates : sequence of DataSwapping
        Methods with the same keys.
    replicates : int, default=20
    distortion : {"hellinger", "total_variation"}, default="hellinger"
    seed : int, default=0
        Each candidate and replicate has random numbers of its own, so that results do not
        depend on their order.

    Raises
    ------
    InputError
        If there is no candidate or no replicate.
    ModelError
        If a rate cannot be met.
    """
    if not len(candidates) or replicates < 1:
        raise InputError(
            f"At least one candidate and one replicate are needed. Got {len(candidates)} and "
            f"{replicates}."
        )
    columns = list(dict.fromkeys(itertools.chain(*(c.coded_columns(frame) for c in candidates))))
    records = CodedRecords.of(frame, columns)
    tables: dict[tuple[str, ...], SwapTable] = {}
    rows: list[dict[str, Any]] = []
    for number, candidate in enumerate(candidates):
        keys = tuple(map(str, frame.columns)) if candidate.keys is None else tuple(candidate.keys)
        if keys not in tables:
            tables[keys] = SwapTable(records.only(keys))
        inside = [name for name in candidate.attributes if name in keys]
        figures = np.empty((replicates, 2))
        for replicate in range(replicates):
            pairs = candidate.draw(records, generator([seed, number, replicate]))
            altered = candidate.alters(records, pairs)
            report, _ = tables[keys].evaluate(pairs, inside, altered)
            figures[replicate] = report.risk, getattr(report, distortion)
        rows.append(_row(candidate, figures))
    return SwapCandidates(_with_frontier(pd.DataFrame(rows)), tuple(candidates))


def _row(candidate: DataSwapping, found: Floats) -> dict[str, Any]:
    """Return means and standard errors of risk and distortion over replicates."""
    count = len(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(count) if count > 1 else [np.nan] * 2
    return {
        "attributes": "+".join(candidate.attributes),
        "rate": candidate.rate,
        "must_change": candidate.must_change,
        "risk": found[:, 0].mean(),
        "risk_error": error[0],
        "distortion": found[:, 1].mean(),
        "distortion_error": error[1],
    }


def _with_frontier(table: pd.DataFrame) -> pd.DataFrame:
    """Add which candidates are on the frontier of the means, and which could be."""
    on = frontier(table["risk"], -table["distortion"])
    # A candidate could be on it if it were with risk and distortion two standard errors lower.
    lower_risk = table["risk"] - 2 * table["risk_error"].fillna(0)
    lower = table["distortion"] - 2 * table["distortion_error"].fillna(0)
    near = [
        not bool(np.any((table["risk"][on] < r) & (table["distortion"][on] < d)))
        for r, d in zip(lower_risk, lower, strict=True)
    ]
    return table.assign(frontier=np.isin(np.arange(len(table)), on), near_frontier=near)

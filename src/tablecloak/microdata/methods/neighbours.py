"""Neighbourhood sampling: each value is replaced by that of a random similar record.

Columns are centred, divided by their standard deviation (n - 1), and multiplied by their weight.
The neighbours of a record are the *other* records at a Euclidean distance strictly below eps, found
by trees. For each column, or group of columns, a neighbour is drawn anew, and its original value
taken. A 0/1 column separates records into strata if weight / standard deviation >= eps.

The published method drops records without neighbours, from which most of its bias comes. Here they
take values of the nearest records instead. That is reported, because such a record has few donors.

References
----------
.. [1] Matloff, Tendick: Preserving confidentiality while enabling statistical analysis by
   neighbourhood sampling, 2015, and its published code (R, 2015-10-30).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import BeforeValidator, Field
from scipy.spatial import KDTree

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, suggestion
from tablecloak.microdata.columns import columns_of, numbers_of, row_label, taken_from
from tablecloak.microdata.methods.method import METHODS, Method
from tablecloak.microdata.methods.parameters import option
from tablecloak.microdata.order import warn_of_order
from tablecloak.microdata.samplers import LegacySampler

Neighbours = tuple[Integers, Integers, Integers]
"""Some records, the neighbours of all of them in one array, and the number of each one's."""

FEW_VALUES = 20
"""Most different values of a column that may split the records into strata.

See docs/decisions, "Near records".
"""

LEAST_IN_STRATUM = 50
"""Least mean number of records in a stratum for which a tree of each stratum is built.

See docs/decisions, "Near records".
"""

LEAF = 16
"""Most points in a leaf of a tree; see docs/decisions, "Near records"."""

CHUNK = 2000
"""Records whose neighbours are in memory at once; see docs/decisions, "Near records"."""

WORRYING = 0.2
"""Share of records without neighbours above which a larger eps is recommended."""


class NearRecords:
    """Neighbours among records with given coordinates.

    Parameters
    ----------
    points : numpy.ndarray of float, shape (n_records, n_columns)
    """

    def __init__(self, points: Floats) -> None:
        self.points = points
        self.tree = KDTree(points)

    def in_order(self, order: Integers, eps: Floats) -> Iterator[Neighbours]:
        """Yield neighbours of records in the given order, those of each record sorted.

        The draws of a legacy sampler depend on both orders.
        """
        for start in range(0, len(order), CHUNK):
            part = order[start : start + CHUNK]
            at, cells = _pairs(self.tree, self.points[part], eps[part])
            other = cells != part[at]
            at, cells = at[other], cells[other]
            sort = np.argsort(at * len(self.points) + cells)
            yield part, cells[sort], np.bincount(at, minlength=len(part))

    def by_strata(self, order: Integers, eps: Floats) -> Iterator[Neighbours]:
        """Yield neighbours of records, stratum by stratum.

        Records that differ in a column with few values, all at least eps apart, cannot be
        neighbours. A tree for each combination of these values, over the other columns alone, is
        several times faster.
        """
        points = self.points
        wanted = np.zeros(len(points), dtype=bool)
        wanted[order] = True
        stratum, soft = _strata(points, float(eps.max()))
        members = np.split(np.argsort(stratum, kind="stable"), np.cumsum(np.bincount(stratum))[:-1])
        for inside in members:
            place = points[inside][:, soft] if soft.any() else np.zeros((len(inside), 1))
            tree = KDTree(place, leafsize=LEAF)
            local = tree.indices[wanted[inside[tree.indices]]]
            for start in range(0, len(local), CHUNK):
                some = local[start : start + CHUNK]
                at, cells = _pairs(tree, place[some], eps[inside[some]])
                other = cells != some[at]
                at, cells = at[other], cells[other]
                # Small types are sorted without comparisons.
                sort = np.argsort(at.astype(np.min_scalar_type(len(some))), kind="stable")
                yield inside[some], inside[cells[sort]], np.bincount(at, minlength=len(some))

    def with_nearest(
        self, part: Integers, flat: Integers, size: Integers, few: Integers, nearest: int
    ) -> tuple[Integers, Integers]:
        """Replace the neighbours of records that have too few by the nearest records.

        Parameters
        ----------
        part, flat, size : numpy.ndarray of int
            Records, the neighbours of all of them, and the number of each one's.
        few : numpy.ndarray of int
            Positions in `part` of the records with too few neighbours.
        nearest : int
            Number of nearest records that each of them gets.
        """
        number = min(nearest + 1, len(self.points))
        near = np.asarray(self.tree.query(self.points[part[few]], number)[1]).reshape(
            len(few), number
        )
        others = near != part[few][:, None]
        # If several records share one place, the query may return others in place of the record
        # itself, and so one too many.
        others &= np.cumsum(others, axis=1) <= nearest
        owner = np.repeat(np.arange(len(part)), size)
        kept = ~np.isin(owner, few)
        owners = np.concatenate([owner[kept], np.repeat(few, others.sum(axis=1))])
        cells = np.concatenate([flat[kept], near[others]])
        order = np.argsort(owners, kind="stable")
        return cells[order].astype(np.int64), np.bincount(owners, minlength=len(part))


def _pairs(tree: KDTree, places: Floats, eps: Floats) -> tuple[Integers, Integers]:
    """Return pairs of a place and a point of a tree that are closer than the eps of the place."""
    close = KDTree(places, leafsize=LEAF).sparse_distance_matrix(
        tree, float(eps.max()), output_type="ndarray"
    )
    near = close["v"] < eps[close["i"]]
    return close["i"][near].astype(np.int64), close["j"][near].astype(np.int64)


def _strata(points: Floats, eps: float) -> tuple[Integers, Flags]:
    """Number the combinations of columns with few values that lie at least `eps` apart.

    Returns
    -------
    stratum : numpy.ndarray of int, shape (n_records,)
    soft : numpy.ndarray of bool, shape (n_columns,)
        The other columns.
    """
    stratum = np.zeros(len(points), dtype=np.int64)
    soft = np.ones(points.shape[1], dtype=bool)
    for column in range(points.shape[1]):
        # The first records already rule out a column of continuous values, without sorting it.
        if len(np.unique(points[:1000, column])) > FEW_VALUES:
            continue
        values, codes = np.unique(points[:, column], return_inverse=True)
        if len(values) > FEW_VALUES or np.any(np.diff(values) < eps):
            continue
        combined, numbers = np.unique(stratum * len(values) + codes.ravel(), return_inverse=True)
        if len(combined) <= max(len(points) // LEAST_IN_STRATUM, 1):
            soft[column] = False
            stratum = numbers.ravel().astype(np.int64)
    return stratum, soft


@dataclass(frozen=True, eq=False)
class NeighbourRelease:
    """Masked records, and the donors of each. Everything except the frame is secret.

    Parameters
    ----------
    frame : pandas.DataFrame
        Masked records in the order and with the labels of the original.
    original : pandas.DataFrame
    neighbours : numpy.ndarray of int, shape (n_records,)
        Number of neighbours of each record; -1 for records that were not masked.
    fallback : numpy.ndarray of bool, shape (n_records,)
        Whether each record had too few neighbours and took the nearest records.
    donors : numpy.ndarray of int, shape (n_records, n_groups)
        Position of the record from which each group of columns was taken; -1 for none.
    eps : float or array
    """

    frame: pd.DataFrame
    original: pd.DataFrame
    neighbours: Integers
    fallback: Flags
    donors: Integers
    eps: float | Floats

    def summary(self) -> str:
        """Return the numbers of masked records and of their neighbours in one line."""
        masked = self.neighbours >= 0
        counts = self.neighbours[masked]
        lonely = int(np.sum(counts == 0))
        text = (
            f"neighbourhood sampling: {int(masked.sum())} of {len(masked)} records masked, "
            f"neighbours mean {counts.mean():.4g}, median {np.median(counts):.4g}, most "
            f"{counts.max()}; {lonely} without any, {int(self.fallback.sum())} took the nearest"
            if len(counts)
            else "neighbourhood sampling: no record masked"
        )
        if len(counts) and lonely > WORRYING * len(counts):
            text += ". eps is so small that many records have no neighbour: take a larger one"
        return text

    def at_risk(self) -> pd.DataFrame:
        """Return records at risk: all values from one donor, unchanged, or of nearest records."""
        masked = self.neighbours >= 0
        one = np.all(self.donors == self.donors[:, :1], axis=1) & (self.donors[:, 0] >= 0)
        same = (self.frame == self.original).all(axis=1).to_numpy()
        risky = masked & (one | same | self.fallback)
        table: pd.DataFrame = pd.DataFrame(
            {
                "neighbours": self.neighbours,
                "fallback": self.fallback,
                "one_donor": one,
                "unchanged": same,
            },
            index=self.frame.index,
        )
        return pd.DataFrame(table.loc[risky])

    def follow(self, labels: Sequence[object]) -> pd.DataFrame:
        """Return original and masked values of some records, one above the other.

        Raises
        ------
        InputError
            If a label is not in the index.
        """
        missing = [label for label in labels if label not in self.frame.index]
        if missing:
            raise InputError(
                f"There are no records {missing[:5]!r} in the index. Name labels of the frame's "
                f"index, such as {self.frame.index[:3].tolist()!r}."
            )
        parts = {
            "original": self.original.loc[list(labels)],
            "masked": self.frame.loc[list(labels)],
        }
        return pd.concat(parts, names=["version"]).swaplevel().sort_index(kind="stable")

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def _as_list(given: Any) -> Any:
    """Return an array as a list of its numbers, which a schema can check."""
    return given.tolist() if isinstance(given, np.ndarray) else given


@METHODS.register
@dataclass(frozen=True)
class NeighbourhoodSampling(Method[NeighbourRelease]):
    """Replace each value by that of a random similar record (neighbourhood sampling).

    Parameters
    ----------
    eps : float or array_like of float, shape (n_records,)
        Radius in standard deviations, or one radius for each record; a larger one protects more.
    columns : sequence of str, optional
        Columns to mask, by default all. All of them count in the distance; a categorical column
        counts as one 0/1 column for each category.
    weights : mapping of str to float, optional
        Weights of columns in the distance, 1 by default.
    proportion : float, default=1
        Share of the records to mask, at random.
    groups : sequence of sequence of str, default=()
        Columns that are taken from one donor together, so that no impossible combination occurs.
    nearest : int, default=1
        Records with fewer neighbours than this draw from this many nearest records. With 0,
        records without neighbours become missing, as in the published code, which biases analyses.

    Notes
    -----
    Missing values stay missing. The other values of such a record come from records that have at
    least the same columns, and its distances are measured by these columns.

    Time grows with the number of pairs of neighbours: 10^6 records with 37 neighbours each take
    7 s, with 230 each 27 s. Take a smaller `eps` for a large file, in which near records are many.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 21, 40, 41], "wage": [1.0, 1.1, 3.0, 3.2]})
    >>> NeighbourhoodSampling(eps=0.5).protect(frame, seed=1).frame.age.tolist()
    [21, 20, 41, 40]
    """

    name: ClassVar[str] = "neighbours"
    guide: ClassVar[str] = (
        "Example: tablecloak records neighbours staff.csv -o masked.csv --eps 0.6 --weight sex=0.2"
    )

    eps: Annotated[
        float | Sequence[float],
        BeforeValidator(_as_list),
        Field(description="Radius, in standard deviations."),
    ]
    columns: Annotated[
        Sequence[str] | None, option("column", "Column to mask, by default all.")
    ] = None
    weights: Annotated[
        Mapping[str, float] | None, option("weight", "Weight in the distance, such as sex=0.2.")
    ] = None
    proportion: Annotated[float, Field(ge=0, le=1, description="Share of the records to mask.")] = (
        1.0
    )
    groups: Annotated[
        Sequence[Sequence[str]], option("together", "Columns from one donor, such as ms,phd.")
    ] = ()
    nearest: Annotated[
        int,
        Field(ge=0, description="Nearest records that records without neighbours use; 0: none."),
    ] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        eps = np.asarray(self.eps, dtype=np.float64).reshape(-1)
        wrong = eps[~(np.isfinite(eps) & (eps > 0))]
        if len(wrong):
            raise InputError(
                f"`eps` must be positive and finite. Got {wrong[0]:g}; a usual radius is 0.5."
            )
        bad = [name for name, weight in (self.weights or {}).items() if not 0 <= weight < np.inf]
        if bad:
            raise InputError(
                f"The weights of {bad} are not numbers >= 0. Correct them; 1 is the usual weight."
            )

    def apply(
        self, frame: pd.DataFrame, random: np.random.Generator | LegacySampler
    ) -> NeighbourRelease:
        """Mask the records.

        Parameters
        ----------
        frame : pandas.DataFrame

        Raises
        ------
        InputError
            If a column does not exist, is constant, or has infinite values; names column and row.
        """
        names = self._names(frame)
        points = self._points(frame, names)
        warn_of_order(frame, names)
        groups = self._groups(names)
        n = len(frame)
        radius = np.asarray(self.eps, dtype=np.float64)
        if radius.shape not in ((), (n,)):
            raise InputError(
                f"`eps` has the shape {radius.shape}; expected one number, or one for each of the "
                f"{n} records."
            )
        eps = np.broadcast_to(radius, (n,))
        order = random.permutation(n)[: int(n * self.proportion)]
        counts = np.full(n, -1, dtype=np.int64)
        fallback = np.zeros(n, dtype=bool)
        donors = np.full((n, len(groups)), -1, dtype=np.int64)
        for pool, coordinates, wanted in _pools(frame[names], points, order):
            place = np.full(n, -1, dtype=np.int64)
            place[pool] = np.arange(len(pool))
            records = NearRecords(np.hstack([each[pool] for each in coordinates]))
            near = records.by_strata(place[wanted], eps[pool])
            if isinstance(random, LegacySampler):
                near = records.in_order(place[wanted], eps[pool])
            for part, cells, number in near:
                counts[pool[part]] = number
                flat, size = cells, number
                few = np.flatnonzero(size < self.nearest)
                if len(few):
                    fallback[pool[part[few]]] = True
                    flat, size = records.with_nearest(part, flat, size, few, self.nearest)
                some = np.flatnonzero(size)
                u = random.random(len(some) * len(groups)).reshape(len(some), len(groups))
                own = size[some][:, None]
                chosen = np.minimum((u * own).astype(np.int64), own - 1)
                first = (np.cumsum(size) - size)[some][:, None]
                donors[pool[part[some]]] = pool[flat[chosen + first]]
        return self._released(frame, names, groups, order, counts, fallback, donors)

    def _names(self, frame: pd.DataFrame) -> list[str]:
        known = columns_of(frame)
        names = known if self.columns is None else list(self.columns)
        for name in [
            *names,
            *(self.weights or ()),
            *(name for group in self.groups for name in group),
        ]:
            if name not in names or name not in known:
                raise InputError(f"There is no column {name!r} to mask.{suggestion(name, known)}")
        for name in names:
            _check_mixture(frame, name)
        if len(frame) < 2:
            raise InputError(
                f"At least two records are needed, since each takes values of others. Got "
                f"{len(frame)}."
            )
        return names

    def _points(self, frame: pd.DataFrame, names: Sequence[str]) -> list[Floats]:
        """Return the coordinates of the records by each column; rows of missing values are NaN."""
        parts = []
        for name in names:
            weight = float((self.weights or {}).get(name, 1.0))
            if pd.api.types.is_numeric_dtype(frame[name]) and frame[name].dtype != bool:
                columns = numbers_of(frame, name, refuse_missing=False)[:, None]
            else:
                columns = np.array(pd.get_dummies(frame[name]), dtype=np.float64)
                columns[frame[name].isna().to_numpy()] = np.nan
            known = ~np.isnan(columns).any(axis=1)
            if known.any():
                columns = columns[:, np.ptp(columns[known], axis=0) > 0]
            if not known.any() or not columns.shape[1]:
                raise InputError(
                    f"Column {name!r} is constant, so that it cannot be standardised. Leave it out "
                    f"of `columns`."
                )
            spread = columns[known].std(axis=0, ddof=1)
            parts.append((columns - columns[known].mean(axis=0)) / spread * weight)
        return parts

    def _groups(self, names: Sequence[str]) -> list[list[str]]:
        together = [list(group) for group in self.groups]
        placed = [name for group in together for name in group]
        if len(set(placed)) < len(placed):
            twice = sorted({name for name in placed if placed.count(name) > 1})
            raise InputError(
                f"A column may be in one group only, and once. {twice} occur more than once in "
                "`groups`: leave them in one place."
            )
        rest = [name for name in names if name not in placed]
        every = [*together, *([name] for name in rest)]
        return sorted(every, key=lambda group: names.index(group[0]))

    def _released(
        self,
        frame: pd.DataFrame,
        names: Sequence[str],
        groups: list[list[str]],
        order: Integers,
        counts: Integers,
        fallback: Flags,
        donors: Integers,
    ) -> NeighbourRelease:
        released = frame.copy()
        empty = np.zeros(len(frame), dtype=bool)
        empty[order] = donors[order, 0] < 0
        for at, group in enumerate(groups):
            drawn = donors[:, at] >= 0
            for name in group:
                # Records without a value get none, although their donor may have one.
                new = np.flatnonzero(drawn & frame[name].notna().to_numpy())
                column = taken_from(frame[[name]], [name], new, donors[new, at])[name]
                released[name] = column.mask(empty) if empty.any() else column
        eps = self.eps if isinstance(self.eps, float | int) else np.asarray(self.eps)
        return NeighbourRelease(
            released[list(frame.columns)],
            frame,
            counts,
            fallback,
            donors,
            eps,
        )


def _pools(
    frame: pd.DataFrame, points: Sequence[Floats], order: Integers
) -> Iterator[tuple[Integers, list[Floats], Integers]]:
    """Yield the records that can be donors to others, and to which.

    Yields
    ------
    pool : numpy.ndarray of int
        Records with values in at least the columns that the wanted ones have.
    coordinates : list of numpy.ndarray of float
        Coordinates of all records by these columns.
    wanted : numpy.ndarray of int
        Records of the order that lack the same columns.

    Raises
    ------
    InputError
        If no other record has all columns of one; names its row.
    """
    has = frame.notna().to_numpy()
    if has.all():
        yield np.arange(len(frame)), list(points), order
        return
    patterns, pattern = np.unique(has[order], axis=0, return_inverse=True)
    for number, columns in enumerate(patterns):
        if not columns.any():
            continue
        wanted = order[pattern.ravel() == number]
        pool = np.flatnonzero(has[:, columns].all(axis=1))
        if len(pool) < 2:
            raise InputError(
                f"The record in row {row_label(frame, int(wanted[0]))} is the only one with values "
                f"in all of {list(frame.columns[columns])}, so that no other can give it theirs. "
                "Remove one of its values, or the record."
            )
        yield pool, [points[at] for at in map(int, np.flatnonzero(columns))], wanted


def _check_mixture(frame: pd.DataFrame, name: str) -> None:
    """Refuse infinite values, and text among numbers, which would turn numbers into categories."""
    column = frame[name]
    if pd.api.types.is_numeric_dtype(column):
        if column.dtype != bool:
            numbers_of(frame, name, refuse_missing=False)
        return
    known = pd.to_numeric(column, errors="coerce").notna()
    entered = column.notna()
    if known.sum() > 0.5 * entered.sum() and not known[entered].all():
        odd = int(np.flatnonzero(entered & ~known)[0])
        raise InputError(
            f"Column {name!r} holds numbers, but {column.iloc[odd]!r} in row "
            f"{row_label(frame, odd)}. Correct it or drop the record."
        )

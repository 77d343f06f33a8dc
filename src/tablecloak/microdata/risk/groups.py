"""What groups of records that share keys tell of a sensitive attribute.

Diversity is how different its values are within each group; likeness is what a group adds to what
the whole file tells.

References
----------
.. [1] Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity: privacy beyond k-anonymity,
   ACM Transactions on Knowledge Discovery from Data 1(1), 2007.
.. [2] Li, Li, Venkatasubramanian: t-closeness: privacy beyond k-anonymity and l-diversity,
   ICDE 2007.
.. [3] Wong, Li, Fu, Wang: (alpha, k)-anonymity: an enhanced k-anonymity model for
   privacy-preserving data publishing, KDD 2006.
.. [4] Cao, Karras: Publishing microdata with a robust privacy guarantee, VLDB Endowment 5, 2012
   (beta-likeness).
.. [5] Brickell, Shmatikov: The cost of privacy: destruction of data-mining utility in anonymized
   data publishing, KDD 2008 (delta-disclosure privacy).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.columns import is_number
from tablecloak.microdata.library_frames import of_any_library
from tablecloak.microdata.risk.keys import KeyCells


@dataclass(frozen=True, eq=False)
class Histograms:
    """How often each value occurs in each group.

    Parameters
    ----------
    group, value : numpy.ndarray of int, shape (n_entries,)
        Sorted by group, then by value; each pair once.
    count : numpy.ndarray of float, shape (n_entries,)
        All > 0.
    n_groups, n_values : int
        Every group has an entry.
    whole : numpy.ndarray of float, shape (n_values,), optional
        How often each value occurs in the file, where groups share records; by default the sum
        over the groups.
    """

    group: Integers
    value: Integers
    count: Floats
    n_groups: int
    n_values: int
    whole: Floats | None = None

    @classmethod
    def of(
        cls,
        group: Integers,
        value: Integers,
        count: Floats,
        n_groups: int,
        n_values: int,
        whole: Floats | None = None,
    ) -> Histograms:
        """Add up entries of the same group and value."""
        pair = group * n_values + value
        pairs, inverse = np.unique(pair, return_inverse=True)
        total = np.asarray(np.bincount(inverse.ravel(), weights=count), dtype=np.float64)
        return cls(pairs // n_values, pairs % n_values, total, n_groups, n_values, whole)

    @classmethod
    def by_known_keys(
        cls, cells: KeyCells, value: Integers, n_values: int
    ) -> tuple[Histograms, Integers]:
        """Count the values of the records that agree with each record in the keys that it has.

        Parameters
        ----------
        cells : KeyCells
        value : numpy.ndarray of int, shape (n_records,)
        n_values : int

        Returns
        -------
        histograms : Histograms
            Groups share records if keys are missing.
        group : numpy.ndarray of int, shape (n_records,)
        """
        ones = np.ones(len(value))
        base = cls.of(cells.of_record, value, ones, len(cells.count), n_values)
        group_of, n_groups = np.zeros(len(cells.count), dtype=np.int64), 0
        parts = []
        for mine, label, has_them in cells.patterns():
            wanted, number = np.unique(label[mine], return_inverse=True)
            group_of[mine] = n_groups + number.ravel()
            place = np.full(int(label.max()) + 1, -1, dtype=np.int64)
            place[wanted] = n_groups + np.arange(len(wanted))
            to = np.where(has_them, place[label], -1)[base.group]
            entries = np.flatnonzero(to >= 0)
            parts.append((to[entries], base.value[entries], base.count[entries]))
            n_groups += len(wanted)
        group, values, counts = (np.concatenate(part) for part in zip(*parts, strict=True))
        histograms = cls.of(group, values, counts, n_groups, n_values, base.in_file() * len(value))
        return histograms, group_of[cells.of_record]

    def in_file(self) -> Floats:
        """Return the share of each value in the file, shape (n_values,)."""
        counts = np.bincount(self.value, weights=self.count, minlength=self.n_values)
        whole = np.asarray(counts if self.whole is None else self.whole, dtype=np.float64)
        return np.asarray(whole / whole.sum())

    @property
    def size(self) -> Floats:
        """Number of records of each group."""
        return self._summed(self.count)

    def _summed(self, entries: Floats) -> Floats:
        sums = np.bincount(self.group, weights=entries, minlength=self.n_groups)
        return np.asarray(sums, dtype=np.float64)

    def distinct(self) -> Integers:
        """Return the number of different values of each group."""
        return np.bincount(self.group, minlength=self.n_groups).astype(np.int64)

    def entropy(self) -> Floats:
        """Return the entropy of each group in nats."""
        share = self.count / self.size[self.group]
        return np.maximum(self._summed(-share * np.log(share)), 0.0)

    def recursive(self, values: int) -> Floats:
        """Return r_1 / (r_l + ... + r_m) of each group, with counts r_1 >= r_2 >= ... [1]_.

        A group is (c, l)-diverse if this is below c; infinite if it has fewer than l values.

        Parameters
        ----------
        values : int
            The number l.
        """
        order = np.lexsort((-self.count, self.group))
        ranked = self.count[order]
        first = np.searchsorted(self.group, np.arange(self.n_groups))
        rank = np.arange(len(ranked)) - first[self.group]
        rest = self._summed(np.where(rank >= values - 1, ranked, 0.0))
        with np.errstate(divide="ignore"):
            ratio: Floats = ranked[first] / rest
        return ratio

    def distance(self, *, ordered: bool) -> Floats:
        """Return the earth mover's distance of each group from the whole file [2]_.

        Parameters
        ----------
        ordered : bool
            Whether values lie on a line at equal distances, the ends at a distance of 1. If not,
            all values have a distance of 1, and this is the total variation.
        """
        whole = self.in_file()
        share = self.count / self.size[self.group]
        if not ordered:
            seen = whole[self.value]
            missing = 1.0 - self._summed(seen)
            return np.maximum((self._summed(np.abs(share - seen)) + missing) / 2, 0.0)
        if self.n_values == 1:
            return np.zeros(self.n_groups)
        # Between two values of a group its distribution function is level, and that of the file
        # rises, so that they cross at most once.
        rising = np.cumsum(whole)
        area = np.concatenate([[0.0], np.cumsum(rising)])
        total = np.cumsum(share)
        first = np.searchsorted(self.group, np.arange(self.n_groups))
        level = total - (total[first] - share[first])[self.group]
        is_last = np.append(self.group[1:] != self.group[:-1], True)
        start, end = self.value, np.where(is_last, self.n_values, np.append(self.value[1:], 0))
        cross = np.clip(np.searchsorted(rising, level), start, end)
        below = level * (cross - start) - (area[cross] - area[start])
        above = area[end] - area[cross] - level * (end - cross)
        before = area[self.value[first]]
        return (before + self._summed(below + above)) / (self.n_values - 1)


@dataclass(frozen=True, eq=False)
class GroupDiversity:
    """Diversity of the group of each record.

    Parameters
    ----------
    size : numpy.ndarray of int, shape (n_records,)
        Number of records with the same keys.
    distinct : numpy.ndarray of int, shape (n_records,)
        Number of different sensitive values among them.
    entropy : numpy.ndarray of float, shape (n_records,)
        exp of the entropy of these values: the number of equally frequent values that would be as
        uncertain.
    closeness : numpy.ndarray of float, shape (n_records,)
        Earth mover's distance of these values from those of the file.
    most_frequent : numpy.ndarray of float, shape (n_records,)
        Share of the most frequent of these values: how often the best guess is right.
    """

    size: Integers
    distinct: Integers
    entropy: Floats
    closeness: Floats
    most_frequent: Floats

    @property
    def k(self) -> int:
        """The file is k-anonymous with this k."""
        return int(self.size.min())

    @property
    def distinct_l(self) -> int:
        """The file is distinct l-diverse with this l."""
        return int(self.distinct.min())

    @property
    def entropy_l(self) -> float:
        """The file is entropy l-diverse with this l."""
        return float(self.entropy.min())

    @property
    def t(self) -> float:
        """The file is t-close with this t."""
        return float(self.closeness.max())

    def summary(self) -> str:
        """Return the measures of the file in one line."""
        certain = int(np.sum(self.distinct == 1))
        return (
            f"groups: k = {self.k}, distinct l = {self.distinct_l}, entropy l = "
            f"{self.entropy_l:.4g}, t = {self.t:.4g}; {certain} records in groups of one value; "
            f"the best guess is right for {100 * float(self.most_frequent.mean()):.4g} %"
        )


def is_ordered(column: pd.Series) -> bool:
    """Whether the values of a column have an order: numbers, and ordered categories."""
    kind = column.dtype
    if isinstance(kind, pd.CategoricalDtype):
        return bool(kind.ordered)
    return is_number(column)


@of_any_library
def group_diversity(
    frame: pd.DataFrame,
    keys: Sequence[str],
    sensitive: str,
    *,
    ordered: bool | None = None,
    missing: Literal["category", "open"] = "category",
) -> GroupDiversity:
    """Measure how different the sensitive values of records with the same keys are.

    Parameters
    ----------
    frame : pandas.DataFrame
    keys : sequence of str
        Attributes that an intruder knows.
    sensitive : str
        Attribute that must not be inferred.
    ordered : bool, optional
        Whether its values lie on a line, for `closeness`; by default if they are numbers.
    missing : {"category", "open"}, default="category"
        Whether a missing key is a category, or is not known, so that a record is in one group with
        all that have the keys that it has, as for `key_risk`.

    Raises
    ------
    InputError
        If a column does not exist or has missing values, or the attribute is a key.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 20, 30, 30], "illness": ["a", "b", "a", "a"]})
    >>> group_diversity(people, ["age"], "illness").distinct.tolist()
    [2, 2, 1, 1]
    """
    histograms, group = grouped_values(frame, keys, sensitive, missing)
    along = is_ordered(frame[sensitive]) if ordered is None else ordered
    return diversity_of(histograms, group, ordered=along)


def diversity_of(found: Histograms, group: Integers, *, ordered: bool) -> GroupDiversity:
    """Return the diversity of the group of each record."""
    largest = np.zeros(found.n_groups)
    np.maximum.at(largest, found.group, found.count)
    return GroupDiversity(
        size=found.size[group].astype(np.int64),
        distinct=found.distinct()[group],
        entropy=np.exp(found.entropy())[group],
        closeness=found.distance(ordered=ordered)[group],
        most_frequent=(largest / found.size)[group],
    )


def grouped_values(
    frame: pd.DataFrame, keys: Sequence[str], sensitive: str, missing: Literal["category", "open"]
) -> tuple[Histograms, Integers]:
    """Count the sensitive values in each group, and return the group of each record.

    Raises
    ------
    InputError
        If a column does not exist, or the attribute is a key.
    """
    if sensitive in keys:
        raise InputError(f"The sensitive attribute {sensitive!r} is also a key. Name it once.")
    records = CodedRecords.of(frame, [*keys, sensitive])
    value = records.codes[-1].astype(np.int64)
    if missing == "open":
        return Histograms.by_known_keys(KeyCells.of(records.only(keys)), value, records.sizes[-1])
    group = records.combined(keys)
    n_groups = int(group.max()) + 1
    ones = np.ones(len(group))
    return Histograms.of(group, value, ones, n_groups, records.sizes[-1]), group


@dataclass(frozen=True, eq=False)
class GroupLikeness:
    """How far the distribution of a sensitive attribute in each group is from that of the file.

    Parameters
    ----------
    group : numpy.ndarray of int, shape (n_records,)
        Group of each record.
    histograms : Histograms
        How often each value occurs in each group.
    """

    group: Integers
    histograms: Histograms

    @property
    def k(self) -> int:
        """Size of the smallest group."""
        return int(self.histograms.size.min())

    @property
    def alpha(self) -> float:
        """Largest share of a value in a group: the file is (alpha, k)-anonymous [3]_."""
        return float(self._shares.max())

    @property
    def gain(self) -> Floats:
        """Largest (q - p) / p of each group, shape (n_groups,).

        q is the share of a value in the group and p that in the file.
        """
        largest = np.zeros(self.histograms.n_groups)
        np.maximum.at(largest, self.histograms.group, self._relative)
        return largest

    @property
    def beta(self) -> float:
        """Basic beta-likeness: no share grows by more than this multiple of itself [4]_."""
        return float(self.gain.max())

    @property
    def enhanced_beta(self) -> float:
        """Enhanced beta-likeness: the least beta with (q - p) / p <= min(beta, -ln p) [4]_.

        Infinite if a share grows by more than -ln p, since then no beta is enough. The package
        pycanon takes the largest min(beta, -ln p) of all values, whether or not shares keep it.
        """
        frequent = -np.log(self._in_file[self.histograms.value])
        exceeds = np.any(self._relative > frequent * (1 + 1e-12) + 1e-15)
        return float("inf") if exceeds else self.beta

    @property
    def delta(self) -> float:
        """Largest absolute ln(q / p) over the values that occur in a group [5]_.

        By the definition it is infinite if a value does not occur in some group; see
        `is_complete`.
        """
        return float(np.abs(np.log1p(self._relative)).max())

    @property
    def is_complete(self) -> bool:
        """Whether each value of the file occurs in each group."""
        return bool((self.histograms.distinct() == len(np.unique(self.histograms.value))).all())

    def recursive(self, values: int) -> float:
        """Return r_1 / (r_l + ... + r_m), the largest of all groups.

        The file is recursively (c, l)-diverse for each larger c [1]_; r_1 >= r_2 >= ... are the
        counts of a group. Infinite if a group has fewer than l values.

        Parameters
        ----------
        values : int
            The number l.
        """
        return float(self.histograms.recursive(values).max())

    def summary(self) -> str:
        """Return the measures of the file in one line."""
        return (
            f"groups: alpha = {self.alpha:.4g}, k = {self.k}, beta = {self.beta:.4g}, enhanced "
            f"beta = {self.enhanced_beta:.4g}, delta = {self.delta:.4g}"
            f"{'' if self.is_complete else ' without values that a group lacks'}"
        )

    @property
    def _shares(self) -> Floats:
        return self.histograms.count / self.histograms.size[self.histograms.group]

    @property
    def _in_file(self) -> Floats:
        return self.histograms.in_file()

    @property
    def _relative(self) -> Floats:
        """(q - p) / p of each value of each group."""
        return self._shares / self._in_file[self.histograms.value] - 1


@of_any_library
def group_likeness(
    frame: pd.DataFrame,
    keys: Sequence[str],
    sensitive: str,
    *,
    missing: Literal["category", "open"] = "category",
) -> GroupLikeness:
    """Measure what the groups of records with the same keys add to what the whole file tells.

    Parameters
    ----------
    frame : pandas.DataFrame
        Missing sensitive values are a category of their own.
    keys : sequence of str
        Attributes that an intruder knows.
    sensitive : str
        Attribute that must not be inferred.
    missing : {"category", "open"}, default="category"
        Whether a missing key is a category, or not known, as for `group_diversity`.

    Raises
    ------
    InputError
        If a column does not exist, or the attribute is a key.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20, 20, 30, 30], "illness": ["a", "b", "a", "a"]})
    >>> round(group_likeness(people, ["age"], "illness").beta, 3)
    1.0
    """
    histograms, group = grouped_values(frame, keys, sensitive, missing)
    return GroupLikeness(group, histograms)

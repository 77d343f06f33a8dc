"""What a group of records that share keys adds to what is known of a sensitive attribute.

References
----------
.. [1] Wong, Li, Fu, Wang: (alpha, k)-anonymity: an enhanced k-anonymity model for
   privacy-preserving data publishing, KDD 2006.
.. [2] Cao, Karras: Publishing microdata with a robust privacy guarantee, VLDB Endowment 5, 2012
   (beta-likeness).
.. [3] Brickell, Shmatikov: The cost of privacy: destruction of data-mining utility in anonymized
   data publishing, KDD 2008 (delta-disclosure privacy).
.. [4] Machanavajjhala, Kifer, Gehrke, Venkitasubramaniam: l-diversity: privacy beyond k-anonymity,
   ACM Transactions on Knowledge Discovery from Data 1(1), 2007.
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
from tablecloak.microdata.risk.diversity import Histograms, grouped_values


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
        """Largest share of a value in a group: the file is (alpha, k)-anonymous [1]_."""
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
        """Basic beta-likeness: no share grows by more than this multiple of itself [2]_."""
        return float(self.gain.max())

    @property
    def enhanced_beta(self) -> float:
        """Enhanced beta-likeness: the least beta with (q - p) / p <= min(beta, -ln p) [2]_.

        Infinite if a share grows by more than -ln p, since then no beta is enough. The package
        pycanon takes the largest min(beta, -ln p) of all values, whether or not shares keep it.
        """
        frequent = -np.log(self._in_file[self.histograms.value])
        exceeds = np.any(self._relative > frequent * (1 + 1e-12) + 1e-15)
        return float("inf") if exceeds else self.beta

    @property
    def delta(self) -> float:
        """Largest absolute ln(q / p) over the values that occur in a group [3]_.

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

        The file is recursively (c, l)-diverse for each larger c [4]_; r_1 >= r_2 >= ... are the
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
    if sensitive in keys:
        raise InputError(f"The sensitive attribute {sensitive!r} is also a key. Name it once.")
    records = CodedRecords.of(frame, [*keys, sensitive])
    found, group = grouped_values(records, list(keys), missing)
    return GroupLikeness(group, found)

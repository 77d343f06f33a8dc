"""Counts perturbed by cell keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.cellkey.perturbation_table import Perturbations, PerturbationTable
from tablecloak.cellkey.utility import Utility, utility_of
from tablecloak.errors import InputError
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.tabulation.keyed import keyed_cells


@dataclass(frozen=True, eq=False)
class PerturbedCounts:
    """A table of counts, true and perturbed. Only `release()` may leave the office.

    Parameters
    ----------
    codes : pandas.DataFrame of str, shape (n_cells, n_dimensions)
        Non-empty cells, totals included. Every other cell is 0 and is published as 0.
    hierarchies : mapping of str to Hierarchy
    counts : numpy.ndarray of int, shape (n_cells,)
        True counts.
    weights : numpy.ndarray of float, shape (n_cells,)
        Sums of weights; equal to `counts` if there are no weights.
    keys : numpy.ndarray of int, shape (n_cells,)
        Cell keys, in units of 1 / `perturbations.modulus` or as whole keys.
    changes : numpy.ndarray of int, shape (n_cells,)
        What was added to each count.
    perturbations : Perturbations
        The perturbation table that was used.
    threshold : int
        Perturbed counts below it are not published.
    is_weighted : bool
        Whether weighted counts are published.
    """

    codes: pd.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    counts: Integers
    weights: Floats
    keys: Integers
    changes: Integers
    perturbations: Perturbations
    threshold: int = 0
    is_weighted: bool = False

    @property
    def truth(self) -> Floats:
        """True counts, without weights."""
        return self.counts.astype(np.float64)

    @property
    def perturbed(self) -> Integers:
        """Perturbed counts n + v of all cells, published or not."""
        return self.counts + self.changes

    @property
    def published(self) -> Flags:
        """Whether each cell is published: not below the threshold."""
        return self.perturbed >= self.threshold

    @property
    def values(self) -> Floats:
        """What is published: perturbed counts, with weights (n + v) w / n for a weight sum w."""
        if not self.is_weighted:
            return self.perturbed.astype(np.float64)
        return self.perturbed * self.weights / self.counts

    @property
    def cell_keys(self) -> Floats | Integers:
        """Cell keys in the form of the perturbation table: fractions of 1, or whole numbers."""
        if not self.perturbations.has_fractions:
            return self.keys
        return self.keys / self.perturbations.modulus

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and counts of cells that are not 0.

        A cell that is not listed is empty, was perturbed to 0, or lies below the threshold. If
        the release listed some of these cells, readers could tell the cases apart.
        """
        listed = self.published & (self.perturbed > 0)
        shown = self.values if self.is_weighted else self.perturbed
        return self.codes.assign(count=shown)[listed].reset_index(drop=True)

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each cell, true counts and cell keys included. Secret."""
        return self.codes.assign(
            true_count=self.counts,
            weight=self.weights,
            cell_key=self.cell_keys,
            change=self.changes,
            perturbed=self.perturbed,
        )

    def utility(self, *, with_false_zeros: bool = False) -> Utility:
        """Measure how far perturbed counts lie from true ones; see `utility_of`."""
        return utility_of(self.counts, self.perturbed, with_false_zeros=with_false_zeros)

    def summary(self) -> str:
        """Say in one line what was done."""
        moved = int(np.count_nonzero(self.changes))
        hidden = int(np.count_nonzero(~self.published))
        text = (
            f"Cell keys: {len(self.counts):,} cells, {moved:,} of them changed, by "
            f"{np.abs(self.changes).mean():.3g} on average and {np.abs(self.changes).max()} at most"
        )
        return text + (f"; {hidden:,} below {self.threshold} not published" if hidden else "")

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def perturb_counts(
    data: Any,
    dimensions: Mapping[str, Any] | Sequence[str],
    perturbations: Perturbations,
    *,
    record_key: str = "record_key",
    weight: str | None = None,
    threshold: int = 0,
    engine: str = "duckdb",
) -> PerturbedCounts:
    """Count records and perturb the counts by their cell keys.

    The cell key of a cell is the sum of the keys of its records, modulo 1 or the number of keys.
    The perturbation table gives the change for each count and cell key. The same records give the
    same change in every table, so that tables agree with each other; totals are perturbed on their
    own, so that a table does not add up.

    Parameters
    ----------
    data, dimensions, weight, engine
        See `tabulate`.
    perturbations : PerturbationTable or KeyRows
        Table made by `design_count_table`, or read by `read_perturbations`.
    record_key : str, default="record_key"
        Column with the record keys: fractions for a `PerturbationTable`, whole numbers for
        `KeyRows`. `draw_record_keys` makes them.
    threshold : int, default=0
        Perturbed counts below it are not published; the Office for National Statistics uses 10.

    Returns
    -------
    PerturbedCounts

    Raises
    ------
    InputError
        If `tabulate` raises it, if record keys are missing or out of range, or if the perturbation
        table is for magnitudes.

    References
    ----------
    Fraser and Wooton (2005), "A proposed method for confidentialising tabular output to protect
    against differencing"; Handbook on Statistical Disclosure Control, 2nd ed., 5.4.
    """
    _check_for_counts(perturbations)
    if threshold < 0:
        raise InputError(f"`threshold` must be 0 or more. Got {threshold!r}.")
    cells = keyed_cells(
        data,
        dimensions,
        record_key,
        perturbations.modulus,
        has_fractions=perturbations.has_fractions,
        weight=weight,
        engine=engine,
    )
    return PerturbedCounts(
        codes=cells.codes,
        hierarchies=cells.hierarchies,
        counts=cells.count,
        weights=cells.weight,
        keys=cells.key,
        changes=perturbations.changes(cells.count, cells.key),
        perturbations=perturbations,
        threshold=threshold,
        is_weighted=weight is not None,
    )


def _check_for_counts(perturbations: Perturbations) -> None:
    """Refuse a perturbation table that lacks rows, or whose changes are not whole numbers."""
    if not isinstance(perturbations, PerturbationTable):
        return
    rows, change = perturbations.values, perturbations.change
    if np.any(change != np.rint(change)) or np.any(np.diff(rows) != 1) or rows[0] > 1:
        raise InputError(
            "The perturbation table is not for counts: it needs whole changes and a row for each "
            "count from 1 on. Use `design_count_table`, or perturb magnitudes with this one."
        )

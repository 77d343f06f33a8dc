"""Cell keys for a table of counts whose records are not at hand.

To compare methods on a table that is tabulated already, each cell of the most detailed level gets
a random cell key, as its records would have given it; keys of totals are the sums of these keys.
The release has the noise that records with keys would have given, and is judged like theirs.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cellkey.attack import attack_counts, guesses_for
from tablecloak.cellkey.design import design_count_table
from tablecloak.cellkey.perturbation_table import Perturbations
from tablecloak.comparison.possible_counts import possible_counts
from tablecloak.errors import InputError
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_order, published_rows
from tablecloak.tables.table import Table

DEVIATION, VARIANCE, BLOCKED = 5, 3.0, 2
"""Perturbation table that is used if none is given: that of the European census tests."""


@dataclass(frozen=True, eq=False)
class PerturbedProblem:
    """Counts of a table, perturbed by cell keys.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of int, shape (n_cells,)
        Perturbed counts, which need not add up.
    perturbations : Perturbations
    time_limit : float
        Seconds for the attack.
    """

    problem: ProtectionProblem
    values: Integers
    perturbations: Perturbations
    time_limit: float = 60.0

    bound: ClassVar[float] = float("nan")
    """Nothing is minimised, so that there is no bound on the loss."""

    seconds: ClassVar[float] = 0.0

    @property
    def loss(self) -> float:
        """Return sum |x_i - a_i|."""
        return float(np.abs(self.values - self.problem.table.values).sum())

    @cached_property
    def intervals(self) -> tuple[Integers, Integers]:
        """Intervals of the true counts for one who knows the perturbation table.

        A cell that the release does not list is empty, or became 0. In a table of all combinations
        of codes the intruder must reckon with each of them, also with those that are empty.
        """
        table = self.problem.table
        if _is_complete(table):
            return self._within_grid()
        listed = self.values > 0
        guesses = guesses_for(
            np.where(listed, self.values, -1), listed, self.perturbations, None, 0
        )
        lower, upper, _ = possible_counts(
            guesses,
            table.relations,
            Budget.begun(self.time_limit),
            sides=table.right_hand_side,
            wanted=self.problem.sensitive,
        )
        return lower, upper

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and perturbed counts above 0."""
        table = self.problem.table
        rows = published_rows(table, **{table.name: self.values[published_order(table)]})
        return rows[rows[table.name] > 0].reset_index(drop=True)

    def _within_grid(self) -> tuple[Integers, Integers]:
        table = self.problem.table
        found = attack_counts(
            self.release().rename(columns={table.name: "count"}),
            perturbations=self.perturbations,
            hierarchies=table.hierarchies,
            time_limit=self.time_limit,
        )
        ends = found.codes.assign(lower=found.lower, upper=found.upper)
        own = table.keys.astype(str).merge(ends, on=list(table.keys.columns), how="left")
        # The attack judges no rests of groups, so that these count as known.
        true = pd.Series(table.values).where(table.rests)
        lower, upper = (own[end].fillna(true).to_numpy(np.int64) for end in ("lower", "upper"))
        return lower, upper

    def summary(self) -> str:
        """Say in one line what was done."""
        moved = np.abs(self.values - self.problem.table.values)
        return (
            f"cell keys: {np.count_nonzero(moved):,} of {len(moved):,} counts changed, by "
            f"{moved.mean():.3g} on average and {moved.max(initial=0.0):g} at most"
        )

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def perturb_problem(
    problem: ProtectionProblem,
    perturbations: Perturbations | None = None,
    *,
    seed: int = 0,
    time_limit: float = 60.0,
) -> PerturbedProblem:
    """Perturb a table of counts as cell keys would.

    Parameters
    ----------
    problem : ProtectionProblem
        Of a table of counts.
    perturbations : Perturbations, optional
        By default a table with changes of at most 5, the variance 3, and no 1 and 2.
    seed : int, default=0
        Seed of the keys of the most detailed cells.
    time_limit : float, default=60
        Seconds for the attack on the result.

    Raises
    ------
    InputError
        If the table is not one of counts.
    """
    table = problem.table
    if not table.is_count:
        raise InputError(
            "Cell keys perturb counts here, but this is no table of counts. Perturb magnitudes "
            "with `perturb_magnitudes`, from their records."
        )
    used = perturbations
    if used is None:
        used = design_count_table(DEVIATION, VARIANCE, blocked=BLOCKED)
    counts = np.rint(table.values).astype(np.int64)
    keys = _keys(table.relations, counts, used.modulus, seed)
    return PerturbedProblem(problem, counts + used.changes(counts, keys), used, time_limit)


def _is_complete(table: Table) -> bool:
    """Whether the most detailed cells make up the total: no combination of codes is left out."""
    if not table.hierarchies:
        return False
    detailed = np.ones(table.n_cells, dtype=bool)
    total = np.ones(table.n_cells, dtype=bool)
    for name, tree in table.hierarchies.items():
        codes = table.keys[name].astype(str)
        detailed &= codes.isin(tree.leaves).to_numpy()
        total &= (codes == tree.total).to_numpy()
    return bool(table.values[detailed].sum() == table.values[total].sum())


def _keys(relations: csr_array, counts: Integers, modulus: int, seed: int) -> Integers:
    """Return cell keys: random ones of detailed cells, and their sums for totals.

    Empty cells have no records, and the key 0.
    """
    random = np.random.default_rng(seed)
    keys = random.integers(0, modulus, len(counts), dtype=np.int64)
    keys[counts == 0] = 0
    matrix = csr_array(relations)
    is_total = np.zeros(len(counts), dtype=bool)
    spans = zip(matrix.indptr[:-1], matrix.indptr[1:], strict=True)
    totals = [_total_of(matrix.indices[a:b], matrix.data[a:b]) for a, b in spans]
    is_total[[total for total, _ in totals if total >= 0]] = True
    is_keyed = ~is_total
    waiting = totals
    while waiting:
        later = []
        for total, parts in waiting:
            if total < 0 or is_keyed[total]:
                continue
            if is_keyed[parts].all():
                # Sums of whole numbers of Python, which are exact however large they are.
                keys[total] = sum(keys[parts].tolist()) % modulus
                is_keyed[total] = True
            else:
                later.append((total, parts))
        if len(later) == len(waiting):
            break
        waiting = later
    return keys


def _total_of(cells: Integers, signs: Floats) -> tuple[int, Integers]:
    """Return the cell of a relation that is the sum of the others, or -1 if there is none."""
    for sign in (-1, 1):
        alone = np.flatnonzero(np.sign(signs) == sign)
        if len(alone) == 1 and np.all(np.abs(signs) == 1):
            return int(cells[alone[0]]), np.delete(cells, alone[0])
    return -1, cells

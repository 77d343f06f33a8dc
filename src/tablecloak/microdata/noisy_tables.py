"""A table of records whose contributors got multiplicative noise, beside the true one.

What is published is a table of the multiplied records, so that it adds up, also with other tables
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import InputError, VerificationError, require_known
from tablecloak.microdata.multipliers import (
    HEAPED,
    KEPT,
    ContributorMultipliers,
    Sizes,
    of_units,
    released_decimals,
    rounded_away,
)
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_order, published_rows
from tablecloak.tables.tabulation.contributed import Contributed
from tablecloak.tables.tabulation.figures import group_rows

DRAWS = 200
"""Draws of the multipliers by which guesses are weighed; a share of 10 % then has a standard error
of 2 %."""

MOST_DRAWN = 20_000_000
"""Most multipliers that are drawn for guesses, 160 MB: more than 100,000 contributors get fewer
draws, though not fewer than `FEWEST_DRAWS`."""

FEWEST_DRAWS = 20


@dataclass(frozen=True, eq=False)
class NoiseDesign:
    """How multipliers are drawn: everything but the seed.

    Parameters
    ----------
    sizes : Sizes
    n_contributors : int
    balance, keep : scipy.sparse.csr_array, shape (n_groups, n_contributors), or None
        Contributions to the groups in which directions cancel, and to the totals that stay.
    """

    sizes: Sizes
    n_contributors: int
    balance: csr_array | None
    keep: csr_array | None

    def drawn(self, names: Sequence[object], seed: Any) -> ContributorMultipliers:
        """Draw the multipliers of contributors."""
        return ContributorMultipliers.drawn(
            names, self.sizes, seed, balance=self.balance, keep=self.keep
        )

    @cached_property
    def drawn_again(self) -> Floats:
        """Changes as somebody draws them who knows everything but the seed.

        Returns
        -------
        numpy.ndarray of float, shape (n_contributors, n_draws)
        """
        n = self.n_contributors
        draws = max(min(DRAWS, MOST_DRAWN // max(n, 1)), FEWEST_DRAWS)
        shares = np.random.default_rng(draws).random((2, n, draws))
        if self.keep is None:
            return ContributorMultipliers.of_shares(
                shares, self.sizes, balance=self.balance
            ).changes
        made = (
            ContributorMultipliers.of_shares(each, self.sizes, balance=self.balance, keep=self.keep)
            for each in np.moveaxis(shares, 2, 0)
        )
        return np.column_stack([each.changes for each in made])


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """A table with multiplicative noise of its contributors. Only `release()` may leave.

    Parameters
    ----------
    problem : ProtectionProblem
    values : numpy.ndarray of float, shape (n_cells,)
        Published values; all relations hold.
    cells : scipy.sparse.csr_array, shape (n_cells, n_contributors)
        What each contributor itself adds to each cell.
    multipliers : ContributorMultipliers
    design : NoiseDesign
    gross, blur : numpy.ndarray of float, shape (n_cells,)
        Sum of the absolute contributions of contributors themselves; by how much rounding may have
        moved each value further.
    kept : numpy.ndarray of bool, shape (n_totals,)
        Which of the totals that were to stay did.
    kept_cells : numpy.ndarray of bool, shape (n_cells,)
        Cells that are made up of such totals, and therefore true.
    seconds : float
    """

    problem: ProtectionProblem
    values: Floats
    cells: csr_array
    multipliers: ContributorMultipliers
    design: NoiseDesign
    gross: Floats
    blur: Floats
    kept: Flags
    kept_cells: Flags
    seconds: float

    bound: ClassVar[float] = float("nan")
    """Nothing is minimised, so that there is no bound on the loss."""

    @property
    def changes(self) -> Floats:
        """Published minus true values, shape (n_cells,)."""
        return self.values - self.problem.table.values

    @property
    def loss(self) -> float:
        """Return sum w_i |x_i - a_i|, relative to the values, as adjustments do by default."""
        weights = self.problem.with_weights("relative").weights
        return float(np.sum(weights * np.abs(self.changes)))

    @cached_property
    def alone(self) -> Flags:
        """Which cells have one contributor only, shape (n_cells,)."""
        return np.asarray(np.diff(self.cells.indptr) == 1)

    @property
    def least_distance(self) -> Floats:
        """Distance from the truth that is guaranteed, shape (n_cells,).

        In cells of one contributor `least` times what it adds, and 0 elsewhere. Where its
        contributions have both signs, rounding may take away from that what it adds elsewhere.
        """
        net = np.abs(self.cells.sum(axis=1))
        mixed = net < (1 - KEPT) * self.gross
        promised = self.design.sizes.least * net - np.where(mixed, self.blur, 0.0)
        return np.where(self.alone, np.maximum(promised, 0.0), 0.0)

    def release(self) -> pd.DataFrame:
        """Return what may be published: codes and noisy values."""
        table = self.problem.table
        return published_rows(table, **{table.name: self.values[published_order(table)]})

    def to_frame(self) -> pd.DataFrame:
        """Return one line for each cell, true values included. Secret."""
        return self.problem.table.to_frame().assign(
            published=self.values, change=self.changes, least_distance=self.least_distance
        )

    def verify(self) -> None:
        """Check that the table adds up, and the distances that are guaranteed.

        Raises
        ------
        VerificationError
            Names a cell or relation that fails.
        """
        table = self.problem.table
        off = np.abs(table.relations @ self.values - table.right_hand_side)
        slack = KEPT * (abs(table.relations) @ np.abs(self.values))
        if np.any(off > slack):
            row = int(np.argmax(off - slack))
            raise VerificationError(
                f"Relation {row + 1} of the noisy table is off by {off[row]:g}."
            )
        near = np.abs(self.changes) < (1 - KEPT) * self.least_distance
        if np.any(near):
            cell = int(np.flatnonzero(near)[0])
            raise VerificationError(
                f"Cell {table.label(cell)} has one contributor and changed by "
                f"{abs(self.changes[cell]):g} only; at least {self.least_distance[cell]:g} was "
                "promised.",
                cells=[cell],
            )

    def summary(self) -> str:
        """Say in one line what was done."""
        true = np.abs(self.problem.table.values)
        share = np.abs(self.changes)[true > 0] / true[true > 0]
        text = (
            f"noise of records: {len(true):,} cells, changed by {100 * np.median(share):.3g} % in "
            f"the median and {100 * share.max(initial=0.0):.3g} % at most"
        )
        if len(self.kept):
            text += f"; {np.count_nonzero(self.kept):,} of {len(self.kept):,} totals stay true"
        return text

    def __repr__(self) -> str:
        return f"<{self.summary()}>"


def noisy_table(
    problem: ProtectionProblem,
    records: Contributed | None,
    *,
    least: float = 0.05,
    most: float = 0.15,
    shape: str = "ramp",
    balance: Sequence[str] = (),
    keep: Sequence[str] = (),
    seed: Any = None,
) -> NoisyTable:
    """Multiply the contributions of each contributor by one number away from 1, and add up.

    Parameters
    ----------
    problem : ProtectionProblem
    records : Contributed
        What `tablecloak.contributed` returns of the records of the table.
    least, most : float, default=0.05 and 0.15
        Bounds of |m - 1| for each multiplier m.
    shape : {"ramp", "uniform"}, default="ramp"
        Distribution of |m - 1| between both; "ramp" falls linearly to 0 at `most`.
    balance : sequence of str, default=()
        Dimensions whose combinations of most detailed codes are cells in which directions are
        chosen so that the noise cancels.
    keep : sequence of str, default=()
        Dimensions whose combinations of most detailed codes have totals that stay true, as far as
        sizes between `least` and `most` allow, and with them all totals of these; never that of a
        sensitive cell. Also balanced.
    seed : int, numpy.random.Generator or None
        Keep it secret. By default the system draws one, which is not kept.

    Returns
    -------
    NoisyTable

    Raises
    ------
    InputError
        Without records, or if the table is not one of them; for bounds or dimensions that make no
        sense.

    Notes
    -----
    **Guarantee.** The published value of a cell of one contributor differs from the true one by at
    least `least` times what the contributor adds to it, if all that it adds there has one sign;
    rounding goes away from the truth. The table adds up. Nothing is promised of cells of several
    contributors. The proof stands in the docs, and `NoisyTable.verify` checks both.

    Examples
    --------
    >>> import pandas as pd
    >>> import tablecloak as tc
    >>> firms = pd.DataFrame(
    ...     {"firm": ["a", "b", "c"], "region": ["N", "N", "S"], "sold": [500, 700, 900]}
    ... )
    >>> table = tc.tabulate(firms, ["region"], "sold", contributor="firm")
    >>> records = tc.contributed(firms, ["region"], "sold", contributor="firm")
    >>> noisy = tc.noisy_table(table.protect(tc.PPercent(10)), records)
    >>> bool(abs(noisy.changes[2]) >= 0.05 * 900)
    True
    """
    budget = Budget.begun()
    if records is None:
        raise InputError(
            "Noise of records needs the records: a table without contributors cannot get it. Give "
            "`records=tablecloak.contributed(data, dimensions, value, contributor=...)`, or take a "
            "method for tables, such as adjustment."
        )
    sizes = Sizes(least, most, shape)
    member = records.membership(problem.table)
    balanced, totals = _groups(records, balance, "balance"), _groups(records, keep, "keep")
    if totals is not None:
        # Leave out totals that alone, or together, are the true value of a sensitive cell.
        inside, made_up = _within(totals, csr_array(member[problem.sensitive]))
        totals = csr_array(totals[~(inside @ made_up > 0)])
    design = NoiseDesign(
        sizes,
        len(records.names),
        None if balanced is None else csr_array(balanced @ records.own),
        None if totals is None else csr_array(totals @ records.own),
    )
    multipliers = design.drawn(records.names.tolist(), seed)
    decimals = _decimals(problem, records, least, totals)
    values, kept = _leaves(problem, records, multipliers.changes, totals, decimals)
    declared = problem.table.decimals
    changes = values - _true_leaves(problem, records)
    noisy = NoisyTable(
        problem=problem,
        values=np.round(
            problem.table.values + member @ changes, decimals if declared is None else declared
        ),
        cells=csr_array(member @ records.own),
        multipliers=multipliers,
        design=design,
        gross=member @ (abs(records.own) @ np.ones(records.own.shape[1])),
        blur=10.0**-decimals * np.asarray(member.sum(axis=1)).ravel(),
        kept=kept,
        kept_cells=_kept_cells(totals, kept, member),
        seconds=budget.elapsed,
    )
    noisy.verify()
    return noisy


def _decimals(
    problem: ProtectionProblem, records: Contributed, least: float, totals: csr_array | None
) -> int:
    """Return the decimals of published values: no more than those of the contributions."""
    declared = problem.table.decimals
    # A true total is a multiple of the last digit if all contributions are.
    share = HEAPED if totals is None else 1.0
    decimals = released_decimals(records.own.data, least, share=share)
    return decimals if declared is None else min(declared, decimals)


def _true_leaves(problem: ProtectionProblem, records: Contributed) -> Floats:
    """Return the true values of leaves, as the table adds them up."""
    declared = problem.table.decimals
    return records.totals if declared is None else np.round(records.totals, declared)


def _groups(records: Contributed, names: Sequence[str], parameter: str) -> csr_array | None:
    """Return which leaves belong to each combination of codes, shape (n_groups, n_leaves)."""
    if not names:
        return None
    known = list(records.hierarchies)
    if isinstance(names, str):
        raise InputError(f"`{parameter}` must be a list of dimensions. Got {names!r}.")
    for name in names:
        require_known(name, known, f"`{parameter}` names {name!r}.")
    axes = [known.index(name) for name in names]
    groups, group = group_rows(records.leaves[:, axes])
    shape = (len(groups), len(group))
    return csr_array((np.ones(len(group)), (group, np.arange(len(group)))), shape=shape)


def _within(totals: csr_array, member: csr_array) -> tuple[csr_array, Flags]:
    """Return which totals lie in which cells, and which cells are made up of totals.

    Parameters
    ----------
    totals, member : scipy.sparse.csr_array, shape (n_totals, n_leaves) and (n_cells, n_leaves)
        Which leaves belong to each total, and to each cell. Totals share no leaf.

    Returns
    -------
    inside : scipy.sparse.csr_array of float, shape (n_totals, n_cells)
        Number of leaves of each total that lies in a cell as a whole.
    made_up : numpy.ndarray of bool, shape (n_cells,)
    """
    common = csr_array(totals @ member.T).tocoo()
    row, cell = common.coords
    whole = common.data == np.diff(totals.indptr)[row]
    inside = csr_array((common.data[whole], (row[whole], cell[whole])), shape=common.shape)
    return inside, np.asarray(inside.sum(axis=0)).ravel() == np.diff(member.indptr)


def _kept_cells(totals: csr_array | None, kept: Flags, member: csr_array) -> Flags:
    if totals is None:
        return np.zeros(member.shape[0], dtype=bool)
    return np.asarray(_within(csr_array(totals[kept]), member)[1])


def _leaves(
    problem: ProtectionProblem,
    records: Contributed,
    changes: Floats,
    totals: csr_array | None,
    decimals: int,
) -> tuple[Floats, Flags]:
    """Return the published value of each leaf, and which totals stay."""
    own, true = records.own, _true_leaves(problem, records)
    exact = own @ changes
    kept = np.zeros(0, dtype=bool)
    units = rounded_away(true, exact, decimals)
    if totals is not None:
        size = totals @ (abs(own) @ np.ones(own.shape[1]))
        kept = np.abs(totals @ exact) <= KEPT * size
        several = np.diff(own.indptr) > 1
        for group in np.flatnonzero(kept).tolist():
            leaves = totals.indices[totals.indptr[group] : totals.indptr[group + 1]]
            surplus = float(np.sum(units[leaves]) - np.sum(true[leaves]) * 10.0**decimals)
            kept[group] = _evened(units, leaves, several, surplus)
    return of_units(units, decimals), kept


def _evened(units: Floats, leaves: Integers, several: Flags, added: float) -> bool:
    """Take what rounding added to a total from its leaves of several contributors."""
    surplus, free = round(added), leaves[several[leaves]]
    whole = abs(added - surplus) <= KEPT * max(float(np.abs(units[leaves]).sum()), 1.0)
    if not whole or (surplus and not len(free)):
        return False
    if surplus:
        each, rest = divmod(abs(surplus), len(free))
        units[free] -= np.sign(surplus) * (each + (np.arange(len(free)) < rest))
    return True

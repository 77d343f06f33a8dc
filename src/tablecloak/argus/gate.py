"""The last check before a file is written: nothing unsafe is published.

The rules are evaluated here a second time, straight from records or cells and from the
definitions of tau-ARGUS. Nothing is taken from `tablecloak.tables.rules` or from what the
batch did to a table in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from tablecloak.argus.lines import BatchRule
from tablecloak.argus.linked import linked, positions
from tablecloak.argus.outputs import BatchTable
from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, VerificationError, counted, listed
from tablecloak.graph import parents_of
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem

Key = tuple[str, ...]

SLACK = 1e-9
"""Share of a limit within which a cell counts as safe: sums are binary fractions, and a cell on a
limit must not stop a batch."""


@dataclass(frozen=True, eq=False)
class Evidence:
    """The data to which the rules of one table are applied, as they were read.

    Parameters
    ----------
    names : list of str
        Dimensions. `units` and `cells` have their codes in columns 0, 1, ...
    trees : dict of str to Hierarchy
        Of the table as it will be published.
    units : pandas.DataFrame
        One row for each contribution, or largest contribution of a cell: codes, ``size``,
        ``weight``, ``request``, ``holding``.
    cells : pandas.DataFrame
        One row for each cell that adds up to others, or each cell as it is: codes, ``count``,
        ``weighted``, ``total`` and ``value``.
    is_complete : bool
        Whether `cells` holds totals already, so that nothing is added up.
    unsafe : set of tuple
        Cells that the data call unsafe, where no rule is given.
    safe_codes : dict of str to tuple of str
        Codes that make a cell safe, whatever the rules say (MIS).
    """

    names: list[str]
    trees: Mapping[str, Hierarchy]
    units: pd.DataFrame
    cells: pd.DataFrame
    is_complete: bool
    unsafe: set[Key] = field(default_factory=set)
    safe_codes: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def check(
    protected: BatchTable, evidence: Evidence, rules: list[BatchRule], asked: Mapping[Key, str],
    *, is_public: bool,
) -> list[str]:  # fmt: skip
    """Raise if a cell that must be protected would be published.

    Guarantee: for every table for which this returns, every cell that the rules, the given
    statuses or an a priori line make unsafe is marked as such, and is hidden or altered by its
    level if `is_public`; but for cells that an a priori line declares safe.

    Parameters
    ----------
    protected : BatchTable
    evidence : Evidence
    rules : list of BatchRule
        As they stand in the batch.
    asked : mapping of tuple to str
        The last status of a cell by a priori lines.
    is_public : bool
        Whether the file may leave: it shows neither statuses nor true values.

    Returns
    -------
    list of str
        Cells that are published although a rule makes them unsafe, because a line asks for it.

    Raises
    ------
    VerificationError
        Names the cells.
    """
    problem = protected.problem
    keys = list(problem.table.keys[evidence.names].itertuples(index=False, name=None))
    by_rule = _unsafe(evidence, rules, protected)
    told = {key for key, letter in asked.items() if letter == "u"}
    waived = {key for key, letter in asked.items() if letter in ("s", "p")}
    demanded = (by_rule | evidence.unsafe | told) - waived
    needs = np.array([key in demanded for key in keys], dtype=bool)
    shown = needs & ~problem.sensitive
    if is_public:
        shown |= needs & ~is_hidden(protected)
        if protected.method == "suppressed":
            shown |= np.array([asked.get(key) == "m" for key in keys]) & ~protected.suppressed
    if np.any(shown):
        cells = np.flatnonzero(shown)
        remedy = "Protect the table (SUPPRESS) after the last change."
        if protected.method == "rounded" and np.all(problem.sensitive[cells]):
            remedy = (
                "Their rounded values leave less room than their levels: take a larger base in RND."
            )
        raise VerificationError(
            f"Nothing was written: {counted(len(cells), 'cell')} that must be protected would be "
            f"published, {listed(problem.table.labels(cells))}, unsafe by the rules, a status or "
            f"an a priori line. {remedy}",
            cells=cells,
        )
    let_go = (by_rule | evidence.unsafe) & waived
    return [", ".join(key) for key in keys if key in let_go]


def check_together(one: BatchTable, others: Sequence[BatchTable]) -> None:
    """Raise if a table does not hold beside others of the same response that share its cells.

    Guarantee: if this returns, then no cell that two of the tables share is hidden here and shown
    there, no table is published in two ways, and each sensitive cell that is protected in each
    suppressed table by itself is protected against all who know them all.

    Parameters
    ----------
    one : BatchTable
        A dimension that a table does not have stands at its total.
    others : sequence of BatchTable
        Protected by other lines.

    Raises
    ------
    VerificationError
        Names the cells.
    """
    joined, here = [one], _by_codes(one)
    for other in others:
        there = _by_codes(other)
        shared = [
            codes
            for codes, (_, value, _) in here.items()
            if codes in there and abs(value - there[codes][1]) <= 1e-6 * max(1.0, abs(value))
        ]
        if one.method != other.method:
            if any(here[codes][2] or there[codes][2] for codes in shared):
                raise VerificationError(
                    f"Nothing was written: cells are hidden in a table that is {one.method}, and "
                    f"published in another way in one that is {other.method}, which together tell "
                    f"more than each alone. Publish one of them."
                )
        elif one.method == "suppressed":
            odd = [here[codes][0] for codes in shared if here[codes][2] != there[codes][2]]
            if odd:
                names = listed(one.problem.table.labels(odd))
                raise VerificationError(
                    f"Nothing was written: {counted(len(odd), 'cell')} hidden in one published "
                    f"table and shown in another, {names}. {AS_ONE}",
                    cells=odd,
                )
            if any(here[codes][2] for codes in shared):
                joined.append(other)
    if len(joined) > 1:
        _attack_together(joined)


AS_ONE = (
    "Protect tables that share cells as one, by one SUPPRESS with table 0 such as MOD(0,5), and "
    "publish one pattern of each."
)


def _attack_together(tables: Sequence[BatchTable]) -> None:
    """Raise if a cell that no table tells by itself can be computed from all of them."""
    try:
        problem = linked([table.problem for table in tables])
    except InputError:
        return  # Other values or other codes: no reader can join the tables.
    places = [positions(problem.table, table.problem.table) for table in tables]
    hidden = np.zeros(problem.table.n_cells, dtype=bool)
    exposed_alone = hidden.copy()
    for table, place in zip(tables, places, strict=True):
        hidden[place] |= table.suppressed
        exposed_alone[place] |= _exposed(table.problem, table.suppressed)
    odd = np.flatnonzero(_exposed(problem, hidden) & ~exposed_alone)
    if len(odd):
        raise VerificationError(
            f"Nothing was written: {counted(len(odd), 'sensitive cell')} protected in each "
            f"published table can be computed too closely from all of them together, "
            f"{listed(problem.table.labels(odd))}. {AS_ONE}",
            cells=odd,
        )


def _exposed(problem: ProtectionProblem, hidden: Flags) -> Flags:
    """Return which cells of a pattern are not proved to be protected."""
    exposed = np.zeros(problem.table.n_cells, dtype=np.bool_)
    audited = audit_pattern(problem, hidden)
    exposed[problem.sensitive] = [one != Verdict.PROTECTED for one in audited.verdicts]
    return exposed


def _by_codes(protected: BatchTable) -> dict[frozenset[tuple[str, str]], tuple[int, float, bool]]:
    """Position, value and whether it is hidden, of each cell by its codes below the totals."""
    table = protected.problem.table
    totals = {name: tree.total for name, tree in table.hierarchies.items()}
    names = list(table.keys.columns)
    return {
        frozenset((n, c) for n, c in zip(names, key, strict=True) if c != totals[n]): (
            at,
            float(table.values[at]),
            bool(protected.suppressed[at]),
        )
        for at, key in enumerate(table.keys.itertuples(index=False, name=None))
    }


def is_hidden(protected: BatchTable) -> Flags:
    """Return which cells are suppressed, or altered as far as their levels ask for."""
    problem, true = protected.problem, protected.problem.table.values
    if protected.method == "adjusted":
        moved = protected.values - true
        slack = SLACK * np.maximum(np.abs(true), 1.0)
        # A side whose level is 0 does not count.
        up = (moved >= problem.upper_protection - slack) & (problem.upper_protection > 0)
        down = (-moved >= problem.lower_protection - slack) & (problem.lower_protection > 0)
        return up | down
    if protected.method == "rounded":
        # A multiple of the base tells that the true value lies within this distance.
        reach = protected.reach - 1.0
        low = np.maximum(protected.values - reach, problem.lower_bound)
        wide = low <= true - problem.lower_protection
        return wide & (protected.values + reach >= true + problem.upper_protection)
    return protected.suppressed


# -- rules, from their definitions --------------------------------------------------------


def _unsafe(evidence: Evidence, rules: list[BatchRule], protected: BatchTable) -> set[Key]:
    """Cells that the rules make unsafe."""
    # A first number of 0 switches P, NK and FREQ off; they still count for the order.
    is_on = {"P": 0, "NK": 0, "FREQ": 0, "REQ": -1, "ZERO": -1}
    if not any(rule.numbers[0] > is_on.get(rule.name, np.inf) for rule in rules):
        return set()
    units, sums = _by_cell(evidence)
    axes = list(range(len(evidence.names)))
    keys = protected.problem.table.keys[evidence.names].set_axis(axes, axis=1)
    published = keys.assign(cell=np.arange(len(keys)))
    sums = keys.merge(sums.reset_index(), on=axes, how="left")
    true = protected.problem.table.values
    off = np.abs(sums["value"].to_numpy(dtype=np.float64) - true)
    # A cell without records gives NaN, which no comparison accepts, and is reported.
    odd = np.flatnonzero(~(off <= 1e-6 * np.maximum(np.abs(true), 1.0)))
    if len(odd):
        raise VerificationError(
            f"Nothing was written: the cell {protected.problem.table.label(int(odd[0]))} does not "
            f"add up to what the table shows. Check the totals of the input."
        )
    # Sums of binary fractions may differ slightly from 0.
    sums = sums.assign(value=true)
    units = units.merge(published, on=axes)
    position: dict[str, int] = {}
    flags = np.zeros(len(keys), dtype=bool)
    for rule in rules:
        at = position[rule.name] = position.get(rule.name, -1) + 1
        is_for_holdings = at >= (2 if rule.name in ("P", "NK") else 1)
        flags |= _hits(rule, _measured(units, sums, is_for_holdings))
    for name, codes in evidence.safe_codes.items():
        flags &= ~keys[evidence.names.index(name)].isin(codes).to_numpy()
    return set(keys[flags].itertuples(index=False, name=None))


def _by_cell(evidence: Evidence) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Spread contributions over all cells they count towards, and add up."""
    units, cells = evidence.units, evidence.cells
    if not evidence.is_complete:
        for axis, name in enumerate(evidence.names):
            units = _climbed(units, axis, evidence.trees[name])
            cells = _climbed(cells, axis, evidence.trees[name])
    return units, cells.groupby(list(range(len(evidence.names))), sort=False)[
        ["count", "weighted", "total", "value"]
    ].sum()


def _climbed(frame: pd.DataFrame, axis: int, tree: Hierarchy) -> pd.DataFrame:
    """Repeat rows for each code above theirs, one step of the tree after another."""
    above = parents_of(tree.groups)
    level, found = frame, [frame]
    while True:
        level = level[level[axis].isin(above)]
        if not len(level):
            return pd.concat(found, ignore_index=True)
        level = level.copy()
        level[axis] = level[axis].map(above)
        found.append(level)


@dataclass(frozen=True, eq=False)
class _Measured:
    """Contributions of each cell on the level of a rule, the largest of a cell first."""

    cell: Integers
    size: Floats
    weight: Floats
    request: Integers
    count: Floats
    weighted: Floats
    total: Floats
    value: Floats

    def sum_of_largest(self, n: int) -> Floats:
        """Sum of the n largest of each cell; a record of weight w is w contributors."""
        first = np.r_[True, self.cell[1:] != self.cell[:-1]] if len(self.cell) else np.array([])
        running = np.cumsum(self.weight) - self.weight
        before = running - np.maximum.accumulate(np.where(first, running, 0.0))
        used = np.clip(n - before, 0.0, self.weight)
        found = np.bincount(self.cell, used * self.size, minlength=len(self.total))
        return np.asarray(found, dtype=np.float64)

    def largest(self, asking: tuple[int, ...] = ()) -> Floats:
        """Largest contribution of each cell, of all or of those who ask with a code."""
        who = np.isin(self.request, asking) if asking else np.ones(len(self.cell), dtype=bool)
        found = np.zeros(len(self.total))
        np.maximum.at(found, self.cell[who], self.size[who])
        return found


def _measured(units: pd.DataFrame, sums: pd.DataFrame, is_for_holdings: bool) -> _Measured:
    weighted = sums["weighted"].to_numpy()
    count = sums["count"].to_numpy()
    if is_for_holdings:
        units = units.groupby(["cell", "holding"], as_index=False, sort=False).agg(
            size=("size", "sum"), weight=("weight", "max"), request=("request", "max")
        )
        n_cells = len(sums)
        count = np.bincount(units["cell"], minlength=n_cells).astype(np.float64)
        weighted = np.bincount(units["cell"], units["weight"], minlength=n_cells)
    size = np.abs(units["size"].to_numpy(dtype=np.float64))
    cell = units["cell"].to_numpy(dtype=np.int64)
    order = np.lexsort((-size, cell))
    return _Measured(
        cell[order],
        size[order],
        units["weight"].to_numpy(dtype=np.float64)[order],
        units["request"].to_numpy(dtype=np.int64)[order],
        count,
        weighted,
        sums["total"].to_numpy(),
        sums["value"].to_numpy(),
    )


def _hits(rule: BatchRule, at: _Measured) -> Flags:
    """Which cells a rule makes unsafe."""
    numbers, total = rule.numbers, at.total
    noise = SLACK * np.abs(total)
    hits: Flags = np.zeros(len(total), dtype=bool)
    match rule.name:
        case "NK" if numbers[0]:
            # Compared as a product: a share of a total of 0 or less is meaningless.
            largest = at.sum_of_largest(int(numbers[0]))
            hits = (at.largest() > 0) & (100 * largest > numbers[1] * (total + noise))
        case "P" if numbers[0]:
            q = numbers[1] if len(numbers) == 3 else 100.0
            coalition = int(numbers[-1]) if len(numbers) > 1 else 1
            x1 = at.largest()
            rest = total - at.sum_of_largest(coalition + 1)
            hits = (x1 > 0) & (numbers[0] * x1 > q * (rest + noise))
        case "FREQ":
            hits = (at.count > 0) & (at.weighted < numbers[0] * (1 - SLACK))
        case "ZERO":
            hits = (at.value == 0) & (at.count > 0)
        case "REQ":
            few = (at.largest((1, 2)) > 0) & (at.count < numbers[2])
            large = [
                100 * at.largest((code,)) > limit * (np.abs(total) + noise)
                for code, limit in ((1, numbers[0]), (2, numbers[1]))
            ]
            hits = few | large[0] | large[1]
    return hits

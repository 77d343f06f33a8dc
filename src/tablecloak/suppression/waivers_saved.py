"""What each waiver saves: cells that are no longer sensitive, and values that are not hidden."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Progress
from tablecloak.errors import InputError, ModelError
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.contributions import LEVELS, Contributions
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule, level_of, protect
from tablecloak.tables.table import Table

ALL_TOGETHER = "all together"
"""Stands in place of a contributor in the row of all waivers of a level."""

COLUMNS = ["level", "contributor", "waiver", "cells", "value", "published", "published_value"]


def waivers_saved(
    table: Table,
    *rules: Rule,
    pattern: SuppressionPattern | None = None,
    time_limit: float | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
    **protection: Any,
) -> pd.DataFrame:
    """Tell what each waiver saves, compared with the same data without it. Secret.

    Parameters
    ----------
    table : Table
        Tabulated with ``waiver`` or ``waiver_p``.
    *rules : Rule
    pattern : SuppressionPattern, optional
        What is published with all waivers.
    time_limit : float, optional
        Seconds for a suppression without each waiver, to find the loss that it saves; by default
        none is made.
    threads, progress, solver
        As in `suppress`, for these.
    **protection
        Parameters of `protect`, such as ``floor``.

    Returns
    -------
    pandas.DataFrame
        One row for each listed contributor (or holding, for rules on these) with a waiver, and one
        for all of them together:

        - ``cells``, ``value``: cells that would be sensitive if this waiver alone were taken back,
          and the sum of their absolute values;
        - ``published``, ``published_value``: those of them that the pattern publishes. Without
          the waiver every pattern hides them; 0 without a pattern;
        - ``loss_saved_at_least``, ``loss_saved_at_most``, with a `time_limit`: how much less the
          best pattern loses with the waiver, between proved bounds, in the unit of the weights;
          infinite if without it the table cannot be protected.

    Raises
    ------
    InputError
        If nobody waived; or, with a `time_limit`, if contributors who are not listed can matter.

    Notes
    -----
    A cell can be saved by two waivers, if it is sensitive without either. Contributors who are not
    among the largest of a cell save nothing there unless contributions are negative or weighted.

    Examples
    --------
    >>> import pandas as pd, tablecloak as tc
    >>> firms = pd.DataFrame({"firm": list("abcde"), "region": list("NNNSS")})
    >>> firms = firms.assign(turnover=[80, 15, 5, 9, 8], waiver=["yes", "", "", "", ""])
    >>> table = tc.tabulate(firms, ["region"], "turnover", contributor="firm", waiver="waiver")
    >>> tc.waivers_saved(table, tc.PPercent(10))[["contributor", "waiver", "cells", "value"]]
        contributor waiver  cells  value
    0             a   full      1  100.0
    1  all together    any      1  100.0
    """
    problem = protect(table, *rules, **protection)
    if time_limit is None:
        return saved_by_waivers(problem, rules, None if pattern is None else pattern.suppressed)
    _check_listed(table)
    search = partial(
        suppress, time_limit=time_limit, threads=threads, progress=progress, solver=solver
    )
    solved = search(problem)
    found = saved_by_waivers(problem, rules, (pattern or solved).suppressed)
    losses = []
    for level, name in zip(found["level"].tolist(), found["contributor"].tolist(), strict=True):
        other = protect(_without(table, level, name), *rules, **protection)
        losses.append(_loss_saved(other, solved, search))
    at_least, at_most = zip(*losses, strict=True)
    return found.assign(loss_saved_at_least=at_least, loss_saved_at_most=at_most)


def saved_by_waivers(
    problem: ProtectionProblem,
    rules: Sequence[Rule],
    suppressed: Flags | None = None,
) -> pd.DataFrame:
    """Return the table of `waivers_saved`, without losses, for a problem that these rules made.

    Parameters
    ----------
    problem : ProtectionProblem
    rules : sequence of Rule
    suppressed : numpy.ndarray of bool, optional
        What is hidden of its cells; further cells may follow.

    Raises
    ------
    InputError
        If nobody waived.
    """
    levels = [
        _Withdrawn.of(problem, rules, level)
        for level, attribute in LEVELS.items()
        if _waives(getattr(problem.table, attribute))
    ]
    if not levels:
        raise InputError("Nobody waived protection. Tabulate with `waiver=` or `waiver_p=`.")
    rows = [row for each in levels for row in each.rows(problem, suppressed)]
    return pd.DataFrame(rows, columns=COLUMNS)


def _waives(found: Contributions | None) -> bool:
    return found is not None and found.waivers is not None


@dataclass(frozen=True, eq=False)
class _Withdrawn:
    """Each listed waiver of one level in each cell, and what would happen without it.

    Parameters
    ----------
    level : str
    given : Contributions
    who, cell : numpy.ndarray of int, shape (n_waivers,)
        Number of the contributor, and the cell.
    own_p : numpy.ndarray of float, shape (n_waivers,)
        Its own margin, 0 for a full waiver.
    again : numpy.ndarray of bool, shape (n_waivers,)
        Whether the cell would be sensitive.
    all_again : numpy.ndarray of bool, shape (n_cells,)
        Whether each cell would be, without any waiver of this level.
    """

    level: str
    given: Contributions
    who: Integers
    cell: Integers
    own_p: Floats
    again: Flags
    all_again: Flags

    @classmethod
    def of(cls, problem: ProtectionProblem, rules: Sequence[Rule], level: str) -> _Withdrawn:
        """Take back one waiver at a time, and all of them."""
        table = problem.table
        given: Contributions = getattr(table, LEVELS[level])
        waived = (given.largest_weight > 0) & ~given.known_waivers.unwaived
        cell, rank = np.nonzero(waived & (given.largest_contributor >= 0))
        judged = [rule for rule in rules if rule.heeds_waivers and level_of(table, rule) == level]
        free = ~problem.sensitive & ~_overruled(table, rules)
        alone = _judged(table, judged, level, _taken_back(given.take(cell), rank), cell)
        everywhere = np.arange(table.n_cells)
        every = _judged(table, judged, level, replace(given, waivers=None), everywhere)
        return cls(
            level,
            given,
            given.largest_contributor[cell, rank],
            cell.astype(np.int64),
            given.known_waivers.own_p[cell, rank],
            alone & free[cell],
            every & free,
        )

    def rows(self, problem: ProtectionProblem, suppressed: Flags | None) -> list[tuple[Any, ...]]:
        """Return one row for each contributor, those that save most first, and one for all."""
        hidden = np.ones(problem.table.n_cells, dtype=np.bool_)
        if suppressed is not None:
            hidden = suppressed[: problem.table.n_cells]
        size = np.abs(problem.table.values)

        def row(name: str, kind: str, cells: Integers) -> tuple[Any, ...]:
            shown = cells[~hidden[cells]]
            sums = float(size[cells].sum()), len(shown), float(size[shown].sum())
            return self.level, name, kind, len(cells), *sums

        order = np.argsort(self.who, kind="stable")
        numbers, starts = np.unique(self.who[order], return_index=True)
        rows = []
        for number, mine in zip(numbers, np.split(order, starts[1:]), strict=True):
            kind = "partial" if np.any(self.own_p[mine] > 0) else "full"
            name = self.given.name_of(int(number))
            rows.append(row(name, kind, self.cell[mine[self.again[mine]]]))
        rows.sort(key=lambda each: (-each[-1], -each[4], each[1]))
        return [*rows, row(ALL_TOGETHER, "any", np.flatnonzero(self.all_again))]


def _overruled(table: Table, rules: Sequence[Rule]) -> Flags:
    """Return the cells that a declaration keeps from being sensitive."""
    found = np.zeros(table.n_cells, dtype=np.bool_)
    for rule in rules:
        for letter, cells in rule.decided(table).items():
            if letter != CellStatus.SENSITIVE.value:
                found[cells] = True
    return found


def _taken_back(given: Contributions, rank: Integers) -> Contributions:
    """Return contributions in which the waiver of one contributor of each cell is taken back."""
    waivers, row = given.known_waivers, np.arange(len(rank))
    full = waivers.own_p[row, rank] <= 0
    unwaived, own_p = waivers.unwaived.copy(), waivers.own_p.copy()
    unwaived[row, rank], own_p[row, rank] = True, 0.0
    largest = np.maximum(waivers.largest_unwaived, given.largest[row, rank])
    changed = replace(
        waivers,
        unwaived=unwaived,
        own_p=own_p,
        largest_unwaived=largest,
        full=waivers.full - full,
    )
    return replace(given, waivers=changed)


def _judged(
    table: Table, rules: Sequence[Rule], level: str, changed: Contributions, cell: Integers
) -> Flags:
    """Return whether any rule finds each of these cells unsafe, with other contributions."""
    known = {name: getattr(table, name) for name in LEVELS.values()}
    taken = {name: each.take(cell) if each else None for name, each in known.items()}
    stand_in: Any = SimpleNamespace(
        values=table.values[cell],
        n_cells=len(cell),
        is_count=table.is_count,
        decimals=table.decimals,
        name=table.name,
        **(taken | {LEVELS[level]: changed}),
    )
    hits = [rule.unsafe(stand_in) for rule in rules]
    return np.any(hits, axis=0) if hits else np.zeros(len(cell), dtype=np.bool_)


def _check_listed(table: Table) -> None:
    for attribute in LEVELS.values():
        given: Contributions | None = getattr(table, attribute)
        if given is None or given.waivers is None:
            continue
        unsigned = np.isfinite(given.shortfall) & (not given.is_weighted)
        if np.any((given.count > given.largest.shape[1]) & ~unsigned):
            most = int(given.count.max())
            raise InputError(
                f"With negative or weighted contributions the loss that a waiver saves needs all "
                f"contributors of each cell. Tabulate with `n_largest={most}`, or leave out "
                f"`time_limit`."
            )


def _without(table: Table, level: str, contributor: str) -> Table:
    """Return the table without one waiver, or without those of all on its level."""
    given: Contributions = getattr(table, LEVELS[level])
    if contributor == ALL_TOGETHER:
        return _with_contributions(table, level, replace(given, waivers=None))
    number = [given.name_of(each) for each in range(int(given.largest_contributor.max()) + 1)]
    mine = given.largest_contributor == number.index(contributor)
    cell, rank = np.nonzero(mine & (given.largest_weight > 0) & ~given.known_waivers.unwaived)
    part = _taken_back(given.take(cell), rank).known_waivers
    waivers = given.known_waivers
    changed = {}
    for name in vars(waivers):
        changed[name] = getattr(waivers, name).copy()
        changed[name][cell] = getattr(part, name)
    waivers = replace(waivers, **changed)
    return _with_contributions(table, level, replace(given, waivers=waivers))


def _with_contributions(table: Table, level: str, given: Contributions) -> Table:
    changed: dict[str, Any] = {LEVELS[level]: given}
    return replace(table, **changed)


def _loss_saved(
    problem: ProtectionProblem,
    solved: SuppressionPattern,
    search: Callable[[ProtectionProblem], SuppressionPattern],
) -> tuple[float, float]:
    """Return how much more the best pattern of another problem loses, at least and at most.

    Where no level is larger with the waiver, each pattern that protects without it protects with
    it, so that it saves 0 or more. A partial waiver may ask for more than the rule.
    """
    same = ("status", "lower_protection", "upper_protection")
    if all(np.array_equal(getattr(problem, n), getattr(solved.problem, n)) for n in same):
        return 0.0, 0.0
    try:
        other = search(problem)
    except ModelError:
        return np.inf, np.inf
    asked, kept = problem.upper_protection, solved.problem.upper_protection
    more = np.all((asked >= kept) & (problem.sensitive | ~solved.problem.sensitive))
    saved = other.bound - solved.loss, other.loss - solved.bound
    return (max(0.0, saved[0]), max(0.0, saved[1])) if more else saved

"""From a table and rules to a protection problem: sensitive cells and their levels."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import InputError, TablecloakWarning, listed
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.rests import Rests, with_rests
from tablecloak.tables.external_bounds import default_bounds, not_zero
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import NO_RULES, Table
from tablecloak.tables.weights.rule import WeightRule
from tablecloak.tables.zeros import ProtectedZeros, Zeros, check_zeros

Hits = Sequence[tuple["Judge", Flags]]

NOISE = 1e-12
"""Share by which a level of a count may exceed a whole number without being rounded up."""


class Judge(Protocol):
    """The part of a rule that `protect` uses; `tablecloak.tables.rules.rule.Rule` implements it."""

    name: ClassVar[str]
    precedence: ClassVar[int]
    looks_at_amounts: ClassVar[bool]
    has_floor: ClassVar[bool]

    def unsafe(self, table: Table) -> Flags:
        """Return which cells the rule finds unsafe."""

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (LPL, UPL) for the cells that this rule alone made unsafe."""

    def safe_distance(self, table: Table) -> Floats | None:
        """Return by how much each cell falls short of being safe, if the rule knows."""

    def decided(self, table: Table) -> dict[str, Flags]:
        """Return cells whose status (a letter) overrules all other rules."""

    def rests(self, table: Table) -> Rests | None:
        """Return sums of cells that must be able to grow, if the rule judges groups."""


def protect(
    table: Table,
    *rules: Judge,
    floor: float = 1.0,
    lower_factor: float = 1.0,
    external_bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    zeros: Zeros = "public",
    zeros_published: bool = True,
    weights: WeightRule | str | npt.ArrayLike = "value",
) -> ProtectionProblem:
    """Find the sensitive cells of a table and their protection levels.

    Parameters
    ----------
    table : Table
    *rules : Rule
        A cell is sensitive if any of them finds it unsafe. On each side its level is the largest
        that these rules ask for, in whatever order they are given; the reason is the first of them
        by `precedence`. No rule asks for a sliding level.
    floor : float, default=1
        Smallest protection level, in the unit of the table. tau-ARGUS uses 1 whatever the
        unit; set it to what 1 means in yours.
    lower_factor : float, default=1
        LPL as a multiple of UPL, for asymmetric protection.
    external_bounds : (lower, upper), optional
        What an intruder knows of each cell beforehand, as scalars or one entry per cell. By
        default [0, 1.5 max v] if no value is negative, [1.5 min v, 1.5 max v] otherwise.
        Levels from rules are cut at the default bounds; bounds that you give are binding, and
        a level beyond them is an error.
    zeros : {"public", "candidates", "protected"}, default="public"
        What may happen to the zeros of a table of counts.

        - "public": they are published; everybody knows them.
        - "candidates": they may be suppressed to protect other cells.
        - "protected": they are sensitive, and must be able to be 1.

        Unless they are public, a suppressed count may be 0 for all that anybody knows, and the
        table must list its empty cells (`empty_cells=True` of `tabulate` and `Table.from_frame`).
        Zeros that everybody expects, such as married children, are declared frozen by `Manual`.
    zeros_published : bool, default=True
        Whether zeros are published, so that everybody knows of a suppressed cell that it is not
        0: in a table of whole numbers without negative ones its lower bound is then 1, that of a
        total the number of its parts, and levels from rules are cut at that. Set it to False only
        if zeros are suppressed as well; where `zeros` are not public, it plays no part.
    weights : WeightRule, str or array, default="value"
        Loss of suppressing each cell.

    Returns
    -------
    ProtectionProblem
        Cells with the value 0 and without contributors are frozen where zeros are public:
        everybody knows them. Rests of groups that a rule found (`KDisclosure`) are further cells,
        the last ones; they are suppressed in every pattern and appear in no release.

    Raises
    ------
    InputError
        If no rule is given, or one needs contributions that the table does not have, or
        zeros are to be suppressed in a table of other values than counts.
    ModelError
        If all cells of a rest that must be able to grow are published.
    """
    _check_arguments(rules, floor=floor, lower_factor=lower_factor)
    _check_measure(table, rules)
    check_zeros(table, zeros)
    judges = [*rules, ProtectedZeros()] if zeros == "protected" else rules
    ordered = sorted(judges, key=lambda rule: rule.precedence)
    hits = [(rule, rule.unsafe(table)) for rule in ordered]
    status, reasons = _statuses(table, hits, zeros)
    bounds = _bounds(table, external_bounds)
    sensitive = status == CellStatus.SENSITIVE.value
    lower, upper = levels_by(table, hits, floor, lower_factor)
    lower[~sensitive], upper[~sensitive] = 0.0, 0.0
    if external_bounds is None:
        lower = np.minimum(lower, table.values - bounds[0])
        upper = np.minimum(upper, bounds[1] - table.values)
    low = bounds[0]
    if zeros == "public" and zeros_published:
        low = not_zero(table, low)
        lower = np.where(low > bounds[0], np.minimum(lower, table.values - low), lower)
    problem = ProtectionProblem(
        table=table,
        status=status,
        lower_protection=lower,
        upper_protection=upper,
        lower_bound=low,
        upper_bound=bounds[1],
        reasons=reasons,
    )
    if isinstance(weights, WeightRule | str):
        problem = problem.with_weights(weights)
    else:
        problem = problem.with_changes(weights=weights)
    found = {rule.name: rests for rule in ordered if (rests := rule.rests(table)) is not None}
    return with_rests(problem, found).problem if found else problem


def _check_arguments(rules: Sequence[Judge], **numbers: object) -> None:
    if not rules:
        raise InputError(NO_RULES)
    for name, number in numbers.items():
        if not (isinstance(number, int | float | np.number) and 0 <= float(number) < np.inf):
            raise InputError(f"`{name}` must be a number of 0 or more. Got {number!r}.")


def _check_measure(table: Table, rules: Sequence[Judge]) -> None:
    odd = [rule.name for rule in rules if rule.looks_at_amounts]
    if table.name == "count" and odd:
        raise InputError(
            f"The rules {listed(odd)} look at amounts, but this is a table of counts. Use "
            f"MinimumFrequency, or tabulate a `value`."
        )
    if table.variables is not None:
        raise InputError(
            "This table joins several variables. Rules look at one variable each: protect the "
            "table of each variable, and then join the problems."
        )
    if table.contributions and bool(np.any(table.values < 0)):
        warnings.warn(
            "Some cells are negative: protection levels are taken from their absolute values.",
            TablecloakWarning,
            stacklevel=3,
        )


def _statuses(table: Table, hits: Hits, zeros: Zeros) -> tuple[Texts, Texts]:
    """Return the status of each cell, and the name of the first rule that made it sensitive."""
    reasons = np.full(table.n_cells, "", dtype=f"U{max(len(rule.name) for rule, _ in hits)}")
    for rule, hit in hits:
        reasons[hit & (reasons == "")] = rule.name
    status = np.where(reasons != "", CellStatus.SENSITIVE.value, CellStatus.SAFE.value)
    empty = table.contributions.count == 0 if table.contributions else table.values == 0
    if zeros == "public":
        status[(table.values == 0) & empty & (reasons == "")] = CellStatus.FROZEN.value
    sensitive = CellStatus.SENSITIVE.value
    decided = [(rule, *each) for rule, _ in hits for each in rule.decided(table).items()]
    # If two rules overrule on one cell, a declaration as safe is applied last.
    for rule, letter, cells in sorted(decided, key=lambda each: each[1] != sensitive):
        status[cells] = letter
        reasons[cells] = rule.name if letter == sensitive else ""
    return status, reasons


def _bounds(
    table: Table, given: tuple[npt.ArrayLike, npt.ArrayLike] | None
) -> tuple[Floats, Floats]:
    """Return what everybody knows of each cell: as given, or by default."""
    low, high = (
        np.broadcast_to(np.asarray(end, dtype=np.float64), (table.n_cells,))
        for end in (default_bounds(table) if given is None else given)
    )
    return (np.ceil(low), np.floor(high)) if table.is_count else (low, high)


def levels_by(table: Table, hits: Hits, floor: float, lower_factor: float) -> tuple[Floats, Floats]:
    """Return the levels of all cells: on each side the largest of the rules that they break.

    Parameters
    ----------
    table : Table
    hits : list of (Rule, numpy.ndarray of bool)
        Rules, and the cells that each finds unsafe.
    floor, lower_factor : float
        As in `protect`.
    """
    lower, upper = np.zeros(table.n_cells), np.full(table.n_cells, float(floor))
    for rule, hit in hits:
        distance = rule.safe_distance(table)
        low, high = rule.levels(table) if distance is None else (distance, distance)
        low = np.maximum(low * lower_factor, floor if rule.has_floor else 0.0)
        lower = np.where(hit, np.maximum(lower, low), lower)
        upper = np.where(hit, np.maximum(upper, high), upper)
    if table.is_count:
        # Counts are whole, so that a level is reached only at the next whole number.
        lower, upper = np.ceil(lower * (1 - NOISE)), np.ceil(upper * (1 - NOISE))
    return lower, upper

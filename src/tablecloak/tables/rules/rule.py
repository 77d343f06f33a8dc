"""Sensitivity rules: their base class and registry, and the problem that rules make of a table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self, get_args

import numpy as np
import numpy.typing as npt
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import InputError, TablecloakWarning, listed, require_known
from tablecloak.parameters import percent, take_parameters
from tablecloak.registry import Registry
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.rests import Rests, with_rests
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.contributions import LEVELS, ContributionLevel, Contributions
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.size_classes import warn_classes_of_amounts
from tablecloak.tables.table import NO_RULES, Table
from tablecloak.tables.weights import WeightRule

Level = Annotated[
    Literal["auto", "contributor", "holding"],
    Field(description="Whose contributions are compared; auto: of holdings where they are known."),
]

_Share = Annotated[float, Field(ge=0)]
LevelRange = Annotated[
    _Share | tuple[_Share, _Share], percent("Protection level, both sides or [lower, upper].")
]
"""A percentage for both sides, or (lower, upper)."""


@dataclass(frozen=True)
class Rule:
    """Base class of all rules.

    A rule has at least a name and `unsafe`, and either `levels` or a parameter `range` from which
    they follow. The first line of its docstring is what users read about it.
    """

    name: ClassVar[str] = ""
    precedence: ClassVar[int] = 100
    """Order in which rules are tested: the first that hits names the cell's reason."""
    looks_at_amounts: ClassVar[bool] = False
    """Whether it applies to amounts only, not to a table of counts."""
    applies_to_sums: ClassVar[bool] = False
    """Whether it also judges sums of suppressed cells, as if each were a cell. It must be a rule by
    which a sum of safe cells is safe; other rules are refused where sums are asked for."""
    heeds_waivers: ClassVar[bool] = False
    """Whether waivers of contributors can make a cell safe."""
    weighs_holdings: ClassVar[bool] = False
    """Whether it is defined for holdings of weighted data."""
    has_floor: ClassVar[bool] = True
    """Whether the smallest protection level applies to its lower levels."""
    is_suggested: ClassVar[bool] = False
    """Whether forms propose it by default."""
    argus: ClassVar[str] = ""
    """Name of the same rule in batches of tau-ARGUS; empty if it has none."""
    confidentiality: ClassVar[Confidentiality] = Confidentiality.CONFIDENTIAL
    """What other authorities are told of a cell of which only the name of the rule is known."""

    def __post_init__(self) -> None:
        take_parameters(self, type(self).__name__)

    def refusal(self, parameter: str, expected: str) -> InputError:
        """Return the error for a parameter that is not what was expected."""
        return InputError(
            f"{type(self).__name__}: `{parameter}` must be {expected}. "
            f"Got {getattr(self, parameter)!r}."
        )

    @property
    def n_largest(self) -> int:
        """How many of the largest contributions of each cell it needs to know."""
        return 0

    def unsafe(self, table: Table) -> Flags:
        """Return which cells the rule finds unsafe."""
        raise NotImplementedError

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (LPL, UPL) for the cells that this rule alone made unsafe."""
        given = getattr(self, "range", 0.0)
        low, high = given if isinstance(given, tuple) else (given, given)
        size = np.abs(table.values)
        return size * low / 100, size * high / 100

    def safe_distance(self, table: Table) -> Floats | None:
        """Return by how much each cell falls short of being safe, if the rule knows."""
        return None

    def confidentiality_of(self, table: Table) -> Texts:
        """Return what other authorities are told of each cell that the rule finds unsafe.

        Returns
        -------
        numpy.ndarray of str, shape (n_cells,)
            Letters of `Confidentiality`.
        """
        return np.full(table.n_cells, self.confidentiality.value)

    def decided(self, table: Table) -> dict[str, Flags]:
        """Return cells whose status (a letter) overrules all other rules."""
        return {}

    def rests(self, table: Table) -> Rests | None:
        """Return sums of cells that must be able to grow, if the rule judges groups."""
        return None

    def protect(self, table: Table, *others: Rule, **options: Any) -> ProtectionProblem:
        """Protect a table by this rule and others; see `tablecloak.protect`."""
        return protect(table, self, *others, **options)

    @classmethod
    def from_argus(cls, numbers: Sequence[float], level: Level) -> Self | None:
        """Return the rule with the numbers of a rule `argus` of a batch, None if it is another."""
        return None


RULES: Registry[Rule] = Registry(
    "rule", "tablecloak.tables.rules", order=lambda rule: rule.precedence
)
"""All rules, in the order in which they are tested."""


def level_of(table: Table, rule: Rule) -> ContributionLevel:
    """Return on which level a rule looks at a table: a holding that is known is one respondent."""
    level = getattr(rule, "level", "contributor")
    if level == "auto":
        level = "contributor" if table.holdings is None else "holding"
    return "holding" if level == "holding" else "contributor"


def contributions_of(table: Table, rule: Rule) -> Contributions:
    """Return the contributors of each cell on the level of a rule.

    Raises
    ------
    InputError
        If the table does not have them, or the rule is not defined for them.
    """
    level = level_of(table, rule)
    contributions: Contributions | None = getattr(table, LEVELS[level])
    if contributions is None:
        raise InputError(
            f"The rule {rule.name!r} needs the {level}s of each cell, but the table does not have "
            f"them. Tabulate from microdata with `{level}=`, or give `frequency` and `largest`."
        )
    if level == "holding" and contributions.is_weighted:
        refuse_weighted_holdings(rule)
    return contributions


def refuse_weighted_holdings(rule: Rule) -> None:
    """Refuse a rule that would judge holdings of weighted data and is not defined for them.

    Raises
    ------
    InputError
        Says what to do.
    """
    if rule.weighs_holdings or getattr(rule, "level", "contributor") == "contributor":
        return
    raise InputError(
        f"The rule {rule.name!r} on the level of holdings is not defined for weighted data. "
        f"Multiply the values by their weights and give no weight, or leave out the holdings, "
        f"or write level='contributor': members of one holding then count as strangers, and "
        f"one may learn what another one has."
    )


Hits = Sequence[tuple[Rule, Flags]]
"""Rules, and the cells that each finds unsafe."""

NOISE = 1e-12
"""Share by which a level of a count may exceed a whole number without being rounded up."""

FLOOR_RATIO = 10.0
"""Times that the floor may exceed the levels of most sensitive cells without a warning. Chosen."""

Zeros = Literal["public", "candidates", "protected"]
"""Whether zeros are published, may be suppressed to protect other cells, or are sensitive."""


def protect(
    table: Table,
    *rules: Rule,
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
        default [0, 1.5 max v] if no value is negative; otherwise the lower one is 1.5 min v, or
        as far below 0 as a level asks for. Levels from rules are cut at the default bounds;
        bounds that you give are binding, and a level beyond them is an error.
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

    Warns
    -----
    TablecloakWarning
        If some cells are negative, or if `floor` exceeds by far what the rules ask for in most
        sensitive cells, as 1 does where values are in millions; or if a dimension has classes of
        the variable itself, such as employees by number of employees, and no bounds by cell.
    """
    _check_arguments(rules, floor=floor, lower_factor=lower_factor)
    _check_measure(table, rules)
    check_zeros(table, zeros)
    judges = [*rules, ProtectedZeros()] if zeros == "protected" else rules
    ordered = sorted(judges, key=lambda rule: rule.precedence)
    hits = [(rule, rule.unsafe(table)) for rule in ordered]
    status, reasons = _statuses(table, hits, zeros)
    if external_bounds is None or not any(map(np.ndim, external_bounds)):
        warn_classes_of_amounts(table)
    bounds = _bounds(table, external_bounds)
    sensitive = status == CellStatus.SENSITIVE.value
    lower, upper = levels_by(table, hits, floor, lower_factor)
    warn_floor(table, hits, sensitive, floor)
    lower[~sensitive], upper[~sensitive] = 0.0, 0.0
    if external_bounds is None:
        if np.any(bounds[0] < 0):
            # That nothing is below 0 is a fact, but nobody knows the lowest value of a table with
            # negative ones: its bound cuts no level.
            bounds = np.minimum(bounds[0], np.min(table.values - lower)), bounds[1]
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
    rests = {rule.name: some for rule in ordered if (some := rule.rests(table)) is not None}
    return with_rests(problem, rests).problem if rests else problem


def _check_arguments(rules: Sequence[Rule], **numbers: object) -> None:
    if not rules:
        raise InputError(NO_RULES)
    for name, number in numbers.items():
        if not (isinstance(number, int | float | np.number) and 0 <= float(number) < np.inf):
            raise InputError(f"`{name}` must be a number of 0 or more. Got {number!r}.")


def _check_measure(table: Table, rules: Sequence[Rule]) -> None:
    odd = [rule.name for rule in rules if rule.looks_at_amounts]
    if table.name == "count" and odd:
        raise InputError(
            f"The rules {listed(odd)} look at amounts, but this is a table of counts. Use "
            f"MinimumFrequency, or tabulate a `value`. In a job or a publication with several "
            f"variables, rules of its own are [variables.NAME] rules = "
            f"[{{rule = 'minimum-frequency', minimum = 3}}]."
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


def warn_floor(table: Table, hits: Hits, sensitive: Flags, floor: float) -> None:
    """Warn where the floor exceeds by far what the rules ask for in most sensitive cells."""
    # One unit is the least by which whole numbers can differ.
    if floor <= (1.0 if table.integer else 0.0):
        return
    levels = levels_by(table, hits, 0.0, 1.0)[1][sensitive]
    usual = float(np.median(levels[levels > 0])) if np.any(levels > 0) else np.inf
    if floor <= FLOOR_RATIO * usual:
        return
    unit = f" ({table.unit})" if table.unit else ""
    warnings.warn(
        f"`floor` = {floor:g} is the smallest protection level, in the unit of the table{unit}, "
        f"but the rules ask for {usual:.2g} or less in half of the sensitive cells: far more cells "
        f"may be hidden than they need. Give a `floor` that fits the unit, such as "
        f"{10.0 ** np.floor(np.log10(usual)):g}, to `protect` and `Groups`, or in [protection] of "
        f"a job.",
        TablecloakWarning,
        stacklevel=3,
    )


def _statuses(table: Table, hits: Hits, zeros: Zeros) -> tuple[Texts, Texts]:
    """Return the status of each cell, and the name of the first rule that made it sensitive."""
    reasons = reasons_by(hits, table.n_cells)
    status = np.where(reasons != "", CellStatus.SENSITIVE.value, CellStatus.SAFE.value)
    empty = table.contributions.count == 0 if table.contributions else table.values == 0
    if zeros == "public":
        status[(table.values == 0) & empty & (reasons == "")] = CellStatus.FROZEN.value
    sensitive = CellStatus.SENSITIVE.value
    decisions = [(rule, *cells) for rule, _ in hits for cells in rule.decided(table).items()]
    # If two rules overrule on one cell, a declaration as safe is applied last.
    for rule, letter, cells in sorted(decisions, key=lambda decision: decision[1] != sensitive):
        status[cells] = letter
        reasons[cells] = rule.name if letter == sensitive else ""
    return status, reasons


def reasons_by(hits: Hits, n_cells: int) -> Texts:
    """Return the name of the first rule that finds each cell unsafe; empty if none does."""
    width = max((len(rule.name) for rule, _ in hits), default=1)
    reasons = np.full(n_cells, "", dtype=f"U{width}")
    for rule, hit in hits:
        reasons[hit & (reasons == "")] = rule.name
    return reasons


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
    hits : sequence of (Rule, numpy.ndarray of bool)
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


def levels_asked(
    problem: ProtectionProblem, cell: int, rules: Sequence[Rule]
) -> list[tuple[Rule, float]]:
    """Return the rules that find a cell unsafe, and their levels; that of the largest level first.

    Parameters
    ----------
    problem : ProtectionProblem
    cell : int
    rules : sequence of Rule
        Those of the problem, which does not keep them. If they cannot be, since none of them is the
        reason that the problem gives, nothing is returned.
    """
    table, reason = problem.table, str(problem.reasons[cell])
    if table.variables is not None or reason not in {rule.name for rule in rules}:
        return []
    ordered = sorted(rules, key=lambda rule: rule.precedence)
    hits = [(rule, hit) for rule in ordered if (hit := rule.unsafe(table))[cell]]
    levels = [max(side[cell] for side in levels_by(table, [hit], 0.0, 1.0)) for hit in hits]
    asked = [(rule, float(level)) for (rule, _), level in zip(hits, levels, strict=True)]
    return sorted(asked, key=lambda pair: -pair[1])


@dataclass(frozen=True)
class ProtectedZeros(Rule):
    """Finds every zero sensitive: nobody may learn that nobody is there.

    A zero must be able to be 1. It is judged after the rules on contributors.
    """

    name: ClassVar[str] = "protected-zero"
    precedence: ClassVar[int] = 6
    has_floor: ClassVar[bool] = False

    def unsafe(self, table: Table) -> Flags:
        """Return the zeros."""
        zeros: Flags = table.values == 0
        return zeros

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (0, 1)."""
        return np.zeros(table.n_cells), np.ones(table.n_cells)


def check_zeros(table: Table, zeros: str) -> None:
    """Check what is asked of zeros.

    Raises
    ------
    InputError
        If the word is unknown, or zeros are not public in a table of other values than counts.
    """
    require_known(
        zeros,
        get_args(Zeros),
        f"`zeros` must be 'public', 'candidates' or 'protected'. Got {zeros!r}.",
    )
    if zeros != "public" and not table.is_count:
        raise InputError(
            f"zeros={zeros!r} needs a table of counts. Tabulate without a `value`, or name the "
            f"measure 'count'."
        )


def default_bounds(table: Table) -> tuple[float, float]:
    """Return one interval for the whole table, as tau-ARGUS assumes it."""
    lowest, highest = float(table.values.min(initial=0)), float(table.values.max(initial=0))
    return 1.5 * min(lowest, 0.0), 1.5 * max(highest, 0.0)


def not_zero(table: Table, low: Floats) -> Floats:
    """Raise lower bounds of a table whose zeros are published: a hidden cell is then not 0.

    A whole number is then at least 1, and a total at least the sum of the bounds of its parts.

    Parameters
    ----------
    table : Table
        If its values are not whole, or some are negative, nothing is raised.
    low : numpy.ndarray of float, shape (n_cells,)
        Lower bounds given so far; bounds below 0 are kept.

    Returns
    -------
    numpy.ndarray of float, shape (n_cells,)
    """
    if not table.integer or bool(np.any(table.values < 0)):
        return low
    low = np.where((table.values >= 1) & (low >= 0), np.maximum(low, 1.0), low)
    relations = table.relations
    row = np.repeat(np.arange(table.n_relations), np.diff(relations.indptr))
    negative = relations.data < 0
    summed = np.bincount(row[negative], -relations.data[negative], table.n_relations) == 1
    summed &= np.bincount(row[negative], minlength=table.n_relations) == 1
    is_total = negative & summed[row]
    total, parts = relations.indices[is_total], relations[row[is_total], :]
    parts.data = np.maximum(parts.data, 0.0)
    for _ in range(table.n_relations):
        implied = low.copy()
        np.maximum.at(implied, total, parts @ low - table.right_hand_side[row[is_total]])
        implied = np.minimum(implied, table.values)
        if np.array_equal(implied, low):
            break
        low = implied
    return low

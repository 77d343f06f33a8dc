"""Rules that say which cells are sensitive, and the protection levels that follow.

Every rule is a sibling of the same shape: parameters, `unsafe(table)`, and either
`safe_total(contributions)` (the total at which the cell would be just safe) or `range`
(the level as a percentage of the value). The formulas and the order of the rules are those
of tau-ARGUS 4.2; what differs is said where it differs.

X is the signed sum of contributions, x1 >= x2 >= ... their absolute values, v the published
value, f the number of contributors.

References
----------
.. [1] Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 4.
.. [2] tau-ARGUS 4.1 user's manual, section 4.3.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError, TablecloakWarning, listed
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.problem import CellStatus, ProtectionProblem, WeightRule
from tablecloak.tables.table import Table

__all__ = [
    "Dominance",
    "Manual",
    "MinimumFrequency",
    "PPercent",
    "PriorPosterior",
    "Request",
    "Rule",
    "ZeroUnsafe",
    "not_zero",
    "protect",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Level = Literal["contributor", "holding"]
Hits = list[tuple["Rule", Flags]]
Range = float | tuple[float, float]
"""A percentage for both sides, or (lower, upper)."""

NOISE = 1e-12
"""Sums are binary fractions: a cell exactly on a limit must not be decided by their noise."""


@dataclass(frozen=True)
class Rule:
    """What all rules share; not a rule itself."""

    name: ClassVar[str] = ""
    precedence: ClassVar[int] = 0
    """Order in which rules are tested: the first that hits names the cell's reason."""

    def __post_init__(self) -> None:
        level = getattr(self, "level", "contributor")
        _require(level in ("contributor", "holding"), self, "level", "'contributor' or 'holding'")
        if hasattr(self, "range"):
            ends = self.range if isinstance(self.range, tuple | list) else (self.range,) * 2
            good = len(ends) == 2 and all(_is_finite(end) and end >= 0 for end in ends)
            _require(good, self, "range", "a percentage of 0 or more, or two of them")

    def unsafe(self, table: Table) -> Flags:
        """Return which cells the rule finds unsafe."""
        raise NotImplementedError

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (LPL, UPL) for the cells that this rule alone made unsafe."""
        return _percentage(table, getattr(self, "range", 0.0))


@dataclass(frozen=True)
class ConcentrationRule(Rule):
    """A rule on the share of the largest contributors; not a rule itself.

    Its levels come from `safe_total`: d = max over all given rules of (safe total - X), and
    LPL = UPL = |v| d / X.
    """

    def contributions(self, table: Table) -> Contributions:
        """Return contributions on the level of the rule."""
        return _contributions(table, getattr(self, "level", "contributor"), self.name)

    def safe_total(self, found: Contributions) -> Floats:
        """Return the total U at which each cell would be just safe."""
        raise NotImplementedError


@dataclass(frozen=True)
class Dominance(ConcentrationRule):
    """(n, k) dominance: unsafe if the n largest hold more than k per cent of the total.

    Unsafe if 100 (x1 + ... + xn) > k X, so that a total of 0 or less is unsafe wherever anybody
    gives more than 0. Safe total U = (100 / k) (x1 + ... + xn).

    Parameters
    ----------
    n : int
        Number of contributors that count as a coalition, 1 or more.
    k : float
        Per cent, above 0 and below 100.
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.
    """

    n: int
    k: float
    level: Level = "contributor"
    name: ClassVar[str] = "dominance"
    precedence: ClassVar[int] = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(_is_whole(self.n) and self.n >= 1, self, "n", "a whole number >= 1")
        _require(
            _is_finite(self.k) and 0 < self.k < 100, self, "k", "a percentage between 0 and 100"
        )

    def unsafe(self, table: Table) -> Flags:
        """Return which cells are dominated by their n largest contributors."""
        found = self.contributions(table)
        excess = 100 * found.sum_of_largest(self.n) - self.k * found.total
        noise = NOISE * self.k * np.abs(found.total)
        unsafe: Flags = (found.largest[:, 0] > 0) & (excess > noise)
        return unsafe

    def safe_total(self, found: Contributions) -> Floats:
        """Return (100 / k) (x1 + ... + xn)."""
        return 100 / self.k * found.sum_of_largest(self.n)


@dataclass(frozen=True)
class PriorPosterior(ConcentrationRule):
    """pq rule: the coalition knows each contribution within q per cent beforehand.

    Unsafe if (p/100) x1 + (q/100) ((x1 + ... + x_{n+1}) - X) > 0: the n contributors after
    the largest can then estimate it to within p per cent. Safe total
    U = (p/q) x1 + (x1 + ... + x_{n+1}).

    Parameters
    ----------
    p, q : float
        Per cent, with 0 < p < q; q = 100 is the p% rule.
    coalition : int, default=1
        Number n of contributors that pool what they know.
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.
    """

    p: float
    q: float = 100.0
    coalition: int = 1
    level: Level = "contributor"
    name: ClassVar[str] = "prior-posterior"
    precedence: ClassVar[int] = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        _require(_is_finite(self.p) and self.p > 0, self, "p", "a percentage above 0")
        above = _is_finite(self.q) and (self.q > self.p or self.q == 100)
        _require(above, self, "q", f"a percentage above p = {self.p}")
        whole = _is_whole(self.coalition) and self.coalition >= 1
        _require(whole, self, "coalition", "a whole number >= 1")

    def unsafe(self, table: Table) -> Flags:
        """Return which cells let a coalition estimate the largest contributor too well."""
        found = self.contributions(table)
        known = found.sum_of_largest(self.coalition + 1)
        excess = self.p * found.largest[:, 0] + self.q * (known - found.total)
        noise = NOISE * self.q * np.abs(found.total)
        return (found.largest[:, 0] > 0) & (excess > noise)

    def safe_total(self, found: Contributions) -> Floats:
        """Return (p/q) x1 + (x1 + ... + x_{n+1})."""
        total: Floats = self.p / self.q * found.largest[:, 0]
        return total + found.sum_of_largest(self.coalition + 1)


@dataclass(frozen=True)
class PPercent(PriorPosterior):
    """p% rule: unsafe if the rest of the cell is less than p per cent of the largest.

    The prior-posterior rule with q = 100: the second largest contributor knows only that
    contributions are not negative, and at most twice what they are.

    Parameters
    ----------
    p : float
        Per cent, above 0.
    coalition : int, default=1
        Number of contributors that pool what they know.
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.

    Examples
    --------
    >>> import pandas as pd, tablecloak as tc
    >>> firms = pd.DataFrame({"region": ["N", "N", "N", "S", "S"], "turnover": [80, 15, 5, 9, 8]})
    >>> problem = tc.tabulate(firms, ["region"], "turnover").protect(tc.PPercent(10))
    >>> problem.status.tolist()  # in N the rest, 5, is less than 8; in S it is 0
    ['s', 'u', 'u']
    """

    q: float = 100.0
    name: ClassVar[str] = "p-percent"

    def __init__(self, p: float, coalition: int = 1, level: Level = "contributor") -> None:
        for attribute, given in (("p", p), ("coalition", coalition), ("level", level)):
            object.__setattr__(self, attribute, given)
        self.__post_init__()


@dataclass(frozen=True)
class Request(Rule):
    """Protection on request: some contributors ask for it and are large, or the cell is small.

    Unsafe if the largest requesting contribution exceeds `percentage` per cent of X, or if
    some contributor requests and there are fewer than `minimum` contributors.

    Parameters
    ----------
    percentage : float
        For contributors with request code 1.
    percentage_2 : float, optional
        For contributors with request code 2; by default the same.
    minimum : int, default=0
        Number of contributors below which any request counts.
    range : float or (float, float), default=20
        Protection level in per cent of the value, for both sides or (lower, upper).
    level : {"contributor", "holding"}, default="contributor"
        Whose contributions are compared.
    """

    percentage: float
    percentage_2: float | None = None
    minimum: int = 0
    range: Range = 20.0
    level: Level = "contributor"
    name: ClassVar[str] = "request"
    precedence: ClassVar[int] = 3

    def __post_init__(self) -> None:
        super().__post_init__()
        given = {"percentage": self.percentage, "percentage_2": self.percentage_2 or 0.0}
        for name, share in given.items():
            _require(_is_finite(share) and share >= 0, self, name, "a percentage of 0 or more")
        whole = _is_whole(self.minimum) and self.minimum >= 0
        _require(whole, self, "minimum", "a whole number >= 0")

    def unsafe(self, table: Table) -> Flags:
        """Return which cells hold a contributor whose request must be granted."""
        found = _contributions(table, self.level, self.name)
        second = self.percentage if self.percentage_2 is None else self.percentage_2
        limits = (self.percentage, second)
        shares = 100 * found.largest_request > np.abs(found.total)[:, None] * np.array(limits)
        asked = np.any(found.largest_request > 0, axis=1)
        unsafe: Flags = np.any(shares, axis=1) | (asked & (found.count < self.minimum))
        return unsafe


@dataclass(frozen=True)
class MinimumFrequency(Rule):
    """Unsafe if a cell has contributors, but fewer than the minimum.

    With sampling weights, if the sum of weights is below the minimum.

    Parameters
    ----------
    minimum : int
        Smallest number of contributors that is safe.
    range : float or (float, float), default=20
        Protection level in per cent of the value, for both sides or (lower, upper).
    level : {"contributor", "holding"}, default="contributor"
        Who is counted.
    """

    minimum: int
    range: Range = 20.0
    level: Level = "contributor"
    name: ClassVar[str] = "minimum-frequency"
    precedence: ClassVar[int] = 4

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = _is_whole(self.minimum) and self.minimum >= 1
        _require(whole, self, "minimum", "a whole number >= 1")

    def unsafe(self, table: Table) -> Flags:
        """Return which cells have too few contributors."""
        found = _contributions(table, self.level, self.name, weighted_holdings=True)
        return (found.count > 0) & (found.weighted_count < self.minimum)


@dataclass(frozen=True)
class ZeroUnsafe(Rule):
    """Unsafe if a cell has contributors and the value 0: each of them is known to be 0.

    Parameters
    ----------
    range : float
        Upper protection level, in the unit of the table; the lower level is 0.
    """

    range: float
    name: ClassVar[str] = "zero-unsafe"
    precedence: ClassVar[int] = 5

    def unsafe(self, table: Table) -> Flags:
        """Return which cells are 0 although somebody contributed."""
        found = _contributions(table, "contributor", self.name)
        unsafe: Flags = (table.values == 0) & (found.count > 0)
        return unsafe

    def levels(self, table: Table) -> tuple[Floats, Floats]:
        """Return (0, range)."""
        return np.zeros(table.n_cells), np.full(table.n_cells, float(self.range))


@dataclass(frozen=True)
class Manual(Rule):
    """Cells that a person declares unsafe, safe, or to be published in any case.

    Parameters
    ----------
    cells : sequence of int or of mappings of str to str
        Indices of cells, or their codes, such as ``{"region": "N1", "industry": "47"}``.
    status : {"unsafe", "safe", "frozen"}, default="unsafe"
        `frozen` cells are never suppressed nor adjusted. What a person says overrules all
        other rules.
    range : float or (float, float), default=20
        Protection level in per cent of the value, for both sides or (lower, upper).
    """

    cells: Sequence[int | Mapping[str, str]]
    status: Literal["unsafe", "safe", "frozen"] = "unsafe"
    range: Range = 20.0
    name: ClassVar[str] = "manual"
    precedence: ClassVar[int] = 6

    def selected(self, table: Table) -> Flags:
        """Return which cells are meant."""
        flags = np.zeros(table.n_cells, dtype=bool)
        for cell in self.cells:
            flags[table.cell(**cell) if isinstance(cell, Mapping) else int(cell)] = True
        return flags

    def unsafe(self, table: Table) -> Flags:
        """Return the cells, if they were declared unsafe."""
        return self.selected(table) & (self.status == "unsafe")


def protect(
    table: Table,
    *rules: Rule,
    floor: float = 1.0,
    lower_factor: float = 1.0,
    external_bounds: tuple[npt.ArrayLike, npt.ArrayLike] | None = None,
    zeros_published: bool = True,
    weights: WeightRule | str | npt.ArrayLike = WeightRule.VALUE,
) -> ProtectionProblem:
    """Find the sensitive cells of a table and their protection levels.

    Parameters
    ----------
    table : Table
    *rules : Rule
        A cell is sensitive if any of them finds it unsafe.
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
    zeros_published : bool, default=True
        Whether zeros are published, so that everybody knows of a suppressed cell that it is not
        0: in a table of whole numbers without negative ones its lower bound is then 1, that of a
        total the number of its parts, and levels from rules are cut at that. Set it to False only
        if zeros are suppressed as well.
    weights : WeightRule, str or array, default="value"
        Loss of suppressing each cell.

    Returns
    -------
    ProtectionProblem
        Cells with the value 0 and without contributors are frozen: everybody knows them.

    Raises
    ------
    InputError
        If no rule is given, or one needs contributions that the table does not have.
    """
    if not rules:
        raise InputError("`protect` needs at least one rule, such as PPercent(10).")
    for name, number in (("floor", floor), ("lower_factor", lower_factor)):
        if not (_is_finite(number) and number >= 0):
            raise InputError(f"`{name}` must be a number of 0 or more. Got {number!r}.")
    _check_measure(table, rules)
    ordered = sorted(rules, key=lambda rule: rule.precedence)
    hits = [(rule, rule.unsafe(table)) for rule in ordered]
    reasons, sensitive = _first_reason(table, hits)
    lower, upper = _levels(table, hits, floor, lower_factor)
    lower[~sensitive], upper[~sensitive] = 0.0, 0.0
    low, high = _default_bounds(table) if external_bounds is None else external_bounds
    low = np.broadcast_to(np.asarray(low, dtype=np.float64), lower.shape)
    high = np.broadcast_to(np.asarray(high, dtype=np.float64), upper.shape)
    if table.is_count:
        low, high = np.ceil(low), np.floor(high)
    if external_bounds is None:
        lower = np.minimum(lower, table.values - low)
        upper = np.minimum(upper, high - table.values)
    if zeros_published:
        given, low = low, not_zero(table, low)
        lower = np.where(low > given, np.minimum(lower, table.values - low), lower)
    status = np.where(sensitive, CellStatus.SENSITIVE.value, CellStatus.SAFE.value)
    known = table.contributions.count == 0 if table.contributions else table.values == 0
    status[(table.values == 0) & known & ~sensitive] = CellStatus.FROZEN.value
    for rule in rules:
        if isinstance(rule, Manual) and rule.status != "unsafe":
            letter = CellStatus.SAFE if rule.status == "safe" else CellStatus.FROZEN
            status[rule.selected(table)] = letter.value
    problem = ProtectionProblem(
        table=table,
        status=status,
        lower_protection=lower,
        upper_protection=upper,
        sliding_protection=np.zeros(table.n_cells),
        lower_bound=low,
        upper_bound=high,
        weights=np.ones(table.n_cells),
        reasons=reasons,
    )
    if isinstance(weights, WeightRule | str):
        return problem.with_weights(weights)
    return problem.with_changes(weights=weights)


def not_zero(table: Table, low: Floats) -> Floats:
    """Raise lower bounds of a table whose zeros are published: what is hidden is not 0.

    A whole number is then at least 1, and a total at least the sum of what its parts are.

    Parameters
    ----------
    table : Table
        If its values are not whole, or some are negative, nothing is raised.
    low : numpy.ndarray of float, shape (n_cells,)
        What everybody knows besides; bounds below 0 stay.

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


# -- levels -------------------------------------------------------------------------------


def _levels(table: Table, hits: Hits, floor: float, lower_factor: float) -> tuple[Floats, Floats]:
    """Levels of all cells, by the rule that made them unsafe."""
    size = np.abs(table.values)
    lower, upper = np.zeros(table.n_cells), np.zeros(table.n_cells)
    zero = np.zeros(table.n_cells, dtype=bool)
    # Later rules first, so that the first rule that hits has the last word.
    for rule, hit in reversed(hits):
        if isinstance(rule, ConcentrationRule):
            continue
        low, high = rule.levels(table)
        lower[hit], upper[hit] = low[hit] * lower_factor, high[hit]
        zero = np.where(hit, isinstance(rule, ZeroUnsafe), zero)
    width = _safe_distance(table, hits)
    concentrated = width > 0
    lower[concentrated] = (size * width * lower_factor)[concentrated]
    upper[concentrated] = (size * width)[concentrated]
    lower = np.where(zero, lower, np.maximum(lower, floor))
    upper = np.maximum(upper, floor)
    if table.is_count:
        # The next count beyond a level is a whole number.
        lower, upper = np.ceil(lower * (1 - NOISE)), np.ceil(upper * (1 - NOISE))
    return lower, upper


def _safe_distance(table: Table, hits: Hits) -> Floats:
    """D / X: how far each cell is from being safe, relative to its total."""
    concentration = [(rule, hit) for rule, hit in hits if isinstance(rule, ConcentrationRule)]
    width = np.zeros(table.n_cells)
    for rule, _ in concentration:
        found = rule.contributions(table)
        total = np.where(found.total == 0, 1.0, np.abs(found.total))
        width = np.maximum(width, (rule.safe_total(found) - found.total) / total)
    unsafe = np.any([hit for _, hit in concentration], axis=0) if concentration else False
    return np.where(unsafe, width, 0.0)


def _percentage(table: Table, given: Range) -> tuple[Floats, Floats]:
    low, high = given if isinstance(given, tuple | list) else (given, given)
    size = np.abs(table.values)
    return size * low / 100, size * high / 100


def _default_bounds(table: Table) -> tuple[float, float]:
    """One interval for the whole table, as tau-ARGUS assumes it."""
    lowest, highest = float(table.values.min(initial=0)), float(table.values.max(initial=0))
    return 1.5 * min(lowest, 0.0), 1.5 * max(highest, 0.0)


def _first_reason(table: Table, hits: Hits) -> tuple[npt.NDArray[np.str_], Flags]:
    reasons = np.full(table.n_cells, "", dtype="U20")
    for rule, hit in hits:
        reasons[hit & (reasons == "")] = rule.name
    for rule, _ in hits:
        if isinstance(rule, Manual):
            reasons[rule.selected(table)] = rule.name if rule.status == "unsafe" else ""
    return reasons, reasons != ""


# -- checks -------------------------------------------------------------------------------


def _contributions(
    table: Table, level: str, rule: str, weighted_holdings: bool = False
) -> Contributions:
    if level not in ("contributor", "holding"):
        raise InputError(f"`level` must be 'contributor' or 'holding'. Got {level!r}.")
    found = table.holdings if level == "holding" else table.contributions
    if found is None:
        what = "holdings" if level == "holding" else "contributors"
        raise InputError(
            f"The rule {rule!r} needs the {what} of each cell, but the table does not have them. "
            f"Tabulate from microdata with `{level}=`, or give `frequency` and `largest`."
        )
    if level == "holding" and found.is_weighted and not weighted_holdings:
        raise InputError(
            f"The rule {rule!r} on the level of holdings is not defined for weighted data. Use "
            f"level='contributor' or leave out the weights."
        )
    return found


def _check_measure(table: Table, rules: Sequence[Rule]) -> None:
    odd = [r.name for r in rules if isinstance(r, ConcentrationRule | Request | ZeroUnsafe)]
    if table.name == "count" and odd:
        raise InputError(
            f"The rules {listed(odd)} look at amounts, but this is a table of counts. Use "
            f"MinimumFrequency, or tabulate a `value`."
        )
    for rule in rules:
        if isinstance(rule, Manual) and rule.status not in ("unsafe", "safe", "frozen"):
            raise InputError(
                f"Manual: `status` must be unsafe, safe or frozen. Got {rule.status!r}"
            )
    if table.contributions and bool(np.any(table.values < 0)):
        warnings.warn(
            "Some cells are negative: protection levels are taken from their absolute values.",
            TablecloakWarning,
            stacklevel=3,
        )


def _is_finite(number: object) -> bool:
    return isinstance(number, int | float | np.number) and bool(np.isfinite(number))


def _is_whole(number: object) -> bool:
    return _is_finite(number) and float(number).is_integer()  # type: ignore[arg-type]


def _require(condition: bool, rule: Rule, name: str, expected: str) -> None:
    if not condition:
        raise InputError(
            f"{type(rule).__name__}: `{name}` must be {expected}. Got {getattr(rule, name)!r}."
        )

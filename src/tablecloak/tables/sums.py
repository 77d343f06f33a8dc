"""Sums of hidden cells that are sensitive themselves, although each of their cells is protected.

Two cells of a row with one contributor each may both be well protected. If no other cell of the row
is hidden, everybody knows their sum, and each contributor can subtract its own value from it. Such
a sum is a cell of the problem with a relation of its own: it is sensitive, has levels by the rule,
weighs nothing, and is never published. A hidden cell that is not sensitive, but must have room as
well, is a sum of one cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import Flags, Floats, Integers, Texts
from tablecloak.errors import InputError
from tablecloak.tables.changes.sums import SumsOfCells, set_names
from tablecloak.tables.contributions import LEVELS, Contributions, Waivers
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES, Rule, levels_by, reasons_by, warn_floor

MOST_SUMS = 2000
"""Most choices of some hidden cells of one side of a relation that are judged. Beyond that, choices
of fewer cells are: with `most=5` five of up to 12, four of up to 15, three of up to 22 and two of
up to 63."""

SECONDARY = "secondary"
"""Reason for which a hidden cell that is not sensitive has levels."""


@dataclass(frozen=True)
class Groups:
    """Which sums of hidden cells are judged, and how.

    Parameters
    ----------
    rules : sequence of Rule, default=()
        Each sum is judged as if it were a cell, contributions of one contributor added up. Rules
        apply to sums if their class says so, see `Rule.applies_to_sums`.
    most : int, default=5
        Most cells of a sum that is only a part of the hidden cells of a relation. The sum of all of
        them, and of all but one, is judged whatever their number.
    floor, lower_factor : float, default=1
        As in `tablecloak.protect`.
    secondary_room : float, default=0
        Per cent of its value by which each hidden cell that is not sensitive must be able to move,
        up and down, as far as everybody's bounds let it; 0 asks for nothing. A hidden 0 needs none.

    Raises
    ------
    InputError
        If nothing is asked for, a rule does not apply to sums, or a number is out of range.
    """

    rules: Sequence[Rule] = ()
    most: int = 5
    floor: float = 1.0
    lower_factor: float = 1.0
    secondary_room: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.secondary_room <= 100:
            raise InputError(
                f"`secondary_room` is a percentage from 0 to 100. Got {self.secondary_room!r}."
            )
        is_asked = self.rules or self.secondary_room
        if not is_asked or not all(isinstance(rule, Rule) for rule in self.rules):
            raise InputError(
                f"`groups` must be rules that sums of hidden cells obey, such as "
                f"[PPercent(10)]. Got {self.rules!r}."
            )
        odd = [rule.name for rule in self.rules if not rule.applies_to_sums]
        if odd:
            raise InputError(
                f"`groups`: the rule {odd[0]!r} judges single cells and does not apply to sums of "
                f"them. Use {rules_for_sums()}, and leave {odd[0]!r} to the cells."
            )
        if not 2 <= self.most <= 10:
            raise InputError(f"`most` must lie between 2 and 10. Got {self.most!r}.")

    @classmethod
    def parse(cls, given: Groups | Rule | Sequence[Rule] | None) -> Groups | None:
        """Accept groups, one rule, several, or none; an empty sequence asks for nothing."""
        if given is None or isinstance(given, Groups):
            return given
        return cls.asked((given,) if isinstance(given, Rule) else tuple(given))

    @classmethod
    def asked(
        cls,
        rules: Sequence[Rule],
        secondary_room: float = 0.0,
        floor: float = 1.0,
        lower_factor: float = 1.0,
    ) -> Groups | None:
        """Return groups, or None if there is no rule and no room."""
        if not (rules or secondary_room):
            return None
        return cls(rules, floor=floor, lower_factor=lower_factor, secondary_room=secondary_room)


def rules_for_sums() -> str:
    """Return the names of the rules that apply to sums of cells, for messages."""
    *names, last = [rule.name for rule in RULES if rule.applies_to_sums]
    return f"{', '.join(names)} or {last}"


def warn_floor_of_sums(problem: ProtectionProblem, groups: Groups) -> None:
    """Warn where the floor of sums exceeds by far what their rules ask for in sensitive cells."""
    table = problem.table
    if table.variables is None and table.contributions is not None:
        hits = [(rule, rule.unsafe(table)) for rule in groups.rules]
        is_found = np.any([hit for _, hit in hits], axis=0) if hits else problem.forced
        warn_floor(table, hits, problem.sensitive & is_found, groups.floor)


def find_sums(problem: ProtectionProblem, hidden: Flags, groups: Groups) -> SumsOfCells:
    """Return the sums of hidden cells that a rule finds unsafe, and single cells that need room.

    Parameters
    ----------
    problem : ProtectionProblem
        Its table must hold the contributions that the rules need.
    hidden : numpy.ndarray of bool, shape (n_cells,)
    groups : Groups

    Notes
    -----
    Judged are hidden cells on one side of a relation whose coefficients there are equal: all of
    them together, all but one, and each choice of up to `groups.most` of them, or of fewer cells
    where the relation has more than `MOST_SUMS` such choices. Each contains a sensitive cell: for
    a rule that compares a weighted sum of contributions with the total, a sum of safe cells is
    safe. For the same reason a published cell makes no sum less safe.
    """
    single = _secondary(problem, hidden, groups.secondary_room)
    if not groups.rules:
        return single
    sets = _judged(problem, hidden & ~problem.table.rests, groups.most)
    known = set(set_names(_defined(problem)))
    is_new = np.array([name not in known for name in set_names(sets)], dtype=np.bool_)
    kept = np.flatnonzero((sets @ problem.sensitive.astype(np.float64) > 0) & is_new)
    sets = csr_array(sets[kept, :])
    table = as_table(problem, sets)
    ordered = sorted(groups.rules, key=lambda rule: rule.precedence)
    hits = [(rule, rule.unsafe(table)) for rule in ordered] if len(kept) else []
    reasons = reasons_by(hits, len(kept))
    unsafe = np.flatnonzero(reasons != "")
    if not len(unsafe):
        return single
    levels = levels_by(table, hits, groups.floor, groups.lower_factor)
    return _within_bounds(problem, sets, levels, reasons).chosen(unsafe).joined(single)


def _within_bounds(
    problem: ProtectionProblem, sets: csr_array, levels: tuple[Floats, Floats], reasons: Texts
) -> SumsOfCells:
    """Return sums with levels: nobody expects one to leave what everybody knows of its cells."""
    lower = np.minimum(levels[0], sets @ (problem.table.values - problem.lower_bound))
    upper = np.minimum(levels[1], sets @ (problem.upper_bound - problem.table.values))
    return SumsOfCells(sets, lower, upper, reasons)


def _secondary(problem: ProtectionProblem, hidden: Flags, percent: float) -> SumsOfCells:
    """Return the hidden cells that are not sensitive, each as a sum of one cell."""
    values = problem.table.values
    is_asked = hidden & ~problem.sensitive & ~problem.table.rests & (values != 0)
    cells = np.flatnonzero(is_asked & (percent > 0))
    level = percent / 100 * np.abs(values[cells])
    one = csr_array(
        (np.ones(len(cells)), (np.arange(len(cells)), cells)), shape=(len(cells), len(values))
    )
    return _within_bounds(problem, one, (level, level), np.full(len(cells), SECONDARY))


def _judged(problem: ProtectionProblem, hidden: Flags, most: int) -> csr_array:
    """Return the sets of hidden cells whose sums are judged, one row each, each set once."""
    table = problem.table
    relations = table.relations
    own = np.repeat(~np.isin(np.arange(table.n_relations), _of_rests(problem)), _sizes(relations))
    entry = np.flatnonzero(hidden[relations.indices] & own)
    row = np.repeat(np.arange(table.n_relations), _sizes(relations))[entry]
    order = np.lexsort((relations.indices[entry], relations.data[entry], row))
    row, cell, sign = row[order], relations.indices[entry][order], relations.data[entry][order]
    starts = np.flatnonzero(np.diff(row, prepend=-1) | np.diff(sign, prepend=np.nan).astype(bool))
    size = np.diff(np.append(starts, len(row)))
    blocks: list[csr_array] = []
    for number in np.unique(size[size > 1]).tolist():
        cells = cell[starts[size == number][:, None] + np.arange(number)]
        for chosen in _choices(number, most):
            members = cells[:, chosen].reshape(-1, chosen.shape[1])
            count, width = members.shape
            indptr = np.arange(count + 1) * width
            data = np.ones(members.size)
            blocks.append(csr_array((data, members.ravel(), indptr), shape=(count, table.n_cells)))
    if not blocks:
        return csr_array((0, table.n_cells))
    sets = csr_array(vstack(blocks, format="csr"))
    # Sums of random numbers tell sets of cells apart.
    marks = sets @ np.random.default_rng(7).random(sets.shape[1])
    _, first = np.unique(np.round(marks, 9), return_index=True)
    return csr_array(sets[np.sort(first), :])


def _of_rests(problem: ProtectionProblem) -> Integers:
    """Return the relations that say what a rest or a sum consists of."""
    rests = np.flatnonzero(problem.table.rests)
    block = csr_array(problem.table.relations[:, rests]).tocoo()
    return np.unique(block.coords[0]).astype(np.int64)


def _defined(problem: ProtectionProblem) -> csr_array:
    """Return the sets of cells whose sums the problem has already, one row each."""
    parts = csr_array(problem.table.relations[_of_rests(problem), :])
    parts.data = np.where(parts.data > 0, parts.data, 0.0)
    parts.eliminate_zeros()
    return parts


def _sizes(relations: csr_array) -> Integers:
    sizes: Integers = np.diff(relations.indptr).astype(np.int64)
    return sizes


def _choices(number: int, most: int) -> Iterator[Integers]:
    """Yield choices of `number` cells, one array for each size, shape (n_choices, size)."""
    whole = np.arange(number)
    judged, sizes = 0, []
    for size in range(2, min(most, number - 2) + 1):
        judged += comb(number, size)
        if judged > MOST_SUMS:
            break
        sizes.append(size)
    for size in sizes:
        yield np.array(list(combinations(range(number), size)), dtype=np.int64)
    if number > 2:
        yield np.array([np.delete(whole, left_out) for left_out in whole], dtype=np.int64)
    yield whole[None, :]


def as_table(problem: ProtectionProblem, sets: csr_array) -> Any:
    """Return what rules look at, as if each set of cells, a row of ones, were a cell."""
    table = problem.table
    group = np.repeat(np.arange(sets.shape[0]), _sizes(sets))
    joined = {
        name: joined_contributions(getattr(table, name), group, sets.indices, sets.shape[0])
        for name in LEVELS.values()
    }
    return SimpleNamespace(
        values=sets @ table.values,
        n_cells=sets.shape[0],
        is_count=table.is_count,
        decimals=table.decimals,
        name=table.name,
        **joined,
    )


def joined_contributions(
    contributions: Contributions | None, group: Integers, cell: Integers, n_groups: int
) -> Contributions | None:
    """Return the contributions to groups of cells, those of one contributor added up.

    Parameters
    ----------
    contributions : Contributions or None
    group, cell : numpy.ndarray of int, shape (n_members,)
        Group and cell of each member.
    n_groups : int

    Notes
    -----
    The table holds the largest contributors of each cell. Another one may contribute as much as the
    smallest of these: as if it did, it is added for every named contributor that a cell does not
    list, so that sums are the more sensitive. Contributors without names are never the same.
    """
    if contributions is None:
        return None
    k = contributions.largest.shape[1]
    listed = _listed(contributions, group, cell)
    more = _smallest_listed(contributions)[cell]
    names = listed.groupby(["group", "who"], as_index=False).agg(
        size=("size", "sum"),
        weight=("weight", "max"),
        here=("more", "sum"),
        unwaived=("unwaived", "max"),
        own_p=("own_p", "max"),
    )
    possible = np.bincount(group, more, minlength=n_groups)[names["group"]] - names["here"]
    elsewhere = np.where(names["who"] >= 0, possible, 0.0)
    size = names["size"] + elsewhere
    joined = names.assign(size=size, elsewhere=elsewhere).sort_values(
        ["group", "size"], ascending=[True, False], kind="stable"
    )
    rank = joined.groupby("group").cumcount().to_numpy()
    count, weighted = _counts(contributions, group, cell, names, n_groups)
    joined, rank = joined[rank < k], rank[rank < k]
    largest, weight = np.zeros((n_groups, k)), np.zeros((n_groups, k))
    largest[joined["group"], rank] = joined["size"]
    weight[joined["group"], rank] = joined["weight"]
    requests = np.zeros((n_groups, 2))
    np.maximum.at(requests, group, contributions.largest_request[cell])
    return Contributions(
        count=count,
        weighted_count=weighted,
        total=_summed(group, contributions.total[cell], n_groups),
        largest=largest,
        largest_weight=weight,
        largest_contributor=np.full((n_groups, k), -1, dtype=np.int64),
        largest_request=requests,
        shortfall=np.full(n_groups, np.inf),
        waivers=_joined_waivers(contributions, (group, cell), joined.assign(rank=rank), count),
    )


def _joined_waivers(
    contributions: Contributions,
    members: tuple[Integers, Integers],
    joined: pd.DataFrame,
    count: Integers,
) -> Waivers | None:
    """Return who needs protection in groups of cells: each as much as in any of the cells.

    Parameters
    ----------
    joined : pandas.DataFrame
        The largest contributors of all groups, with their rank in each.
    count : numpy.ndarray of int, shape (n_groups,)

    Notes
    -----
    A contributor that may contribute more where it is not listed needs what anybody needs there.
    """
    if contributions.waivers is None:
        return None
    (group, cell), given = members, contributions.waivers
    n_groups, shape = len(count), (len(count), contributions.largest.shape[1])
    needs, own, full = np.zeros(n_groups), np.zeros(n_groups), np.ones(n_groups, dtype=np.bool_)
    np.maximum.at(needs, group, given.largest_unwaived[cell] > 0)
    np.maximum.at(own, group, given.largest_own_p[cell])
    np.logical_and.at(
        full, group, contributions.all_waived[cell] | (contributions.count[cell] == 0)
    )
    unwaived, own_p = np.zeros(shape), np.zeros(shape)
    at = joined["group"].to_numpy(), joined["rank"].to_numpy()
    elsewhere = joined["elsewhere"].to_numpy() > 0
    unwaived[at] = np.where(elsewhere, needs[at[0]], joined["unwaived"])
    own_p[at] = np.where(elsewhere, own[at[0]], joined["own_p"])
    return Waivers(
        unwaived=unwaived > 0,
        own_p=own_p,
        largest_unwaived=_summed(group, given.largest_unwaived[cell], n_groups),
        largest_own_p=own,
        full=np.where(full, count, 0),
    )


def _listed(contributions: Contributions, group: Integers, cell: Integers) -> pd.DataFrame:
    """Return one row for each listed contributor of each member."""
    k = contributions.largest.shape[1]
    who = contributions.largest_contributor[cell].reshape(-1)
    unknown = -1 - np.arange(len(who))
    waivers = contributions.known_waivers
    frame = pd.DataFrame(
        {
            "group": np.repeat(group, k),
            "who": np.where(who >= 0, who, unknown),
            "size": contributions.largest[cell].reshape(-1),
            "weight": contributions.largest_weight[cell].reshape(-1),
            "more": np.repeat(_smallest_listed(contributions)[cell], k),
            "unwaived": waivers.unwaived[cell].reshape(-1).astype(np.float64),
            "own_p": waivers.own_p[cell].reshape(-1),
        }
    )
    return frame[frame["weight"] > 0]


def _smallest_listed(contributions: Contributions) -> Floats:
    """Return the most that a contributor who is not listed contributes, shape (n_cells,)."""
    k = contributions.largest.shape[1]
    if not k:
        return np.zeros(len(contributions.count))
    return np.where(contributions.count > k, contributions.largest[:, -1], 0.0)


def _counts(
    contributions: Contributions,
    group: Integers,
    cell: Integers,
    names: pd.DataFrame,
    n_groups: int,
) -> tuple[Integers, Floats]:
    """Return the least number of contributors of each group, and the least sum of weights."""
    counts = contributions.count[cell].astype(np.float64), contributions.weighted_count[cell]
    if np.any(contributions.largest_contributor >= 0):
        # Contributors who are not listed may be the same in all cells.
        number = np.bincount(names["group"], minlength=n_groups).astype(np.float64)
        weight = _summed(names["group"].to_numpy(), names["weight"].to_numpy(), n_groups)
        for least, sizes in zip((number, weight), counts, strict=True):
            np.maximum.at(least, group, sizes)
    else:
        number, weight = (_summed(group, sizes, n_groups) for sizes in counts)
    return number.astype(np.int64), weight


def _summed(group: Integers, terms: Floats, n_groups: int) -> Floats:
    return np.bincount(group, terms, minlength=n_groups).astype(np.float64)

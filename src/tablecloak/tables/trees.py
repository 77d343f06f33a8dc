"""Trees of codes, read from nested dictionaries, files, or rows of a frame.

Each reader returns a `Tree`; `tablecloak.Hierarchy` makes a checked hierarchy of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tablecloak.errors import InputError, listed
from tablecloak.graph import parts_first
from tablecloak.packed import unpacked

if TYPE_CHECKING:
    import pandas as pd

Group = tuple[str, tuple[str, ...]]
"""A parent code and the child codes that add up to it."""

NestedCodes = Mapping[str, Any] | Sequence[str]


class Tree(NamedTuple):
    """The code of the total, each parent with its children, and the source for messages."""

    total: str
    groups: list[Group]
    source: str = "Hierarchy"


def nested(codes: NestedCodes, total: str) -> Tree:
    """Read nested dictionaries or lists; see `Hierarchy.from_dict`."""
    groups: list[Group] = []
    waiting: list[tuple[str, NestedCodes]] = [(total, codes)]
    while waiting:
        parent, below = waiting.pop()
        if isinstance(below, str) or not isinstance(below, Mapping | Sequence):
            raise InputError(
                f"Hierarchy: below {parent!r} stands {below!r}. Expected a list of codes, or "
                f"codes with the codes below each."
            )
        groups.append((parent, tuple(str(code) for code in below)))
        if isinstance(below, Mapping):
            deeper = [(str(code), inner) for code, inner in below.items() if _is_filled(inner)]
            # A stack: the last code pushed is visited first.
            waiting.extend(reversed(deeper))
    return Tree(total, groups)


def hrc(path: Path, total: str, lead: str = "@", encoding: str = "utf-8") -> Tree:
    """Read an ``.hrc`` file; see `Hierarchy.from_hrc`."""
    if not lead:
        raise InputError(f"{path}: the lead string of the hierarchy is empty. Usual is '@'.")
    children: dict[str, list[str]] = {total: []}
    ancestors = [total]
    for number, line in enumerate(_read_lines(path, encoding), start=1):
        text = line.rstrip()
        if not text:
            continue
        depth = 0
        while text.startswith(lead):
            text, depth = text[len(lead) :], depth + 1
        if depth >= len(ancestors):
            raise InputError(
                f"{path}, line {number}: code {text!r} is on level {depth + 1}, but the line "
                f"above is on level {len(ancestors) - 1}, so its parent is missing (orphan). "
                f"A line may go down by one level only."
            )
        if not text:
            raise InputError(
                f"{path}, line {number}: after {lead!r} there is no code. Add one, or remove the "
                "line."
            )
        if text in children:
            raise InputError(
                f"{path}, line {number}: code {text!r} is listed twice. Each code may stand "
                f"in one place only; give the second one another name or remove it."
            )
        children[ancestors[depth]].append(text)
        children[text] = []
        ancestors[depth + 1 :] = [text]
    if not children[total]:
        raise InputError(f"{path}: no code found. An .hrc file lists one code per line.")
    groups = [(parent, tuple(below)) for parent, below in children.items() if below]
    return Tree(total, groups, str(path))


def pairs(frame: pd.DataFrame, parent: str, child: str, total: str) -> Tree:
    """Read pairs of a parent and a child; see `Hierarchy.from_frame`."""
    for column in (parent, child):
        if column not in frame.columns:
            raise InputError(
                f"Hierarchy: the frame has no column {column!r}; it has "
                f"{listed(list(frame.columns))}. Name the columns with `parent` and `child`."
            )
    children: dict[str, list[str]] = {}
    for above, below in zip(frame[parent].astype(str), frame[child].astype(str), strict=True):
        children.setdefault(above, []).append(below)
    everyone = {code for below in children.values() for code in below}
    roots = [code for code in children if code not in everyone]
    if not total:
        if not roots:
            raise InputError(
                "Hierarchy: every code has a parent, so the codes form a cycle. "
                "Remove one pair of it."
            )
        total = roots[0]
    orphans = [code for code in roots if code != total]
    if orphans:
        raise InputError(
            f"Hierarchy: {listed(orphans)} has no parent and is not the total {total!r} "
            f"(orphan). Add a row that gives it a parent."
        )
    groups = [(above, tuple(below)) for above, below in children.items()]
    return Tree(total, groups)


def sdc_hierarchies(frame: pd.DataFrame, level: str, name: str) -> Tree:
    """Read a table of the R package sdcHierarchies; see `Hierarchy.from_sdc_hierarchies`."""
    for column in (level, name):
        if column not in frame.columns:
            raise InputError(
                f"Hierarchy: the frame has no column {column!r}; it has "
                f"{listed(list(frame.columns))}. Name the columns with `level` and `name`."
            )
    depths = frame[level].astype(str).str.strip()
    odd = np.flatnonzero(~depths.str.fullmatch("@+"))
    if len(odd) or not len(frame):
        raise InputError(
            f"Hierarchy: row {odd[0] + 1 if len(odd) else 1} has no level of @. Write one @ for "
            "the total, and one more for each level below."
        )
    path: list[str] = []
    children: dict[str, list[str]] = {}
    for row, (at, code) in enumerate(zip(depths.str.len(), frame[name].astype(str), strict=True)):
        if at > len(path) + 1 or (at == 1) != (row == 0):
            raise InputError(
                f"Hierarchy: row {row + 1}, code {code!r}, is on level {at}, but the row above "
                f"is on level {len(path)}. The first row is the total, alone on its level."
            )
        if code in children:
            raise InputError(
                f"Hierarchy: row {row + 1}: code {code!r} is listed twice. Remove one of the rows."
            )
        children[code] = []
        if at > 1:
            children[path[at - 2]].append(code)
        path[at - 1 :] = [code]
    total = next(iter(children))
    groups = [(parent, tuple(below)) for parent, below in children.items() if below]
    return Tree(total, groups)


def levels(frame: pd.DataFrame, columns: Sequence[str], total: str) -> Tree:
    """Read columns that hold one level each; see `Hierarchy.from_levels`."""
    distinct = frame[list(columns)].astype(str).drop_duplicates().sort_values(list(columns))
    parent_of: dict[str, str] = {}
    children: dict[str, list[str]] = {total: []}
    for row in distinct.itertuples(index=False, name=None):
        above = total
        for column, code in zip(columns, row, strict=True):
            if code == above:
                continue
            if parent_of.setdefault(code, above) != above:
                raise InputError(
                    f"Hierarchy: code {code!r} of column {column!r} stands below "
                    f"{parent_of[code]!r} and below {above!r}. Each code needs one parent."
                )
            if code not in children:
                children[code] = []
                children[above].append(code)
            above = code
    groups = [(parent, tuple(below)) for parent, below in children.items() if below]
    return Tree(total, groups)


def check_parents(tree: Tree) -> None:
    """Raise if a code has two parents."""
    parent_of: dict[str, str] = {}
    for parent, children in tree.groups:
        for code in children:
            if parent_of.setdefault(code, parent) != parent:
                raise InputError(
                    f"{tree.source}: code {code!r} has two parents, {parent_of[code]!r} and "
                    f"{parent!r}. If the groupings do not nest, read each tree on its own "
                    f"and join them with Hierarchy.combine."
                )


def topological_order(total: str, children: Mapping[str, Sequence[str]]) -> list[str]:
    """Codes with every parent before its children; a cycle is an error that shows it."""
    if total not in children:
        raise InputError(
            f"Hierarchy: the total {total!r} is not the parent of any code. Name the code of "
            f"the total with `total`."
        )
    if not children[total]:
        raise InputError(
            f"Hierarchy: there is no code below the total {total!r}. Add the codes that are its "
            "parts."
        )
    _check_acyclic(children)
    # From the last child on: reversed, the first child then comes first.
    order = parts_first(total, {code: below[::-1] for code, below in children.items()})
    return order[::-1]


def _check_acyclic(children: Mapping[str, Sequence[str]]) -> None:
    try:
        TopologicalSorter(children).prepare()
    except CycleError as error:
        # Each code of the list lies below the next one, and the last one is the first.
        cycle = error.args[1][:0:-1]
        start = cycle.index(next(code for code in children if code in cycle))
        cycle = [*cycle[start:], *cycle[: start + 1]]
        raise InputError(
            f"Hierarchy: the codes {' > '.join(cycle)} form a cycle. Remove one of these pairs."
        ) from None


def _is_filled(below: Any) -> bool:
    """Whether there is something below a code; an empty value marks a leaf."""
    return below is not None and not (hasattr(below, "__len__") and len(below) == 0)


def _read_lines(path: Path, encoding: str) -> list[str]:
    try:
        text = unpacked(path).decode(encoding)
    except (LookupError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    # Editors on Windows write a byte-order mark in front; it is no part of the first code.
    return text.removeprefix("\ufeff").splitlines()

"""Global recoding of microdata: fewer levels, cut branches, or groups of codes (.grc)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tablecloak.argus.metadata import Variable
from tablecloak.argus.places import lines_of
from tablecloak.errors import InputError, listed
from tablecloak.tables.hierarchy import Hierarchy

__all__ = ["cut_below", "cut_to_level", "depth_of", "parents_of", "recoded"]


def cut_to_level(tree: Hierarchy, level: int, codes: pd.Series) -> tuple[Hierarchy, pd.Series]:
    """Keep the levels from 1, the one below the total, to `level`."""
    above, depth = parents_of(tree), {tree.total: 0}
    for code in tree.codes:
        if code != tree.total:
            depth[code] = depth_of(above, code)
    cut = [code for code, at in depth.items() if at == max(level, 1)]
    return cut_below(tree, cut, codes)


def cut_below(tree: Hierarchy, cut: Iterable[str], codes: pd.Series) -> tuple[Hierarchy, pd.Series]:
    """Take away all codes below the given ones.

    Raises
    ------
    InputError
        If a code is not in the hierarchy.
    """
    ends = set(cut)
    known = {code.strip(): code for code in tree.codes}
    unknown = sorted(code for code in ends if code.strip() not in known)
    if unknown:
        raise InputError(f"Recoding: {listed(unknown)} are not in the hierarchy.")
    ends = {known[code.strip()] for code in ends}
    above = parents_of(tree)
    new = {}
    for code in tree.codes:
        chain = [code]
        while chain[-1] in above:
            chain.append(above[chain[-1]])
        new[code] = next((c for c in reversed(chain) if c in ends), code)
    groups = tuple(
        (parent, parts)
        for parent, parts in tree.groups
        if new[parent] == parent and parent not in ends
    )
    return Hierarchy(tree.total, groups), codes.map(lambda code: new.get(code, code))


def recoded(
    path: Path, variable: Variable, tree: Hierarchy, codes: pd.Series
) -> tuple[Hierarchy, pd.Series]:
    """Group codes as a file says: ``new: a, b, c-d``; codes are compared as text.

    Raises
    ------
    InputError
        For a line that cannot be read, or a code that is in two groups.
    """
    if any(parent != tree.total for parent, _ in tree.groups):
        raise InputError(
            f"{path}: groups of codes suit dimensions without a hierarchy; name a level instead, "
            f"or list the codes to be cut at below <TREERECODE>."
        )
    new: dict[str, str] = {}
    for line, text in lines_of(path):
        if text.startswith("<"):
            continue
        found = re.fullmatch(r"([^:]+):(.+)", text)
        if not found:
            raise InputError(f"{path}, line {line}: expected 'new: a, b, c-d', found {text!r}.")
        name = variable.padded(found.group(1))
        for part in (part.strip() for part in found.group(2).split(",")):
            for code in tree.leaves:
                if _within(variable, code, part):
                    if new.get(code, name) != name:
                        raise InputError(f"{path}, line {line}: {code!r} is in two groups.")
                    new[code] = name
    changed = codes.map(lambda code: new.get(code, code))
    return Hierarchy.flat(sorted(set(changed)), tree.total), changed


def _within(variable: Variable, code: str, part: str) -> bool:
    if part in (code, code.strip()):
        return True
    low, dash, high = part.partition("-")
    if not dash:
        return False
    above = not low.strip() or code >= variable.padded(low)
    return above and (not high.strip() or code <= variable.padded(high))


def parents_of(tree: Hierarchy) -> dict[str, str]:
    """Return the code above each code but the total."""
    return {part: parent for parent, parts in tree.groups for part in parts}


def depth_of(above: dict[str, str], code: str) -> int:
    """Return how many codes lie above a code."""
    depth = 0
    while code in above:
        code, depth = above[code], depth + 1
    return depth

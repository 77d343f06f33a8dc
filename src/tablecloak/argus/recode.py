"""Global recoding of microdata: fewer levels, cut branches, or groups of codes (.grc)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tablecloak.argus.metadata import Variable
from tablecloak.argus.places import find_file, lines_of, tokens
from tablecloak.errors import InputError, listed
from tablecloak.graph import parents_of, path_to_root
from tablecloak.tables.hierarchy import Hierarchy


def cut_to_level(tree: Hierarchy, level: int, codes: pd.Series) -> tuple[Hierarchy, pd.Series]:
    """Keep the levels from 1, the one below the total, to `level`."""
    above, depth = parents_of(tree.groups), {tree.total: 0}
    for code in tree.codes:
        if code != tree.total:
            depth[code] = len(path_to_root(code, above)) - 1
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
        raise InputError(
            f"Recoding: {listed(unknown)} are not in the hierarchy. Correct these codes below "
            "<TREERECODE>, or remove them."
        )
    ends = {known[code.strip()] for code in ends}
    above = parents_of(tree.groups)
    new = {}
    for code in tree.codes:
        chain = path_to_root(code, above)
        new[code] = next((c for c in reversed(chain) if c in ends), code)
    groups = tuple(
        (parent, parts)
        for parent, parts in tree.groups
        if new[parent] == parent and parent not in ends
    )
    return Hierarchy(tree.total, groups), codes.map(lambda code: new.get(code, code))


@dataclass(frozen=True, eq=False)
class Recoded:
    """A dimension after a recoding.

    Parameters
    ----------
    tree : Hierarchy
    codes : pandas.Series of str
        New code of each record.
    missing : tuple of str
        Codes that mean missing now.
    notes : tuple of str
        What the file asks for beside and was not applied.
    """

    tree: Hierarchy
    codes: pd.Series
    missing: tuple[str, ...]
    notes: tuple[str, ...] = ()


def recode(
    how: str, folder: Path, variable: Variable, tree: Hierarchy, codes: pd.Series
) -> Recoded:
    """Recode a dimension by a level, a cut through its tree, or groups of codes.

    As in tau-ARGUS a recoding starts from the codes of the data: it takes the place of an
    earlier one of the same variable.

    Parameters
    ----------
    how : str
        A digit from 1, or the name of a file.
    folder : Path
        Where the file is looked for.
    variable, tree, codes
        The dimension as it is in the data.

    Raises
    ------
    InputError
        If the recoding does not suit the dimension, or the file cannot be read.
    """
    is_tree = variable.has("HIERARCHICAL") or any(p != tree.total for p, _ in tree.groups)
    if how.isdigit():
        if not is_tree or not 1 <= int(how) <= 9:
            raise InputError(
                f"RECODE: {variable.name!r} cannot be cut at level {how!r}: levels from 1 to 9 "
                f"suit dimensions with a hierarchy. Name a file with groups of codes instead."
            )
        return Recoded(*cut_to_level(tree, int(how), codes), variable.missing)
    path = find_file(how, folder)
    lines = [line for _, line in lines_of(path)]
    if lines and lines[0].upper() == "<TREERECODE>":
        cut = [variable.padded(code) for code in lines[1:]]
        return Recoded(*cut_below(tree, cut, codes), variable.missing)
    return recoded(path, variable, tree, codes)


def recoded(path: Path, variable: Variable, tree: Hierarchy, codes: pd.Series) -> Recoded:
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
    missing, notes = variable.missing, []
    for line, text in lines_of(path):
        if text.startswith("<"):
            keyword, *words = tokens(text)
            if keyword == "<MISSING>" and words:
                missing = tuple(variable.padded(word) for word in words if word.strip(", "))
            elif keyword == "<CODELIST>":
                notes.append(f"labels of codes ({path.name}, line {line})")
            else:
                raise InputError(f"{path}, line {line}: {text!r} is not known in a recoding.")
            continue
        found = re.fullmatch(r"([^:]+):(.+)", text)
        if not found:
            raise InputError(f"{path}, line {line}: expected 'new: a, b, c-d', found {text!r}.")
        name = variable.padded(found.group(1))
        for part in (part.strip() for part in found.group(2).split(",")):
            meant = [code for code in tree.leaves if _within(variable, code, part)]
            if not meant:
                notes.append(f"{part!r}, which is no code of the data ({path.name}, line {line})")
            for code in meant:
                if new.get(code, name) != name:
                    raise InputError(
                        f"{path}, line {line}: {code!r} is in two groups, {new[code]!r} and "
                        f"{name!r}. Leave it in one."
                    )
                new[code] = name
    changed = codes.map(lambda code: new.get(code, code))
    flat = Hierarchy.flat(sorted(set(changed)), tree.total)
    return Recoded(flat, changed, missing, tuple(notes))


def _within(variable: Variable, code: str, part: str) -> bool:
    if part in (code, code.strip()):
        return True
    low, dash, high = part.partition("-")
    if not dash:
        return False
    above = not low.strip() or code >= variable.padded(low)
    return above and (not high.strip() or code <= variable.padded(high))

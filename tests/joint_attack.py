"""An attack on several releases together, from their frames alone; no code of the package.

Whoever has all releases knows each cell by its codes, whichever of them show it: one unknown for
each hidden cell, one equation for each sum along a dimension of each release, two programs for each
sensitive cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from naive_programs import Reach

TOTAL = "Total"


def exposed_together(
    frames: Sequence[pd.DataFrame], trees: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[tuple[str, ...]]:
    """Sensitive cells, by their codes, that all releases together tell too much of.

    Parameters
    ----------
    frames : sequence of DataFrame
        A row for each cell: codes, ``value`` (the true one), ``hidden``, ``low`` and ``high`` (what
        everybody knows), ``down`` and ``up`` (how far it must be able to move; 0 if not sensitive).
    trees : mapping of str to mapping of str to sequence of str
        Of each dimension, the codes below each code that is a sum.
    """
    names = list(trees)
    rows = pd.concat([f.assign(**{n: TOTAL for n in names if n not in f}) for f in frames])
    keys = list(map(tuple, rows[names].to_numpy()))
    number = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    place = np.array([number[key] for key in keys])
    value, low, high = np.zeros((3, len(number)))
    value[place] = rows["value"]
    low[:], high[:] = -np.inf, np.inf
    np.maximum.at(low, place, np.where(rows["hidden"], rows["low"], rows["value"]))
    np.minimum.at(high, place, np.where(rows["hidden"], rows["high"], rows["value"]))
    sums = set()
    for frame in frames:
        own = {
            tuple(key)
            for key in frame.assign(**{n: TOTAL for n in names if n not in frame})[names].to_numpy()
        }
        for key in own:
            for axis, name in enumerate(names):
                parts = [
                    (*key[:axis], code, *key[axis + 1 :]) for code in trees[name].get(key[axis], ())
                ]
                inside = tuple(number[part] for part in parts if part in own)
                # A combination that no release lists is empty.
                if inside:
                    sums.add((number[key], inside))
    entries = [(r, c, s) for r, (total, parts) in enumerate(sums)
               for c, s in [(total, -1.0), *((part, 1.0) for part in parts)]]  # fmt: skip
    r, c, s = map(np.array, zip(*entries, strict=True))
    programs = Reach(csr_array((s, (r, c)), shape=(len(sums), len(number))), low, high)
    found = set()
    for cell, down, up in zip(place, rows["down"], rows["up"], strict=True):
        if down + up == 0:
            continue
        slack = 1e-6 * max(1.0, up)
        if (
            programs.farthest(cell, 1) < value[cell] + up - slack
            or -programs.farthest(cell, -1) > value[cell] - down + slack
        ):
            found.add(keys[list(place).index(cell)])
    return sorted(found)


def seen(problem, hidden) -> pd.DataFrame:
    """A release of a problem as a frame for the attack; what is asked is within what is known."""
    value, low, high = problem.table.values, problem.lower_bound, problem.upper_bound
    return problem.table.keys.assign(
        value=value,
        hidden=hidden,
        low=low,
        high=high,
        down=np.minimum(problem.lower_protection, value - low) * problem.sensitive,
        up=np.minimum(problem.upper_protection, high - value) * problem.sensitive,
    )

"""Random systems of equations between variables, and an attack with no code of the package.

The attack has its own relations: it goes through codes and equations one by one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

import tablecloak as tc
from margins import with_margins
from naive_programs import Reach

ENOUGH = 1 - 1e-5
"""Share of a level that counts as reached: the tolerance of the programs."""


@dataclass
class Term:
    """One equation as a list: the total with 1, its parts with their coefficients."""

    total: str
    parts: dict[str, float]
    where: dict[str, list[str]] = field(default_factory=dict)

    def equation(self) -> tc.Equation:
        sides = " + ".join(f"{size!r}*{name}" for name, size in self.parts.items())
        return tc.Equation(f"{self.total} = {sides}", where=self.where)


@dataclass
class System:
    """Problems of several variables, the equations between them, and both kinds of release."""

    problems: dict[str, tc.ProtectionProblem]
    terms: list[Term]

    def joined(self) -> tc.ProtectionProblem:
        return tc.join(self.problems, [term.equation() for term in self.terms])

    def hidden_apart(self) -> dict[str, np.ndarray]:
        """Hidden cells of three releases that do not know of each other."""
        return {
            name: tc.suppress(problem, time_limit=1000).suppressed
            for name, problem in self.problems.items()
        }

    def hidden_together(self, pattern: tc.SuppressionPattern) -> dict[str, np.ndarray]:
        """Hidden cells of the release of the joined problem, by their keys alone."""
        rows = pattern.release()
        kept = rows[rows.status == "suppressed"]
        names = list(next(iter(self.problems.values())).table.keys.columns)
        found = {}
        for name, problem in self.problems.items():
            own = {tuple(row) for row in kept[kept.variable == name][names].to_numpy()}
            found[name] = np.array([tuple(row) in own for row in problem.table.keys.to_numpy()])
        return found


def random_system(seed: int) -> System:
    """Two to four variables over one or two dimensions; some in units a million times smaller."""
    random = np.random.default_rng(seed)
    shape = [(5,), (3, 3), (4, 3), (2, 3)][random.integers(4)]
    names = [f"d{axis}" for axis in range(len(shape))]
    codes = [
        [f"{name}{number}" for number in range(n)] for name, n in zip(names, shape, strict=True)
    ]
    keys = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    parts = [f"p{number}" for number in range(random.integers(1, 4))]
    # In units of their own, so that a million of one is worth one of the other.
    mixed = bool(random.integers(2))
    unit = {part: float(random.choice([1, 1e6])) if mixed else 1.0 for part in parts}
    size = {part: float(random.choice([1, 2, 0.5, 0.25])) if mixed else 1.0 for part in parts}
    whole = float(random.choice([1, 1e6])) if mixed else 1.0
    term = Term("total", {part: size[part] * whole / unit[part] for part in parts})
    filled = {part: random.random(len(keys)) >= 0.15 * random.integers(2) for part in parts}
    leaves = {
        part: np.where(filled[part], np.ceil(random.lognormal(4, 1, len(keys))), 0) * unit[part]
        for part in parts
    }
    total = sum(size * leaves[part] for part, size in term.parts.items())
    if random.integers(3) == 0:
        held = codes[0][: random.integers(1, len(codes[0]))]
        term.where = {names[0]: list(held)}
        outside = ~keys[names[0]].isin(held)
        total = np.where(outside, np.ceil(random.lognormal(4, 1, len(keys))) * whole, total)
    leaves["total"] = np.asarray(total)
    problems = {
        name: _problem(with_margins(keys.assign(**{name: values}), names, name, digits=4), random)
        for name, values in leaves.items()
    }
    return System(problems, [term])


def energy() -> System:
    """Sales in EUR of gas, in GWh at two million EUR each, and of heat; few GWh are sensitive."""
    regions = pd.DataFrame({"region": list("abcd")})
    gas, heat = np.array([3.0, 11.0, 14.0, 40.0]), np.array([2e6, 7e6, 9e6, 1e7])
    values = {"gas": gas, "heat": heat, "sales": 2e6 * gas + heat}
    tables = {
        name: with_margins(regions.assign(**{name: each}), ["region"], name)
        for name, each in values.items()
    }
    level = {
        name: np.where((table.keys.region == "a") & (name == "gas"), 0.2 * table.values, 0.0)
        for name, table in tables.items()
    }
    problems = {name: _with_levels(table, level[name]) for name, table in tables.items()}
    return System(problems, [Term("sales", {"gas": 2e6, "heat": 1.0})])


def _problem(table: tc.Table, random: np.random.Generator) -> tc.ProtectionProblem:
    """One or two sensitive cells of a variable, each with levels of 10 to 30 per cent."""
    can_be = np.flatnonzero(table.values > 0)
    can_be = can_be[(table.keys.iloc[can_be] != "Total").all(axis=1)]
    chosen = random.choice(can_be, min(len(can_be), random.integers(1, 3)), replace=False)
    level = np.zeros(table.n_cells)
    level[chosen] = table.values[chosen] * random.uniform(0.1, 0.3, len(chosen))
    return _with_levels(table, level)


def _with_levels(table: tc.Table, level: np.ndarray) -> tc.ProtectionProblem:
    zero = np.zeros(table.n_cells)
    return tc.ProtectionProblem(
        table=table,
        status=np.where(level > 0, "u", np.where(table.values == 0, "z", "s")),
        lower_protection=level,
        upper_protection=level,
        sliding_protection=zero,
        lower_bound=zero,
        upper_bound=np.full(table.n_cells, 2 * table.values.max()),
        weights=table.values,
    )


# -- the attack ---------------------------------------------------------------------------


def exposed(
    system: System, hidden: Mapping[str, np.ndarray]
) -> list[tuple[str, int, float, float]]:
    """Sensitive cells that come closer than their levels to whoever has all releases.

    Returns variable, cell, and how far the attack finds it able to move up and down.
    """
    cells = [(name, cell) for name in system.problems for cell in np.flatnonzero(hidden[name])]
    column = {each: at for at, each in enumerate(cells)}
    scale = {name: float(np.median(p.table.values[p.table.values > 0]))
             for name, p in system.problems.items()}  # fmt: skip
    unit = np.array([scale[name] for name, _ in cells])
    rows = [row for row in _relations(system) if any(each in column for each in row)]
    matrix = np.zeros((len(rows), len(cells)))
    for at, row in enumerate(rows):
        for each, size in row.items():
            if each in column:
                matrix[at, column[each]] = size * unit[column[each]]
        matrix[at] /= np.abs(matrix[at]).max()
    value = np.array([system.problems[name].table.values[cell] for name, cell in cells])
    ends = [np.array([getattr(system.problems[name], end)[cell] for name, cell in cells])
            for end in ("lower_bound", "upper_bound")]  # fmt: skip
    programs = Reach(matrix, *((end - value) / unit for end in ends))
    found = []
    for name, problem in system.problems.items():
        for cell in np.flatnonzero(problem.sensitive):
            at = column.get((name, cell))
            moves = [0.0, 0.0] if at is None else [
                programs.farthest(at, sign) * scale[name] for sign in (1, -1)
            ]  # fmt: skip
            levels = problem.upper_protection[cell], problem.lower_protection[cell]
            if any(far < level * ENOUGH for far, level in zip(moves, levels, strict=True)):
                found.append((name, int(cell), *moves))
    return found


def _relations(system: System) -> list[dict[tuple[str, int], float]]:
    """Coefficients of each sum that everybody knows, by variable and cell."""
    at = {
        name: {tuple(row): cell for cell, row in enumerate(problem.table.keys.to_numpy())}
        for name, problem in system.problems.items()
    }
    rows = []
    for name, problem in system.problems.items():
        for axis in range(problem.table.keys.shape[1]):
            for key in at[name]:
                if key[axis] == "Total":
                    inner = [k for k in at[name] if k[axis] != "Total" and _same(k, key, axis)]
                    rows.append(
                        {(name, at[name][key]): -1.0} | {(name, at[name][k]): 1.0 for k in inner}
                    )
    for term in system.terms:
        names = list(next(iter(system.problems.values())).table.keys.columns)
        for key, cell in at[term.total].items():
            if all(key[names.index(name)] in codes for name, codes in term.where.items()):
                row = {(term.total, cell): -1.0}
                row |= {(part, at[part][key]): size for part, size in term.parts.items()}
                rows.append(row)
    return rows


def _same(one: Sequence[str], other: Sequence[str], axis: int) -> bool:
    return all(a == b for place, (a, b) in enumerate(zip(one, other, strict=True)) if place != axis)

"""One problem as the files that each tool reads."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd

import tablecloak as tc

LARGEST = 2**31 - 1
"""The branch and cut of Fischetti and Salazar holds weights as whole numbers of 32 bits."""


def write_all(problem: tc.ProtectionProblem, folder: Path, *, is_one_table: bool) -> None:
    """Write the files of all tools."""
    with (folder / "problem.pickle").open("wb") as file:
        pickle.dump(problem, file)
    tc.write_jj(in_whole_numbers(problem), folder / "table.jj")
    _write_gconfid(problem, folder)
    if is_one_table:
        _write_argus(problem, folder)


def in_whole_numbers(problem: tc.ProtectionProblem) -> tc.ProtectionProblem:
    """Weights of 32 bits, scaled if they are halves; everything else as it is."""
    scale = 1.0 if np.all(problem.weights % 1 == 0) else 2.0
    scale = min(scale, LARGEST / 4 / max(float(problem.weights.sum()), 1.0))
    weights = np.maximum(1, np.round(scale * problem.weights))
    return problem.with_changes(weights=weights)


def _write_gconfid(problem: tc.ProtectionProblem, folder: Path) -> None:
    """Cells and constraints: the protection that is asked for is the larger of both levels."""
    values = problem.table.values
    level = np.maximum(problem.lower_protection, problem.upper_protection)
    pd.DataFrame(
        {
            "CellId": np.arange(len(values)) + 1,
            # It refuses totals of 0, which no intruder can move down.
            "TotalNoise": np.maximum(values, 1e-3),
            "Sensitivity": np.where(problem.sensitive, level, 0.0),
            "Status": np.where(problem.sensitive, "S", np.where(problem.frozen, "P", "V")),
            "Type": "C",
            "Cost": problem.weights,
        }
    ).to_csv(folder / "cells.csv", index=False)
    relations = problem.table.relations.tocoo()
    terms = pd.DataFrame(
        {
            "ConstraintId": relations.coords[0] + 1,
            "CellId": relations.coords[1] + 1,
            "Coefficient": relations.data,
        }
    )
    # A total of one part would be a constraint of two terms, which is allowed.
    terms.to_csv(folder / "constraints.csv", index=False)


def _write_argus(problem: tc.ProtectionProblem, folder: Path) -> None:
    """A table of tau-ARGUS with given statuses and levels, its metadata and hierarchies."""
    table = problem.table
    keys = [coded(table.keys, name) for name in table.keys.columns]
    counts = table.contributions.count
    lines = []
    for cell in range(table.n_cells):
        number = [table.values[cell], problem.weights[cell]]
        levels = [problem.lower_protection[cell], problem.upper_protection[cell]]
        fields = [key[cell] for key in keys]
        fields += [f"{entry:.10g}" for entry in number] + [str(int(counts[cell]))]
        fields.append("U" if problem.sensitive[cell] else "S")
        fields += [f"{entry:.10g}" for entry in levels]
        lines.append(";".join(fields))
    (folder / "table.tab").write_text("\n".join(lines) + "\n")
    described = ['<SEPARATOR> ";"', '<SAFE> "S"', '<UNSAFE> "U"', '<PROTECT> "P"']
    for name, tree in table.hierarchies.items():
        described += [name, "<RECODEABLE>", f'<TOTCODE> "{tree.total}"']
        if len(tree.groups) > 1:
            (folder / f"{name}.hrc").write_text(hierarchy_lines(tree))
            path = folder / f"{name}.hrc"
            described += ["<HIERARCHICAL>", f'<HIERCODELIST> "{path}"', '<HIERLEADSTRING> "@"']
    described += ["value", "<NUMERIC>", "<DECIMALS> 0", "cost", "<NUMERIC> <COST>"]
    described += ["frequency", "<FREQUENCY>", "status", "<STATUS>"]
    described += ["lower", "<NUMERIC> <LOWERPL>", "upper", "<NUMERIC> <UPPERPL>"]
    (folder / "table.rda").write_text("\n".join(described) + "\n")


def coded(keys: pd.DataFrame, name: str) -> list[str]:
    """Return the codes of a dimension as text."""
    return keys[name].astype(str).tolist()


def hierarchy_lines(tree: tc.Hierarchy) -> str:
    """Return the codes below the total, one a line, one @ for each level below the first."""
    below = dict(tree.groups)

    def lines(code: str, depth: int) -> list[str]:
        found = []
        for child in below.get(code, ()):
            found += ["@" * depth + child, *lines(child, depth + 1)]
        return found

    return "\n".join(lines(tree.total, 0)) + "\n"

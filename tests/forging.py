"""Parts of forged certificates, and what the verifier says of them beside a problem file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.certificates import verifier
from tablecloak.certificates.claim import arrays_of

Arrays = dict[str, Any]

GRID = [[20, 50, 30], [70, 90, 60], [40, 30, 0]]
"""Inner cells of a table with totals; the last is at its lower bound."""


def problem_of(
    values: Sequence[float], relations: Any, status: str, level: float = 0.0, **more: Any
) -> tc.ProtectionProblem:
    """A problem whose sensitive cells have one level on both sides."""
    a, rows = np.array(values, float), csr_array(np.atleast_2d(np.array(relations, float)))
    n = len(a)
    levels = np.where(np.array(list(status)) == "u", level, 0.0)
    given = {
        "lower_bound": np.zeros(n), "upper_bound": np.full(n, 1e4), "weights": np.ones(n),
        "lower_protection": levels, "upper_protection": levels, **more,
    }  # fmt: skip
    table = tc.Table(
        keys=pd.DataFrame({"cell": [str(i) for i in range(n)]}),
        values=a, relations=rows, right_hand_side=rows @ a,
    )  # fmt: skip
    return tc.ProtectionProblem(
        table, np.array(list(status)), sliding_protection=np.zeros(n),
        **{name: np.broadcast_to(np.array(one, float), (n,)) for name, one in given.items()},
    )  # fmt: skip


def grid() -> tc.ProtectionProblem:
    """A table of 3 by 3 with totals, cell 0 sensitive."""
    inner = np.array(GRID, float)
    full = np.vstack([np.c_[inner, inner.sum(1)], np.append(inner.sum(0), inner.sum())])
    cell = np.arange(16).reshape(4, 4)
    sums = [*cell, *cell.T]
    relations = np.zeros((8, 16))
    for row, members in enumerate(sums):
        relations[row, members] = 1, 1, 1, -1
    values = full.reshape(-1)
    return problem_of(values, relations, "u" + 15 * "s", 5.0, upper_bound=3 * values + 50,
                      weights=np.maximum(values, 1))  # fmt: skip


class Verdict:
    """What the verifier says of arrays beside the file of a problem."""

    def __init__(self, folder: Any) -> None:
        self.folder = folder

    def __call__(self, problem: tc.ProtectionProblem, arrays: Mapping[str, Any]) -> tuple[int, str]:
        original, path = self.folder / "problem.jj", self.folder / "proof.npz"
        tc.write_jj(problem, original)
        np.savez_compressed(path, **{name: np.asarray(one) for name, one in arrays.items()})
        self.capsys.readouterr()
        code = verifier.main([str(path), str(original)])
        return code, self.capsys.readouterr().out

    capsys: Any


def integers(*numbers: int) -> Any:
    return np.array(numbers, np.int64)


def header(problem: tc.ProtectionProblem, release: str, claims: str) -> Arrays:
    """Arrays of the header and of the problem, as the library writes them."""
    honest = arrays_of(tc.suppress(grid(), time_limit=5).certificates, problem)
    kept = {name: honest[name] for name in (*verifier.PROBLEM, "format", "version")}
    return kept | {"release": np.array(release), "claims": np.array(claims.split())}


def loss(measure: str, weights: Any, amount: float) -> Arrays:
    return {"measure": np.array(measure), "weights": np.array(weights, float),
            "loss": np.array(float(amount))}  # fmt: skip


def leaf(bound: float, *entries: tuple[int, int, int, float]) -> Arrays:
    """A tree of its root, with multipliers: kind, row, cell, number."""
    kind, row, cell, data = zip(*entries, strict=True) if entries else ((), (), (), ())
    return {
        "bound": np.array(float(bound)), "tree_starts": integers(0, 1),
        "node_parent": integers(-1), "node_cell": integers(-1), "node_is_lower": np.array([False]),
        "node_limit": integers(0), "node_proof": integers(0),
        "proof_starts": integers(0, len(kind)), "proof_kind": integers(*kind),
        "proof_row": integers(*row), "proof_cell": integers(*cell),
        "proof_data": np.array(data, float),
    }  # fmt: skip


def up_or_down(bound: float, cell: int, up: Sequence[Any], down: Sequence[Any]) -> Arrays:
    """A tree of two leaves, in which a cell goes up, or down."""
    one = leaf(bound, *up, *down)
    return one | {
        "tree_starts": integers(0, 3), "node_parent": integers(-1, 0, 0),
        "node_cell": integers(-1, cell, cell), "node_is_lower": np.array([False, True, False]),
        "node_limit": integers(0, 1, 0), "node_proof": integers(-1, 0, 1),
        "proof_starts": integers(0, len(up), len(up) + len(down)),
    }  # fmt: skip


def adjusted(
    problem: tc.ProtectionProblem, published: Any, weights: Any, amount: float, decimals: int = 0,
    claims: str = "protection additivity loss bound", measure: str = "L1",
) -> Arrays:  # fmt: skip
    n = len(weights)
    endless, none = np.full(n, np.inf), np.zeros(n, np.int64)
    return header(problem, "adjustment", claims) | loss(measure, weights, amount) | {
        "published": np.array(published, float), "decimals": np.array(decimals),
        "sensitive_limit": np.array(np.inf), "capacity_up": endless, "capacity_down": endless,
        **({"part": none, "direction": none} if "bound" in claims else {}),
    }  # fmt: skip


def one_cut(relations: Sequence[int], numbers: Sequence[float], cell: int = 0) -> Arrays:
    none, nothing = integers(), np.zeros(0)
    return {
        "cut_kind": integers(0), "cut_cell": integers(cell),
        "up_starts": integers(0, len(relations)), "up_relations": integers(*relations),
        "up_data": np.array(numbers, float), "down_starts": integers(0, 0),
        "down_relations": none, "down_data": nothing,
    }  # fmt: skip


def statistic(kind: str, cells: Sequence[int], terms: Sequence[float]) -> Arrays:
    return {
        "statistic_kind": np.array([kind]), "statistic_slack": np.zeros(1),
        "statistic_target": np.zeros(1), "statistic_starts": integers(0, len(cells)),
        "statistic_cells": integers(*cells), "statistic_data": np.array(terms, float),
    }  # fmt: skip

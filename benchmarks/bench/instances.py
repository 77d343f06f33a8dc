"""Instances: tables from the literature, generated tables of several sizes, and files."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak import examples
from tablecloak.errors import InputError
from tablecloak.tables.formats import can_hold, read_problem
from tablecloak.tables.formats.jj import JJ
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.concentration import PPercent
from tablecloak.tables.rules.contributors import MinimumFrequency
from tablecloak.tables.rules.rule import protect
from tablecloak.tables.tabulation.tabulate import tabulate

__all__ = ["generated", "instances", "linked"]

Build = Callable[[], ProtectionProblem]


def instances(folder: str | Path | None = None, *, quick: bool = False) -> dict[str, Build]:
    """Return instances by name; each is built when it is called.

    Parameters
    ----------
    folder : str or path, optional
        Folder of problem files to be added.
    quick : bool, default=False
        Whether to return only instances that are solved within seconds.

    Raises
    ------
    InputError
        If the folder does not exist or holds no problem.
    """
    found: dict[str, Build] = {"cox": examples.cox, "cox-rounded": examples.cox_rounded}
    shapes: list[tuple[int, ...]] = (
        [(8, 8), (16, 16)] if quick else [(8, 8), (16, 16), (32, 32), (64, 64)]
    )
    shapes += [(5, 5, 5)] if quick else [(5, 5, 5), (8, 8, 8), (12, 12, 12)]
    for shape in shapes:
        for severity in (0.1,) if quick else (0.02, 0.1, 0.3):
            name = f"{'x'.join(map(str, shape))}-{severity:g}"
            found[name] = partial(generated, shape, severity)
    for n in (500,) if quick else (500, 2000, 10_000):
        found[f"linked-{n}"] = partial(linked, n)
    if folder is not None:
        found |= _in_folder(Path(folder))
    return found


def generated(shape: tuple[int, ...], severity: float, seed: int = 1) -> ProtectionProblem:
    """Return a table with skewed values in which a share of the inner cells is sensitive.

    Parameters
    ----------
    shape : tuple of int
        Number of codes of each dimension, without totals.
    severity : float
        Share of the inner cells that is sensitive, mostly small ones; their levels are a tenth
        of the value.
    seed : int, default=1
    """
    random = np.random.default_rng([seed, *shape])
    names = [f"d{axis}" for axis in range(len(shape))]
    codes = [
        [f"{name}{code}" for code in range(size)] for name, size in zip(names, shape, strict=True)
    ]
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=names)
    frame["value"] = np.ceil(random.lognormal(5, 1.5, len(frame)))
    table = tabulate(frame, names, "value")
    inner = (table.keys != "Total").all(axis=1).to_numpy()
    wanted = max(round(severity * int(inner.sum())), 1)
    # Small values are more likely to be sensitive, but need not be.
    lot = np.where(inner, table.values * random.lognormal(0, 1, table.n_cells), np.inf)
    sensitive = np.zeros(table.n_cells, dtype=bool)
    sensitive[np.argsort(lot, kind="stable")[:wanted]] = True
    level = np.where(sensitive, np.ceil(0.1 * table.values), 0.0)
    return ProtectionProblem(
        table=table,
        status=np.where(sensitive, "u", "s"),
        lower_protection=level,
        upper_protection=level,
        lower_bound=np.zeros(table.n_cells),
        upper_bound=np.full(table.n_cells, 1.5 * float(table.values.max())),
        weights=table.values,
    )


def linked(n: int) -> ProtectionProblem:
    """Return two linked tables of n invented firms, with sensitivity rules applied."""
    table = tabulate(
        examples.firms(n),
        {"region": ["part", "region"], "industry": None, "size": None},
        "turnover",
        contributor="firm",
        tables=[["region", "industry"], ["industry", "size"]],
    )
    return protect(table, PPercent(10), MinimumFrequency(3))


def _in_folder(folder: Path) -> dict[str, Build]:
    if not folder.is_dir():
        raise InputError(f"{folder}: this folder does not exist. Check the path.")
    files = [
        path
        for path in sorted(folder.iterdir(), key=lambda path: path.stat().st_size)
        if can_hold(path, JJ)
    ]
    if not files:
        raise InputError(f"{folder}: no file ends in .jj or .jj.gz.")
    return {path.name.split(".")[0]: partial(read_problem, path) for path in files}

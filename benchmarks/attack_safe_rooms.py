"""Attack what whole projects of a safe room let leave, knowing only their shown figures.

    python benchmarks/attack_safe_rooms.py --count 50 --seed 0
    python benchmarks/attack_safe_rooms.py --count 300 --minutes 60

Each seed makes records, two of three of them of an odd shape (ties, a giant, categories of one
record, amounts most of which are 0 or a few values), and a project of 3 to 8 outputs: counts, sums,
means, histograms and regressions, with filters, nested filters, weights, missing values, amounts
below zero, columns of 0 and 1, and unusual limits. From the figures shown in outputs that passed,
programs that share no code with the package look for groups of fewer records than the threshold
whose figure follows (an integer program; a linear one for the records of highest leverage where
there are many), and for amounts that somebody bounds more closely than the p% rule allows. Outputs
that failed are attacked beside those that passed: a failure is without need if nothing follows from
its figures. Prints counts and each leak with the seed that repeats it (`--only SEED`); ends with 1
if there was any.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.optimize import Bounds, LinearConstraint, linprog, milp

from tablecloak.errors import InputError
from tablecloak.safe import Project

Rows = npt.NDArray[np.float64]
SIZES = (20, 30, 50, 80, 120, 200, 400, 1_000, 3_000, 20_000)
SHARES = (0.1, 0.12, 0.14, 0.14, 0.14, 0.12, 0.1, 0.07, 0.05, 0.02)
WHOLE = 150
"""Kinds of records up to which groups are sought by an integer program."""
TRIED = 6
"""Records that are attacked by a linear program each."""
SECONDS = 20.0
NEAR = 1e-6


@dataclass
class Told:
    """Sums over records that somebody knows, by what they add up."""

    rows: dict[str, list[Rows]] = field(default_factory=dict)

    def add(self, variable: str, row: Rows) -> None:
        """Add what one figure tells."""
        self.rows.setdefault(variable, []).append(row)

    def beside(self, other: Told) -> Told:
        """Return what both tell."""
        names = {*self.rows, *other.rows}
        return Told({n: [*self.rows.get(n, []), *other.rows.get(n, [])] for n in names})


# -- projects ----------------------------------------------------------------------------------


def records(random: np.random.Generator, n: int) -> pd.DataFrame:
    """Make records with keys, amounts and codes."""
    spread = random.choice([0.5, 2.0, 8.0])
    data = pd.DataFrame()
    for number, codes in enumerate(random.integers(2, 7, 3)):
        shares = random.dirichlet(np.full(codes, spread))
        data[f"k{number}"] = random.choice(list("abcdefgh")[:codes], n, p=shares)
    data["age"] = random.integers(16, 90, n)
    data["income"] = random.lognormal(3, random.choice([0.3, 1.0, 2.0]), n).round(1) + 0.1
    data["balance"] = random.normal(5, 20, n).round(1)
    data["ill"] = (random.random(n) < random.choice([0.05, 0.3, 0.6])).astype(int)
    data["hours"] = random.gamma(4, 9, n).round(1).clip(1)
    data.loc[random.random(n) < 0.1, "hours"] = np.nan
    data["weight"] = random.uniform(1, 4, n).round(2)
    return data


def oddly_shaped(random: np.random.Generator, data: pd.DataFrame) -> pd.DataFrame:
    """Give records one or two shapes that surveys have and makers of rules forget."""
    n = len(data)

    def ties() -> None:
        data["income"] = (data.income // 10 * 10 + 1).clip(upper=101)

    def giant() -> None:
        data.loc[random.integers(n), "income"] = 1000 * data.income.sum()

    def alone() -> None:
        for key in ("k0", "k1", "k2"):
            data.loc[random.integers(n), key] = random.choice(list("ab"))
            data.loc[random.integers(n), key] = "z"

    def mostly_nothing() -> None:
        data.loc[random.random(n) < 0.8, "income"] = 0.0

    def few_values() -> None:
        data["hours"] = random.choice([0.0, 1.0, 2.0], n, p=[0.7, 0.2, 0.1])

    def flags() -> None:
        data["income"] = (random.random(n) < 0.1).astype(float)

    shapes = (ties, giant, alone, mostly_nothing, few_values, flags)
    for number in random.permutation(len(shapes))[: random.integers(0, 3)]:
        shapes[number]()
    return data


def filtered(random: np.random.Generator, data: pd.DataFrame, last: pd.DataFrame) -> pd.DataFrame:
    """Return some of the records: as researchers filter, or as intruders do."""
    kind = random.random()
    if kind < 0.3:
        return data
    if kind < 0.45:
        return data.drop(index=random.choice(data.index, int(random.integers(1, 8)), replace=False))
    if kind < 0.6:
        return (
            last if len(last) < 10 else last.drop(index=last.index[: int(random.integers(1, 12))])
        )
    if kind < 0.75:
        return data[data.age >= random.choice([18, 19, 20, 25, 60])]
    if kind < 0.9:
        key = f"k{random.integers(3)}"
        code = random.choice(sorted(data[key].unique()))
        return data[data[key] == code] if random.random() < 0.5 else data[data[key] != code]
    return last[last.k0 != random.choice(list("ab"))]


def places(
    frame: pd.DataFrame, some: pd.DataFrame, row: str, column: str | None, n: int
) -> list[tuple[Rows, float]]:
    """Return the records behind each shown cell of a table, and its figure."""
    found = []
    for at, first in enumerate(frame.index):
        for across, second in enumerate(frame.columns):
            if pd.isna(frame.iloc[at, across]):
                continue
            chosen = np.full(len(some), first == "All") | (some[row] == first).to_numpy()
            if column is not None:
                chosen &= np.full(len(some), second == "All") | (some[column] == second).to_numpy()
            whole = np.zeros(n)
            whole[some.index[chosen]] = 1
            found.append((whole, float(frame.iloc[at, across])))
    return found


def ask(project: Project, some: pd.DataFrame, random: np.random.Generator, n: int) -> Told:
    """Ask for one output, and return what its shown figures tell."""
    told = Told()
    row, column = random.permutation(["k0", "k1", "k2"])[:2]
    protect: Any = "suppression" if random.random() < 0.75 else None
    margins = bool(random.random() < 0.6)
    kind = random.random()
    if kind < 0.4:
        frame = project.crosstab(some[row], some[column], margins=margins, protect=protect)
        for whole, figure in places(frame, some, row, column, n):
            assert whole.sum() == figure, "the attack has other records than the table"
            told.add("records", whole)
    elif kind < 0.8:
        name = str(random.choice(["income", "balance", "ill", "hours"]))
        statistic = str(random.choice(["sum", "mean", "count"]))
        weights = "weight" if random.random() < 0.2 else None
        across = column if random.random() < 0.5 else None
        frame = project.pivot_table(
            some, values=name, index=row, columns=across, aggfunc=statistic,
            margins=margins and across is not None, weights=weights, protect=protect,
        )  # fmt: skip
        amounts = some[name].reindex(range(n)).to_numpy()
        for whole, _ in places(frame, some, row, across, n):
            there = np.where(np.isnan(amounts), 0.0, whole)
            of_weights = "records" if weights is None else "weight"
            if statistic in ("mean", "count"):
                told.add(of_weights, there)
            if statistic in ("mean", "sum") and name == "ill" and weights is None:
                told.add("records", np.where(amounts == 1, there, 0.0))
            elif statistic in ("mean", "sum"):
                told.add(name if weights is None else f"{name} by weight", there)
    elif kind < 0.9:
        edges = [0, 20, 30, 45, 65, 200]
        frame = project.histogram(some, "age", bins=edges)
        for at in range(len(edges) - 1):
            inside = some.age.between(
                edges[at], edges[at + 1], inclusive="left" if at < 4 else "both"
            )
            whole = np.zeros(n)
            whole[some.index[inside]] = 1
            figure = frame.iloc[at, 0]
            if not pd.isna(figure):
                assert whole.sum() == figure, "the attack has other records than the histogram"
                told.add("records", whole)
        if not pd.isna(frame.iloc[-1, 0]):
            whole = np.zeros(n)
            whole[some.index] = 1
            told.add("records", whole)
    else:
        project.olsr(f"income ~ C({row})" if random.random() < 0.5 else "income ~ age", some)
        whole = np.zeros(n)
        whole[some.index] = 1
        told.add("records", whole)
        told.add("income", whole)
        if f"C({row})" in list(project.outputs.values())[-1].command:
            for code in some[row].unique():
                told.add("income", np.where(some[row].reindex(range(n)) == code, 1.0, 0.0))
    return told


# -- attacks -----------------------------------------------------------------------------------


def small_group(rows: list[Rows], threshold: int) -> list[int] | None:
    """Return records of a group below the threshold whose figure follows; None if none is found."""
    matrix = np.unique(np.array(rows), axis=0)
    kinds, kind, size = np.unique(matrix, axis=1, return_inverse=True, return_counts=True)
    kind = kind.reshape(-1)
    shown = kinds.any(axis=0)
    n_rows, n_kinds = kinds.shape
    small = np.flatnonzero(shown & (size < threshold))
    if not small.size:
        return None
    if n_kinds <= WHOLE:
        counted = np.concatenate([size, np.zeros(n_rows)])
        answer = milp(
            counted,
            constraints=[
                LinearConstraint(np.hstack([np.eye(n_kinds), -kinds.T]), 0, 0),
                LinearConstraint(counted[None, :], 1, threshold - 1),
            ],
            integrality=np.concatenate([np.ones(n_kinds), np.zeros(n_rows)]),
            bounds=Bounds(
                np.concatenate([np.zeros(n_kinds), np.full(n_rows, -50.0)]),
                np.concatenate([size < threshold, np.full(n_rows, 50.0)]),
            ),
            options={"time_limit": SECONDS},
        )  # fmt: skip
        found = [] if answer.x is None else [answer.x[:n_kinds]]
    else:
        found = list(by_linear_programs(kinds, size, small, threshold))
    for point in found:
        group = np.rint(point)
        left = np.linalg.lstsq(kinds.T, group, rcond=None)[0] @ kinds - group
        if 0 < size @ group < threshold and np.abs(left).max() < NEAR:
            return np.flatnonzero(group[kind] > 0).tolist()
    return None


def by_linear_programs(kinds: Rows, size: Rows, small: Rows, threshold: int) -> Any:
    """Yield the least group, in fractions, that has each of the records most easily told."""
    factor = np.linalg.qr(kinds.T * np.sqrt(size)[:, None], mode="reduced")[0]
    leverage = (factor**2).sum(axis=1) / size
    # Differences of two figures need no program.
    for one in range(len(kinds)):
        rest = kinds[one] - kinds
        least = size @ rest.T
        fits = (rest >= 0).all(axis=1) & (least > 0) & (least < threshold)
        yield from rest[fits]
    n_rows, n_kinds = kinds.shape
    some = small[np.argsort(-leverage[small])][:TRIED]
    for number in some:
        low, high = np.zeros(n_kinds), np.where(size < threshold, 1.0, 0.0)
        low[number] = 1.0
        answer = linprog(
            np.concatenate([size, np.zeros(n_rows)]),
            A_eq=np.hstack([np.eye(n_kinds), -kinds.T]),
            b_eq=np.zeros(n_kinds),
            bounds=[*zip(low, high, strict=True), *([(None, None)] * n_rows)],
            options={"time_limit": SECONDS},
        )
        if answer.status == 0 and answer.fun < threshold:
            yield answer.x[:n_kinds]


def close_amount(rows: list[Rows], amounts: Rows, share: float) -> int | None:
    """Return a record whose amount somebody bounds from above too closely, if one is found."""
    matrix = np.unique(np.array(rows), axis=0)
    inside = np.flatnonzero(matrix.any(axis=0))
    amounts, matrix = amounts[inside], matrix[:, inside]
    largest = np.argsort(-amounts)
    for record in largest[:TRIED]:
        if amounts[record] <= 0:
            continue
        for knowing in (None, *largest[:3]):
            if knowing == record:
                continue
            low, high = np.zeros(len(amounts)), np.full(len(amounts), np.inf)
            if knowing is not None:
                low[knowing] = high[knowing] = amounts[knowing]
            cost = np.zeros(len(amounts))
            cost[record] = -1
            answer = linprog(
                cost, A_eq=matrix, b_eq=matrix @ amounts,
                bounds=np.column_stack([low, high]), options={"time_limit": SECONDS},
            )  # fmt: skip
            limit = (1 + share) * amounts[record]
            if answer.status == 0 and -answer.fun < limit * (1 - 1e-4):
                return int(inside[record])
    return None


def leaks(told: Told, data: pd.DataFrame, limits: dict[str, Any]) -> list[str]:
    """Return what follows of too few records, or of one too closely."""
    found = []
    for variable, rows in told.rows.items():
        group = small_group(rows, limits["safe_threshold"])
        if group is not None:
            found.append(f"{variable} of the records {group}")
        if variable in ("income", "hours") and limits["safe_pratio_p"] and len(data) <= 3000:
            record = close_amount(
                rows, data[variable].fillna(0).to_numpy(), limits["safe_pratio_p"]
            )
            if record is not None:
                found.append(f"{variable} of the record {record}, closely")
    return found


def attack(seed: int, counts: Counter[str], *, is_loud: bool) -> list[str]:
    """Make one project and attack it; return its leaks."""
    random = np.random.default_rng(seed)
    n = int(random.choice(SIZES, p=SHARES))
    limits = {
        "safe_threshold": int(random.choice([2, 3, 5, 8, 10, 15, 20])),
        "safe_pratio_p": float(random.choice([0.0, 0.1, 0.2])),
        "safe_nk_n": int(random.choice([1, 2, 3])),
        "safe_nk_k": float(random.choice([0.8, 0.9, 1.0])),
        "zeros_are_disclosive": bool(random.random() < 0.3),
    }
    data = oddly_shaped(np.random.default_rng((seed, 1)), records(random, n))
    project = Project(limits)
    passed, failed, last = Told(), [], data
    for _ in range(int(random.integers(3, 9))):
        last = filtered(random, data, last)
        if len(last) < 3:
            last = data
        before = len(project.outputs)
        try:
            told = ask(project, last, random, n)
        except InputError:
            counts["refused as a call"] += 1
            continue
        (output,) = list(project.outputs.values())[before:]
        counts[output.outcome.status] += 1
        if is_loud:
            print(output.told())
        if output.outcome.status == "pass":
            passed = passed.beside(told)
        elif {reason.rule for reason in output.outcome.reasons} == {"differencing"}:
            failed.append((output.name, told, passed))
    for name, told, beside in failed:
        counts["failed by differencing"] += 1
        if n <= WHOLE and not leaks(beside.beside(told), data, limits):
            counts["failed without need"] += 1
            if is_loud:
                print(f"{name} failed without need")
    return leaks(passed, data, limits)


def main() -> int:
    """Attack as many projects as were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--only", type=int)
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    counts: Counter[str] = Counter()
    n_leaks, started = 0, time.process_time()
    seeds = range(chosen.seed, chosen.seed + chosen.count)
    for seed in seeds if chosen.only is None else [chosen.only]:
        found = attack(seed, counts, is_loud=chosen.only is not None)
        counts["projects"] += 1
        n_leaks += bool(found)
        for text in found:
            print(f"seed {seed}: {text}", flush=True)
        if time.process_time() - started > 60 * chosen.minutes:
            break
    said = ", ".join(f"{number} {what}" for what, number in sorted(counts.items()))
    print(f"{n_leaks} projects leak; {said}")
    return int(n_leaks > 0)


if __name__ == "__main__":
    sys.exit(main())

"""Attack chains of releases that `tablecloak protect` protected in order, by all rows at once.

    python benchmarks/attack_chains.py --chains 20 --seed 0

Even numbers are two or three years with growth rates, indices, shares, means and ratios on the
`[[published]]` years before; odd ones are three releases of one `[register]`: years, finer and
coarser tables, revisions. The intruder is a linear program over the cells of all releases. He knows
the rows of the release folders and the bounds that everybody knows; `internal/problem.csv` gives
only the truth and the levels of protection. In a register he also knows which cells kept their
value. Prints how many sensitive cells he exposes if each job knows nothing of the others ("apart":
then all figures are printed), and if it does ("together"). Exit code 1 if any is exposed together
that no job lists in `internal/suppression_published_before.csv`. `--chains 1 --seed 7` repeats
chain 7; `--keep FOLDER` keeps its files. Limits are seconds of the processor.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import linprog
from typer.testing import CliRunner

from tablecloak.cli.main import app

Key = tuple[str, ...]
"""Release, variable, and a code for each dimension of the chain."""
Tree = dict[str, list[str]]
Figure = dict[str, Any]


@dataclass
class Release:
    """One job: what it reads and tells."""

    name: str
    records: pd.DataFrame
    dimensions: list[str]
    figures: list[Figure] = field(default_factory=list)
    published: dict[str, str] = field(default_factory=dict)


@dataclass
class Chain:
    """Jobs in order, over the same dimensions."""

    folder: Path
    trees: dict[str, Tree]
    variables: list[str]
    rules: str
    is_weighted: bool
    is_register: bool
    releases: list[Release] = field(default_factory=list)

    def job(self, release: Release, together: bool) -> str:
        """The job file; protected apart it knows neither figures nor other releases."""
        lines = ["[data]", f'file = "{release.name}.csv"', 'contributor = "firm"']
        lines += ['weight = "w"'] * self.is_weighted
        is_single = len(self.variables) == 1
        lines += [f'value = "{self.variables[0]}"'] * is_single
        for name in release.dimensions:
            tree = self.trees[name]
            lines.append(f"[dimensions.{name}]")
            if len(tree) > 1:
                lines.append(f"hierarchy = {_nested(tree, 'Total')}")
        if not is_single:
            lines += [f'[variables.{name}]\nvalue = "{name}"' for name in self.variables]
        lines += [self.rules, '[suppression]\nmethod = "sequential"\ntime_limit = 2\nhold = "off"']
        lines.append("[output]\nreport = false")
        if together:
            lines += [_section("[[derived]]", figure) for figure in release.figures]
            if release.published:
                lines.append(_section("[[published]]", release.published))
            if self.is_register:
                lines.append('[register]\nfolder = "register"\nseries = "firms"')
        return f'title = "{release.name}"\n' + "\n".join(lines)

    def protect(self, release: Release, way: str) -> str:
        """Run the job; return what it says if it fails."""
        release.records.to_csv(self.folder / f"{release.name}.csv", index=False)
        path = self.folder / f"{release.name}-{way}.toml"
        path.write_text(self.job(release, way == "together"))
        done = CliRunner().invoke(app, ["protect", str(path), "-o", str(path.with_suffix(""))])
        return done.output[-300:] + repr(done.exception or "") if done.exit_code else ""

    def key(self, release: Release, row: Any) -> Key:
        """The cell of a row of a table."""
        variable = getattr(row, "variable", self.variables[0])
        codes = (
            getattr(row, name) if name in release.dimensions else "Total" for name in self.trees
        )
        return (release.name, variable, *codes)

    def leaves(self, name: str, code: str) -> list[str]:
        """Codes of records below a code."""
        parts = self.trees[name].get(code)
        return [leaf for part in parts for leaf in self.leaves(name, part)] if parts else [code]


def _nested(tree: Tree, code: str) -> str:
    return "{" + ", ".join(f"{part} = {_nested(tree, part)}" for part in tree.get(code, [])) + "}"


def _section(head: str, entries: dict[str, Any]) -> str:
    return "\n".join([head, *(f"{name} = {json.dumps(value)}" for name, value in entries.items())])


def firms(random: np.random.Generator, trees: dict[str, Tree], n: int, skew: float) -> pd.DataFrame:
    """Return one record for each firm, without values."""
    columns: dict[str, Any] = {}
    for name, tree in trees.items():
        leaves = [code for parts in tree.values() for code in parts if code not in tree]
        columns[name] = random.choice(leaves, n)
    return pd.DataFrame(
        columns
        | {"firm": [f"f{i}" for i in range(n)], "turnover": np.exp(random.normal(4, skew, n))}
    )


def with_values(random: np.random.Generator, records: pd.DataFrame, zeros: float) -> pd.DataFrame:
    """Give firms sales and staff according to their turnover."""
    n = len(records)
    sales = np.where(random.random(n) < zeros, 0, np.rint(records["turnover"]) + 1)
    staff = np.rint(sales * np.exp(random.normal(-3, 0.5, n)))
    staff[(staff == 0) & (sales > 0)] = 1
    return records.assign(sales=sales, staff=staff)


def tree_of(codes: str, is_nested: bool = False) -> Tree:
    """Codes below the total, or two groups of two."""
    if is_nested:
        return {"Total": ["A", "B"], "A": ["A1", "A2"], "B": ["B1", "B2"]}
    return {"Total": list(codes)}


def rules_of(p: int, has_frequency: bool) -> str:
    """The p% rule, and perhaps at least two contributors."""
    frequency = '\n[[rules]]\nrule = "minimum-frequency"\nminimum = 2\nrange = 5'
    return f'[[rules]]\nrule = "p-percent"\np = {p}' + frequency * has_frequency


def chain_of_years(number: int, folder: Path) -> Chain:
    """Two or three years with derived figures on the years before."""
    random = np.random.default_rng(number)
    trees = {
        "region": tree_of("NSWE"[: random.integers(2, 5)]),
        "industry": tree_of("ABCD"[: random.integers(2, 5)], number % 3 == 0),
    }
    variables = ["sales"] if number % 4 == 2 else ["sales", "staff"]
    rules = rules_of([10, 2, 25][number % 3], number % 5 == 0)
    chain = Chain(folder, trees, variables, rules, number % 6 == 1, is_register=False)
    skew, zeros = [(0.6, 0), (1.2, 0), (1.8, 0.15)][number % 3]
    records = firms(random, trees, int(random.integers(15, 60)), skew)
    records["w"] = random.choice([1, 1, 2, 3], len(records)) if chain.is_weighted else 1
    decimals, drift = number % 3, [0.05, 0.3, 0.01, 0.8][number % 4]
    same: list[Figure] = []
    if len(variables) == 2 and number % 2 == 0:
        same.append({"figure": "ratio", "formula": "sales / staff", "decimals": decimals})
    if number % 3 != 1:
        of = ["region", "industry"][number % 2]
        same.append({"figure": "share", "variable": "sales", "of": of, "decimals": 1})
    if number % 5 == 2:
        same.append({"figure": "average", "variable": "sales", "decimals": decimals})
    for year in ["2023", "2024", "2025"][: 2 + number % 2]:
        records = with_values(random, records, zeros)
        release = Release(year, records, list(trees), list(same))
        if chain.releases:
            before = chain.releases[-1]
            growth = {"figure": "growth", "since": before.name}
            release.figures.append({**growth, "variable": "sales", "decimals": decimals})
            if number % 4 == 3:
                release.figures.append({**growth, "variable": "staff", "decimals": 1})
            if len(chain.releases) == 2:
                index = {"figure": "index", "variable": "sales", "base": "2023"}
                release.figures.append({**index, "decimals": number // 2 % 2})
            internal = f"{before.name}-together/internal"
            public = f"{before.name}-together/release/suppression/table.csv"
            has_figures = before.figures or before.published
            release.published = {
                "file": public if number % 2 else f"{internal}/suppression_statuses.csv",
                "problem": f"{internal}/{'suppression_' if has_figures else ''}problem.csv",
                "name": before.name,
                "period": before.name,
            }
        chain.releases.append(release)
        records = records.assign(
            turnover=records["turnover"] * np.exp(random.normal(0, drift, len(records)))
        )
    return chain


def chain_of_register(number: int, folder: Path) -> Chain:
    """Three releases of firms that hardly change from year to year."""
    random = np.random.default_rng(1000 + number)
    trees = {
        "region": tree_of("NSW"[: random.integers(2, 4)]),
        "industry": tree_of("ABC", number % 3 == 0),
        "size": tree_of("sml"[: random.integers(2, 4)]),
    }
    variables = ["sales", "staff"] if number % 4 == 0 else ["sales"]
    rules = rules_of([10, 2, 25][number % 3], number % 2 == 0)
    chain = Chain(folder, trees, variables, rules, number % 6 == 1, is_register=True)
    records = firms(random, trees, int(random.integers(15, 50)), [0.6, 1.2, 1.8][number % 3])
    records = with_values(random, records, [0, 0.1][number % 2])
    records["w"] = random.choice([1, 1, 2], len(records)) if chain.is_weighted else 1
    years = [records]
    for _ in range(2):
        records = records.copy()
        changed = random.choice(len(records), 2, replace=False)
        records.loc[changed, "sales"] = np.rint(records.loc[changed, "sales"] * 1.3 + 2)
        years.append(records)
    industries, sizes = ["region", "industry"], ["region", "size"]
    finest = ["region", "industry", "size"]
    plan = [
        [(0, industries), (1, industries), (2, industries)],
        [(0, industries), (0, sizes), (0, finest)],
        [(0, finest), (0, industries), (0, sizes)],
        [(0, industries), (1, industries), (1, sizes)],
        [(0, industries), (1, sizes), (2, finest)],
    ][number % 5]
    chain.releases = [Release(f"j{i}", years[y], names) for i, (y, names) in enumerate(plan)]
    return chain


class Intruder:
    """A linear program over the cells of all releases of a chain."""

    def __init__(self, chain: Chain, way: str) -> None:
        self.chain, self.way = chain, way
        self.cells: dict[Key, int] = {}
        self.true: list[float] = []
        self.bounds: list[tuple[float, float]] = []
        self.levels: dict[Key, tuple[float, float]] = {}
        self.rows: list[dict[int, float]] = []
        self.limits: list[float] = []
        self.equations: list[dict[int, float]] = []
        for release in chain.releases:
            self.read(release)
        if chain.is_register:
            kept = defaultdict(list)
            for key, cell in self.cells.items():
                kept[(*key[1:], self.true[cell])].append(cell)
            for same in kept.values():
                self.equations += [{same[0]: 1.0, other: -1.0} for other in same[1:]]
        self.A, self.G = self.matrix(self.equations), self.matrix(self.rows)
        self.h = np.array(self.limits)
        truth = np.array(self.true)
        slack = 1e-6 * max(1, np.abs(truth).max())
        low, high = np.array(self.bounds).T
        holds = np.abs(self.A @ truth).max(initial=0) < slack
        holds &= (self.G @ truth - self.h).max(initial=0) < slack
        if not holds or (truth < low - 1e-9).any() or (truth > high + 1e-9).any():
            raise ValueError("the truth contradicts what the releases tell")

    def matrix(self, rows: list[dict[int, float]]) -> Any:
        """Coefficients of rows over all cells."""
        matrix = np.zeros((len(rows), len(self.true)))
        for i, row in enumerate(rows):
            matrix[i, list(row)] = list(row.values())
        return matrix

    def read(self, release: Release) -> None:
        """Learn one release: its cells, their sums, and its figures."""
        chain, folder = self.chain, self.chain.folder / f"{release.name}-{self.way}"
        public = folder / "release/suppression"
        table = _frame(public / "table.csv").rename(columns={chain.variables[0]: "value"})
        printed = {chain.key(release, row): row for row in table.itertuples()}
        for row in _frame(folder / "internal/problem.csv").itertuples():
            key, value = chain.key(release, row), float(row.value)
            if any("~" in code for code in key):  # a cell of an earlier release
                continue
            least, most = float(row.lower_bound), float(row.upper_bound)
            self.cells[key] = len(self.true)
            self.true.append(value)
            is_published = printed[key].status == "published"
            told = float(printed[key].value) if is_published else 0.0
            self.bounds.append((told, told) if is_published else (least, most))
            if row.status == "u":
                low, high = value - float(row.lower_protection), value + float(row.upper_protection)
                self.levels[key] = (max(low, least), min(high, most))
        for key in printed:
            for place, name in enumerate(chain.trees, start=2):
                if name not in release.dimensions:
                    continue
                parts = [_with(key, place, code) for code in chain.trees[name].get(key[place], [])]
                found = {self.cells[part]: 1.0 for part in parts if part in self.cells}
                if found:
                    self.equations.append({self.cells[key]: -1.0, **found})
        figures = {_label(figure): figure for figure in release.figures}
        if self.way == "apart":
            for figure in figures.values():
                variable = figure.get("variable") or figure["formula"].split(" / ")[0]
                for key in [key for key in printed if key[1] == variable]:
                    self.add_figure(release, figure, key)
        elif figures:
            for row in _frame(public / "figures.csv").itertuples():
                if row.status == "published":
                    key = chain.key(release, row)
                    self.add_figure(release, figures[row.figure], key, Fraction(row.value))

    def add_figure(
        self, release: Release, figure: Figure, key: Key, printed: Fraction | None = None
    ) -> None:
        """A figure scale * above / below + offset; computed if nothing is printed."""
        kind, codes = figure["figure"], key[2:]
        scale = 1 if kind in {"ratio", "average"} else 100
        offset = -100 if kind == "growth" else 0
        above = (release.name, figure.get("variable", ""), *codes)
        if kind == "ratio":
            first, second = figure["formula"].split(" / ")
            above, below = (release.name, first, *codes), (release.name, second, *codes)
        elif kind == "share":
            below = _with(above, 2 + list(self.chain.trees).index(figure["of"]), "Total")
        else:
            below = (figure.get("since") or figure.get("base"), *above[1:])
        size = 0.0
        if kind == "average":
            chosen = np.ones(len(release.records), dtype=bool)
            for name, code in zip(self.chain.trees, codes, strict=True):
                if code != "Total":
                    chosen &= release.records[name].isin(self.chain.leaves(name, code)).to_numpy()
            size = float(release.records["w"][chosen].sum())
        elif below in self.cells:
            size = self.true[self.cells[below]]
        if above not in self.cells or above == below or size <= 0:
            return
        cell = self.cells[above]
        if printed is None:
            exact = scale * Fraction(self.true[cell]) / Fraction(size) + offset
            printed = round(exact, figure["decimals"])
        half = Fraction(1, 2 * 10 ** figure["decimals"])
        for sign, end in ((-1, printed - half - offset), (1, printed + half - offset)):
            if kind == "average":
                self.rows.append({cell: float(sign)})
                self.limits.append(float(sign * end * Fraction(size)))
            else:
                top = sign / Fraction(max(scale, abs(end)))  # coefficients of at most 1
                self.rows.append({cell: float(scale * top), self.cells[below]: float(-end * top)})
                self.limits.append(0.0)

    def exposed(self) -> list[Key]:
        """Sensitive cells that he bounds more narrowly than their levels allow."""
        found = []
        for key, (low, high) in self.levels.items():
            slack = 1e-6 * max(1, abs(self.true[self.cells[key]]))
            if self.end(key, 1) > low + slack or self.end(key, -1) < high - slack:
                found.append(key)
        return found

    def end(self, key: Key, sign: int) -> float:
        """The least (sign 1) or largest (-1) value that a cell may have."""
        cost = np.zeros(len(self.true))
        cost[self.cells[key]] = sign
        known = {"A_eq": self.A, "b_eq": np.zeros(len(self.equations))} if self.equations else {}
        if self.rows:
            known |= {"A_ub": self.G, "b_ub": self.h}
        found = linprog(cost, bounds=self.bounds, method="highs", **known)
        if found.status == 3:
            return -sign * np.inf
        # A program that fails counts as an exposed cell.
        return float(found.x[self.cells[key]]) if found.status == 0 else sign * np.inf


def _frame(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _with(key: Key, place: int, code: str) -> Key:
    return (*key[:place], code, *key[place + 1 :])


def _label(figure: Figure) -> str:
    formats = {
        "growth": "growth of {variable} since {since}",
        "index": "index of {variable}, {base} = 100",
        "share": "{variable} in % of {of}",
        "average": "mean of {variable}",
        "ratio": "{formula}",
    }
    return formats[figure["figure"]].format_map(figure)


def listed(chain: Chain) -> Iterator[Key]:
    """Cells that a job lists as disclosed by earlier releases."""
    earlier = re.compile(r"~earlier~(?:register )?(.*?): ")
    for release in chain.releases:
        path = chain.folder / f"{release.name}-together/internal/suppression_published_before.csv"
        for cell in _frame(path)["cell"] if path.exists() else []:
            codes = dict(part.split("=", 1) for part in earlier.sub("", cell).split(", "))
            of = earlier.search(cell)
            name = release.name
            if of:
                name = chain.releases[int(of[1]) - 1].name if chain.is_register else of[1]
            variable = codes.get("variable", chain.variables[0])
            yield (name, variable, *(codes.get(place, "Total") for place in chain.trees))


def attack(number: int, folder: Path) -> Counter[str]:
    """Protect a chain both ways, attack it, print what was found, and count."""
    made = chain_of_register if number % 2 else chain_of_years
    chain = made(number // 2, folder)
    for way in ("apart", "together"):
        for release in chain.releases:
            said = chain.protect(release, way)
            if said:
                print(f"chain {number} cannot be protected {way}: {release.name}: {said}")
                return Counter(chains=1, refused=1)
    apart = Intruder(chain, "apart").exposed()
    intruder = Intruder(chain, "together")
    found, known = set(intruder.exposed()), set(listed(chain))
    for key in sorted(found - known):
        print(f"FAILURE, chain {number}: {key} is exposed", flush=True)
    count = Counter(chains=1, cells=len(intruder.true), sensitive=len(intruder.levels))
    return count + Counter(apart=len(apart), together=len(found - known), listed=len(found & known))


def main() -> int:
    """Attack chains, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--chains", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0, help="number of the first chain")
    parser.add_argument("--keep", type=Path, help="folder for the files")
    options = parser.parse_args()
    time.monotonic = time.process_time
    total: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        for number in range(options.seed, options.seed + options.chains):
            folder = (options.keep or Path(scratch)) / f"chain{number}"
            folder.mkdir(parents=True)
            total += attack(number, folder)
    print(
        f"{total['chains']} chains ({total['refused']} cannot be protected), {total['cells']:,} "
        f"cells, {total['sensitive']:,} sensitive: {total['apart']:,} exposed apart, "
        f"{total['together']} together, {total['listed']} by what a job lists as published before"
    )
    return int(total["together"] > 0)


if __name__ == "__main__":
    sys.exit(main())

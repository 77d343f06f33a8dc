"""Suppressed tables of counts against the enumeration of all tables that a reader must consider.

The enumeration shares no code with the package: it lists every table of whole numbers that agrees
with what is published, and looks what all of them have in common. Tables that are asked the same
are searched as the unconnected parts of one, which takes a tenth of the time.

Run on its own, patterns are searched for all tables:

    python tests/suppression/test_frequency_tables.py
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import block_diag, csr_array

import tablecloak as tc

Cell = tuple[int, int]
"""Row and column of a table; the last of each is the total."""

MOST = 10
"""Everybody knows that no count is larger."""


@dataclass(frozen=True)
class Asked:
    """What is asked of a table: may zeros be hidden, which counts and which rests are too small."""

    zeros: str
    minimum: int
    most: int

    @property
    def rules(self) -> list[object]:
        small = [tc.MinimumFrequency(self.minimum)] if self.minimum else []
        groups = {-1: [], 0: [tc.AttributeDisclosure()]}
        return small + groups.get(self.most, [tc.KDisclosure(max(self.most, 0))])

    def sensitive(self, true: np.ndarray) -> np.ndarray:
        small = (true > 0) & (true < self.minimum)
        return small | ((true == 0) & (self.zeros == "protected"))

    def rests(self, true: np.ndarray) -> list[tuple[Cell, Cell]]:
        """Every total p with a part c > 0 for which p - c is too small."""
        last_row, last = (size - 1 for size in true.shape)
        along_rows = itertools.product(range(last_row + 1), range(last))
        along_columns = itertools.product(range(last_row), range(last + 1))
        pairs = [((row, last), (row, column)) for row, column in along_rows]
        pairs += [((last_row, column), (row, column)) for row, column in along_columns]
        return [(p, c) for p, c in pairs if true[c] > 0 and true[p] - true[c] <= self.most]

    def hidden_at_most(self, true: np.ndarray) -> np.ndarray:
        return (true > 0) | (self.zeros != "public")

    def is_safe(self, true: np.ndarray, hidden: np.ndarray) -> bool:
        """Whether no sensitive count is determined and no small rest is known to be small."""
        every = possible_tables(true, hidden, least=int(self.zeros == "public"))
        low, high = every.min(axis=0), every.max(axis=0)
        if np.any((low == high)[self.sensitive(true)]):
            return False
        return all(
            np.any(every[:, p[0], p[1]] - every[:, c[0], c[1]] > self.most)
            for p, c in self.rests(true)
        )


def with_totals(inner: np.ndarray) -> np.ndarray:
    """Inner counts with all margins, shape (..., rows + 1, columns + 1)."""
    wider = np.concatenate([inner, inner.sum(axis=-1, keepdims=True)], axis=-1)
    return np.concatenate([wider, wider.sum(axis=-2, keepdims=True)], axis=-2)


def possible_tables(true: np.ndarray, hidden: np.ndarray, least: int) -> np.ndarray:
    """All tables of two rows that agree with the published cells, margins included."""

    def agrees(sums: np.ndarray, cells: object) -> np.ndarray:
        return np.where(hidden[cells], sums <= MOST, sums == true[cells])

    rows = []
    for row in (0, 1):
        ranges = [
            range(least, MOST + 1) if hide else [count]
            for hide, count in zip(hidden[row, :-1], true[row, :-1], strict=True)
        ]
        every = np.array(list(itertools.product(*ranges)))
        rows.append(every[agrees(every.sum(axis=1), (row, -1))])
    both = rows[0][:, None, :] + rows[1][None, :, :]
    fits = agrees(both, (-1, slice(-1))).all(axis=2) & agrees(both.sum(axis=2), (-1, -1))
    one, other = np.nonzero(fits)
    return with_totals(np.stack([rows[0][one], rows[1][other]], axis=1))


def random_table(seed: int) -> np.ndarray:
    """Counts of at most 9 persons in two rows and two or three columns, with margins."""
    random = np.random.default_rng(seed)
    shape = (2, int(random.integers(2, 4)))
    inner = np.zeros(shape, dtype=np.int64)
    while not 2 <= inner.sum() < MOST:
        inner = random.choice([0, 0, 1, 1, 2, 4], size=shape)
    return with_totals(inner)


def as_table(tables: list[np.ndarray]) -> tc.Table:
    """Several tables as one, whose relations do not connect them."""
    keys, relations = [], []
    for number, true in enumerate(tables):
        rows, columns = true.shape
        cells = list(np.ndindex(true.shape))
        names = [
            ("T" if at == rows - 1 else str(at), "T" if to == columns - 1 else str(to))
            for at, to in cells
        ]
        keys += [(str(number), *codes) for codes in names]
        lines = [[(at, to) for to in range(columns)] for at in range(rows)]
        lines += [[(at, to) for at in range(rows)] for to in range(columns)]
        relation = np.zeros((len(lines), len(cells)))
        for line, members in enumerate(lines):
            relation[line, [cells.index(cell) for cell in members]] = [1] * (len(members) - 1) + [
                -1
            ]
        relations.append(relation)
    return tc.Table(
        keys=pd.DataFrame(keys, columns=["table", "row", "column"]),
        values=np.concatenate([true.ravel() for true in tables]).astype(float),
        relations=csr_array(block_diag(relations)),
        right_hand_side=np.zeros(sum(map(len, relations))),
        name="count",
    )


def problem_of(asked: Asked, tables: list[np.ndarray]) -> tc.ProtectionProblem:
    bounds = {"external_bounds": (0, MOST), "weights": "unit"}
    return as_table(tables).protect(*asked.rules, zeros=asked.zeros, **bounds)


def hidden_cells(asked: Asked, tables: list[np.ndarray]) -> list[np.ndarray]:
    """Which cells the release of each table hides."""
    problem = problem_of(asked, tables)
    pattern = tc.suppress(problem, method="sequential", protect_against="integers", threads=1)
    assert pattern.is_proved_in_whole_numbers
    release = pattern.release()
    shown = release.set_index(["table", "row", "column"]).status
    order = as_table(tables).keys.itertuples(index=False, name=None)
    flags = (shown.loc[list(order)] == "suppressed").to_numpy()
    ends = np.cumsum([true.size for true in tables])[:-1]
    parts = np.split(flags, ends)
    return [part.reshape(true.shape) for part, true in zip(parts, tables, strict=True)]


def tables_of(asked: Asked, number: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Some tables that a pattern can protect, by enumeration, and some that none can."""
    first = 1000 * QUESTIONS.index(asked)
    tables = [random_table(seed) for seed in range(first, first + number)]
    possible = [asked.is_safe(true, asked.hidden_at_most(true)) for true in tables]
    refused = [not can_be for can_be in possible]
    return list(itertools.compress(tables, possible)), list(itertools.compress(tables, refused))


QUESTIONS = [
    Asked("public", 3, -1),
    Asked("public", 2, 1),
    Asked("candidates", 3, 0),
    Asked("candidates", 0, 2),
    Asked("protected", 2, -1),
    Asked("protected", 3, 1),
]

EACH = 34
"""Tables for each question: 204 together."""


def check_patterns(asked: Asked, number: int) -> tuple[int, int]:
    """Search patterns for some tables and check each; return how many were found and refused."""
    protected, refused = tables_of(asked, number)
    for true, hidden in zip(protected, hidden_cells(asked, protected), strict=True):
        assert asked.is_safe(true, hidden), (asked, true, hidden)
    for true in refused:
        with pytest.raises(tc.ModelError):
            hidden_cells(asked, [true])
    return len(protected), len(refused)


@pytest.mark.parametrize("asked", QUESTIONS, ids=str)
def test_patterns_hold_against_the_enumeration_of_whole_tables(asked):
    """Tables that no pattern protects are refused."""
    found, _ = check_patterns(asked, 4)
    assert found >= 1


@pytest.mark.parametrize("asked", QUESTIONS, ids=str)
def test_verdicts_on_any_pattern_are_those_of_the_enumeration(asked):
    """Of 204 tables with random secondaries each sensitive count and each rest is judged."""
    tables, _ = tables_of(asked, EACH)
    problem = problem_of(asked, tables)
    random = np.random.default_rng(QUESTIONS.index(asked))
    may = ~problem.frozen & (random.random(problem.table.n_cells) < 0.5)
    hidden = problem.sensitive | may
    audit = tc.audit(problem, hidden, intruders="integers", threads=1)
    judged = dict(zip(np.flatnonzero(problem.sensitive).tolist(), audit.verdicts, strict=True))
    judged |= {found.cell: found.verdict for found in audit.findings}
    expected = enumerated(asked, tables, problem, hidden)
    assert {cell: verdict is tc.Verdict.PROTECTED for cell, verdict in judged.items()} == expected
    assert tc.Verdict.UNDECIDED not in judged.values()
    assert 0 < sum(expected.values()) < len(expected)


def enumerated(
    asked: Asked, tables: list[np.ndarray], problem: tc.ProtectionProblem, hidden: np.ndarray
) -> dict[int, bool]:
    """Whether each sensitive cell can lie as far from its value as its levels say."""
    found = {}
    sizes = np.cumsum([0, *(true.size for true in tables)])
    keys = problem.table.keys.to_numpy()
    for number, true in enumerate(tables):
        own = hidden[sizes[number] : sizes[number + 1]].reshape(true.shape)
        every = possible_tables(true, own, least=int(asked.zeros == "public"))
        for cell in np.flatnonzero(problem.sensitive & (keys[:, 0] == str(number))).tolist():
            values = seen(every, keys[cell, 1:])
            value = problem.table.values[cell]
            found[cell] = bool(
                values.min() <= value - problem.lower_protection[cell]
                and values.max() >= value + problem.upper_protection[cell]
                and values.min() < values.max()
            )
    return found


def seen(every: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The value of a cell, or of a rest, in each possible table."""
    at = [-1 if code.endswith("T") else int(code.removeprefix("~not~")) for code in codes]
    cells = every[:, at[0], at[1]]
    if codes[0].startswith("~"):
        return every[:, -1, at[1]] - cells
    if codes[1].startswith("~"):
        return every[:, at[0], -1] - cells
    return cells


if __name__ == "__main__":
    for question in QUESTIONS:
        print(question, check_patterns(question, EACH))

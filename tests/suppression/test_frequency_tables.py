"""Suppressed tables of counts against the enumeration of all tables that a reader must consider.

The enumeration shares no code with the package: it lists every table of whole numbers that agrees
with what is published, and looks what all of them have in common.
"""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd

import tablecloak as tc

Cell = tuple[int, int]
"""Row and column; the last of each is the total."""


def with_totals(inner: np.ndarray) -> np.ndarray:
    """Inner counts with all margins, shape (..., rows + 1, columns + 1)."""
    wider = np.concatenate([inner, inner.sum(axis=-1, keepdims=True)], axis=-1)
    return np.concatenate([wider, wider.sum(axis=-2, keepdims=True)], axis=-2)


def possible_tables(true: np.ndarray, hidden: np.ndarray, least: int, most: int) -> np.ndarray:
    """All tables of two rows that agree with the published cells, margins included."""
    rows = []
    for row in (0, 1):
        ranges = [
            range(least, most + 1) if hide else [count]
            for hide, count in zip(hidden[row, :-1], true[row, :-1], strict=True)
        ]
        every = np.array(list(itertools.product(*ranges)))
        total = every.sum(axis=1)
        fits = (total <= most) if hidden[row, -1] else (total == true[row, -1])
        rows.append(every[fits])
    first, second = (each.astype(np.int64) for each in rows)
    pairs = first[:, None, :] + second[None, :, :]
    agree = np.where(hidden[-1, :-1], pairs <= most, pairs == true[-1, :-1]).all(axis=2)
    total = pairs.sum(axis=2)
    agree &= (total <= most) if hidden[-1, -1] else (total == true[-1, -1])
    one, other = np.nonzero(agree)
    return with_totals(np.stack([first[one], second[other]], axis=1))


def small_rests(true: np.ndarray, most: int) -> list[tuple[Cell, Cell]]:
    """Every total p and part c > 0 of it along a row or a column with p - c <= most."""
    n_rows, n_columns = true.shape
    pairs = [
        *(
            ((row, n_columns - 1), (row, column))
            for row in range(n_rows)
            for column in range(n_columns - 1)
        ),
        *(
            ((n_rows - 1, column), (row, column))
            for column in range(n_columns)
            for row in range(n_rows - 1)
        ),
    ]
    return [(p, c) for p, c in pairs if true[c] > 0 and true[p] - true[c] <= most]


class Case:
    """A random table of persons with what is asked of it."""

    def __init__(self, seed: int) -> None:
        random = np.random.default_rng(seed)
        inner = random.choice([0, 0, 1, 1, 2, 3, 5], size=(2, int(random.integers(2, 4))))
        inner[0, 0] += 1
        self.true = with_totals(inner)
        self.zeros = ["public", "candidates", "protected"][seed % 3]
        self.minimum = int(random.integers(1, 4))
        self.most = int(random.integers(-1, 3))

    @property
    def sensitive(self) -> np.ndarray:
        small = (self.true > 0) & (self.true < self.minimum)
        return small | ((self.true == 0) & (self.zeros == "protected"))

    @property
    def rests(self) -> list[tuple[Cell, Cell]]:
        return small_rests(self.true, self.most) if self.most >= 0 else []

    def protected(self) -> tc.ProtectionProblem:
        codes = [[*map(str, range(size - 1)), "Total"] for size in self.true.shape]
        frame = pd.DataFrame(list(itertools.product(*codes)), columns=["r", "c"])
        frame["count"] = self.true.ravel()
        rules = [tc.MinimumFrequency(self.minimum)]
        if self.most == 0:
            rules.append(tc.AttributeDisclosure())
        elif self.most > 0:
            rules.append(tc.KDisclosure(self.most))
        table = tc.Table.from_frame(frame, ["r", "c"], "count")
        return table.protect(*rules, zeros=self.zeros, weights="unit")

    def is_safe(self, hidden: np.ndarray) -> bool:
        """Whether no sensitive count is determined and no small rest is known to be small."""
        every = possible_tables(
            self.true, hidden, int(self.zeros == "public"), int(1.5 * self.true.max())
        )
        low, high = every.min(axis=0), every.max(axis=0)
        if np.any((low == high)[self.sensitive]):
            return False
        return all(
            (every[:, p[0], p[1]] - every[:, c[0], c[1]]).max() > self.most for p, c in self.rests
        )


def hidden_in(release: pd.DataFrame, shape: tuple[int, int]) -> np.ndarray:
    """Which cells a release hides, the total last."""
    ordered = release.sort_values(["r", "c"])
    return (ordered.status == "suppressed").to_numpy().reshape(shape)


def test_patterns_of_random_tables_hold_against_enumeration():
    told = {"safe": 0, "impossible": 0}
    for seed in range(6):
        case = Case(seed)
        try:
            problem = case.protected()
            pattern = tc.suppress(problem, protect_against="integers", threads=1)
        except tc.ModelError:
            # Then hiding all that may be hidden does not help either.
            most = np.ones(case.true.shape, bool) if case.zeros != "public" else case.true > 0
            assert not case.is_safe(most), seed
            told["impossible"] += 1
            continue
        hidden = hidden_in(pattern.release(), case.true.shape)
        assert case.is_safe(hidden), seed
        assert pattern.is_proved_in_whole_numbers
        told["safe"] += 1
    assert told["safe"] >= 3

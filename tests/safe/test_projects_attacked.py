"""Whole projects of tables, attacked from what their frames show and nothing else."""

from itertools import combinations

import numpy as np
import pandas as pd

from tablecloak.safe import Project

THRESHOLD = 3


def shown_rows(frame, keys, row, column):
    """The records behind each number of a frame of counts, and the number itself."""
    rows, told = [], []
    for first in frame.index:
        for second in frame.columns:
            if np.isnan(frame.loc[first, second]):
                continue
            of_row = np.full(len(keys), first == "All") | (keys[row] == first).to_numpy()
            of_column = np.full(len(keys), second == "All") | (keys[column] == second).to_numpy()
            rows.append(of_row & of_column)
            told.append(frame.loc[first, second])
    return rows, told


def project_of(seed):
    """Tables of counts of one frame, with and without filters, as a researcher asks for them."""
    rng = np.random.default_rng(seed)
    n = 40
    people = pd.DataFrame(
        {
            "area": rng.choice(["N", "S"], n, p=[0.6, 0.4]),
            "trade": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "size": rng.choice(["1", "2"], n),
            "age": rng.integers(16, 90, n),
        }
    )
    project = Project({"safe_threshold": THRESHOLD, "zeros_are_disclosive": False})
    asked = []
    for _ in range(int(rng.integers(3, 11))):
        row, column = rng.permutation(["area", "trade", "size"])[:2]
        chosen = people
        if rng.random() < 0.6:
            chosen = people[people.age >= rng.choice([18, 20, 25, 30])]
        frame = project.crosstab(chosen[row], chosen[column], margins=True)
        asked.append((frame, chosen, row, column))
    return people, asked


def test_no_small_group_follows_from_all_tables_that_passed():
    n_shown = n_changed = 0
    for seed in range(3):
        people, asked = project_of(seed)
        rows = []
        for number, (frame, chosen, row, column) in enumerate(asked):
            assert frame.outcome.status == "pass"
            within, told = shown_rows(frame, chosen, row, column)
            for group, figure in zip(within, told, strict=True):
                assert group.sum() == figure
                whole = np.zeros(len(people))
                whole[people.index.get_indexer(chosen.index[group])] = 1
                rows.append(whole)
            notes = [note for note in frame.outcome.notes if "together with output_" in note]
            assert not notes or number > 0
            n_changed += len(notes)
        n_shown += len(rows)
        matrix = np.array(rows)
        onto = np.linalg.pinv(matrix) @ matrix
        groups = few_records(len(people))
        follows = np.abs(groups @ onto - groups).max(axis=1) < 1e-9
        assert not follows.any(), (seed, np.flatnonzero(groups[follows][0]))
    assert n_shown > 120
    assert n_changed > 4


def few_records(n):
    """Every group of fewer records than the threshold."""
    groups = [some for size in range(1, THRESHOLD) for some in combinations(range(n), size)]
    found = np.zeros((len(groups), n))
    for number, some in enumerate(groups):
        found[number, list(some)] = 1
    return found

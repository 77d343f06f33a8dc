"""Which groups the columns of a regression single out, beside all groups there are."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project
from tablecloak.safe.other.design_matrix import DesignMatrix

THRESHOLD = 4


def design_of(seed, n=18, k=4, *, contributor=None):
    """Columns of two values, which need not be categories of anything, and a constant or none."""
    rng = np.random.default_rng(seed)
    matrix = (rng.random((n, k)) < 0.4) + float(seed % 2)
    if rng.random() < 0.6:
        matrix = np.column_stack([np.ones(n), matrix])
    names = tuple(f"x{column}" for column in range(matrix.shape[1]))
    own = np.arange(n) if contributor is None else contributor
    return DesignMatrix(matrix, names, own, np.ones(n))


def exposed(design):
    """The least small groups whose indicator is a combination of the columns, by projection."""
    matrix = design.matrix
    onto = matrix @ np.linalg.pinv(matrix)
    patterns, at = np.unique(matrix, axis=0, return_inverse=True)
    found = set()
    for chosen in itertools.product([False, True], repeat=len(patterns)):
        group = np.array(chosen)[at.ravel()]
        few = 0 < len(np.unique(design.contributor[group])) < THRESHOLD
        if few and np.abs(onto @ group - group).max() < 1e-9:
            found.add(tuple(np.flatnonzero(group).tolist()))
    return {one for one in found if not any(set(other) < set(one) for other in found)}


def test_every_small_group_of_records_that_columns_single_out_is_found():
    n_found = 0
    for seed in range(30):
        design = design_of(seed, n=12, k=4)
        groups, is_complete = design.small_groups(THRESHOLD)
        assert is_complete
        expected = exposed(design)
        assert len(groups) == len(expected), seed
        assert sorted(n for _, n in groups) == sorted(map(len, expected))
        n_found += len(groups)
    assert n_found > 10


def test_contributors_of_several_records_count_once_in_each_group():
    n_found = 0
    for seed in range(15):
        who = np.random.default_rng(seed).integers(0, 7, 18)
        design = design_of(seed, k=3, contributor=who)
        expected = exposed(design)
        sizes = sorted(len(set(who[list(group)].tolist())) for group in expected)
        assert sorted(n for _, n in design.small_groups(THRESHOLD)[0]) == sizes
        n_found += len(sizes)
    assert n_found > 5


def test_leverages_add_up_to_the_number_of_parameters():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        matrix = rng.normal(size=(20, 4))
        matrix = np.column_stack([matrix, matrix[:, 0] - 2 * matrix[:, 1], np.zeros(20)])
        design = DesignMatrix(matrix, tuple("abcdef"), np.arange(20), np.ones(20))
        assert design.rank == 4
        assert abs(design.leverage.sum() - design.rank) < 1e-9
        hat = matrix @ np.linalg.pinv(matrix)
        np.testing.assert_allclose(design.leverage, np.diag(hat), atol=1e-9)
        assert design.singled_out(np.ones(20, dtype=bool)) == bool(
            np.abs(hat @ np.ones(20) - 1).max() < 1e-4
        )


def statuses(formula, n_ill):
    """Of an olsr of 300 persons, and a table of sums, where so many of 20 surgeons are ill."""
    pytest.importorskip("statsmodels")
    random = np.random.default_rng(2)
    n = 300
    people = pd.DataFrame(
        {
            "job": np.where(np.arange(n) < 20, "surgeon", random.choice(["clerk", "nurse"], n)),
            "age": random.integers(18, 80, n),
            "ill": random.integers(0, 2, n),
        }
    )
    people.loc[:19, "ill"] = [1] * n_ill + [0] * (20 - n_ill)
    shown = Project({"safe_threshold": 5}).pivot_table(people, "ill", "job", aggfunc="sum")
    project = Project({"safe_threshold": 5})
    project.olsr(formula, people)
    return project.output("output_0").outcome.status, bool(np.isnan(shown.ill["surgeon"]))


def test_a_category_is_judged_as_the_table_of_the_same_sums():
    for n_ill, is_hidden in ((19, True), (2, True), (20, True), (10, False)):
        assert statuses("ill ~ C(job)", n_ill) == ("fail" if is_hidden else "pass", is_hidden)
        # The sum follows for whoever knows the ages of surgeons, or their mean.
        with_age = "review" if is_hidden else "pass"
        assert statuses("ill ~ C(job) + age", n_ill) == (with_age, is_hidden)


def test_coefficients_of_a_function_of_a_code_have_few_digits_and_those_of_a_code_all():
    rng = np.random.default_rng(3)
    level = rng.choice([1, 2, 3, 4, 5], 1200, p=[0.4, 0.3, 0.2, 0.08, 0.02])
    frame = pd.DataFrame({"region": rng.choice(list("NESW"), 1200), "level": level})
    frame["root"], frame["answer"] = np.sqrt(level), np.where(level == 5, 99, level)
    limits = {"safe_threshold": 10, "zeros_are_disclosive": False}
    shown = {}
    for y in ("root", "level", "answer"):
        project = Project(limits, data=frame)
        project.olsr(f"{y} ~ C(region)", frame)
        (shown[y],) = project.outputs.values()
    means = frame.groupby("region")["root"].mean()
    coefficients = shown["root"].frames[0]["coefficient"]
    assert shown["root"].outcome.status == shown["level"].outcome.status == "pass"
    assert any("digits" in note for note in shown["root"].outcome.notes)
    assert 1e-7 < abs(coefficients.iloc[0] - means["E"]) < 1e-2
    exact = shown["level"].frames[0]["coefficient"].iloc[0]
    assert exact == pytest.approx(frame["level"][frame["region"] == "E"].mean(), abs=1e-12)
    # Of the mean, five or six of a region that have 99 are told apart.
    assert shown["answer"].outcome.status == "fail"

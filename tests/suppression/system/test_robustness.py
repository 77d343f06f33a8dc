"""How much an intruder must learn before a pattern gives way."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import null_space
from scipy.sparse import csr_array

import tablecloak as tc
from margins import with_margins
from random_tables import random_problem
from tablecloak.suppression.system.robustness import Robustness, Solutions


def two_way(n_rows: int, n_columns: int, sensitive=()) -> tc.ProtectionProblem:
    """A table of rows r0, r1, ... and columns c0, c1, ... with totals."""
    codes = [
        [f"r{number}" for number in range(n_rows)],
        [f"c{number}" for number in range(n_columns)],
    ]
    frame = pd.DataFrame(list(itertools.product(*codes)), columns=["r", "c"]).assign(v=50.0)
    table = with_margins(frame, ["r", "c"], "v")
    status = np.full(table.n_cells, "s")
    for row, column in sensitive:
        status[table.cell(r=f"r{row}", c=f"c{column}")] = "u"
    level = np.where(status == "u", 5.0, 0.0)
    return tc.ProtectionProblem(
        table=table,
        status=status,
        lower_protection=level,
        upper_protection=level,
        sliding_protection=0 * level,
        lower_bound=0 * level,
        upper_bound=np.full(table.n_cells, 10_000.0),
        weights=np.ones(table.n_cells),
    )


def hidden(problem: tc.ProtectionProblem, cells) -> np.ndarray:
    flags = np.zeros(problem.table.n_cells, dtype=bool)
    flags[[problem.table.cell(r=f"r{row}", c=f"c{column}") for row, column in cells]] = True
    return flags


def test_a_rectangle_has_dimension_1_and_one_value_tells_all():
    problem = two_way(4, 5, sensitive=[(0, 0), (2, 3)])
    found = Robustness.of(problem, hidden(problem, [(0, 0), (0, 3), (2, 0), (2, 3)]))
    assert found.dimension == 1
    assert found.most_told == 2
    assert found.n_exposed == 2
    assert found.to_frame().values.tolist() == [[4, 2, 1, 2]]
    assert found.summary() == (
        "whoever learns the right unpublished value can compute all others; any one alone gives "
        "away at most 2 of 2 sensitive cells"
    )


@pytest.mark.parametrize("k", [2, 3])
def test_rectangles_without_a_common_line_are_components_of_dimension_1(k):
    problem = two_way(2 * k, 2 * k, sensitive=[(2 * i, 2 * i) for i in range(k)])
    corners = [
        (2 * i + row, 2 * i + column) for i in range(k) for row in (0, 1) for column in (0, 1)
    ]
    found = Robustness.of(problem, hidden(problem, corners))
    assert found.dimension == k
    assert found.dimensions.tolist() == [1] * k
    assert found.most_told == 1


@pytest.mark.parametrize(("m", "n"), [(2, 2), (3, 4), (6, 5)])
def test_the_whole_interior_has_one_dimension_less_each_way(m, n):
    problem = two_way(m, n)
    found = Robustness.of(problem, hidden(problem, itertools.product(range(m), range(n))))
    assert found.dimension == (m - 1) * (n - 1)


def test_what_follows_from_published_cells_belongs_to_no_component():
    problem = two_way(4, 4, sensitive=[(3, 3)])
    corners = [(0, 0), (0, 1), (1, 0), (1, 1)]
    found = Robustness.of(problem, hidden(problem, [*corners, (3, 3), (0, 2)]))
    assert found.n_known == 2
    assert found.dimensions.tolist() == [1]
    # The only sensitive cell is known already: nothing more has to be learned of it.
    assert found.most_told == 0


def test_copies_of_a_figure_do_not_expose_it():
    frame = pd.DataFrame(
        list(itertools.product(["A1", "B", "C"], "xyz")), columns=["r", "c"]
    ).assign(v=50.0)
    trees = {
        "r": tc.Hierarchy.from_dict({"A": {"A1": {}}, "B": {}, "C": {}}),
        "c": tc.Hierarchy.from_dict({"x": {}, "y": {}, "z": {}}),
    }
    table = with_margins(frame, trees, "v")
    inner = (table.keys.r != "Total") & (table.keys.c != "Total")
    status = np.where(inner & (table.keys.r == "A1") & (table.keys.c == "x"), "u", "s")
    level = np.where(status == "u", 5.0, 0.0)
    problem = tc.ProtectionProblem(
        table=table, status=status, lower_protection=level, upper_protection=level,
        sliding_protection=0 * level, lower_bound=0 * level, upper_bound=level + 1000,
        weights=np.ones(table.n_cells),
    )  # fmt: skip
    found = Robustness.of(problem, inner.to_numpy())
    assert (found.dimension, found.most_told, found.n_exposed) == (4, 1, 0)


@given(st.integers(0, 300), st.floats(0.2, 1.0))
def test_dimension_and_groups_are_those_of_a_dense_null_space(seed, share):
    problem = random_problem(seed, kind="nested" if seed % 2 else "coupled")
    random = np.random.default_rng(seed)
    cells = np.flatnonzero(random.random(problem.table.n_cells) < share)
    matrix = csr_array(problem.table.relations[:, cells])
    solutions = Solutions(matrix)
    basis = null_space(matrix.toarray(), rcond=1e-9) if len(cells) else np.zeros((0, 0))
    assert solutions.dimension == basis.shape[1]
    group = solutions.groups()
    moving = np.linalg.norm(basis, axis=1) > 1e-9
    assert np.array_equal(group >= 0, moving)
    for number in range(group.max(initial=-1) + 1):
        rows = basis[group == number]
        assert np.linalg.matrix_rank(rows, tol=1e-8) == 1
    assert len(solutions.free_cells()) == solutions.dimension


def test_decimal_coefficients_are_the_fractions_that_they_mean():
    assert Solutions(csr_array([[0.1, 0.2, -0.3], [1.0, 2.0, -3.0]])).dimension == 2


def test_whoever_knows_any_one_hidden_cell_can_be_kept_from_sensitive_ones():
    problem = two_way(4, 4, sensitive=[(0, 0), (1, 1)])
    careless = tc.suppress(problem, threads=1)
    careful = tc.suppress(problem, protect_against="any-cell", threads=1)
    assert careless.robustness.n_exposed > 0
    assert not tc.audit(problem, careless, intruders="any-cell").is_safe
    assert careful.robustness.n_exposed == 0
    assert tc.audit(problem, careful, intruders="any-cell").is_safe
    assert careful.loss > careless.loss
    assert any(f"the loss rises from {careless.loss:,.12g} to" in note for note in careful.notes)


def test_pattern_audit_and_comparison_tell_the_same_dimension():
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem, threads=1)
    audit = tc.audit(problem, pattern)
    text = pattern.robustness.summary()
    assert text in pattern.summary()
    assert text in audit.summary()
    row = tc.compare(problem, {"pattern": pattern}).table.loc["pattern"]
    assert row["dimension"] == pattern.robustness.dimension == audit.robustness.dimension
    assert row["told_by_one"] == pattern.robustness.most_told

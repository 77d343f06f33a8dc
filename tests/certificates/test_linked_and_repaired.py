"""Certificates of tables with common cells, of repaired problems, and of tables that do not add up.

Linked tables are one problem: a cell that two of them share is one cell, and a proof has to satisfy
the relations of both.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

import random_tables
import tablecloak as tc
from tablecloak.certificates.claim import Claim, arrays_of
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import RefusedError, main, verify

Arrays = dict[str, Any]


@pytest.fixture(scope="module")
def linked() -> tc.ProtectionProblem:
    """Turnover by region and industry, and by industry and size: industries are in both."""
    frame = tc.examples.firms(150, 4)
    table = tc.tabulate(
        frame, ["region", "industry", "size"], "turnover", contributor="firm", decimals=0,
        tables=[["region", "industry"], ["industry", "size"]],
    )  # fmt: skip
    problem = table.protect(tc.PPercent(10))
    assert problem.n_sensitive > 2
    return problem


def common_cells(problem: tc.ProtectionProblem) -> Any:
    """Cells with relations in both tables."""
    keys = problem.table.keys
    return np.flatnonzero((keys.region == "Total") & (keys["size"] == "Total")
                          & (keys.industry != "Total"))  # fmt: skip


def relations_with(problem: tc.ProtectionProblem, column: str) -> Any:
    """Numbers of the relations of the table that a variable belongs to."""
    own = (problem.table.keys[column] != "Total").to_numpy()
    return np.flatnonzero(abs(problem.table.relations) @ own.astype(float) > 0)


RELEASES = {
    "suppression": lambda problem: tc.suppress(problem, time_limit=5),
    "intervals": lambda problem: tc.publish_intervals(problem, seed=1, time_limit=5),
    "adjustment": lambda problem: tc.adjust(problem, preserve=["mean:all"], time_limit=5),
    "rounding": lambda problem: tc.controlled_rounding(problem, base=25, time_limit=5),
}


@pytest.mark.parametrize("release", RELEASES)
def test_linked_tables_have_certificates_of_every_claim(release, linked, tmp_path):
    shared = common_cells(linked)
    degree = np.diff(linked.table.relations.tocsc().indptr)
    assert len(shared) > 1
    assert np.all(degree[shared] >= 2)
    result = RELEASES[release](linked)
    for claim in result.certificates:
        assert claim.verify(linked)[0].startswith("PROVED: ")
    assert result.certificates[-1].kind == "bound"
    write_certificate(result, tmp_path / "proof.npz")
    tc.write_problem(linked, tmp_path / "linked.jj")
    # Rounding proves no protection, and says so by a code of its own.
    code = main([str(tmp_path / "proof.npz"), str(tmp_path / "linked.jj")])
    assert code == (3 if release == "rounding" else 0)


def alone(problem: tc.ProtectionProblem, column: str) -> tc.ProtectionProblem:
    """The same cells and levels, with the relations of one of the tables only."""
    table, rows = problem.table, relations_with(problem, column)
    own = tc.Table(
        keys=table.keys, values=table.values, relations=csr_array(table.relations[rows, :]),
        right_hand_side=table.right_hand_side[rows], hierarchies=table.hierarchies,
        name=table.name,
    )  # fmt: skip
    return problem.with_changes(table=own)


@pytest.mark.parametrize("column", ["region", "size"])
def test_a_proof_for_one_of_two_linked_tables_is_none_for_both(column, linked, tmp_path):
    """Somebody with both tables subtracts through the industries that they share."""
    single = alone(linked, column)
    pattern = tc.suppress(single, method="sequential", time_limit=5)
    arrays = arrays_of(pattern.certificate.certificates, single)
    assert verify(arrays)[0].startswith("PROVED: ")
    of_both = arrays_of(pattern.certificate.certificates, linked)
    with pytest.raises(RefusedError, match="breaks relation|follow from single relations"):
        verify(of_both)
    # Nor does it pass for a proof of the linked problem by leaving the other relations out.
    tc.write_problem(linked, tmp_path / "linked.jj")
    with pytest.raises(RefusedError, match="the number of relations differs"):
        verify(arrays, tmp_path / "linked.jj")


def test_a_common_cell_that_moves_in_one_of_its_tables_only_is_refused(linked):
    """The released table adds up in one table, and not in the other."""
    result = tc.adjust(linked, time_limit=5)
    arrays = arrays_of(result.certificates, linked)
    cell, total = common_cells(linked)[0], linked.table.keys
    inner = np.flatnonzero((total.industry == total.industry[cell]) & (total.region != "Total"))
    changed = arrays["published"].copy()
    changed[[cell, inner[-1]]] += 1.0
    with pytest.raises(RefusedError, match=r"the released table breaks \d relations"):
        verify({**arrays, "published": changed})
    with pytest.raises(tc.VerificationError):
        released = type(result.certificates[0].released)(
            "adjustment", {**result.certificates[0].released.arrays, "published": changed}
        )
        Claim("additivity", released).verify(linked)


def test_a_certificate_of_a_repaired_problem_is_about_the_lowered_levels(tmp_path):
    """It is proved for what gave way, and refused beside the problem that was asked for."""
    problem = random_tables.random_problem(2, n_sensitive=3)
    tight = problem.with_changes(
        upper_bound=problem.table.values + np.where(problem.sensitive, 1.0, 1000.0),
        lower_bound=problem.table.values - np.where(problem.sensitive, 1.0, 1000.0),
    )
    with pytest.raises(tc.ModelError):
        tc.adjust(tight, time_limit=5)
    adjusted = tc.adjust(tight, repair=True, time_limit=5)
    lowered = adjusted.problem
    assert np.any(lowered.upper_protection + lowered.lower_protection
                  < tight.upper_protection + tight.lower_protection)  # fmt: skip
    proof, given, repaired = (tmp_path / name for name in ("c.npz", "given.jj", "repaired.jj"))
    write_certificate(adjusted, proof)
    tc.write_problem(tight, given)
    tc.write_problem(lowered, repaired)
    assert main([str(proof), str(repaired)]) == 0
    assert main([str(proof), str(given)]) == 1
    for claim in adjusted.certificates:
        claim.verify(lowered)
    with pytest.raises(tc.VerificationError, match="too near to the truth|moves|cannot move"):
        adjusted.certificates[0].verify(tight)


@pytest.fixture
def not_additive(tmp_path) -> Any:
    """The file of a table of which one total is half a unit too large, as if rounded by hand."""
    problem = random_tables.random_problem(5, n_sensitive=2)
    keys, values = problem.table.keys, problem.table.values
    cell = int(np.flatnonzero((keys == "Total").any(axis=1).to_numpy())[0])
    path = tmp_path / "rounded.jj"
    tc.write_problem(problem, path)
    lines = path.read_text().splitlines()
    words = lines[2 + cell].split()
    assert (words[0], float(words[1])) == (str(cell), values[cell])
    lines[2 + cell] = " ".join([words[0], str(values[cell] + 0.5), *words[2:]])
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("release", ["suppression", "intervals", "adjustment"])
def test_a_certificate_of_a_table_that_does_not_add_up_says_by_how_much(release, not_additive):
    problem = tc.read_jj(not_additive, tolerance=0.5)
    result = RELEASES[release](problem)
    arrays = arrays_of(result.certificates, problem)
    lines = verify(arrays, not_additive)
    assert lines[0].startswith("PROVED: ")
    assert "additivity of the true table: within 0.5, as was stated" in lines
    for tolerance in (0.0, 0.4):
        with pytest.raises(RefusedError, match="the true table is not additive in"):
            verify({**arrays, "tolerance": np.array(tolerance)}, not_additive)
    moved = arrays["values"].copy()
    moved[np.flatnonzero(arrays["status"] == "s")[0]] += 2.0
    with pytest.raises(RefusedError):
        verify({**arrays, "values": moved})

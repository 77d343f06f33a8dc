"""Claims of adjusted tables: written by the command line, checked by the one verifier."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from typer.testing import CliRunner

import random_tables
import tablecloak as tc
from tablecloak.cli.main import app


def test_adjust_writes_a_certificate_that_verify_accepts_beside_the_problem(tmp_path):
    problem, proof = tmp_path / "cox.jj", tmp_path / "cox.npz"
    tc.write_problem(tc.examples.cox(), problem)
    arguments = ["adjust", str(problem), "-o", str(tmp_path / "out.csv"), "--certificate"]
    done = CliRunner().invoke(app, [*arguments, str(proof)])
    assert done.exit_code == 0, done.output
    assert proof.stat().st_mode & 0o777 == 0o600
    done = CliRunner().invoke(app, ["verify", str(proof), str(problem)])
    assert done.exit_code == 0, done.output
    assert done.output.startswith("PROVED: 7 sensitive cells: each adjusted value lies its upper")
    assert "satisfies all 15 relations, exactly" in done.output
    assert "no such release loses less than" in done.output


@pytest.mark.parametrize("distance", ["L1", "L2", "Linf"])
@pytest.mark.parametrize(
    ("directions", "preserve"),
    [
        *itertools.product(["search", "up"], [[], ["mean:all"]]),
        ("search", ["slope", "mean"]),
        ("up", ["slope:all", "mean:all"]),
    ],
)
def test_what_is_claimed_is_proved_without_the_program_of_the_search(
    distance, preserve, directions
):
    proved = 0
    for seed in range(3):
        problem = random_tables.random_problem(seed)
        try:
            found = tc.adjust(
                problem, distance=distance, preserve=preserve, directions=directions, time_limit=5
            )
        except (tc.ModelError, tc.SolverError):
            continue
        claims = {claim.kind: claim for claim in found.certificates}
        for claim in claims.values():
            claim.verify(problem)
        assert claims["bound"].arrays["bound"] >= found.bound * (1 - 1e-7)
        proved += 1
    assert proved >= 1


def test_levels_are_those_of_the_problem_and_not_of_the_search():
    problem = tc.examples.cox()
    found = tc.adjust(problem)
    stricter = problem.with_changes(
        lower_protection=1.01 * problem.lower_protection,
        upper_protection=1.01 * problem.upper_protection,
    )
    protection = found.certificates[0]
    assert protection.kind == "protection"
    protection.verify(problem)
    with pytest.raises(tc.VerificationError, match="too near to the truth"):
        protection.verify(stricter)


def test_claims_are_about_the_problem_they_are_checked_with():
    problem = tc.examples.cox()
    found = tc.adjust(problem)
    values = problem.table.values.copy()
    values[:] *= 2
    other = tc.examples.cox_rounded()
    for claim in found.certificates:
        with pytest.raises(tc.VerificationError):
            claim.verify(other)
    assert np.array_equal(values / 2, problem.table.values)


def test_sensitive_cells_that_all_rise_cannot_keep_their_mean():
    with pytest.raises((tc.ModelError, tc.SolverError)):
        tc.adjust(random_tables.random_problem(0), preserve=["mean"], directions="up", time_limit=5)

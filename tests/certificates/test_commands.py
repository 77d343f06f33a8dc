"""Every command that proves something writes its proofs, and `verify` accepts them."""

from __future__ import annotations

import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app


@pytest.fixture(scope="module")
def cox(tmp_path_factory):
    path = tmp_path_factory.mktemp("cox") / "cox.jj"
    tc.write_problem(tc.examples.cox_rounded(), path)
    return path


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["suppress"], "sensitive cells, two-sided: the interval of each reaches"),
        (["suppress", "--method", "sequential", "--time-limit", "1"], "two-sided"),
        (["intervals", "--seed", "1"], "uses all published intervals as bounds"),
        (["adjust"], "its upper level above the"),
        (["adjust", "--distance", "L2"], "(L2)"),
        (["adjust", "--distance", "Linf", "--preserve", "mean"], "the mean of 7 cells is kept"),
        (["adjust", "--no-integer", "--preserve", "variance"], "the variance of 7 cells is kept"),
        (["round", "--base", "100"], "each released value is a multiple of 100"),
    ],
)
def test_a_command_writes_proofs_that_verify_accepts(command, says, cox, tmp_path):
    proof = tmp_path / "proof.npz"
    arguments = [command[0], str(cox), "-o", str(tmp_path / "out.csv"), *command[1:]]
    done = CliRunner().invoke(app, [*arguments, "--certificate", str(proof)])
    assert done.exit_code == 0, done.output
    assert proof.stat().st_mode & 0o777 == 0o600
    done = CliRunner().invoke(app, ["verify", str(proof), str(cox)])
    # Rounding proves no protection, and says so first.
    told = (3, "NOT CLAIMED: protection of ") if command[0] == "round" else (0, "PROVED: ")
    assert (done.exit_code, done.output[: len(told[1])]) == told
    assert says in done.output
    assert "loss" in done.output
    assert "was not compared" not in done.output

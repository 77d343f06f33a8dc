"""``tablecloak audit`` and ``verify``: verdicts, what is written, exit codes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.main import app

RUN = CliRunner()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Cox's table, a pattern that protects it, and one with a hole."""
    place = tmp_path_factory.mktemp("audit")
    problem = tc.examples.cox_rounded()
    tc.write_jj(problem, place / "cox.jj")
    pattern = tc.suppress(problem)
    cells = pd.DataFrame({"cell": range(50), "status": pattern.statuses()})
    cells.to_csv(place / "good.csv", index=False)
    cells.loc[np.flatnonzero(pattern.secondary)[0], "status"] = "published"
    cells.to_csv(place / "bad.csv", index=False)
    return place


def audit(folder, release: str, *words: str):
    return RUN.invoke(app, ["audit", str(folder / "cox.jj"), str(folder / release), *words])


def test_a_pattern_that_protects_is_told_in_one_line(folder):
    done = audit(folder, "good.csv")
    assert done.exit_code == 0
    assert done.stdout.startswith("audit (two-sided): 7 of 7 sensitive cells protected")
    assert len(done.stdout.splitlines()) == 1


def test_cells_that_give_way_are_shown_as_many_as_are_asked_for(folder):
    done = audit(folder, "bad.csv")
    assert done.exit_code == 1
    attackable = int(done.stdout.split(" attackable")[0].rsplit(maxsplit=1)[-1])
    assert attackable > 0
    assert len(done.stdout.splitlines()) > 2
    assert len(audit(folder, "bad.csv", "--show", "1").stdout.splitlines()) == 4
    assert len(audit(folder, "bad.csv", "--show", "0").stdout.splitlines()) == 1


def test_the_truth_behind_an_adjusted_release_is_guessed_if_that_is_asked_for(tmp_path):
    problem = tc.examples.cox()
    tc.write_jj(problem, tmp_path / "cox.jj")
    adjusted = tc.adjust(problem, weights="unit")
    adjusted_cells = pd.DataFrame({"cell": range(problem.table.n_cells), "value": adjusted.values})
    adjusted_cells.to_csv(tmp_path / "adjusted.csv", index=False)
    plain = audit(tmp_path, "adjusted.csv")
    assert plain.exit_code == 0, plain.output
    assert "--knows levels tries it" in plain.stdout
    attacked = audit(tmp_path, "adjusted.csv", "--knows", "directions")
    assert attacked.exit_code == 0
    n = problem.n_sensitive
    assert f"knowing the directions: {n} of {n} sensitive cells guessed" in attacked.stdout
    cells = pd.DataFrame({"cell": range(problem.table.n_cells), "status": "published"})
    cells.to_csv(tmp_path / "pattern.csv", index=False)
    refused = audit(tmp_path, "pattern.csv", "--knows", "levels")
    assert refused.exit_code == 2


def test_a_rounded_file_is_judged_by_its_base(folder):
    rounded = tc.controlled_rounding(tc.examples.cox_rounded(), base=5)
    cells = pd.DataFrame({"cell": range(50), "value": rounded.values})
    cells.to_csv(folder / "r.csv", index=False)
    assert "--made" in audit(folder, "r.csv").stdout
    done = audit(folder, "r.csv", "--made", "rounding:5")
    assert done.exit_code == 1
    assert "within 296 to 304" in done.stdout


def test_what_an_audit_writes_is_secret(folder, tmp_path):
    path = tmp_path / "intervals.csv"
    done = audit(folder, "good.csv", "--intervals", "-o", str(path))
    assert done.exit_code == 0
    assert is_private(path)
    frame = pd.read_csv(path)
    assert len(frame) == 7
    truth = tc.examples.cox_rounded().table.values
    assert set(frame["value"]) <= set(truth)
    assert (frame["reached_lower"] <= frame["value"]).all()
    assert (frame["reached_upper"] >= frame["value"]).all()


def test_no_certificate_is_written_of_what_is_not_safe(folder, tmp_path):
    path = tmp_path / "proof.npz"
    assert audit(folder, "bad.csv", "--certificate", str(path)).exit_code == 1
    assert not path.exists()


def test_a_plot_is_a_picture_that_its_owner_alone_can_read(folder, tmp_path):
    path = tmp_path / "audit.png"
    assert audit(folder, "good.csv", "--intervals", "--plot", str(path)).exit_code == 0
    assert path.read_bytes().startswith(b"\x89PNG")
    assert is_private(path)


def test_a_picture_of_an_unknown_kind_is_refused_before_the_attack(folder, tmp_path):
    done = audit(folder, "good.csv", "--plot", str(tmp_path / "audit.docx"))
    assert done.exit_code == 2
    assert "'docx' is no picture" in " ".join(done.output.split())


def test_an_unknown_insider_is_answered_with_the_likely_one(folder):
    done = RUN.invoke(
        app,
        ["audit", str(folder / "cox.jj"), str(folder / "good.csv"), "--intruder", "zeroes"],
        env={"COLUMNS": "200"},
    )
    assert done.exit_code == 2
    assert "Did you mean 'zeros'?" in done.output


def test_verify_refuses_a_certificate_of_another_table(folder, tmp_path):
    proof = tmp_path / "proof.npz"
    words = ["suppress", str(folder / "cox.jj"), "-o", str(tmp_path / "s.csv")]
    assert RUN.invoke(app, [*words, "--certificate", str(proof)]).exit_code == 0
    assert RUN.invoke(app, ["verify", str(proof), str(folder / "cox.jj")]).exit_code == 0
    tc.write_jj(tc.examples.cox(), tmp_path / "other.jj")
    refused = RUN.invoke(app, ["verify", str(proof), str(tmp_path / "other.jj")])
    assert refused.exit_code == 1
    # The problem may be in any format; what is no problem at all refutes no proof.
    tc.write_problem(tc.read_problem(folder / "cox.jj"), tmp_path / "cox.csv")
    assert RUN.invoke(app, ["verify", str(proof), str(tmp_path / "cox.csv")]).exit_code == 0
    for other in ("gone.jj", "proof.npz"):
        assert RUN.invoke(app, ["verify", str(proof), str(tmp_path / other)]).exit_code == 2
    assert RUN.invoke(app, ["verify", str(tmp_path / "gone.npz")]).exit_code == 2
    (tmp_path / "proof.npz").write_bytes(proof.read_bytes()[:-40])
    assert RUN.invoke(app, ["verify", str(tmp_path / "proof.npz")]).exit_code == 1

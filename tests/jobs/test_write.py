"""The two folders of a job: what may be published, and what must stay inside."""

from __future__ import annotations

import json
from functools import cache

import pandas as pd
import pytest

import tablecloak as tc
from private import is_private
from tablecloak.certificates.verifier import main as verify
from tablecloak.errors import VerificationError
from tablecloak.jobs import write
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.run import run_job
from tablecloak.jobs.write import RESULT, JobFiles, write_results


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """A job of both methods that was run once, without files."""
    folder = tmp_path_factory.mktemp("job")
    rows = [
        (town, kind, 10 * t + k + 3)
        for t, town in enumerate("abc")
        for k, kind in enumerate("xyz")
        for _ in range(1 if t == k else 4)
    ]
    frame = pd.DataFrame(rows, columns=["town", "kind", "sales"])
    frame.to_csv(folder / "sales.csv", index=False)
    (folder / "job.toml").write_text(
        """
        title = "Sales"
        [data]
        file = "sales.csv"
        value = "sales"
        [dimensions.town]
        [dimensions.kind]
        [[rules]]
        rule = "minimum-frequency"
        minimum = 2
        [suppression]
        time_limit = 10
        [adjustment]
        time_limit = 10
        [output]
        report = false
        """
    )
    job = read_job(folder / "job.toml")
    return job, run_job(job)


@pytest.fixture
def written(done, tmp_path):
    job, result = done
    del result.files[:]
    write_results(job, result, tmp_path, "the fingerprint")
    return tmp_path, result


def test_each_file_is_noted_and_lies_in_one_of_two_folders(written):
    folder, result = written
    on_disk = sorted(path for path in folder.rglob("*") if path.is_file())
    assert sorted(result.files) == on_disk
    assert {path.relative_to(folder).parts[0] for path in on_disk} == {"release", "internal"}
    names = {path.relative_to(folder).as_posix() for path in on_disk}
    assert {
        "release/suppression/table.csv",
        "release/suppression/about.json",
        "release/adjustment/table.csv",
        "internal/suppression_statuses.csv",
        "internal/suppression_certificate.npz",
        "internal/adjustment_certificate.npz",
        "internal/problem.jj",
        "internal/result.json",
    } <= names


def test_what_is_internal_can_be_read_by_its_owner_alone(written):
    folder, _ = written
    assert all(is_private(path) for path in (folder / "internal").rglob("*") if path.is_file())


def test_the_released_table_has_no_value_where_the_statuses_hide_one(written):
    folder, result = written
    table = pd.read_csv(folder / "release" / "suppression" / "table.csv")
    statuses = pd.read_csv(folder / "internal" / "suppression_statuses.csv")
    both = table.merge(statuses, on=["town", "kind"], suffixes=("", "_inside"))
    assert len(both) == len(table) == result.problem.table.n_cells
    hidden = both["status_inside"] != "published"
    assert hidden.sum() == result.pattern.suppressed.sum() > 0
    assert both.loc[hidden, "sales"].isna().all()
    assert both.loc[~hidden, "sales"].notna().all()
    # Readers are not told which of the hidden cells are sensitive.
    assert set(table["status"].dropna()) <= {"published", "suppressed"}


def test_both_certificates_are_accepted_by_the_verifier_alone(written, capsys):
    folder, _ = written
    for name in ("suppression", "adjustment"):
        proof, problem = f"{name}_certificate.npz", "problem.jj"
        assert verify([str(folder / "internal" / proof), str(folder / "internal" / problem)]) == 0
    assert "PROVED" in capsys.readouterr().out


def test_the_state_says_of_which_inputs_the_results_are(written):
    folder, result = written
    state = json.loads((folder / RESULT).read_text("utf-8"))
    assert state == {
        "fingerprint": "the fingerprint",
        "is_safe": True,
        "message": result.summary(),
        "report": result.report(),
        "figures": result.figures(),
        # Of a publication alone, whose later years may build on the release.
        "subject": "",
    }


def test_a_release_with_a_hidden_value_is_withheld_and_the_rest_is_written(
    done, tmp_path, monkeypatch
):
    job, result = done
    release = write.write_audited

    def refusing(found, folder, **options):
        if folder.name == "suppression":
            raise VerificationError("a hidden value stands in table.csv")
        return release(found, folder, **options)

    monkeypatch.setattr(write, "write_audited", refusing)
    del result.files[:]
    write_results(job, result, tmp_path, "")
    assert result.withheld == {"suppression": "a hidden value stands in table.csv"}
    assert not result.is_safe
    assert not (tmp_path / "release" / "suppression" / "table.csv").exists()
    assert (tmp_path / "release" / "adjustment" / "table.csv").exists()
    state = json.loads((tmp_path / RESULT).read_text("utf-8"))
    assert state["is_safe"] is False
    result.withheld.clear()


@cache
def jj_of(path: str) -> tc.ProtectionProblem:
    return tc.read_jj(path)


def test_the_problem_inside_is_the_one_that_was_protected(written):
    folder, result = written
    again = jj_of(str(folder / "internal" / "problem.jj"))
    assert again.table.values.tolist() == result.problem.table.values.tolist()
    assert again.status.tolist() == result.problem.status.tolist()


def test_internal_files_have_the_digits_that_people_gave(tmp_path):
    files = JobFiles(tmp_path, [], {})
    files.begin()
    rows = {"town": ["a", "b"], "change": [0.1 + 0.2, 1 / 3], "n": [3, 4]}
    files.secret("changes.csv", pd.DataFrame(rows))
    text = (tmp_path / "internal" / "changes.csv").read_text()
    assert text == f"town,change,n\na,0.3,3\nb,{1 / 3},4\n"

"""Each way to protect runs from its section of a job file to a release, a proof and a report."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from doc_tables import sections_table
from private import is_private
from tablecloak.certificates.verifier import main as verify
from tablecloak.jobs.job_file import read_job
from tablecloak.protection import PROTECTIONS
from tablecloak.suppression.attack.audit import audit_pattern

SALES = """
title = "Sales"
[data]
file = "sales.csv"
value = "sales"
contributor = "firm"
[dimensions.town]
[dimensions.kind]
[[rules]]
rule = "p-percent"
p = 10
"""

COUNTS = """
[data]
file = "sales.csv"
[dimensions.town]
[dimensions.kind]
"""

JOBS = {
    "intervals": SALES + "[intervals]\nweights = 'unit'\ntime_limit = 10\n",
    "rounding": SALES + "[rounding]\nbase = 100\ntime_limit = 10\n",
    "small_counts": COUNTS + "[small_counts]\nbase = 4\ntime_limit = 10\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("ways")
    random = np.random.default_rng(5)
    rows = [
        (town, kind, f"f{random.integers(60)}", int(random.integers(5, 40)))
        for town in "abcde"
        for kind in "xyz"
        for _ in range(random.integers(1, 9))
    ]
    frame = pd.DataFrame(rows, columns=["town", "kind", "firm", "sales"])
    frame.to_csv(folder / "sales.csv", index=False)
    return folder


@pytest.fixture(scope="module", params=JOBS)
def done(request, folder):
    path = folder / f"{request.param}.toml"
    path.write_text(JOBS[request.param])
    result = tc.run_job(path, folder / request.param)
    return request.param, result, folder / request.param


def test_the_release_is_audited_and_says_how_to_read_it(done):
    name, result, out = done
    assert result.is_safe, result.summary()
    assert result.audit(name).is_safe
    about = json.loads((out / "release" / name / "about.json").read_text("utf-8"))
    assert about["reading"].endswith(".")
    table = pd.read_csv(out / "release" / name / "table.csv")
    assert len(table) == result.problem.table.n_cells
    assert (out / "release" / name / "report.html").exists()
    # What was written is what a stranger attacks.
    problem = result.release(name).problem
    if name == "intervals":
        assert tc.audit(problem, out / "release" / name / "table.csv").is_safe


def test_what_stays_inside_has_a_certificate_that_the_verifier_accepts(done, capsys):
    name, result, out = done
    internal = out / "internal"
    assert all(is_private(path) for path in internal.iterdir())
    code = verify([str(internal / f"{name}_certificate.npz")])
    told = capsys.readouterr().out
    # Rounding takes no levels into account, so that its proof claims none.
    assert code == (3 if name == "rounding" else 0), told
    text = (internal / "report.html").read_text("utf-8")
    assert f"<h2>{PROTECTIONS[name].noun.capitalize()}</h2>" in text
    assert result.release(name).summary().split(":")[0] in text


def test_no_true_value_of_a_changed_cell_stands_in_the_release(done):
    name, result, _ = done
    release = result.release(name)
    way = PROTECTIONS[name]
    shown = way.values(release)
    truth = release.problem.table.values
    if shown is None:
        low, high = way.intervals(release)
        assert np.all((low <= truth) & (truth <= high))
        assert np.any(low < high)
    else:
        assert np.all(shown % release.base == 0) or name == "small_counts"
        assert not np.any((shown > 0) & (shown < release.base))


def test_several_ways_of_one_job_are_alternatives_on_one_map(folder):
    sections = (
        "[suppression]\ntime_limit = 5\n[rounding]\nbase = 100\n[intervals]\ntime_limit = 5\n"
    )
    (folder / "three.toml").write_text(SALES + sections)
    result = tc.run_job(folder / "three.toml", folder / "three")
    assert list(result.products) == ["suppression", "intervals", "rounding"]
    assert result.is_safe
    text = (folder / "three" / "internal" / "report.html").read_text("utf-8")
    assert "Risk and utility" in text


@pytest.mark.parametrize(("audit", "attacks"), [("", 1), ('[audit]\nintruders = ["zeros"]\n', 2)])
@pytest.mark.parametrize("name", ["rounding", "small_counts"])
def test_the_verdict_on_a_rounding_rests_on_the_audit_of_its_job(
    folder, monkeypatch, name, audit, attacks
):
    made = []

    def counted(*args, **options):
        made.append(audit_pattern(*args, **options))
        return made[-1]

    monkeypatch.setattr("tablecloak.publish.audit.audit_pattern", counted)
    (folder / "once.toml").write_text(JOBS[name] + audit)
    result = tc.run_job(folder / "once.toml", folder / "once")
    release = result.release(name)
    # The audit of a job with further insiders says more than the verdict, which is of outsiders.
    assert len(made) == attacks
    assert release.attacks == (made[-1],)
    assert "are protected" in release.verdict()


def test_rounded_small_counts_are_not_called_safe_where_a_rule_asks_for_more(folder):
    rule = '[[rules]]\nrule = "minimum-frequency"\nminimum = 9\nrange = 100\n'
    (folder / "ruled.toml").write_text(JOBS["small_counts"] + rule)
    result = tc.run_job(folder / "ruled.toml", folder / "ruled")
    assert result.problem.n_sensitive > result.release("small_counts").problem.n_sensitive
    assert not result.is_safe
    assert not result.audit("small_counts").is_safe


def test_intervals_are_refused_where_a_file_has_room_for_one_value(folder):
    text = JOBS["intervals"] + '[output]\nformats = ["json-stat"]\n'
    (folder / "wrong.toml").write_text(text)
    with pytest.raises(tc.InputError, match="'json-stat' has one value for each cell"):
        read_job(folder / "wrong.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "base = 100",
            "base = 1",
            r"line 13: rounding\.base: .*or equal to 2\. Found 1",
        ),
        ("base = 100", "bse = 3", r"line 13: unknown key 'bse' in rounding\. Did you mean 'base'"),
        ("[rounding]", "[roundin]", r"unknown key 'roundin'\. Did you mean 'rounding'"),
        ("base = 100", 'weights = "dear"', r"line 13: rounding\.weights is 'dear'; expected"),
    ],
)
def test_faults_of_a_section_name_the_line_and_the_remedy(folder, old, new, message):
    path = folder / "fault.toml"
    path.write_text(JOBS["rounding"].replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        read_job(path)


def test_each_release_says_what_was_found_and_what_may_be_published():
    kinds = [kind for way in PROTECTIONS for kind in way.releases]
    assert len(kinds) >= len(PROTECTIONS.names)
    assert all(callable(kind.summary) and callable(kind.release) for kind in kinds)


def test_the_docs_list_all_sections_with_their_keys():
    page = Path(__file__).parents[2] / "docs" / "job-file.md"
    assert sections_table() in page.read_text("utf-8")
    assert all(f"`[{name}]`" in sections_table() for name in PROTECTIONS.names)

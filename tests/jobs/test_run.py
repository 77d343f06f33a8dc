"""What a job hands to its searches."""

from __future__ import annotations

import signal

import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.jobs import run
from tablecloak.jobs.job_file import read_job

JOB = """\
{head}
[data]
file = "sales.csv"
value = "sales"
[dimensions.town]
[dimensions.kind]
[[rules]]
rule = "minimum-frequency"
minimum = 2
range = 20
[suppression]
[adjustment]
[output]
report = false
"""


@pytest.fixture
def job_file(tmp_path):
    frame = pd.DataFrame(
        {"town": [*"aabbcc"], "kind": [*"xyxyxy"], "sales": [7, 60, 80, 9, 55, 65]}
    )
    pd.concat([frame, frame.iloc[1:]]).to_csv(tmp_path / "sales.csv", index=False)

    def written(head: str):
        (tmp_path / "job.toml").write_text(JOB.format(head=head))
        return tmp_path / "job.toml"

    return written


def test_threads_of_a_job_reach_its_searches_and_audits_and_are_no_part_of_its_fingerprint(
    job_file, budgets_begun
):
    plain = read_job(job_file("")).fingerprint()
    job = read_job(job_file("threads = 3"))
    assert job.fingerprint() == plain
    assert tc.run_job(job).is_safe
    # A suppression, an adjustment, and the audit of the first.
    assert [budget.threads for budget in budgets_begun] == [3, 3, 3]


def test_a_fault_of_any_column_shows_before_a_search_begins(job_file, monkeypatch):
    begun = []
    monkeypatch.setattr(tc, "suppress", lambda *_, **__: begun.append("suppress"))
    path = job_file("")
    text = path.read_text().replace("[adjustment]", '[adjustment]\ncost = "price"')
    path.write_text(text)
    with pytest.raises(tc.InputError, match="no column 'price'"):
        tc.run_job(path)
    assert not begun


def test_reading_and_writing_are_stages_of_the_progress(job_file):
    path, stages = job_file(""), list[str]()
    tc.run_job(path, path.parent / "results", progress=lambda stage, *_: stages.append(stage))
    assert (stages[0], stages[-1]) == ("adding up records", "writing files")
    assert len(set(stages)) > 2


def test_what_was_found_is_written_though_ctrl_c_comes_while_it_is_written(job_file, monkeypatch):
    write = run.write_results

    def pressed(*given):
        signal.raise_signal(signal.SIGINT)
        write(*given)

    monkeypatch.setattr(run, "write_results", pressed)
    path = job_file("")
    out = path.parent / "results"
    assert tc.run_job(path, out).is_safe
    assert (out / "release" / "suppression" / "table.csv").exists()

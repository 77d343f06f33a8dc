"""Faults of a job file: file, line, key, what was expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.errors import InputError
from tablecloak.jobs.job_file import JOB_KINDS, JobKind, kind_of_job, read_job

GOOD = """\
seed = 1

[data]
file = "a.csv"
value = "v"

[dimensions.region]
total = "All"

[dimensions."two words"]
levels = ["a", "b"]

[[rules]]
rule = "p-percent"
p = 10

[[rules]]
rule = "minimum-frequency"
minimum = 3

[suppression]
time_limit = 5
"""


def fault(tmp_path, before: str, after: str) -> str:
    assert before in GOOD
    path = tmp_path / "job.toml"
    path.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(InputError) as caught:
        read_job(path)
    return str(caught.value).removeprefix(str(path))


def test_the_job_of_these_tests_is_good(tmp_path):
    (tmp_path / "job.toml").write_text(GOOD)
    assert read_job(tmp_path / "job.toml").seed == 1


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "value =",
            "vlaue =",
            ", line 5: unknown key 'vlaue' in data. Did you mean 'value'?",
        ),
        ("seed = 1", "sede = 1", ", line 1: unknown key 'sede'. Did you mean 'seed'?"),
        ("total =", "totl =", ", line 8: unknown key 'totl' in dimensions.region. Did you m"),
        ("time_limit = 5", "time_limt = 5", ", line 22: unknown key 'time_limt' in suppression."),
        ("p-percent", "p-precent", ", line 14: unknown rule 'p-precent'. Did you mean 'p-percent'"),
        ("p = 10", "q = 10", ", line 15: unknown key 'q' in rules."),
        ("p = 10", "", ", line 13: rules.p is missing. Add it; see docs/job-file.md."),
        ('rule = "p-percent"\n', "", ", line 13: "),
        ("minimum = 3", "minimum = 0", ", line 19: rules.minimum must be "),
        ("minimum = 3", 'minimum = "many"', "Found 'many'."),
        ("time_limit = 5", "time_limit = 0", ", line 22: suppression.time_limit: "),
        ("time_limit = 5", 'method = "exat"', "expected 'auto'"),
        ("time_limit = 5", 'method = "exat"', "Did you mean 'exact'?"),
        ('[data]\nfile = "a.csv"\nvalue = "v"\n', "", "data is missing."),
    ],
)
def test_a_fault_is_named_with_its_line_and_what_to_do(tmp_path, before, after, message):
    assert message in fault(tmp_path, before, after)


def test_the_second_of_two_tables_is_told_from_the_first(tmp_path):
    assert fault(tmp_path, "minimum = 3", "minimun = 3").startswith(", line 19")
    assert fault(tmp_path, "p = 10", "p = 0").startswith(", line 15")


def test_what_is_no_toml_is_named_with_its_line(tmp_path):
    assert "line 4" in fault(tmp_path, 'file = "a.csv"', "file = a.csv")


def test_sections_that_contradict_each_other_are_said_in_our_words(tmp_path):
    said = fault(tmp_path, "time_limit = 5", 'protect_against = ["pairs"]\nhold = "off"')
    assert 'hold = "off" protects against no insider; leave out protect_against or hold' in said


class Songs(JobKind):
    """A kind of job that some other package adds."""

    name = "songs"
    guide = "names songs. Run it alone with `tablecloak protect`."

    @classmethod
    def run(cls, path, out):
        return SongsReport([out / "songs.txt"])


@dataclass
class SongsReport:
    files: list[Path]
    notes: tuple[str, ...] = ("one is a hymn",)

    def lines(self):
        yield "3 songs"


def test_a_kind_of_job_is_run_by_the_section_that_only_its_files_have(tmp_path):
    path = tmp_path / "job.toml"
    path.write_text("[songs]\n")
    assert kind_of_job(path) is None
    with JOB_KINDS.including(Songs):
        assert kind_of_job(path) is Songs
        with pytest.raises(InputError, match=r"job\.toml: names songs\. Run it alone"):
            read_job(path)
        done = CliRunner().invoke(app, ["protect", str(path), "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "3 songs" in done.output
    assert "Note: one is a hymn." in done.output
    assert "songs.txt" in done.output

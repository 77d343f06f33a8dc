"""What a user has done so far: one file, one job at a time."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import tablecloak as tc
from tablecloak.app import session as module
from tablecloak.app.choices import Choices
from tablecloak.app.decisions import Mark
from tablecloak.app.given_away import GivenAway
from tablecloak.app.given_file import kind_named
from tablecloak.app.session import Session
from tablecloak.data_file import DataFile
from tablecloak.web.tasks import QueuedTask


@pytest.fixture
def session(tmp_path) -> Session:
    (tmp_path / "firms.csv").write_text("region,v\nN,1\nN,2\nS,3\n")
    one = Session(tmp_path, GivenAway(tmp_path / "given_away.json"))
    one.open(DataFile(tmp_path / "firms.csv"), kind_named("records"))
    return one


def choices(session: Session, **given) -> Choices:
    return Choices(
        session.file,
        columns={"value": "v"},
        dimensions={"region": ["region"]},
        rules=[{"rule": "minimum-frequency", "minimum": 2}],
        **given,
    )


def test_choices_are_tabulated_and_written_as_a_job(session):
    session.choose(choices(session))
    assert session.bench.given.table.n_cells == 3
    assert session.bench.given.n_sensitive == 1
    assert "minimum-frequency" in session.job_file.read_text()
    assert [path.name for path in session.home.glob("*.toml")] == []


def test_choices_that_cannot_be_tabulated_change_nothing(session):
    session.choose(choices(session))
    before = session.job_file.read_text(), session.bench.given
    wrong = choices(session)
    wrong.dimensions = {"county": ["county"]}
    with pytest.raises(tc.InputError, match="county"):
        session.choose(wrong)
    assert (session.job_file.read_text(), session.bench.given) == before
    assert [path.name for path in session.home.glob("*.toml")] == []


FORM = {
    "value": "v", "dimension:region": "1", "minimum-frequency": "1",
    "minimum-frequency:minimum": "2", "suppression": "1", "time_limit": "5",
}  # fmt: skip


def test_other_choices_make_another_table_and_leave_the_one_before(session):
    first = session.filled(FORM | {"title": "one"})
    second = first.filled(FORM | {"title": "two", "minimum-frequency:minimum": "4"})
    assert len({session.name, first.name, second.name}) == 3
    assert session.bench is None
    assert (first.title, first.bench.given.n_sensitive) == ("one", 1)
    assert (second.title, second.bench.given.n_sensitive) == ("two", 3)
    assert first.job_file.read_text() != second.job_file.read_text()


def test_a_table_is_opened_again_with_its_choices_and_decisions(session):
    made = session.filled(FORM | {"title": "one"})
    made.bench.decide([0], Mark("go"))
    made.save()
    again = Session(session.home, session.given, made.name)
    again.open_again()
    assert (again.title, again.bench.marks) == ("one", {0: Mark("go")})
    assert again.job_file.exists() and again.choices == made.choices
    assert again.said() == [
        "This table was opened again. What was searched is not kept: protect it anew."
    ]


def test_decisions_about_a_file_that_has_changed_are_not_taken_for_the_new_cells(session):
    made = session.filled(FORM)
    made.bench.decide([1], Mark("go"))
    made.save()
    (session.home / "firms.csv").write_text("region,v\nA,9\nN,1\nN,2\nS,3\n")
    again = Session(session.home, session.given, made.name)
    again.open_again()
    assert not again.bench.marks
    assert "Its file has changed" in again.said()[0]


def test_nothing_can_be_started_before_something_was_chosen(session):
    with pytest.raises(tc.InputError, match="Choose dimensions and rules first"):
        session.start()
    assert not session.is_running


def test_while_a_job_runs_nothing_changes_and_its_result_is_kept(session, monkeypatch):
    go_on, asked = threading.Event(), []

    def slow(job, folder, *, progress):
        asked.append((job.title, folder))
        assert go_on.wait(60)
        return SimpleNamespace(title=job.title)

    monkeypatch.setattr(module, "run_job", slow)
    session.choose(choices(session, title="one"))
    session.start()
    assert session.is_running
    with pytest.raises(tc.InputError, match="A job is still running"):
        session.start()
    go_on.set()
    session.task.wait(60)
    assert session.result.title == "one"
    assert asked == [("one", session.folder / "results")]


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        (tc.ModelError("no way out"), "no way out"),
        (KeyError("row 4711"), "This is an error of the program (KeyError)."),
    ],
)
def test_a_job_that_fails_says_so_and_quotes_no_record(session, monkeypatch, raised, told):
    def failing(job, folder, *, progress):
        raise raised

    monkeypatch.setattr(module, "run_job", failing)
    session.choose(choices(session))
    session.start()
    session.task.wait(60)
    assert session.error.startswith(told)
    assert "4711" not in session.error
    assert session.result is None


@pytest.mark.parametrize(
    ("loss", "bound", "stage"),
    [
        (float("inf"), float("-inf"), "search, 7 open"),
        (1234.5, float("-inf"), "search, loss 1,234.5, 7 open"),
        (1234.5, 1000.0, "search, loss 1,234.5, bound 1,000, 7 open"),
    ],
)
def test_progress_is_told_as_far_as_it_is_known(session, loss, bound, stage):
    session.task = QueuedTask(lambda progress: None, str)
    session.task.note("search", loss, bound, 7)
    assert session.stage == stage

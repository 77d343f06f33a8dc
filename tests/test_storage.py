"""Files appear whole or not at all, readable by whom they should be, alike on all systems."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from private import is_private
from tablecloak.errors import InputError
from tablecloak.storage import (
    existing_file,
    replacing,
    replacing_folder,
    require_writable,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_text_is_written_with_the_same_bytes_on_all_systems(tmp_path):
    write_text(tmp_path / "a.txt", "Größe\nτ\n")
    assert (tmp_path / "a.txt").read_bytes() == "Größe\nτ\n".encode()


def test_a_secret_file_can_be_read_by_its_owner_alone(tmp_path):
    write_text(tmp_path / "secret.txt", "7", secret=True)
    write_text(tmp_path / "public.txt", "7")
    assert is_private(tmp_path / "secret.txt")
    assert os.name == "nt" or (tmp_path / "public.txt").stat().st_mode & 0o044 == 0o044


def test_a_file_that_could_not_be_finished_leaves_the_old_one_and_nothing_else(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as temporary:
        temporary.write_text("half of the new")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert names(tmp_path) == ["table.csv"]


def test_a_temporary_file_keeps_the_endings_by_which_writers_choose_their_format(tmp_path):
    with replacing(tmp_path / "table.csv.gz") as temporary:
        assert temporary.name.endswith(".csv.gz")
        temporary.write_bytes(b"")


def test_a_folder_is_exchanged_whole_and_keeps_what_else_lay_in_it(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "table.csv").write_text("old")
    (folder / "notes.txt").write_text("mine")
    with replacing_folder(folder) as new:
        (new / "table.csv").write_text("new")
        assert (folder / "table.csv").read_text() == "old"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "table.csv": "new",
        "notes.txt": "mine",
    }
    assert names(tmp_path) == ["results"]


def test_a_folder_is_exchanged_in_steps_where_the_system_knows_no_exchange(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    with replacing_folder(folder) as new:
        (new / "table.csv").write_text("new")
    assert names(folder) == ["notes.txt", "table.csv"]
    assert names(tmp_path) == ["results"]


def test_after_an_error_the_old_folder_is_untouched(tmp_path):
    folder = tmp_path / "results"
    folder.mkdir()
    (folder / "table.csv").write_text("old")
    with pytest.raises(ZeroDivisionError), replacing_folder(folder) as new:
        (new / "table.csv").write_text("new")
        raise ZeroDivisionError
    assert (folder / "table.csv").read_text() == "old"
    assert names(tmp_path) == ["results"]


def test_what_a_killed_process_left_is_removed_and_what_a_running_one_writes_is_not(tmp_path):
    done = subprocess.Popen([sys.executable, "-c", ""])
    done.wait()
    (tmp_path / f".results-writing-{done.pid}-x").mkdir()
    (tmp_path / f".results-writing-{os.getpid()}-x").mkdir()
    with replacing_folder(tmp_path / "results"):
        pass
    left = {f".results-writing-{os.getpid()}-x", "results"}
    if sys.platform == "win32":
        # There nobody can ask without sending Ctrl-C.
        left.add(f".results-writing-{done.pid}-x")
    assert names(tmp_path) == sorted(left)


def test_on_windows_no_process_is_sent_a_signal_to_ask_whether_it_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(os, "kill", lambda *_: pytest.fail("signal 0 is Ctrl-C on Windows"))
    (tmp_path / ".results-writing-1-x").mkdir()
    with replacing_folder(tmp_path / "results"):
        pass
    assert (tmp_path / "results").is_dir()


def test_a_name_that_leads_nowhere_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    require_writable(tmp_path / "new" / "folder" / "table.csv", None)
    with pytest.raises(InputError, match="is a folder"):
        require_writable(tmp_path)
    with pytest.raises(InputError, match="leads through the file"):
        require_writable(tmp_path / "file" / "table.csv")
    with pytest.raises(InputError, match="given for two outputs"):
        require_writable(tmp_path / "a.csv", None, tmp_path / "a.csv")
    with pytest.raises(InputError, match="this is a file"), replacing_folder(tmp_path / "file"):
        pass


def test_what_should_be_read_is_a_file_and_there(tmp_path):
    (tmp_path / "a.csv").write_text("")
    assert existing_file(tmp_path / "a.csv") == tmp_path / "a.csv"
    with pytest.raises(InputError, match="this is a folder"):
        existing_file(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        existing_file(tmp_path / "b.csv")
    with pytest.raises(InputError, match="cannot be read|does not exist"):
        existing_file("a\0.csv")

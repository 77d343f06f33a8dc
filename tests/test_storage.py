"""Files appear whole or not at all, readable by whom they should be, alike on all systems."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from private import is_private
from tablecloak.errors import InputError
from tablecloak.storage import (
    existing_file,
    replacing,
    replacing_folder,
    require_own_folder,
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


def test_a_name_that_leads_nowhere_is_refused_before_the_work(tmp_path):
    (tmp_path / "file").write_text("")
    require_writable(tmp_path / "new" / "folder" / "table.csv", None)
    with pytest.raises(InputError, match="is a folder"):
        require_writable(tmp_path)
    with pytest.raises(InputError, match="leads through the file"):
        require_writable(tmp_path / "file" / "table.csv")
    with pytest.raises(InputError, match="this is a file"), replacing_folder(tmp_path / "file"):
        pass


def test_what_should_be_read_is_a_file_and_there(tmp_path):
    (tmp_path / "a.csv").write_text("a\n")
    assert existing_file(tmp_path / "a.csv") == tmp_path / "a.csv"
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(InputError, match="empty.csv: this file is empty"):
        existing_file(tmp_path / "empty.csv")
    with pytest.raises(InputError, match="this is a folder"):
        existing_file(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        existing_file(tmp_path / "b.csv")
    with pytest.raises(InputError, match="cannot be read|does not exist"):
        existing_file("a\0.csv")


needs_pipes = pytest.mark.skipif(os.name == "nt", reason="no pipes in folders")


@needs_pipes
def test_what_never_ends_is_neither_read_nor_replaced(tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    link = tmp_path / "link.csv"
    link.symlink_to("/dev/zero")
    for path in (pipe, link, Path("/dev/zero")):
        with pytest.raises(InputError, match=re.escape(f"{path}: this is a device or a pipe")):
            existing_file(path)
        with pytest.raises(InputError, match="is a device or a pipe. Choose the name of a file"):
            require_writable(path)
        with pytest.raises(InputError, match="is a device or a pipe"), replacing(path):
            pytest.fail("it was to be replaced")
    assert names(tmp_path) == ["link.csv", "pipe.csv"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_results_get_a_folder_that_is_new_or_empty_or_holds_earlier_ones(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "earlier").mkdir()
    (tmp_path / "earlier" / "about.json").write_text("{}")
    (tmp_path / "earlier" / "table.csv").write_text("")
    for name in ("new", "empty", "earlier"):
        require_own_folder(tmp_path / name, "about.json")
    with pytest.raises(InputError, match="holds files that tablecloak did not write.*new or empty"):
        require_own_folder(tmp_path, "about.json")
    with pytest.raises(InputError, match="leads through the file"):
        require_own_folder(tmp_path / "earlier" / "table.csv", "about.json")


@pytest.mark.parametrize("place", [".", "/", "home", "above", "link"])
def test_a_folder_that_others_use_is_none_of_its_own(tmp_path, monkeypatch, place):
    current, home = tmp_path / "work" / "now", tmp_path / "home"
    for folder in (current, home):
        folder.mkdir(parents=True)
        (folder / "about.json").write_text("{}")
    (tmp_path / "link").symlink_to(current)
    monkeypatch.chdir(current)
    monkeypatch.setenv("USERPROFILE" if os.name == "nt" else "HOME", str(home))
    asked = {"home": home, "above": current.parent, "link": tmp_path / "link"}.get(place, place)
    with pytest.raises(InputError, match=r"is the current folder.*new or empty"):
        require_own_folder(asked, "about.json")


pytestmark = pytest.mark.skipif(os.name == "nt", reason="files are not locked there")

WRITER = """
import sys
from pathlib import Path
from tablecloak.storage import replacing, replacing_folder

is_folder, path = sys.argv[1] == "folder", Path(sys.argv[2])
with (replacing_folder if is_folder else replacing)(path) as temporary:
    (temporary / "a.csv" if is_folder else temporary).write_text("half")
    print("begun", flush=True)
    sys.stdin.read()
"""


def begun(kind: str, path: Path) -> subprocess.Popen[str]:
    """A process that has begun to write and waits for the end of its input."""
    command = [sys.executable, "-c", textwrap.dedent(WRITER), kind, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begun\n"
    return process


def ended(process: subprocess.Popen[str]) -> int:
    process.communicate("")
    return process.returncode


def write(kind: str, path: Path, text: str) -> None:
    """Write a file, or a folder with one."""
    if kind == "file":
        write_text(path, text)
        return
    with replacing_folder(path) as folder:
        (folder / "a.csv").write_text(text)


def written(path: Path) -> str:
    return (path / "a.csv" if path.is_dir() else path).read_text()


@pytest.mark.parametrize("kind", ["file", "folder"])
@pytest.mark.parametrize("name", ["results.csv", "a [1] *", "x" * 200])
def test_what_a_killed_process_left_goes_with_the_next_one(tmp_path, kind, name):
    killed = begun(kind, tmp_path / name)
    killed.kill()
    ended(killed)
    assert len(names(tmp_path)) == 1
    write(kind, tmp_path / name, "whole")
    assert names(tmp_path) == [name]
    assert written(tmp_path / name) == "whole"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_two_runs_at_the_same_time_leave_each_other_alone(tmp_path, kind):
    path = tmp_path / "results.csv"
    other = begun(kind, path)
    temporary = names(tmp_path)
    write(kind, path, "mine")
    assert names(tmp_path) == [*temporary, "results.csv"]
    assert written(path) == "mine"
    assert ended(other) == 0
    assert names(tmp_path) == ["results.csv"]
    assert written(path) == "half"


def test_files_of_others_with_such_names_are_kept(tmp_path):
    mine = [".results-writing-notes", ".other-writing-abcdefgh", "results-writing-abcdefgh"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    write("folder", tmp_path / "results", "whole")
    assert names(tmp_path) == sorted([*mine, "results"])


@pytest.mark.parametrize("moved", [False, True])
def test_a_process_killed_while_folders_change_places_costs_no_file(tmp_path, moved):
    """The folder aside then holds what nobody else does: what was kept, or all that there was."""
    aside = tmp_path / ".results-ready-abcdefgh"
    aside.mkdir()
    (aside / "a.csv").write_text("old")
    (aside / "notes.txt").write_text("mine")
    if not moved:
        (tmp_path / "results").mkdir()
        (tmp_path / "results" / "a.csv").write_text("new")
    write("folder", tmp_path / "results", "newer")
    assert names(tmp_path) == ["results"]
    assert names(tmp_path / "results") == ["a.csv", "notes.txt"]
    assert (tmp_path / "results" / "notes.txt").read_text() == "mine"
    assert written(tmp_path / "results") == "newer"

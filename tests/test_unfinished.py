"""What a killed process left goes with the next one; what a running one writes stays."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tablecloak.storage import replacing_folder, write_text

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


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


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

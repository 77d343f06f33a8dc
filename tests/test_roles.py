"""In one run no file is an input and an output, and none is two outputs, whatever its name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tablecloak.errors import InputError
from tablecloak.roles import require_no_input_in, run_with
from tablecloak.storage import existing_file, replacing, replacing_folder, write_text

BOTH = "would be written over although it is read. Choose another name"


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    path = tmp_path / "table.csv"
    path.write_text("the only copy")
    yield path
    assert path.read_text() == "the only copy"


def spelled(path: Path, spelling: str) -> Path:
    """Another name of the same file."""
    match spelling:
        case "relative":
            return Path(path.name)
        case "through a folder":
            return path.parent / "sub" / ".." / path.name
        case "symbolic link":
            other = path.with_name("link.csv")
            other.symlink_to(path)
            return other
        case "linked folder":
            folder = path.with_name("linked")
            folder.symlink_to(path.parent)
            return folder / path.name
        case "hard link":
            other = path.with_name("hard.csv")
            os.link(path, other)
            return other
    return path


SPELLINGS = [
    "the same",
    "relative",
    "through a folder",
    "symbolic link",
    "linked folder",
    "hard link",
]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_an_output_is_no_input_however_it_is_spelled(table, spelling):
    other = spelled(table, spelling)
    with pytest.raises(InputError, match=BOTH), run_with([table], [other]):
        pytest.fail("the run began")
    # Named in another file, it is met when it is read.
    with run_with([], [other]), pytest.raises(InputError, match=BOTH):
        existing_file(table)
    # Named by what is found, it is met when it is written.
    with run_with([], []):
        existing_file(table)
        with pytest.raises(InputError, match=BOTH), replacing(other):
            pytest.fail("it was to be replaced")


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_two_outputs_are_two_files_however_they_are_spelled(table, spelling):
    other = spelled(table, spelling)
    with pytest.raises(InputError, match="two outputs"), run_with([], [table, other]):
        pytest.fail("the run began")


@pytest.mark.parametrize("spelling", SPELLINGS[:3])
def test_outputs_that_are_not_there_yet_are_compared_too(tmp_path, monkeypatch, spelling):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    new = tmp_path / "new.csv"
    other = spelled(new, spelling)
    with pytest.raises(InputError, match="two outputs"), run_with([], [new, other]):
        pytest.fail("the run began")


def test_a_folder_with_an_input_is_not_for_results(table):
    with run_with([table], []):
        with pytest.raises(InputError, match=r"holds the input .*table.csv. Give a folder"):
            require_no_input_in(Path())
        with pytest.raises(InputError, match="holds the input"), replacing_folder(table.parent):
            pytest.fail("it was to be replaced")
        require_no_input_in(table.parent / "sub")
        with replacing_folder(table.parent / "new") as folder:
            (folder / "table.csv").write_text("another one")


def test_a_program_may_write_what_it_has_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("1")
    assert existing_file(path) == path
    write_text(path, "2")
    with run_with([path], []):
        pass
    write_text(path, "3")
    assert path.read_text() == "3"


def test_what_is_not_changed_is_read_by_several_runs(table):
    for _ in range(2):
        with run_with([table, table], ["a.csv", "b.csv"]):
            assert existing_file(table) == table

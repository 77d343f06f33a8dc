"""Files that were named on another machine, and their text."""

from __future__ import annotations

import gzip

import pytest

import tablecloak as tc
from tablecloak.argus.places import find_file, lines_of, text_of, tokens


@pytest.mark.parametrize(
    "name",
    ["data.tab", "DATA.TAB", "Data.Tab", "C:\\jobs\\data.tab", "..\\x\\data.tab", "D:data.tab",
     "\\\\server\\share\\data.tab"],
)  # fmt: skip
def test_a_file_is_found_in_any_case_and_by_the_last_part_of_a_path_of_windows(tmp_path, name):
    (tmp_path / "data.tab").write_text("x")
    assert find_file(name, tmp_path) == tmp_path / "data.tab"


def test_the_folder_in_which_a_program_was_started_is_not_searched(tmp_path, monkeypatch):
    (tmp_path / "started").mkdir()
    (tmp_path / "batch").mkdir()
    (tmp_path / "started" / "data.asc").write_text("old")
    monkeypatch.chdir(tmp_path / "started")
    with pytest.raises(tc.InputError, match="does not exist"):
        find_file("data.asc", tmp_path / "batch")
    (tmp_path / "batch" / "DATA.asc").write_text("new")
    assert text_of(find_file("data.asc", tmp_path / "batch")) == "new"
    assert text_of(find_file(str(tmp_path / "started" / "data.asc"), tmp_path / "batch")) == "old"


def test_a_path_below_the_folder_is_followed(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.hrc").write_text("below")
    (tmp_path / "a.hrc").write_text("above")
    assert text_of(find_file("sub\\a.hrc", tmp_path)) == "below"
    assert text_of(find_file("a.hrc", tmp_path)) == "above"


def test_a_tree_of_folders_that_was_moved_as_a_whole_is_followed(tmp_path):
    """Batches name files on drives of their offices; who copies the tree keeps its folders."""
    (tmp_path / "Demo" / "data" / "codes").mkdir(parents=True)
    (tmp_path / "Demo" / "jobs").mkdir()
    (tmp_path / "Demo" / "data" / "codes" / "age.hrc").write_text("x")
    name = "\\\\server\\share\\demo\\DATA\\Codes\\Age.Hrc"
    assert text_of(find_file(name, tmp_path / "Demo" / "jobs")) == "x"
    with pytest.raises(tc.InputError, match="does not exist"):
        find_file("\\\\server\\share\\other\\Age.Hrc", tmp_path / "Demo" / "jobs")


def test_a_compressed_file_stands_for_the_plain_one(tmp_path):
    (tmp_path / "big.asc.gz").write_bytes(gzip.compress(b"1;2\n"))
    found = find_file("big.asc", tmp_path)
    assert text_of(found) == "1;2\n"


@pytest.mark.parametrize("name", ["", "..", "a\0b"])
def test_what_names_no_file_is_refused(tmp_path, name):
    with pytest.raises(tc.InputError, match="no name of a file|does not exist"):
        find_file(name, tmp_path)


def test_a_file_that_is_nowhere_is_named_with_the_folder(tmp_path):
    with pytest.raises(tc.InputError, match=f"{tmp_path.name}.gone.tab: this file does not exist"):
        find_file("gone.tab", tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_text_is_read_in_utf_8_or_western_windows(tmp_path, encoding):
    path = tmp_path / "x.rda"
    path.write_bytes("Größe\n".encode(encoding))
    assert text_of(path) == "Größe\n"


def test_comments_and_empty_lines_say_nothing_but_count(tmp_path):
    path = tmp_path / "x.arb"
    path.write_text("// note\n\n\\\\ note\n<A>\tb\n   \n<C>\n")
    assert list(lines_of(path)) == [(4, "<A> b"), (6, "<C>")]


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("Town 1 3", ["Town", "1", "3"]),
        ('<TotCode> "all of it"', ["<TOTCODE>", "all of it"]),
        ('"" x', ["", "x"]),
        ("<NUMERIC><DECIMALS>2", ["<NUMERIC>", "<DECIMALS>", "2"]),
        ("", []),
    ],
)
def test_quoted_parts_stay_together_and_keywords_are_in_capitals(line, parts):
    assert tokens(line) == parts

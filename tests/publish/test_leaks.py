"""The search for hidden values: what counts as one, and how numbers are read."""

from __future__ import annotations

import json
import struct
import zipfile
from html import escape
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tablecloak as tc
from tablecloak.publish.leaks import _digits, _readings, find_leaks

HIDDEN = 12345.67


def found(tmp_path, text: str | bytes, hidden=(HIDDEN,), known=()) -> list[float]:
    path = tmp_path / "file.txt"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return [leak.value for leak in find_leaks([path], hidden, known)]


@pytest.mark.parametrize(
    "text",
    ["12345.67", "12,345.67", "12.345,67", "12 345,67", "12'345.67", "1.234567e4", "12345.7",
     "12346", "12,346", "-12345.67", "[1,12345.67,3]", "x=12345.67;", "012345.67"],
)  # fmt: skip
def test_a_value_is_found_in_every_spelling_and_rounding(tmp_path, text):
    assert found(tmp_path, text) == [HIDDEN]


@pytest.mark.parametrize(
    "text", ["12345.68", "123456.7", "1234567", "112345.67", "12344", "a12345.67", "1.2345"]
)
def test_other_numbers_are_no_leaks(tmp_path, text):
    assert found(tmp_path, text) == []


def test_values_of_few_digits_occur_by_chance(tmp_path):
    for value in [0.0, 5.0, 120.0, 999.0, float("nan"), float("inf")]:
        assert found(tmp_path, f"{value:g} 120 999 5", hidden=[value]) == []


@pytest.mark.parametrize("known", [HIDDEN, "12,345.67", "about 12345.67 firms", 12346])
def test_what_is_published_anyhow_is_no_leak_in_that_spelling(tmp_path, known):
    text = "12346" if known == 12346 else "12345.67"
    assert found(tmp_path, text, known=[known]) == []


def test_a_double_among_bytes_is_found_at_any_offset(tmp_path):
    for offset in range(8):
        content = b"\0" * offset + struct.pack("<d", HIDDEN) + b"\0\0\0"
        assert found(tmp_path, content) == [HIDDEN]


def test_folders_are_searched_with_all_that_is_below(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep.txt").write_text("12345.67")
    (tmp_path / "a" / "clean.txt").write_text("nothing")
    (leak,) = find_leaks([tmp_path], [HIDDEN])
    assert leak.file.name == "deep.txt"
    assert leak.spelling == "12345.67"
    # A message about a leak is no leak itself.
    assert "12345" not in str(leak)


def test_a_file_that_is_not_there_is_an_error_and_not_clean(tmp_path):
    with pytest.raises(tc.InputError, match="gone.txt: this file does not exist"):
        find_leaks([tmp_path / "gone.txt"], [HIDDEN])


def test_digits_are_those_that_a_reader_would_recognise():
    for value, digits in [(0, 0), (7, 1), (1234, 4), (1000, 4), (0.5, 1), (12.5, 3), (1e-7, 1)]:
        assert _digits(value) == digits


def test_a_text_is_read_as_every_number_that_it_can_mean():
    for text, numbers in [
        ("1,234", {1234.0, 1.234}),
        ("1.234", {1234.0, 1.234}),
        ("1,234.5", {1234.5}),
        ("1.234,5", {1234.5}),
        ("1 234", {1234.0}),
        ("12,34", {12.34}),
        ("1e3", {1000.0}),
        ("1,23,4", set()),
        ("", set()),
    ]:
        assert _readings(text) == numbers


def spellings(value: float) -> list[str]:
    """Write a value with one or two decimals in every usual way."""
    written = []
    for zeros in ("", "0"):
        whole, decimals = f"{value:,.2f}".rstrip("0").split(".")
        for point, blanks in ((".", ",'\u2019"), (",", ".")):
            for thousands in ("", *blanks, *" \u00a0\u2009\u202f"):
                written.append(whole.replace(",", thousands) + point + decimals + zeros)
    return written


def write_everywhere(folder: Path, number: str) -> None:
    """Write a number as a field of its own into files of every kind."""
    cell = f'<td title="a=W: {escape(number)}">{escape(number)}</td>'
    (folder / "page.html").write_text(f"<html><p>It is {escape(number)}, in 2024.</p></html>")
    (folder / "cell.html").write_text(f"<!doctype html>{cell.replace(chr(160), '&nbsp;')}")
    (folder / "table.csv").write_text(f'W,"{number}",published\n')
    (folder / "table.json").write_text(json.dumps({"W": ["a", number, "b"]}))
    with zipfile.ZipFile(folder / "table.xlsx", "w") as book:
        book.writestr("xl/worksheets/sheet1.xml", f"<c r='A1'><v>{escape(number)}</v></c>")


EVERYWHERE = {"page.html", "cell.html", "table.csv", "table.json", "table.xlsx"}


@settings(max_examples=25, deadline=None)
@given(st.integers(1_000, 10**9), st.integers(1, 99), st.integers(0, 31), st.integers(1, 999))
def test_a_number_is_found_whole_in_any_spelling_and_never_as_a_part_of_a_longer_one(
    tmp_path_factory, whole, hundredths, way, further
):
    folder = tmp_path_factory.mktemp("spelled")
    value = whole + hundredths / 100
    number = spellings(value)[way % len(spellings(value))]
    write_everywhere(folder, number)
    assert {leak.file.name for leak in find_leaks([folder], [value])} == EVERYWHERE
    longer = value + further * 1000 ** len(f"{whole:,}".split(","))
    write_everywhere(folder, spellings(longer)[way % len(spellings(longer))])
    tails = {value, round(value % 1_000, 2)}
    heads = {float(int(longer)), float(int(longer) // 1_000)}
    assert find_leaks([folder], tails | heads) == []


def test_a_leak_tells_where_it_stands_without_its_digits(tmp_path):
    path = tmp_path / "page.html"
    path.write_text('<td title="region=W, branch=A: 98,765.43 of 12,345.67">')
    (leak,) = find_leaks([path], [HIDDEN])
    assert "line 1" in str(leak) and "region=W, branch=A" in str(leak)
    assert not {"345", "765"} & set(str(leak).replace(",", " ").replace(".", " ").split())

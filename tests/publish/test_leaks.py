"""The search for hidden values: what counts as one, and how numbers are read."""

from __future__ import annotations

import struct

import pytest

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

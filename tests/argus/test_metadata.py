"""Records with numbers that are missing, as tau-ARGUS reads them."""

from __future__ import annotations

import pytest

import tablecloak as tc
from tablecloak.argus import read_metadata
from tablecloak.argus.metadata import read_microdata


@pytest.mark.parametrize(
    ("separator", "text"),
    [
        ('<SEPARATOR> ","\n', "A,10,1\nB, .,2\nA,.,1\nB,,1\nA,NA,2\nB,7,1\n"),
        ("", "A 10 1\nB  . 2\nA  . 1\nB    1\nA NA 2\nB  7 1\n"),
    ],
)
def test_the_dot_of_sas_blanks_and_declared_words_are_read_as_0(tmp_path, separator, text):
    places = ("1", "4", "1") if separator else ("1 1", "2 3", "5 2")
    (tmp_path / "m.rda").write_text(
        f"{separator}a {places[0]}\n<RECODEABLE>\nv {places[1]} NA\n<NUMERIC>\n"
        f"w {places[2]}\n<WEIGHT>\n"
    )
    (tmp_path / "m.asc").write_text(text)
    metadata = read_metadata(tmp_path / "m.rda")
    frame, (note,) = read_microdata(metadata, tmp_path / "m.asc", ["a", "v", "w"])
    assert frame.v.tolist() == [10, 0, 0, 0, 0, 7]
    assert frame.w.tolist() == [1, 2, 1, 1, 2, 1]
    assert "'v' is missing in 4 records and read as 0, as τ-ARGUS reads it" in note


@pytest.mark.parametrize("text", ["A,x,1\n", "A,1..2,1\n", "A,1,.\n"])
def test_other_words_and_weights_that_are_missing_stop_the_batch(tmp_path, text):
    (tmp_path / "m.rda").write_text(
        '<SEPARATOR> ","\na 1\n<RECODEABLE>\nv 4\n<NUMERIC>\nw 1\n<WEIGHT>\n'
    )
    (tmp_path / "m.asc").write_text(text)
    metadata = read_metadata(tmp_path / "m.rda")
    with pytest.raises(tc.InputError, match="which is not a number"):
        read_microdata(metadata, tmp_path / "m.asc", ["a", "v", "w"])

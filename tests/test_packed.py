"""Packed files: what they hold, and that none unpacks to more than any table would."""

from __future__ import annotations

import gzip

import pytest

from tablecloak import packed
from tablecloak.errors import InputError
from tablecloak.packed import require_sound_ratio, unpacked


def test_a_file_is_unpacked_if_its_name_says_so(tmp_path):
    (tmp_path / "a.hrc").write_bytes(b"N\n")
    (tmp_path / "b.hrc.gz").write_bytes(gzip.compress(b"N\n") + gzip.compress(b"S\n"))
    assert unpacked(tmp_path / "a.hrc") == b"N\n"
    assert unpacked(tmp_path / "b.hrc.gz") == b"N\nS\n"


def test_a_file_that_unpacks_to_far_more_than_a_table_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(packed, "ALWAYS", 1000)
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"0" * 10**6))
    with pytest.raises(InputError, match=r"a\.gz: unpacks to .* 100 times its size"):
        unpacked(path)
    with pytest.raises(InputError, match="100 times its size"):
        require_sound_ratio(path)
    path.write_bytes(gzip.compress(bytes(range(256)) * 3))
    require_sound_ratio(path)
    assert len(unpacked(path)) == 768


def test_a_packed_file_that_is_cut_off_is_told(tmp_path):
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(b"N\n" * 1000)[:-9])
    with pytest.raises(InputError, match="cut off"):
        unpacked(path)

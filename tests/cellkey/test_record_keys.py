"""Record keys."""

from __future__ import annotations

import stat

import numpy as np
import pytest

from tablecloak.cellkey import draw_record_keys, make_secret, read_secret
from tablecloak.errors import InputError

SECRET = bytes(range(32))


def test_a_record_has_the_same_key_in_every_file():
    one = draw_record_keys(["p1", "p2", "p3"], secret=SECRET)
    other = draw_record_keys(["p3", "p9", "p1"], secret=SECRET)
    assert one[[0, 2]].tolist() == other[[2, 0]].tolist()


def test_another_secret_gives_other_keys():
    names = [f"p{number}" for number in range(50)]
    one, other = (draw_record_keys(names, secret=SECRET + tail) for tail in (b"1", b"2"))
    assert (one != other).all()


def test_keys_are_uniform_with_eight_digits():
    keys = draw_record_keys(range(20000), secret=SECRET)
    assert np.array_equal(keys, np.round(keys, 8)) and (keys >= 0).all() and (keys < 1).all()
    shares = np.histogram(keys, bins=20, range=(0, 1))[0] / 20000
    assert np.abs(shares - 0.05).max() < 0.008


def test_keys_without_a_secret_are_drawn_anew_each_time():
    assert not np.array_equal(draw_record_keys(range(20)), draw_record_keys(range(20)))


def test_whole_keys_stay_below_their_number():
    keys = draw_record_keys(range(5000), secret=SECRET, n_keys=256)
    assert keys.dtype == np.int64
    assert (keys.min(), keys.max()) == (0, 255)


def test_identifiers_that_are_missing_or_occur_twice_are_named():
    with pytest.raises(InputError, match="Row 2: the identifier is missing"):
        draw_record_keys(["a", None])
    with pytest.raises(InputError, match="Row 3: the identifier 'a' occurs a second time"):
        draw_record_keys(["a", "b", "a"])


def test_a_secret_is_readable_by_its_owner_only_and_never_replaced(tmp_path):
    path = tmp_path / "office.key"
    make_secret(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert len(read_secret(path)) == 32
    with pytest.raises(InputError, match="changes every key"):
        make_secret(path)


def test_a_file_that_is_no_secret_is_refused(tmp_path):
    (tmp_path / "k").write_text("password")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe")
    for name in ("k", "bytes"):
        with pytest.raises(InputError, match="this is no secret"):
            read_secret(tmp_path / name)


def test_a_secret_is_bytes():
    with pytest.raises(InputError, match=r"`secret` must be bytes, as `read_secret\(path\)`"):
        draw_record_keys(["p1", "p2"], secret="abc")

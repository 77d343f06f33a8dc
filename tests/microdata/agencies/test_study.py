"""The file that agencies agree on, their certificates, and messages."""

from __future__ import annotations

import json
import stat

import pytest

import tablecloak as tc
from tablecloak.microdata.agencies.study import (
    MOST_DAYS,
    der_of,
    fingerprint_of,
    make_certificate,
    read_study,
)
from tablecloak.microdata.agencies.wire import OpenMessage, PassMessage, StopMessage, read

NAMES = ["north", "east", "south"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("agencies")
    for name in NAMES:
        make_certificate(name, found)
    return found


def study(folder, *, names=NAMES, port=4000, **entries):
    chosen = {"kind": "regression", "response": "y", "predictors": ["a"], **entries}
    lines = [f"{name} = {json.dumps(value)}" for name, value in chosen.items() if value is not None]
    for at, name in enumerate(names):
        lines += ["[[agency]]", f'name = "{name}"', f'address = "127.0.0.1:{port + at}"',
                  f'certificate = "{NAMES[at % 3]}.crt"']  # fmt: skip
    path = folder / "study.toml"
    path.write_text("\n".join(lines))
    return path


def test_a_study_is_read_with_what_it_does_not_say(folder):
    found = read_study(study(folder))
    assert found.names == NAMES
    assert (found.shares, found.modulus_bits, found.fraction_bits) == (2, 128, 32)
    assert found.agencies[1].place == ("127.0.0.1", 4001)
    assert found.agencies[0].certificate == folder / "north.crt"
    assert found.arithmetic.modulus == 1 << 128


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"names": NAMES[:2]}, "2 agencies are too few"),
        ({"names": ["north", "east", "north"]}, "two agencies have the same name"),
        ({"response": None}, "a regression needs `response`"),
        ({"kind": "mean"}, "kind: "),
        ({"predictors": []}, "predictors: "),
        ({"shares": 0}, "shares: "),
        ({"modulus_bits": 8}, "modulus_bits: "),
        ({"timeout": 0}, "timeout: "),
        ({"port": 70_000}, "agency.0.address: .*1 to 65535"),
        ({"sharse": 2}, "sharse: "),
    ],
)
def test_what_is_wrong_in_the_file_is_named_by_file_and_entry(folder, entries, message):
    with pytest.raises(tc.InputError, match=f"study.toml: {message}"):
        read_study(study(folder, **entries))


def test_a_missing_certificate_says_how_to_make_one(folder):
    path = study(folder)
    path.write_text(path.read_text().replace("east.crt", "west.crt"))
    with pytest.raises(tc.InputError, match="no certificate of agency 'east' at .*west.crt"):
        read_study(path)


def test_the_fingerprint_is_of_what_was_agreed_and_not_of_where_files_lie(folder):
    one = read_study(study(folder))
    assert read_study(study(folder, timeout=7)).fingerprint() == one.fingerprint()
    assert read_study(study(folder, port=5000)).fingerprint() == one.fingerprint()
    assert read_study(study(folder, shares=3)).fingerprint() != one.fingerprint()
    swapped = study(folder, names=["east", "north", "south"])
    assert read_study(swapped).fingerprint() != one.fingerprint()


def test_a_key_is_for_its_owner_alone_and_no_certificate_is_like_another(tmp_path):
    key, certificate = make_certificate("north", tmp_path)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    _, other = make_certificate("east", tmp_path)
    assert fingerprint_of(certificate) != fingerprint_of(other)
    assert len(fingerprint_of(certificate)) == 64
    with pytest.raises(tc.InputError, match="north.key exists already"):
        make_certificate("north", tmp_path)


@pytest.mark.parametrize("name", ["", "a/b", "a" * 65, "a\nb", ".."])
def test_names_that_are_no_names_of_files_are_refused(tmp_path, name):
    with pytest.raises(tc.InputError, match="is no name of an agency"):
        make_certificate(name, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("days", [0, MOST_DAYS + 1])
def test_a_certificate_is_valid_for_some_days(tmp_path, days):
    with pytest.raises(tc.InputError, match="`days` must lie between 1"):
        make_certificate("north", tmp_path, days=days)


def test_a_file_that_is_no_certificate_is_named(tmp_path):
    path = tmp_path / "x.crt"
    path.write_text("hello")
    with pytest.raises(tc.InputError, match="x.crt is not a certificate in PEM format"):
        der_of(path)


HEAD = {"study": "f" * 64, "session": "s", "sender": "north", "round": 1}


@pytest.mark.parametrize(
    "message",
    [
        OpenMessage(**HEAD),
        StopMessage(**HEAD, reason="gone"),
        PassMessage(
            **HEAD, question="moments", argument=None, share=0, route=["north"], values=["1"]
        ),
    ],
)
def test_messages_go_there_and_back(message):
    assert read(message.model_dump_json().encode()) == message


@pytest.mark.parametrize(
    "change",
    [{"protocol": "tablecloak-sums/2"}, {"round": -1}, {"round": 1.5}, {"round": "1"},
     {"study": "short"}, {"kind": "close"}, {"more": 1}, {"sender": "x" * 101}],
)  # fmt: skip
def test_a_message_with_one_wrong_entry_is_none(change):
    text = json.dumps({**HEAD, "protocol": "tablecloak-sums/1", "kind": "open", **change})
    with pytest.raises(ValueError, match="validation error"):
        read(text.encode())

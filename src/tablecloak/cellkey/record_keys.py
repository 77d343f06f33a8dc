"""Record keys: drawn once for each record, kept for ever, and never shown."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.storage import existing_file, write_text

DIGITS = 8
"""Digits of record keys that are fractions, as in tau-ARGUS."""

MOST_KEYS = 2**53
"""Most whole keys: larger numbers are not exact in programs that hold numbers as doubles."""

SECRET_BYTES = 32


def draw_record_keys(
    identifiers: pd.Series | npt.NDArray[np.object_] | list[object],
    *,
    secret: bytes | None = None,
    n_keys: int | None = None,
) -> Floats | Integers:
    """Draw the record key of each record.

    Parameters
    ----------
    identifiers : sequence, shape (n,)
        A permanent identifier of each record, so that a person has the same key next year.
    secret : bytes, optional
        Secret of the office. Each key is then computed from secret and identifier (HMAC-SHA256), so
        that the same record has the same key in every file and no list of keys is needed. Without a
        secret the system draws keys at random, and they must be stored with the records.
    n_keys : int, optional
        Draw whole keys from 0 to `n_keys - 1`; by default keys are fractions with 8 digits.

    Returns
    -------
    numpy.ndarray, shape (n,)
        The keys. Anyone who knows them can undo the perturbation: keep them inside the office.

    Raises
    ------
    InputError
        If an identifier is missing or occurs twice, or the secret is no bytes.
    """
    if not isinstance(secret, bytes | None):
        raise InputError(
            f"`secret` must be bytes, as `read_secret(path)` returns them. Got "
            f"{type(secret).__name__}."
        )
    given = pd.Series(np.asarray(identifiers, dtype=object))
    _check_identifiers(given)
    size = 10**DIGITS if n_keys is None else n_keys
    if not 2 <= size <= MOST_KEYS:
        raise InputError(
            f"`n_keys` must be from 2 to {MOST_KEYS}, which other programs read exactly. Got "
            f"{n_keys!r}."
        )
    if secret is None:
        drawn = [secrets.randbelow(size) for _ in range(len(given))]
    else:
        # With 64 bits more than keys need, the remainder's preference for small keys is negligible.
        texts = given.astype(str)
        drawn = [
            int.from_bytes(hmac.digest(secret, text.encode(), hashlib.sha256)[:16], "big") % size
            for text in texts
        ]
    keys = np.array(drawn, dtype=np.int64)
    return keys / 10**DIGITS if n_keys is None else keys


def _check_identifiers(given: pd.Series) -> None:
    missing = np.flatnonzero(given.isna().to_numpy())
    if len(missing):
        raise InputError("the identifier is missing. Fill it in.", row=int(missing[0]))
    again = np.flatnonzero(given.astype(str).duplicated().to_numpy())
    if len(again):
        raise InputError(
            f"the identifier {given.iloc[again[0]]!r} occurs a second time. "
            f"Each record needs its own; otherwise keys of one unit add up.",
            row=int(again[0]),
        )


def make_secret(path: str | Path) -> None:
    """Write a new secret to a file that only its owner may read.

    Raises
    ------
    InputError
        If the file exists already: keys made with another secret would not agree.
    """
    if Path(path).exists():
        raise InputError(f"{path}: this file is there already. A new secret changes every key.")
    write_text(path, secrets.token_hex(SECRET_BYTES) + "\n", secret=True)


def read_secret(path: str | Path) -> bytes:
    """Read a secret that `make_secret` wrote.

    Raises
    ------
    InputError
        If the file does not hold a secret.
    """
    try:
        # Bytes that are no text raise a ValueError too.
        secret = bytes.fromhex(existing_file(path).read_text(encoding="utf-8").strip())
    except ValueError:
        secret = b""
    if len(secret) < SECRET_BYTES:
        raise InputError(
            f"{path}: this is no secret. It must hold {2 * SECRET_BYTES} hexadecimal digits; "
            f"`tablecloak cellkey secret` writes one."
        )
    return secret

"""Names of the files of a bundle, and their checksums."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tablecloak.errors import InputError

RESULTS = "results.json"
"""What SACRO-Viewer opens."""
WORKBOOK = "results.xlsx"
CHECKS = "checks.json"
"""What was found of each output. Without a key ``version``, so that the viewer passes it over."""
CONFIG = "config.json"
"""The limits; the viewer shows them beside the outputs."""
PAGE = "check.html"
DECISIONS = "decisions.json"
CHECKSUMS = "checksums"
"""Folder with a text file for each file of the bundle: its SHA-256 in hexadecimal digits."""

OWN_FILES = frozenset({RESULTS, WORKBOOK, CHECKS, CONFIG, PAGE, DECISIONS, CHECKSUMS})

_PLAIN = re.compile(r"[\w][\w .()+,-]{0,120}")


def checksum(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def require_file_name(name: str, what: str, remedy: str) -> str:
    """Return a name that can stand in a bundle.

    Raises
    ------
    InputError
        If it would lead out of the folder, or cannot be a name on every system.
    """
    if not _PLAIN.fullmatch(name) or name.endswith((" ", ".")):
        raise InputError(
            f"{what} {name!r} cannot be the name of a file: use letters, digits, spaces, '_', '-' "
            f"and '.'; {remedy}"
        )
    return name

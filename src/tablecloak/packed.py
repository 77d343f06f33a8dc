"""Packed text of strangers: what a few bytes unpack to may be larger than any memory."""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path

from tablecloak.errors import InputError
from tablecloak.storage import existing_file

MOST_RATIO = 100
"""Largest ratio of unpacked to packed bytes; tables as text reach 10 to 50."""

ALWAYS = 1 << 26
"""Bytes that any file may unpack to."""

PIECE = 1 << 20


def require_sound_ratio(path: Path) -> None:
    """Refuse a packed file of which the last bytes tell a size that no table unpacks to.

    They hold the size of the last part alone, modulo 4 GiB: a first look that costs nothing.
    """
    with path.open("rb") as stream:
        packed = stream.seek(0, 2)
        stream.seek(max(0, packed - 4))
        size = int.from_bytes(stream.read(4), "little")
    if size > max(4 * ALWAYS, MOST_RATIO * packed):
        raise _too_large(path, size)


def _too_large(path: Path, size: int) -> InputError:
    return InputError(
        f"{path}: unpacks to {size >> 20} MiB or more, {MOST_RATIO} times its size, as no table "
        f"does. Check that it is the right file."
    )


def unpacked(path: str | Path) -> bytes:
    """Return the content of a file of text, unpacked if its name ends in ``.gz``.

    Raises
    ------
    InputError
        If it does not exist, is cut off or no packed file, or unpacks to far more than any table.
    """
    path = existing_file(path)
    try:
        if path.suffix.lower() != ".gz":
            return path.read_bytes()
        most = max(ALWAYS, MOST_RATIO * path.stat().st_size)
        pieces, size = [], 0
        with gzip.open(path) as stream:
            while piece := stream.read(PIECE):
                pieces.append(piece)
                size += len(piece)
                if size > most:
                    raise _too_large(path, size)
    except EOFError:
        raise InputError(
            f"{path}: the compressed file is cut off. Copy it again from its source."
        ) from None
    except (OSError, zlib.error) as error:
        raise InputError(f"{path}: cannot be read ({error}). Check the file.") from error
    return b"".join(pieces)

"""Writing what a command found."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd


def require_writable_result(output: Path | None, *others: Path | None) -> None:
    """Refuse names under which nothing can be written, before work that may take long.

    Parameters
    ----------
    output : Path or None
        Must end like a format of rows and columns.
    *others : Path or None

    Raises
    ------
    InputError
        Names the file.
    """
    from tablecloak.storage import require_writable
    from tablecloak.tables.formats import FrameFormat, format_of

    require_writable(output, *others)
    if output is not None:
        format_of(output, FrameFormat)


def write_result(
    result: Any,
    frame: pd.DataFrame,
    output: Path,
    certificate: Path | None,
    *,
    secret: bool = False,
) -> None:
    """Write a release, and before it all proofs of it if they are asked for.

    Parameters
    ----------
    result : result
        What `tablecloak.certificates.file.write_certificate` accepts.
    frame : pandas.DataFrame
    output : Path
    certificate : Path or None
    secret : bool, default=False
        Whether the release is readable by its owner alone.
    """
    from tablecloak.certificates.file import write_certificate
    from tablecloak.tables.formats import write_frame

    if certificate is not None:
        write_certificate(result, certificate)
    write_frame(frame, output, secret=secret)

"""What codes are called, written behind them in a text."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["Labels", "with_labels"]

Labels = Mapping[str, Mapping[str, str]]
"""For a dimension what its codes are called."""


def with_labels(text: str, labels: Labels) -> str:
    """Return a text with labels behind the codes: ``(branch=47)`` becomes ``(branch=47 Retail)``.

    Parameters
    ----------
    text : str
    labels : mapping of str to mapping of str to str
        For a dimension what its codes are called; codes without a label stay as they are.
    """
    for name, called in labels.items():
        codes = sorted((code for code in called if called[code]), key=len, reverse=True)
        if not codes:
            continue
        # A code ends where the next one begins, or the cell: "47" is not the beginning of "471".
        known = "|".join(map(re.escape, codes))
        pattern = rf"(?<=[( ]){re.escape(name)}=({known})(?=[,)])"
        text = re.sub(pattern, lambda found, c=called: f"{found[0]} {c[found[1]]}", text)  # type: ignore[misc]
    return text

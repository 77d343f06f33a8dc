"""What all results share: a loss, a proved lower bound, and two gaps between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tablecloak import showing

OPTIMAL = 1e-6
"""Gap up to which a result counts as proved optimal. Bounds of linear programs lose about that
much, since every number in them is loosened by its own rounding before it counts as proved."""


class Result(ABC):
    """A release that was searched for, with what is proved about its loss.

    Siblings are frozen dataclasses with the fields `bound`, `seconds` and `notes`.
    """

    bound: float
    """Proved lower bound on the loss of any release that meets the same requirements."""

    seconds: float
    """Time of the search."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What else is to be said of the search; most siblings have it as a field."""
        return ()

    @property
    @abstractmethod
    def loss(self) -> float:
        """What the release costs: the objective of the search, measured on the release itself."""

    @property
    def unavoidable(self) -> float:
        """Part of the loss that every release has, since sensitive cells must be protected."""
        return 0.0

    @property
    def gap(self) -> float:
        """(loss - bound) / loss; 0 means proved optimal."""
        return _share(self.loss - self.bound, self.loss)

    @property
    def avoidable_gap(self) -> float:
        """(loss - bound) / (loss - unavoidable): the gap on what the search had to decide.

        A table whose sensitive cells make up most of the loss has a small `gap` whatever is done
        with the others; this gap leaves the sensitive cells out.
        """
        choice = self.loss - self.unavoidable
        return _share(min(self.loss - self.bound, choice), choice)

    @property
    def is_optimal(self) -> bool:
        """Whether the result is proved to be optimal, within `OPTIMAL` of its loss."""
        return self.gap <= OPTIMAL

    def _gaps(self) -> str:
        """Both gaps, for a summary."""
        if self.is_optimal:
            return f"gap {100 * self.gap:.2f} %"
        return (
            f"gap {100 * self.gap:.2f} % ({100 * self.avoidable_gap:.2f} % without what every "
            f"release loses)"
        )

    @abstractmethod
    def summary(self) -> str:
        """Say in one line what was done, and how good the result is."""

    def verdict(self) -> str:
        """Say the same to those who decide; a kind without words for them has its summary."""
        return self.summary()

    def _repr_html_(self) -> str:
        return showing.html(self)

    def plot(self, path: str | Path | None = None) -> Any:
        """Draw it with matplotlib. Secret.

        Parameters
        ----------
        path : str or path, optional
            Where to write the picture, readable by its owner alone.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        InputError
            If this kind of result has no picture, or matplotlib is not installed.
        """
        return showing.plot(self, path)

    def write(self, path: str | Path) -> Path:
        """Write what may be published of it, and nothing else, to one file.

        Parameters
        ----------
        path : str or path
            Its ending chooses the format, such as ``.csv``, ``.xlsx`` or ``.parquet``.

        Returns
        -------
        Path

        Raises
        ------
        InputError
            For an unknown ending, or a result of which nothing can be published as a table.
        VerificationError
            If a hidden value stands in the file; it is removed.

        See Also
        --------
        tablecloak.write_release : Several formats, and a page for readers.
        """
        return showing.file(self, path)

    def __repr__(self) -> str:
        return f"<{self.verdict()}>"


def in_percent(part: float, whole: float, digits: int = 1) -> str:
    """Say which share a part is of the whole; 0 % of nothing."""
    return f"{100 * _share(part, whole):.{digits}f} %"


def _share(part: float, whole: float) -> float:
    # A loss of exactly 0 cannot be improved, and rounding must not make a gap negative.
    return max(part / whole, 0.0) if whole > 0 else 0.0

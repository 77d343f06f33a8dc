"""An answer to a question: changes with a proof of how good they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from tablecloak.cta.question import Question

__all__ = ["INTERRUPTED", "LATE", "Answer", "LossBound"]

INTERRUPTED = "interrupted: best adjustment so far"
"""Note of a search that was stopped."""

LATE = "the first table with its proof took longer than the time limit"
"""Note of a search whose limit could not be kept."""


class LossBound(Protocol):
    """Proof of a lower bound on the loss."""

    def verify(self, question: Question, changes: npt.NDArray[np.float64]) -> float:
        """Return the bound that it proves for a question; no solver is called."""


@dataclass(frozen=True, eq=False)
class Answer:
    """Changes that answer a question, with a proof.

    Parameters
    ----------
    changes : numpy.ndarray of longdouble, shape (n_cells,)
        In the unit of the question.
    is_whole : bool
        Whether they are whole numbers.
    certificate : LossBound
    notes : tuple of str, default=()
    """

    changes: npt.NDArray[np.longdouble]
    is_whole: bool
    certificate: LossBound
    notes: tuple[str, ...] = ()

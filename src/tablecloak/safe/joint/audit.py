"""The joint audit: what a new output discloses together with all earlier ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tablecloak.safe.appetite import Appetite
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.finding import Finding

__all__ = ["JointAudit"]


@dataclass
class JointAudit:
    """What is remembered of the outputs of one project.

    Parameters
    ----------
    appetite : Appetite
    """

    appetite: Appetite

    def findings(
        self,
        asked: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        *,
        contributors: npt.NDArray[np.int64] | None = None,
    ) -> tuple[list[Finding], list[str]]:
        """Return what the figures asked about disclose with earlier ones, and what is undecided."""
        return [], []

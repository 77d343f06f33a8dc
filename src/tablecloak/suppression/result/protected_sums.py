"""The cost of protecting sums of hidden cells."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ProtectedSums"]


@dataclass(frozen=True)
class ProtectedSums:
    """What protection of sums cost, compared with the pattern found without them. Secret.

    Parameters
    ----------
    estimated : int
        Number of sensitive sums that could be estimated too well in the pattern without them.
    loss_before : float
        Loss of that pattern.
    cells_before : int
        Number of cells that it hides.
    """

    estimated: int
    loss_before: float
    cells_before: int

    def summary(self, loss: float, cells: int) -> str:
        """Return in one phrase what the sums cost a pattern with this loss and number of cells."""
        if not self.estimated:
            return "no sum could be estimated too well without this"
        return (
            f"{self.estimated} of these sums could be estimated too well: loss "
            f"{self.loss_before:.12g} -> {loss:.12g}, cells {self.cells_before} -> {cells}"
        )

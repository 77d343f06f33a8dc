"""Waivers: contributors who allow that their value is estimated, all of it or within a margin."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from tablecloak.arrays import Flags, Floats, Integers


@dataclass(frozen=True, eq=False)
class Waivers:
    """Which contributors of each cell need protection, and within which margin.

    A contributor without a waiver needs the protection of the rule, one with a partial waiver the
    margin that it named, and one with a full waiver none. All of them go on to attack others.
    A contributor, or a holding, of which only some records in a cell are waived, needs what the
    most careful of these records needs.

    Parameters
    ----------
    unwaived : numpy.ndarray of bool, shape (n_cells, k)
        Whether each of the k largest contributors has a record without a waiver in the cell.
    own_p : numpy.ndarray of float, shape (n_cells, k)
        Largest margin that each of them named, in per cent of its contribution; 0 if none.
    largest_unwaived : numpy.ndarray of float, shape (n_cells,)
        Largest contribution, by absolute value, of anybody with a record without a waiver.
    largest_own_p : numpy.ndarray of float, shape (n_cells,)
        Largest margin that anybody named, in per cent.
    full : numpy.ndarray of int, shape (n_cells,)
        Number of contributors with a full waiver.

    Notes
    -----
    The terms are those of G-Confid [1]_, whose ``waiver`` and ``p_waiver`` these are.

    References
    ----------
    .. [1] Statistics Canada: G-Confid 2.0 user guide, sensitivity with waivers.
    """

    unwaived: Flags
    own_p: Floats
    largest_unwaived: Floats
    largest_own_p: Floats
    full: Integers

    @classmethod
    def nobody(cls, largest: Floats, largest_weight: Floats) -> Waivers:
        """Return that nobody waived anything, for the largest contributions of each cell."""
        n_cells, k = largest.shape
        return cls(
            unwaived=largest_weight > 0,
            own_p=np.zeros((n_cells, k)),
            largest_unwaived=largest[:, 0] if k else np.zeros(n_cells),
            largest_own_p=np.zeros(n_cells),
            full=np.zeros(n_cells, dtype=np.int64),
        )

    def take(self, cells: npt.NDArray[np.integer]) -> Waivers:
        """Return the waivers of the given cells, in that order."""
        return Waivers(**{each.name: getattr(self, each.name)[cells] for each in fields(self)})

    def padded(self, k: int) -> Waivers:
        """Return the same waivers with room for k largest contributors."""
        more = ((0, 0), (0, k - self.own_p.shape[1]))
        return Waivers(
            np.pad(self.unwaived, more),
            np.pad(self.own_p, more),
            self.largest_unwaived,
            self.largest_own_p,
            self.full,
        )

    @staticmethod
    def concatenate(parts: list[Waivers]) -> Waivers:
        """Stack the waivers of several tables."""
        return Waivers(
            **{
                each.name: np.concatenate([getattr(part, each.name) for part in parts])
                for each in fields(Waivers)
            }
        )

    @staticmethod
    def column_names(k: int) -> list[str]:
        """Return the names of `columns`, in their order."""
        listed = [f"{name}_{rank + 1}" for name in ("unwaived", "own_p") for rank in range(k)]
        return [*listed, "unwaived_largest", "own_p_largest", "full_waivers"]

    def columns(self) -> dict[str, Floats]:
        """Return all that is known as columns with one entry for each cell."""
        single = [self.largest_unwaived, self.largest_own_p, self.full]
        flat = np.column_stack([self.unwaived, self.own_p, *single]).astype(np.float64)
        return dict(zip(self.column_names(self.own_p.shape[1]), flat.T, strict=True))

    @classmethod
    def from_columns(cls, columns: Floats, k: int) -> Waivers:
        """Read what `columns` returns, as an array of shape (n_cells, 2 k + 3)."""
        largest_unwaived, largest_own_p, full = columns[:, 2 * k :].T
        unwaived, own_p = columns[:, :k] > 0, columns[:, k : 2 * k]
        return cls(unwaived, own_p, largest_unwaived, largest_own_p, full.astype(np.int64))

    def margins(self, p: float, most: float = np.inf) -> Floats:
        """Return the margin that each of the largest contributors needs, in per cent.

        Parameters
        ----------
        p : float
            Margin of the rule, for contributors without a waiver.
        most : float, default=inf
            A margin that somebody named counts as at most this.

        Returns
        -------
        numpy.ndarray of float, shape (n_cells, k)
            0 where a contributor needs no protection.
        """
        margins: Floats = np.maximum(p * self.unwaived, np.minimum(self.own_p, most))
        return margins

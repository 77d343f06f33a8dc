"""Balance rows: in no relation does one cell change by more than all others together.

An additive table keeps its relations, sum c_i z_i = 0, so that for each cell j of a relation::

    |c_j| |z_j| <= sum over the others |c_i| |z_i|

The tight form (see `tight`) has columns for |z_i|: s+_i + s-_i of an ordinary cell, and
UPL_p y_p + LPL_p (1 - y_p) + s+_p + s-_p of a sensitive one, since one of s+, s- is 0 in a best
table. In the relaxation both may be positive: y_p = 1/2 makes the levels cancel without a net
change, so that a change that a discrepancy row forces in one relation has no effect on the next
one. Balance rows carry it from relation to relation through the cells that these share. There is
one balance row for each cell of each relation; few are violated, so they are added as needed.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, diags_array, hstack

from tablecloak.arrays import Floats, Integers
from tablecloak.cta.model.tight import TightForm

VIOLATED = 1e-3
"""Smallest violation, in median protection levels, at which a balance row is added to the program.
Chosen by trial; not measured."""

ROUNDING = 1e-9
"""Amount by which balance rows are loosened, so that rounding cannot make one cut off a feasible
point."""


class BalanceRows:
    """All balance rows of one form, numbered like the entries of its relations.

    Parameters
    ----------
    form : TightForm
    """

    def __init__(self, form: TightForm) -> None:
        self._form = form
        self._model = form.model
        self._size = csr_array(abs(form.model.relations))
        self._relation = np.repeat(np.arange(self._size.shape[0]), np.diff(self._size.indptr))
        self._raw = form.scaling.point(np.ones(form.program.n_columns))

    def violated(self, x: Floats, tolerance: float = VIOLATED) -> Integers:
        """Return the rows that a point violates: at most one for each relation.

        Parameters
        ----------
        x : numpy.ndarray of float
            A point of the scaled program.
        tolerance : float
            In median protection levels.

        Returns
        -------
        numpy.ndarray of int
            Numbers of rows, each that of an entry of the relations, in the order of storage.
        """
        share = self._size.data * self._moved(x)[self._size.indices]
        together = np.bincount(self._relation, share, self._size.shape[0])
        excess = 2 * share - together[self._relation]
        return np.flatnonzero(excess > tolerance * self._model.problem.unit)

    def rows(self, numbers: Integers) -> tuple[csr_array, Floats, Floats]:
        """Return rows of the scaled program: matrix, lower and upper sides."""
        model = self._model
        count = len(numbers)
        part = csr_array(self._size[self._relation[numbers], :])
        entry = csr_array(
            (self._size.data[numbers], (np.arange(count), self._size.indices[numbers])),
            shape=part.shape,
        )
        signed = csr_array(part - 2 * entry)
        levels = csr_array(signed[:, model.sensitive])
        swing = levels @ diags_array(model.up_level - model.down_level)
        columns = self._form.program.n_columns
        rest = csr_array((count, columns - 2 * part.shape[1] - levels.shape[1]))
        matrix = hstack([signed, signed, swing, rest], format="csr") @ diags_array(self._raw)
        largest = np.asarray(abs(matrix).max(axis=1).todense()).reshape(-1)
        # Division by a power of two does not round the coefficients.
        size = np.ldexp(1.0, np.frexp(np.where(largest > 0, largest, 1.0))[1])
        matrix = csr_array(diags_array(1 / size) @ matrix)
        matrix.eliminate_zeros()
        low = -(levels @ model.down_level) / size
        both = abs(levels) @ (model.up_level + model.down_level) / size
        return matrix, low - ROUNDING * np.maximum(1.0, both), np.full(count, np.inf)

    def _moved(self, x: Floats) -> Floats:
        """Return |z| of all groups of cells, computed from the columns."""
        model = self._model
        raw = self._form.scaling.point(x)
        n = model.n_groups
        moved = raw[:n] + raw[n : 2 * n]
        y = raw[self._form.direction_columns]
        moved[model.sensitive] += model.up_level * y + model.down_level * (1 - y)
        return moved


def with_balance(form: TightForm, numbers: Integers) -> TightForm:
    """Return a form with some of its balance rows added after all other rows.

    Parameters
    ----------
    form : TightForm
    numbers : numpy.ndarray of int
        As `BalanceRows.violated` returns them.
    """
    program = form.program.with_rows(*BalanceRows(form).rows(numbers))
    return replace(form, program=program, balance=np.concatenate([form.balance, numbers]))

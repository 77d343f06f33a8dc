"""Relations from their terms, as files list them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.sparse import coo_array, csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError


def relation_matrix(
    row: Integers, cell: Integers, coefficient: Floats, shape: tuple[int, int]
) -> csr_array:
    """Build relations from their terms; a cell listed twice counts with the sum.

    Coefficients are decimal numbers, and so are these sums: 0.1 + 0.2 - 0.3 is 0.

    Parameters
    ----------
    row, cell : numpy.ndarray of int, shape (n_terms,)
    coefficient : numpy.ndarray of float, shape (n_terms,)
    shape : (int, int)
        Number of relations and of cells.

    Returns
    -------
    scipy.sparse.csr_array
        Without coefficients of 0.

    Raises
    ------
    InputError
        If such a sum is beyond all numbers.
    """
    order = np.lexsort((cell, row))
    row, cell, coefficient = row[order], cell[order], coefficient[order]
    new = np.append(True, (np.diff(row) != 0) | (np.diff(cell) != 0))[: len(row)]
    first = np.flatnonzero(new)
    sums = coefficient[first]
    length = np.diff(np.append(first, len(row)))
    for term in np.flatnonzero(length > 1):
        same = coefficient[first[term] : first[term] + length[term]].tolist()
        try:
            sums[term] = float(sum(Fraction(repr(number)) for number in same))
        except OverflowError:
            raise InputError(
                f"Relation {row[first[term]]} lists the cell {cell[first[term]]} {length[term]} "
                f"times, and the sum of its coefficients is too large."
            ) from None
    used = sums != 0
    return csr_array(coo_array((sums[used], (row[first][used], cell[first][used])), shape=shape))

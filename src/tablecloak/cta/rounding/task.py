"""What a caller of `controlled_rounding` asks for, checked once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError, listed
from tablecloak.solve.exact import whole_factors, whole_products, whole_rows
from tablecloak.tables.changes.derived_figures import require_no_figures
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule

LARGEST = 10**15
"""Largest base: sums of such numbers are exact."""


@dataclass(frozen=True, eq=False)
class WholeRelations:
    """Relations in whole coefficients without a common divisor.

    Decimal coefficients stand for decimal numbers. Relations with others are left as they are.

    Parameters
    ----------
    rows : scipy.sparse.csr_array, shape (n_relations, n_cells)
    scale : numpy.ndarray of float, shape (n_relations,)
        What each relation was multiplied by.
    is_real : numpy.ndarray of bool, shape (n_relations,)
        Relations that were left as they are.
    """

    rows: csr_array
    scale: Floats
    is_real: Flags

    @classmethod
    def of(cls, relations: csr_array) -> WholeRelations:
        """Return relations in whole coefficients."""
        rows, is_real = whole_rows(relations)
        row = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        divisor = np.zeros(rows.shape[0], dtype=np.int64)
        np.gcd.at(divisor, row, np.where(is_real[row], 1.0, rows.data).astype(np.int64))
        divisor = np.maximum(divisor, 1)
        matrix = csr_array((rows.data / divisor[row], rows.indices, rows.indptr), shape=rows.shape)
        scale = np.where(is_real, 1.0, whole_factors(relations)) / divisor
        return cls(matrix, scale, is_real)


@dataclass(frozen=True, eq=False)
class RoundingTask:
    """A table of whole numbers, to be rounded to multiples of a base.

    Parameters
    ----------
    problem : ProtectionProblem
    base : int
    max_steps : int
    weights : numpy.ndarray of float, shape (n_cells,)
        Cost of moving each cell by one.
    """

    problem: ProtectionProblem
    base: int
    max_steps: int
    weights: Floats

    @classmethod
    def of(
        cls, problem: ProtectionProblem, *, base: int, max_steps: int, weights: WeightRule | str
    ) -> RoundingTask:
        """Check the arguments of a caller.

        Raises
        ------
        InputError
            If an argument is out of range, or no multiples of the base can satisfy a relation.
        """
        check_whole("base", base, 2)
        check_whole("max_steps", max_steps, 1)
        if base * max_steps > LARGEST:
            raise InputError(
                f"{max_steps} steps of {base} are more than numbers can hold. Lower `base` or "
                f"`max_steps`."
            )
        require_no_figures(problem, "Rounding")
        table = problem.table
        if not table.integer:
            raise InputError(
                "Controlled rounding needs a table of whole numbers, such as counts. Tabulate with "
                "`decimals=0`; of a finished table round the "
                "values to whole numbers that add up first, or protect the table by suppression or "
                "adjustment."
            )
        odd = np.flatnonzero(problem.frozen & (np.rint(table.values) % base != 0))
        if len(odd):
            raise InputError(
                f"{len(odd)} cells must be published as they are (status z), but are not multiples "
                f"of {base}: {listed(table.labels(odd[:5]))}. Give them another status."
            )
        task = cls(problem, int(base), int(max_steps), WeightRule(weights).of(problem))
        uneven = task.uneven_relations
        if len(uneven):
            raise InputError(
                f"{len(uneven)} relations have a right-hand side that is not a multiple of {base} "
                f"(in whole coefficients without a common divisor), so that no multiples of it can "
                f"satisfy them; the first is {table.describe_relation(int(uneven[0]))}. Take a "
                f"base that divides it."
            )
        return task

    @cached_property
    def true(self) -> Integers:
        """True values."""
        return np.rint(self.problem.table.values).astype(np.int64)

    @cached_property
    def whole(self) -> WholeRelations:
        """The relations of the table in whole coefficients."""
        return WholeRelations.of(self.problem.table.relations)

    @cached_property
    def sides(self) -> Integers:
        """Products of relations with what true values lie above multiples; 0 for real relations."""
        decimal = ~self.whole.is_real
        products = whole_products(self.whole.rows[decimal, :], self.true % self.base)
        sides = np.zeros(len(decimal), dtype=products.dtype)
        sides[decimal] = products
        return sides

    @property
    def uneven_relations(self) -> Integers:
        """Relations that no multiples of the base satisfy.

        In whole coefficients without a common divisor, their right-hand side is not a multiple.
        """
        return np.flatnonzero(self.sides % self.base != 0)


def check_whole(name: str, given: object, least: int) -> None:
    """Refuse anything but a whole number in a sensible range.

    Raises
    ------
    InputError
    """
    is_number = isinstance(given, int | float | np.integer | np.floating)
    # Whole numbers of Python may be too large for a double.
    number = float(given) if is_number and abs(given) <= LARGEST else np.nan  # type: ignore[arg-type]
    if not least <= number <= LARGEST or number != np.rint(number):
        raise InputError(
            f"`{name}` must be a whole number from {least} (to {LARGEST:,}). Got {given!r}."
        )

"""Tolerances of the check of an adjusted table.

Tables of whole numbers, and tables with a few decimals, consist of multiples of their last digit.
They are adjusted and checked in these multiples, which are whole numbers: no error is accepted
then. Only where values have no last digit is an error accepted, for each relation by the size of
its own terms and for each cell by its own level, and never by other cells.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers, LongFloats
from tablecloak.errors import InputError, ModelError, listed
from tablecloak.solve.exact import exact_products, whole_factors
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table

MOST_DECIMALS = 6
"""Digits behind the decimal point up to which values are taken for decimal numbers."""

LARGEST_WHOLE = 2.0**53
"""Every whole number below this is a double."""

DUST = 16
"""Accepted error of a decimal number that is a sum, in units in the last binary place."""

SURE = 1e-2
"""Distance from a decimal number, in units of the last digit, above which a value is none, unless
doubles are coarser than that."""

HALF_A_UNIT = 0.5
"""Distance of a right-hand side from that of the multiples, in units of the last digit."""

LEVEL_SHARE = 1e-9
"""Share of its own level by which a cell may miss it, so that 0.1 counts as a tenth."""

LEAST_DIGIT = 1e-3
"""Most of a last digit by which a level may exceed a multiple of it, and count as that multiple."""

ULPS = 4
"""Units in the last binary place by which a value may lie beyond a bound of its own."""

RELATION_ULPS = 4
"""Error of a relation without a last digit, in units in the last place of its own terms."""


def last_digit(table: Table) -> int | None:
    """Return the decimals of a table: all values are multiples of 10^-decimals.

    Parameters
    ----------
    table : Table

    Returns
    -------
    int or None
        What is declared for the table, or else the fewest that its values need, 0 for whole
        numbers. None if there is no last digit, or if a relation with coefficients that are not
        whole cannot hold in whole multiples.
    """
    coefficients = table.relations.data
    if np.any(coefficients != np.rint(coefficients)):
        return None
    declared = table.decimals
    for decimals in range(MOST_DECIMALS + 1) if declared is None else [declared]:
        whole = multiples_of(table.values, decimals)
        if whole is None:
            continue
        side = exact_products(table.relations, whole)
        if np.all(np.abs(side - in_units(table.right_hand_side, decimals)) < HALF_A_UNIT):
            return decimals
    return None


def multiples_of(values: Floats, decimals: int) -> Integers | None:
    """Return values in units of the last digit; None if they are not multiples of it."""
    whole = np.rint(in_units(values, decimals))
    if np.any(np.abs(whole) >= LARGEST_WHOLE):
        return None
    place = np.spacing(np.abs(values))
    # Large doubles are so coarse that any number would count as a decimal one.
    surely = np.maximum(place, SURE * last_unit(decimals))
    dust = np.minimum(DUST * place, surely) if decimals else 0.0
    if np.any(np.abs(from_units(whole, decimals) - values) > dust):
        return None
    return whole.astype(np.int64)


def last_unit(decimals: int) -> float:
    """Return the last digit, 10^-decimals."""
    return float(from_units(np.ones(1), decimals)[0])


def in_units(values: Floats, decimals: int) -> Floats:
    """Return numbers in units of the last digit."""
    return values * 10.0**decimals if decimals >= 0 else values / 10.0**-decimals


def from_units(whole: Floats, decimals: int) -> Floats:
    """Return multiples of the last digit as the nearest doubles."""
    return whole / 10.0**decimals if decimals >= 0 else whole * 10.0**-decimals


def accepted_errors(relations: csr_array, size: Floats) -> Floats:
    """Return the accepted error of each relation in whole numbers of a size, shape (n_relations,).

    0 where coefficients are decimal numbers; elsewhere some units in the last place of its terms.
    """
    accepted = RELATION_ULPS * np.finfo(np.float64).eps * (abs(relations) @ size)
    return np.where(whole_factors(relations) > 0, 0.0, accepted)


def off_by(table: Table, values: Integers) -> Floats:
    """Return the error of each relation in a table of whole numbers; 0 if it is accepted.

    Changes from the true table are added up, which are small, and need no right-hand side.

    Parameters
    ----------
    table : Table
        Of whole numbers.
    values : numpy.ndarray of int, shape (n_cells,)
    """
    true = np.rint(table.values).astype(np.int64)
    off = np.abs(exact_products(table.relations, values - true))
    size = np.maximum(np.abs(values), np.abs(true)).astype(np.float64)
    return np.where(off <= accepted_errors(table.relations, size), 0.0, off)


@dataclass(frozen=True, eq=False)
class Deviation:
    """How a table differs from the true one.

    Parameters
    ----------
    changes : numpy.ndarray of longdouble, shape (n_cells,)
        Adjusted minus true values; exact in whole multiples of the last digit.
    relations : numpy.ndarray of float, shape (n_relations,)
        Error of each relation, compared with the true table.
    accepted : numpy.ndarray of float, shape (n_relations,)
        Accepted error of each relation: 0 in multiples of the last digit.
    in_last_digits : bool
        Whether both tables consist of multiples of the last digit.
    """

    changes: LongFloats
    relations: Floats
    accepted: Floats
    in_last_digits: bool


def deviation(table: Table, values: Floats, decimals: int | None = None) -> Deviation:
    """Compare a table with the true one, exactly where both have a last digit.

    Parameters
    ----------
    table : Table
    values : numpy.ndarray of float, shape (n_cells,)
        Finite.
    decimals : int, optional
        By default found out.
    """
    is_given = decimals is not None
    decimals = last_digit(table) if decimals is None else decimals
    moved = moved_multiples(table.values, values, decimals)
    if decimals is not None and moved is not None:
        off = from_units(np.abs(exact_products(table.relations, moved)), decimals)
    # Large numbers may look like decimal ones by chance; then their relations do not hold exactly.
    if decimals is not None and moved is not None and (is_given or not np.any(off)):
        unit = np.longdouble(10) ** abs(decimals)
        multiples = moved.astype(np.longdouble)
        exact = multiples / unit if decimals >= 0 else multiples * unit
        return Deviation(exact, off, np.zeros_like(off), True)
    changes = values.astype(np.longdouble) - table.values.astype(np.longdouble)
    off = np.abs(table.relations.astype(np.longdouble) @ changes).astype(np.float64)
    size = abs(table.relations) @ np.maximum(np.abs(values), np.abs(table.values))
    return Deviation(changes, off, RELATION_ULPS * np.finfo(np.float64).eps * size, False)


def moved_multiples(true: Floats, values: Floats, decimals: int | None) -> Integers | None:
    """Return values minus true ones in units of the last digit; None if not all have one."""
    whole = None if decimals is None else multiples_of(values, decimals)
    start = None if decimals is None else multiples_of(true, decimals)
    return None if whole is None or start is None else whole - start


def shortfall(problem: ProtectionProblem, changes: LongFloats) -> Floats:
    """Return how much each cell lacks to its nearer level, shape (n_cells,); 0 if it is safe.

    A cell is safe at least UPL above its true value, if UPL is positive, or at least LPL below it,
    if LPL is. A side whose level is 0 does not count; if both are 0 the shortfall is infinite.
    """
    up, down = problem.upper_protection, problem.lower_protection
    above = np.where(up > 0, up * (1 - LEVEL_SHARE) - changes, np.inf)
    below = np.where(down > 0, down * (1 - LEVEL_SHARE) + changes, np.inf)
    short = np.maximum(np.minimum(above, below), 0.0)
    return np.where(problem.sensitive, short, 0.0).astype(np.float64)


def check_required(problem: ProtectionProblem) -> None:
    """Refuse sensitive cells that need not move at all.

    Raises
    ------
    ModelError
        Names the cells whose levels are both 0.
    """
    idle = (problem.upper_protection <= 0) & (problem.lower_protection <= 0)
    cells = np.flatnonzero(problem.sensitive & idle)
    if len(cells):
        raise ModelError(
            f"{len(cells)} sensitive cells have the protection level 0 on both sides, so that "
            f"their true values would be safe to publish: "
            f"{listed(problem.table.labels(cells[:5]))}{' and more' if len(cells) > 5 else ''}. "
            f"Give them a positive level (the `range` or the `floor` of the rules, external bounds "
            f"that leave room for it), or declare them safe.",
            cells=cells,
        )


@dataclass(frozen=True, eq=False)
class LastDigits(Change):
    """The same problem in units of the last digit, in whole numbers.

    Levels are rounded up, and bounds and capacities inwards: what protects the changed problem
    protects the given one. Weights stay as they are.

    Parameters
    ----------
    given, problem, cells, relations, unit
        See `Change`. Cells have less room than before, so that `relations` is None.
    decimals : int
        The unit is 10^-decimals.
    """

    decimals: int = field(kw_only=True)

    @classmethod
    def of(cls, given: ProtectionProblem, decimals: int) -> LastDigits:
        """Return the change of a problem to units of 10^-decimals.

        Raises
        ------
        InputError
            If the values are not multiples of the last digit.
        """
        table, unit = given.table, last_unit(decimals)
        whole = multiples_of(table.values, decimals)
        if whole is None:
            raise InputError(
                f"The true values are not multiples of {unit:g}, the last of {decimals} "
                "decimals. Round them so that the table adds up, or declare more decimals."
            )
        values = whole.astype(np.float64)
        changed = Table(
            keys=table.keys,
            values=values,
            relations=table.relations,
            right_hand_side=exact_products(table.relations, whole),
            hierarchies=table.hierarchies,
            name=table.name,
            integer=True,
        )
        levels: dict[str, Any] = {
            name: _raised(in_units(getattr(given, name), decimals))
            for name in ("lower_protection", "upper_protection", "sliding_protection")
        }
        problem = given.with_changes(
            table=changed,
            lower_bound=np.minimum(-_floor(-in_units(given.lower_bound, decimals)), values),
            upper_bound=np.maximum(_floor(in_units(given.upper_bound, decimals)), values),
            capacity_down=_floor(in_units(given.capacity_down, decimals)),
            capacity_up=_floor(in_units(given.capacity_up, decimals)),
            **levels,
        )
        return cls.within(given, problem, relations=None, unit=unit, decimals=decimals)

    def values(self, values: Floats) -> Floats:
        """Return multiples of the last digit as the nearest doubles."""
        return from_units(values, self.decimals)


def _raised(levels: Floats) -> Floats:
    """Round levels up; what exceeds a whole number by dust counts as that number.

    A share of a large level would be many last digits, of which none may be missed.
    """
    raised: Floats = np.ceil(levels - np.minimum(LEVEL_SHARE * levels, LEAST_DIGIT))
    return raised


def _floor(values: Floats) -> Floats:
    """Round down, except that numbers within rounding of a whole number become that number."""
    whole = np.rint(values)
    with np.errstate(invalid="ignore"):
        near = np.abs(whole - values) <= ULPS * np.spacing(np.abs(values))
    floored: Floats = np.where(near | np.isinf(values), whole, np.floor(values))
    return floored

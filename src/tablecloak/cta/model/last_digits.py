"""A problem in units of the last digit of its values, and the way back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.cta.model.precision import (
    LEAST_DIGIT,
    LEVEL_SHARE,
    ULPS,
    from_units,
    in_units,
    last_unit,
    multiples_of,
)
from tablecloak.errors import InputError
from tablecloak.solve.exact import exact_products
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.table import Table


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

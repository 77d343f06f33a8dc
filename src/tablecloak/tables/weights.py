"""Weight rules: how much it costs to suppress a cell, or to change it by one unit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Protocol

import numpy as np

from tablecloak.arrays import Floats
from tablecloak.registry import Registry
from tablecloak.tables.table import Table


class WeighableProblem(Protocol):
    """What a weight rule looks at: a problem."""

    @property
    def table(self) -> Table:
        """The table."""

    @property
    def weights(self) -> Floats:
        """Weights that came with the problem."""


class _ByName(type):
    """Gives the rules as attributes of their base class, as in ``WeightRule.RELATIVE``."""

    def __iter__(cls) -> Iterator[WeightRule]:
        return (kind() for kind in WEIGHT_RULES)

    def __getattr__(cls, attribute: str) -> WeightRule:
        name = attribute.lower().replace("_", "-")
        if attribute.isupper() and name in WEIGHT_RULES:
            return WeightRule(name)
        raise AttributeError(f"there is no weight rule {attribute!r}")


class WeightRule(metaclass=_ByName):
    """How much it costs to suppress a cell, or to change it by one unit.

    Get one by its name, ``WeightRule("relative")``, or as ``WeightRule.RELATIVE``. A rule of your
    own is a subclass with a name and `of`, registered in `WEIGHT_RULES`.

    Examples
    --------
    >>> import tablecloak as tc
    >>> tc.WeightRule("unit") is tc.WeightRule.UNIT
    True
    """

    name: ClassVar[str] = ""
    is_of_table: ClassVar[bool] = True
    """Whether the weights follow from the table alone, so that a job can ask for them."""

    def __new__(cls, rule: WeightRule | str = "") -> WeightRule:
        """Look a rule up by its name."""
        if cls is not WeightRule:
            return _only(cls)
        return rule if isinstance(rule, WeightRule) else WEIGHT_RULES[rule]()

    def of(self, problem: WeighableProblem) -> Floats:
        """Return the weights of all cells of a problem."""
        raise NotImplementedError

    @property
    def value(self) -> str:
        """The name."""
        return self.name

    def __repr__(self) -> str:
        return f"<WeightRule: {self.name}>"


@cache
def _only(kind: type[WeightRule]) -> WeightRule:
    """Return the one instance of a class, so that rules can be compared with `is`."""
    return object.__new__(kind)


WEIGHT_RULES: Registry[WeightRule] = Registry("weight rule")
"""All weight rules."""


@WEIGHT_RULES.register
class File(WeightRule):
    """The weights that came with the problem."""

    name: ClassVar[str] = "file"
    is_of_table: ClassVar[bool] = False

    def of(self, problem: WeighableProblem) -> Floats:
        """Return them."""
        return problem.weights


@WEIGHT_RULES.register
class Log(WeightRule):
    """log(1 + absolute value)."""

    name: ClassVar[str] = "log"

    def of(self, problem: WeighableProblem) -> Floats:
        """Return them."""
        return np.log1p(np.abs(problem.table.values))


@WEIGHT_RULES.register
class Relative(WeightRule):
    """1 / absolute value; 1 for a cell with the value 0."""

    name: ClassVar[str] = "relative"

    def of(self, problem: WeighableProblem) -> Floats:
        """Return them."""
        size = np.abs(problem.table.values)
        weights: Floats = 1.0 / np.where(size > 0, size, 1.0)
        return weights


@WEIGHT_RULES.register
class Unit(WeightRule):
    """1 for each cell."""

    name: ClassVar[str] = "unit"

    def of(self, problem: WeighableProblem) -> Floats:
        """Return them."""
        return np.ones(problem.table.n_cells)


@WEIGHT_RULES.register
class Value(WeightRule):
    """The absolute value; 1 for a count of 0, which would otherwise be hidden for nothing."""

    name: ClassVar[str] = "value"

    def of(self, problem: WeighableProblem) -> Floats:
        """Return them."""
        size: Floats = np.abs(problem.table.values)
        return np.maximum(size, 1.0) if problem.table.is_count else size

"""What a weight rule is: the base class of all of them, and their registry."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Protocol

from tablecloak.arrays import Floats
from tablecloak.registry import Registry
from tablecloak.tables.table import Table


class Weighed(Protocol):
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

    def of(self, problem: Weighed) -> Floats:
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


WEIGHT_RULES: Registry[WeightRule] = Registry("weight rule", "tablecloak.tables.weights")
"""All weight rules."""

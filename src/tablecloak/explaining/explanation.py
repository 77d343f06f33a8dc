"""What explanations of cells share: text, a dictionary for JSON, a search for another release."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, TypeVar

from tablecloak.budget import Budget
from tablecloak.errors import ModelError, SolverError
from tablecloak.tables.problem import ProtectionProblem

Labels = Mapping[str, Mapping[str, str]]
"""For a dimension what its codes are called."""

SECRET = "SECRET: this explanation names hidden values. It stays inside."
"""First line of every explanation."""


def with_labels(text: str, labels: Labels) -> str:
    """Return a text with labels behind the codes: ``(branch=47)`` becomes ``(branch=47 Retail)``.

    Parameters
    ----------
    text : str
    labels : mapping of str to mapping of str to str
        For a dimension what its codes are called; codes without a label stay as they are.
    """
    for name, called in labels.items():
        codes = sorted((code for code in called if called[code]), key=len, reverse=True)
        if not codes:
            continue
        # A code ends where the next one begins, or the cell: "47" is not the beginning of "471".
        known = "|".join(map(re.escape, codes))
        pattern = rf"(?<=[( ]){re.escape(name)}=({known})(?=[,)])"
        text = re.sub(pattern, lambda found, c=called: f"{found[0]} {c[found[1]]}", text)  # type: ignore[misc]
    return text


def exact(number: float) -> Fraction:
    """Return a number as it is printed, such as 0.1, as an exact fraction."""
    return Fraction(repr(float(number)))


def shown(number: Fraction | float) -> str:
    """Write a number with up to 12 digits; a fraction that is no decimal number stays one."""
    if isinstance(number, float) and not math.isfinite(number):
        return "unbounded"
    if isinstance(number, Fraction) and 1 < number.denominator <= 12:
        is_decimal = 10**12 % number.denominator == 0
        if not is_decimal:
            return f"{number.numerator}/{number.denominator}"
    return f"{float(number):,.12g}"


def times(multiplier: Fraction) -> str:
    """Write a multiplier before what it multiplies: + or - for 1 and -1."""
    sign = "-" if multiplier < 0 else "+"
    return f"{sign} " if abs(multiplier) == 1 else f"{sign} {shown(abs(multiplier))} x "


class Explanation(ABC):
    """Why a cell is hidden, published or changed. Secret.

    Siblings are frozen dataclasses with the fields `problem` and `cell`.
    """

    problem: ProtectionProblem
    cell: int

    @property
    def label(self) -> str:
        """Name of the cell by its codes."""
        return self.problem.table.label(self.cell)

    @property
    def value(self) -> float:
        """True value of the cell."""
        return float(self.problem.table.values[self.cell])

    @property
    @abstractmethod
    def kind(self) -> str:
        """What the release does with the cell, in one or two words."""

    @abstractmethod
    def lines(self) -> list[str]:
        """Return the explanation line by line, without its heading."""

    @abstractmethod
    def facts(self) -> dict[str, Any]:
        """Return what is explained as plain numbers and texts."""

    @property
    def heading(self) -> str:
        """Cell, value and what the release does with it."""
        return f"({self.label}) = {shown(self.value)}: {self.kind}"

    def text(self, labels: Labels | None = None) -> str:
        """Return the whole explanation in plain English.

        Parameters
        ----------
        labels : mapping of str to mapping of str to str, optional
            For a dimension what its codes are called, as in ``{"branch": {"47": "Retail"}}``.
        """
        text = "\n".join([SECRET, self.heading, *(f"  {line}" for line in self.lines())])
        return with_labels(text, labels or {})

    def summary(self) -> str:
        """Return the heading and the first reason in one line."""
        lines = self.lines()
        return f"{self.heading}; {lines[0].strip()}" if lines else self.heading

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain numbers and texts, for JSON. Secret."""
        return {
            "secret": True,
            "cell": self.codes(self.cell),
            "value": self.value,
            "kind": self.kind,
            **self.facts(),
            "text": self.text(),
        }

    def codes(self, cell: int) -> dict[str, str]:
        """Return the code of a cell on each dimension."""
        codes = self.problem.table.keys.iloc[cell]
        return {str(name): str(code) for name, code in codes.items()}

    def to_json(self) -> str:
        """Return the explanation as JSON. Secret."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def __str__(self) -> str:
        return self.text()


ResultT = TypeVar("ResultT")


def trial_search(
    budget: Budget, share: float, search: Callable[[Budget], ResultT]
) -> ResultT | None:
    """Return what a search finds; None if no release exists, or none was found in time.

    Parameters
    ----------
    budget : Budget
    share : float
        Share of the time that is left.
    search : callable
        Called with the budget of the search.
    """
    if budget.is_over:
        return None
    # A search that fails stops its budget, and all that share it: so it gets one of its own.
    own = Budget.of(
        budget.share(share).left,
        threads=budget.threads,
        seed=budget.seed,
        progress=budget.progress,
    )
    try:
        with own.interruptible():
            found = search(own)
    except (ModelError, SolverError):
        return None
    if own.is_stopped:
        budget.stop()
    return found


def frozen_at(problem: ProtectionProblem, cell: int) -> ProtectionProblem:
    """Return a problem whose releases publish the true value of a cell."""
    status = problem.status.copy()
    status[cell] = "z"
    return problem.with_changes(status=status)

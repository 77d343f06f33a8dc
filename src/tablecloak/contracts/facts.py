"""The check of a contract: one fact after the other, each stated by a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["check_facts", "expect", "first_line"]

T = TypeVar("T")
"""Type of the part that a contract is about."""


def expect(condition: Any, sentence: str) -> None:
    """Raise an error with a sentence unless a condition holds, even under ``python -O``.

    Raises
    ------
    AssertionError
        If the condition does not hold.
    """
    if not condition:
        raise AssertionError(sentence)


def first_line(described: Any) -> str:
    """Return the first line of an object's own docstring; an inherited one is ignored."""
    return inspect.cleandoc(described.__doc__ or "").partition("\n")[0]


def check_facts(part: T, name: str, facts: Iterable[Callable[[T], None]]) -> None:
    """Check every fact of a contract.

    Parameters
    ----------
    part : object
        The part to check.
    name : str
        Name of the part in messages.
    facts : iterable of callable
        Functions of the part. The first line of each docstring states a fact, and the function
        raises AssertionError if it does not hold.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and what was found instead. Any other error that
        the part raises also counts as a broken fact.
    """
    for fact in facts:
        sentence = f"{name} breaks its contract: {first_line(fact)}"
        try:
            fact(part)
        except AssertionError as error:
            raise AssertionError(f"{sentence} {error}".rstrip()) from error
        except Exception as error:
            raise AssertionError(f"{sentence} It raised {type(error).__name__}: {error}") from error

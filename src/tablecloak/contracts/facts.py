"""How a contract is checked: one fact after the other, each of which has a sentence."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

__all__ = ["check_facts", "expect", "first_line"]

T = TypeVar("T")
"""What a contract is about."""


def expect(condition: Any, sentence: str) -> None:
    """Raise AssertionError with a sentence unless a condition holds, also with ``python -O``.

    Raises
    ------
    AssertionError
    """
    if not condition:
        raise AssertionError(sentence)


def first_line(described: Any) -> str:
    """Return the first line of a docstring, but not of one that is inherited."""
    return inspect.cleandoc(described.__doc__ or "").partition("\n")[0]


def check_facts(part: T, name: str, facts: Iterable[Callable[[T], None]]) -> None:
    """Check every fact of a contract.

    Parameters
    ----------
    part : object
        What is checked.
    name : str
        What it is called in messages.
    facts : iterable of callable
        Functions of the part, each with the fact as the first line of its docstring. It raises
        AssertionError if the fact does not hold.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and what was seen instead. Any other error that
        the part raises means that it does not hold either.
    """
    for fact in facts:
        sentence = f"{name} breaks its contract: {first_line(fact)}"
        try:
            fact(part)
        except AssertionError as error:
            raise AssertionError(f"{sentence} {error}".rstrip()) from error
        except Exception as error:
            raise AssertionError(f"{sentence} It raised {type(error).__name__}: {error}") from error

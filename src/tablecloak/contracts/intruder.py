"""The contract of an intruder: its members know true things, and at least as much as the public."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.contracts.facts import (
    check_facts,
    expect,
    first_line,
    patterns,
    problem_with_contributors,
)
from tablecloak.errors import InputError
from tablecloak.examples import cox_rounded
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.attack.intruder import Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.problem import ProtectionProblem

CLOSE = 1e-9
"""Relative difference up to which two values of cells count as equal."""


def _questions(intruder: Intruder) -> Iterator[tuple[ProtectionProblem, Flags]]:
    """Yield problems with the information that the intruder needs, each with several patterns."""
    answered = 0
    for problem in (cox_rounded(), problem_with_contributors()):
        if not intruder.lacking(problem):
            answered += 1
            for suppressed in patterns(problem):
                yield problem, suppressed
    expect(
        answered,
        "It lacks information even in a table with contributors and holdings: "
        f"{intruder.lacking(problem_with_contributors())}",
    )


def _same(one: list[Knowledge], other: list[Knowledge]) -> bool:
    return len(one) == len(other) and all(
        a.name == b.name
        and np.array_equal(a.cells, b.cells)
        and np.array_equal(a.lower, b.lower)
        and np.array_equal(a.upper, b.upper)
        for a, b in zip(one, other, strict=True)
    )


def it_says_what_it_is(intruder: Intruder) -> None:
    """An intruder has a name, and the first line of its docstring says what it knows."""
    expect(
        isinstance(intruder.name, str) and intruder.name, "The class variable `name` is missing."
    )
    expect(intruder.name_of_kind, "`name_of_kind` is empty.")
    expect(
        first_line(type(intruder)).endswith("."),
        "The first line of its docstring is no sentence: it must end with a full stop.",
    )


def what_it_lacks_is_an_input_error(intruder: Intruder) -> None:
    """If a table lacks information that it needs, `members` raises the sentence of `lacking`."""
    for problem in (cox_rounded(), problem_with_contributors()):
        lacking = intruder.lacking(problem)
        expect(isinstance(lacking, str), f"`lacking` returned {lacking!r}.")
        try:
            intruder.members(problem, problem.sensitive.copy())
        except InputError as error:
            expect(
                lacking and lacking in str(error),
                f"`lacking` returned {lacking!r}, but `members` raised: {error}",
            )
        else:
            expect(not lacking, f"`lacking` returned {lacking!r}, but `members` raised no error.")


def members_know_hidden_cells_only(intruder: Intruder) -> None:
    """Each member names hidden cells, each once, with a lower and an upper bound for each."""
    for problem, suppressed in _questions(intruder):
        for member in intruder.members(problem, suppressed):
            cells = np.asarray(member.cells)
            shapes = {cells.shape, np.shape(member.lower), np.shape(member.upper)}
            expect(len(shapes) == 1, f"{member.name!r} has arrays of the shapes {shapes}.")
            expect(cells.dtype.kind in "iu", f"{member.name!r} has cells of type {cells.dtype}.")
            expect(len(set(cells.tolist())) == len(cells), f"{member.name!r} names a cell twice.")
            inside = (cells >= 0) & (cells < problem.table.n_cells)
            expect(inside.all(), f"{member.name!r} names a cell that the table does not have.")
            expect(suppressed[cells].all(), f"{member.name!r} names a cell that is published.")
            expect(member.name, "A member has no name.")


def members_know_nothing_false(intruder: Intruder) -> None:
    """The true value of each cell lies between the bounds of every member."""
    for problem, suppressed in _questions(intruder):
        for member in intruder.members(problem, suppressed):
            true = problem.table.values[member.cells]
            slack = CLOSE * np.maximum(1.0, np.abs(true))
            holds = (member.lower <= true + slack) & (true - slack <= member.upper)
            cells = np.asarray(member.cells)[~holds].tolist()
            expect(holds.all(), f"What {member.name!r} knows of the cells {cells} is not true.")


def answers_repeat_and_leave_no_trace(intruder: Intruder) -> None:
    """Two calls return the same members, and change neither the problem nor the pattern."""
    for problem, suppressed in _questions(intruder):
        given = suppressed.copy()
        values = problem.table.values.copy()
        first = intruder.members(problem, given)
        expect(_same(first, intruder.members(problem, given)), "The second answer differs.")
        expect(np.array_equal(given, suppressed), "The pattern was changed.")
        expect(np.array_equal(values, problem.table.values), "The values were changed.")


def less_hidden_tells_it_no_more(intruder: Intruder) -> None:
    """If it `knows_by_cell`, its bounds of a cell do not depend on which other cells are hidden."""
    if not intruder.knows_by_cell:
        return
    known: dict[int, dict[tuple[str, int], tuple[float, float]]] = {}
    for problem, suppressed in _questions(intruder):
        before = known.setdefault(id(problem.table), {})
        for member in intruder.members(problem, suppressed):
            ends = zip(member.lower.tolist(), member.upper.tolist(), strict=True)
            for cell, pair in zip(member.cells.tolist(), ends, strict=True):
                old = before.setdefault((member.name, cell), pair)
                expect(
                    np.allclose(old, pair, rtol=CLOSE, atol=CLOSE),
                    f"{member.name!r} knows {old} and then {pair} of cell {cell}.",
                )


def no_pattern_is_safer_from_it(intruder: Intruder) -> None:
    """An audit against it finds no pattern safe that an external intruder can attack."""
    for problem, suppressed in _questions(intruder):
        found = audit_pattern(problem, suppressed, intruders=intruder)
        everybody = audit_pattern(problem, suppressed)
        expect(
            everybody.is_safe or not found.is_safe,
            "The audit finds a pattern safe that an external intruder can attack.",
        )


INTRUDER = (
    it_says_what_it_is,
    what_it_lacks_is_an_input_error,
    members_know_hidden_cells_only,
    members_know_nothing_false,
    answers_repeat_and_leave_no_trace,
    less_hidden_tells_it_no_more,
    no_pattern_is_safer_from_it,
)
"""Facts that every intruder must satisfy, each a function of the intruder."""


def check_intruder(intruder: Intruder) -> None:
    """Check an intruder on small tables with and without contributors.

    Parameters
    ----------
    intruder : Intruder
        An intruder of your own. It need not be registered.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and the member and cells where it does not.

    Examples
    --------
    >>> from tablecloak.contracts import check_intruder
    >>> from tablecloak.suppression.attack.intruder import INTRUDERS
    >>> check_intruder(INTRUDERS.build("contributors"))
    """
    check_facts(intruder, f"The intruder {getattr(intruder, 'name', '?')!r}", INTRUDER)

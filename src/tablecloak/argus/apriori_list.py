"""A priori lists (.hst) as files: what we found for tau-ARGUS, and what it found for us.

Primaries found here go out with their levels; secondaries come back as lines with the action m. A
list that was read is written again as it was, comments, line ends and spelling included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from tablecloak.argus.apriori import ACTIONS, apply_apriori
from tablecloak.argus.metadata import Variable
from tablecloak.arrays import Flags
from tablecloak.errors import InputError
from tablecloak.storage import existing_file, replacing
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import CellStatus, ProtectionProblem
from tablecloak.tables.published import published_order

__all__ = ["AprioriList", "read_apriori", "write_apriori"]

SEPARATORS = ";,|"
"""Separators that are tried, in this order; tau-ARGUS turns tabs into blanks."""

MARGIN = 20.0
"""Level in per cent of its value of a cell that a line makes unsafe, as MAN in tau-ARGUS."""


@dataclass(frozen=True)
class AprioriList:
    """An a priori list as it stands in its file. Secret.

    Parameters
    ----------
    content : bytes
        The whole file.
    separator : str
        Between codes, action and numbers.
    """

    content: bytes
    separator: str

    @classmethod
    def read(cls, path: str | Path, n_dimensions: int, separator: str | None = None) -> AprioriList:
        """Read a list; by default its first line tells the separator.

        Raises
        ------
        InputError
            If no separator leaves an action behind the codes.
        """
        path = existing_file(path)
        found = cls(path.read_bytes(), separator or "")
        first = next(found.lines(), "")
        tried = [separator] if separator is not None else list(SEPARATORS)
        for each in tried:
            parts = [part.strip().strip('"').lower() for part in first.split(each)]
            if not first or (len(parts) > n_dimensions and parts[n_dimensions] in ACTIONS):
                return replace(found, separator=each)
        raise InputError(
            f"{path}: expected {n_dimensions} codes and an action in the first line, separated by "
            f"{' or '.join(tried)}: {first!r}."
        )

    @classmethod
    def of(
        cls,
        problem: ProtectionProblem,
        suppressed: Flags | None = None,
        *,
        separator: str | None = None,
        comment: str = "",
        costs: bool | None = None,
    ) -> AprioriList:
        """Return the list of a problem; parameters are those of `write_apriori`."""
        chosen = _separator(problem, separator)
        _require_expressible(problem)
        lines = [f"// {line}" for line in comment.splitlines()]
        lines += [chosen.join(parts) for parts in _entries(problem, suppressed, costs)]
        return cls("".join(f"{line}\r\n" for line in lines).encode(), chosen)

    def lines(self) -> Iterator[str]:
        """Yield the lines that ask for something."""
        for line in self._text().splitlines():
            plain = line.replace("\t", " ").strip()
            if plain and not plain.startswith(("//", "\\\\")):
                yield plain

    def _text(self) -> str:
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError:
            return self.content.decode("cp1252", errors="replace")

    def with_secondaries(self, problem: ProtectionProblem, suppressed: Flags) -> AprioriList:
        """Return the list with a line for each hidden cell that is not sensitive, at its end."""
        end = b"\r\n" if b"\r\n" in self.content else b"\n"
        at = published_order(problem.table)
        hidden = at[suppressed[at] & ~problem.sensitive[at]]
        keys = problem.table.keys.iloc[hidden].itertuples(index=False, name=None)
        lines = [self.separator.join((*codes, "m")).encode() for codes in keys]
        before = self.content if not self.content or self.content.endswith(b"\n") else (
            self.content + end
        )  # fmt: skip
        return replace(self, content=before + b"".join(line + end for line in lines))

    def write(self, path: str | Path) -> None:
        """Write the list as it is, readable by its owner alone."""
        with replacing(path, secret=True) as temporary:
            temporary.write_bytes(self.content)


def write_apriori(
    given: ProtectionProblem | SuppressionPattern,
    path: str | Path,
    *,
    separator: str | None = None,
    comment: str = "",
    costs: bool | None = None,
) -> None:
    """Write the statuses, levels and costs of a table as an a priori list of tau-ARGUS. Secret.

    Parameters
    ----------
    given : ProtectionProblem or SuppressionPattern
        Of a pattern the secondaries are written as well, with the action m.
    path : str or path
    separator : str, optional
        By default the first of ; , | that stands in no code.
    comment : str, default=""
        Lines at the top.
    costs : bool, optional
        Whether the cost of each cell is written; by default if it is not the value of the cell,
        which tau-ARGUS takes itself. A cost of 0 has no place in the format, nor have rests and
        sums of cells: tau-ARGUS has rules of its own for single contributors.

    Raises
    ------
    InputError
        If a level is sliding, or the separator stands in a code.

    Examples
    --------
    >>> import tempfile, pathlib, tablecloak as tc
    >>> from tablecloak.argus import read_apriori, write_apriori
    >>> problem = tc.examples.cox_rounded()
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "cox.hst"
    >>> write_apriori(problem, path)
    >>> plain = problem.with_changes(status="s", lower_protection=0, upper_protection=0)
    >>> back = read_apriori(plain, path)
    >>> bool((back.upper_protection == problem.upper_protection).all())
    True
    """
    if isinstance(given, ProtectionProblem):
        problem, suppressed = given, None
    else:
        problem, suppressed = given.problem, given.suppressed
    found = AprioriList.of(problem, suppressed, separator=separator, comment=comment, costs=costs)
    found.write(path)


def read_apriori(
    problem: ProtectionProblem,
    path: str | Path,
    *,
    separator: str | None = None,
    margin: float = MARGIN,
) -> ProtectionProblem:
    """Return a problem with what an a priori list of tau-ARGUS says of its cells.

    Parameters
    ----------
    problem : ProtectionProblem
    path : str or path
    separator : str, optional
        By default the first line tells.
    margin : float, default=20
        Level in per cent of the value of cells that become unsafe without levels of their own.

    Raises
    ------
    InputError
        Names file and line of what cannot be done.
    """
    names = list(map(str, problem.table.keys.columns))
    found = AprioriList.read(path, len(names), separator)
    return apply_apriori(
        Path(path),
        problem,
        [Variable(name) for name in names],
        separator=found.separator,
        lenient=False,
        expand=False,
        margin=margin,
    ).problem


def _separator(problem: ProtectionProblem, wanted: str | None) -> str:
    codes = {code for name in problem.table.keys for code in problem.table.keys[name].unique()}
    tried: Sequence[str] = SEPARATORS if wanted is None else [wanted]
    for each in tried:
        if each and not any(each in code for code in codes):
            return each
    raise InputError(
        f"{' and '.join(map(repr, tried))} stand in codes of the table. Give another separator."
    )


def _require_expressible(problem: ProtectionProblem) -> None:
    """Refuse what the format has no place for and would lose protection without a word."""
    sliding = np.flatnonzero(problem.sensitive & (problem.sliding_protection > 0))
    if len(sliding):
        raise InputError(
            f"{len(sliding)} cells have a sliding level, the first is "
            f"{problem.table.label(int(sliding[0]))}. A priori lists have no place for it; write "
            f"a JJ file.",
            cells=sliding,
        )


def _entries(
    problem: ProtectionProblem, suppressed: Flags | None, costs: bool | None
) -> Iterator[tuple[str, ...]]:
    """Yield codes, action and numbers, cell by cell."""
    table = problem.table
    hidden = problem.forced if suppressed is None else problem.forced | suppressed
    actions = np.select(
        [problem.sensitive, hidden, problem.status == CellStatus.FROZEN.value], ["u", "m", "p"], ""
    ).tolist()
    if costs is None:
        shown = ~table.rests
        costs = not np.array_equal(problem.weights[shown], np.abs(table.values[shown]))
    lower, upper, weights = (
        column.tolist()
        for column in (problem.lower_protection, problem.upper_protection, problem.weights)
    )
    keys = list(table.keys.itertuples(index=False, name=None))
    for cell in published_order(table).tolist():
        codes, action = keys[cell], actions[cell]
        if action:
            yield (*codes, action)
        if action == "u":
            yield (*codes, "pl", _number(lower[cell]), _number(upper[cell]))
        if costs and weights[cell] > 0:
            yield (*codes, "c", _number(weights[cell]))


def _number(value: float) -> str:
    """Shortest spelling that reads back to the same number."""
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)

"""A priori lists (.hst): statuses, costs and levels of single cells, set by hand or by tau-ARGUS.

Primaries found here go out with their levels; secondaries come back as lines with the action m. A
list that was read is written again as it was, comments, line ends and spelling included.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tablecloak.argus.metadata import Variable
from tablecloak.argus.places import decoded, lines_of, plain_lines
from tablecloak.arrays import Flags, Floats, Texts
from tablecloak.errors import InputError, counted
from tablecloak.graph import parents_of, path_to_root
from tablecloak.storage import existing_file, replacing
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_order

Key = tuple[str, ...]

_STATUS = {
    "s": CellStatus.SAFE, "u": CellStatus.SENSITIVE, "p": CellStatus.FROZEN,
    "m": CellStatus.FORCED, "ml": CellStatus.FORCED,
}  # fmt: skip

ACTIONS = (*_STATUS, "c", "w", "pl")
"""What a line can ask for."""

SEPARATORS = ";,|"
"""Separators that are tried, in this order; tau-ARGUS turns tabs into blanks."""

MARGIN = 20.0
"""Level in per cent of its value of a cell that a line makes unsafe, as MAN in tau-ARGUS."""


@dataclass
class Apriori:
    """What was done with a list.

    Parameters
    ----------
    problem : ProtectionProblem
    done : int
        Lines that were applied.
    skipped : list of str
        Lines that were not, and why.
    asked : dict of tuple to str
        The last status that was asked for, by the codes of the cell: s, u, p, m.
    """

    problem: ProtectionProblem
    done: int = 0
    skipped: list[str] = field(default_factory=list)
    asked: dict[Key, str] = field(default_factory=dict)


def apply_apriori(
    path: Path,
    problem: ProtectionProblem,
    variables: list[Variable],
    *,
    separator: str,
    lenient: bool,
    expand: bool,
    margin: float,
) -> Apriori:
    """Do what a list asks for, line by line.

    Parameters
    ----------
    path : Path
    problem : ProtectionProblem
    variables : list of Variable
        The dimensions, in order.
    separator : str
    lenient : bool
        Whether a line that cannot be applied is skipped, and named in `skipped`.
    expand : bool
        Whether a line also holds for cells with the same value by a code that is the only part of
        another.
    margin : float
        Level of cells that become unsafe, in per cent.

    Raises
    ------
    InputError
        Names file and line of the action that cannot be applied.
    """
    found, cells = Apriori(problem), _NamedCells.of(problem)
    trees, keys_of = problem.table.hierarchies, problem.table.keys
    # Parts of a line lose their blanks, and codes are compared without them.
    spelt = {v.name: {code.strip(): code for code in keys_of[v.name].unique()} for v in variables}
    index = {key: at for at, key in enumerate(problem.table.keys.itertuples(False, None))}
    for number, text in lines_of(path):
        where = f"{path}, line {number}"
        parts = [part.strip().strip('"') for part in text.split(separator)]
        if len(parts) <= len(variables):
            raise InputError(f"{where}: expected codes and an action with {separator!r}: {text!r}.")
        codes = [
            _code(trees.get(v.name), v, spelt[v.name].get(part, part))
            for v, part in zip(variables, parts, strict=False)
        ]
        # All cells that lie on chains of codes with a single part.
        chains = (_chain(c, trees[v.name]) for c, v in zip(codes, variables, strict=True))
        meant: Iterable[Key] = itertools.product(*chains) if expand else [tuple(codes)]
        keys = [key for key in meant if key in index]
        try:
            if not keys:
                raise InputError(
                    f"{where}: there is no cell {', '.join(codes)}. Correct the line, or skip "
                    f"such lines with 1 as fourth argument of APRIORI."
                )
            for key in keys:
                word = _change(cells, index[key], parts[len(variables) :], margin, where)
                if word in _STATUS:
                    found.asked[key] = word[0]
        except InputError as error:
            if not lenient:
                raise
            found.skipped.append(str(error))
            continue
        found.done += 1
    found.problem = cells.problem()
    return found


@dataclass
class _NamedCells:
    """Arrays of a problem while lines change single cells: a new problem for each would be slow."""

    given: ProtectionProblem
    status: Texts
    lower: Floats
    upper: Floats
    weights: Floats
    reasons: npt.NDArray[np.object_]

    @classmethod
    def of(cls, given: ProtectionProblem) -> _NamedCells:
        """Return copies that may be changed."""
        return cls(
            given,
            given.status.copy(),
            given.lower_protection.copy(),
            given.upper_protection.copy(),
            given.weights.copy(),
            given.reasons.astype(object),
        )

    def problem(self) -> ProtectionProblem:
        """Return the problem as it was changed."""
        return self.given.with_changes(
            status=self.status,
            lower_protection=self.lower,
            upper_protection=self.upper,
            weights=self.weights,
            reasons=self.reasons.astype(str),
        )

    def is_unsafe(self, cell: int) -> bool:
        """Whether a cell is unsafe after the lines so far."""
        return bool(self.status[cell] == CellStatus.SENSITIVE.value)

    def set_status(self, cell: int, status: CellStatus) -> None:
        """Give a cell a status, and remove its levels and reason."""
        self.status[cell], self.reasons[cell] = status.value, ""
        self.lower[cell] = self.upper[cell] = 0.0

    def make_unsafe(self, cell: int, margin: float) -> None:
        """Make a cell unsafe; a level that a rule asks for already is not lowered."""
        value = float(self.given.table.values[cell])
        level = max(abs(value) * margin / 100, 1.0)
        room = value - float(self.given.lower_bound[cell])
        self.status[cell], self.reasons[cell] = CellStatus.SENSITIVE.value, "manual"
        asked = self.lower[cell], self.upper[cell]
        self.lower[cell] = max(asked[0], min(level, room))
        self.upper[cell] = max(asked[1], level)


def _code(tree: Hierarchy | None, variable: Variable, code: str) -> str:
    if tree is None:
        return code
    if code in ("", tree.total):
        return tree.total
    return code if code in tree.position else variable.padded(code)


def _chain(code: str, tree: Hierarchy) -> Iterator[str]:
    only: Mapping[str, str] = {p: parts[0] for p, parts in tree.groups if len(parts) == 1}
    above = {
        part: parent for part, parent in parents_of(tree.groups).items() if only.get(parent) == part
    }
    yield from path_to_root(code, above)
    yield from path_to_root(code, only)[1:]


def _change(cells: _NamedCells, cell: int, action: list[str], margin: float, where: str) -> str:
    """Apply one line to one cell, and return its action."""
    word, numbers = action[0].lower(), _numbers(action, where)
    _check_change(cells, cell, word, numbers, where)
    match word:
        case "u":
            cells.make_unsafe(cell, margin)
        case "c" | "w":
            cells.weights[cell] = numbers[0]
        case "pl":
            cells.lower[cell], cells.upper[cell] = numbers
        case _:
            cells.set_status(cell, _STATUS[word])
    return word


def _check_change(
    cells: _NamedCells, cell: int, word: str, numbers: list[float], where: str
) -> None:
    """Refuse what tau-ARGUS refuses, and actions that would remove protection by accident."""
    is_unsafe, label = cells.is_unsafe(cell), cells.given.table.label
    if word not in ACTIONS:
        raise InputError(
            f"{where}: the action {word!r} is not one of u, s, p, c, w, pl, m, ml."
            f"{' The bounds of single cells (ab) are not supported.' * (word == 'ab')}"
        )
    if is_unsafe and word in ("p", "m", "ml"):
        raise InputError(
            f"{where}: the cell {label(cell)} is unsafe and cannot become {word!r}: "
            f"only safe cells can. Leave the line out, or declare the cell safe (s) first."
        )
    if word in ("c", "w") and (not numbers or numbers[0] <= 0):
        raise InputError(f"{where}: a cost must be greater than 0.")
    if word == "pl" and (len(numbers) != 2 or min(numbers) < 0 or not is_unsafe):
        raise InputError(f"{where}: pl needs two levels of 0 or more, and an unsafe cell.")


def _numbers(action: list[str], where: str) -> list[float]:
    """Numbers after an action; each action takes exactly as many as it needs."""
    most = {"c": 1, "w": 1, "pl": 2, "ab": 2}.get(action[0].lower(), 0)
    given = action[1:]
    while given and not given[-1]:
        given.pop()
    try:
        numbers = [float(number) for number in given]
    except ValueError:
        raise InputError(f"{where}: {given} are not numbers.") from None
    if len(numbers) > most:
        levels = " Give levels in a line of their own, with pl." * (action[0].lower() == "u")
        wanted = counted(most, "number") if most else "no number"
        raise InputError(f"{where}: {action[0]!r} takes {wanted}, found {len(numbers)}.{levels}")
    if not np.all(np.isfinite(numbers)):
        raise InputError(f"{where}: {given} are not finite numbers.")
    return numbers


def with_status(problem: ProtectionProblem, cells: Flags, status: CellStatus) -> ProtectionProblem:
    """Give cells a status, and remove their levels and reasons."""
    return problem.with_changes(
        status=np.where(cells, status.value, problem.status),
        lower_protection=np.where(cells, 0.0, problem.lower_protection),
        upper_protection=np.where(cells, 0.0, problem.upper_protection),
        reasons=np.where(cells, "", problem.reasons),
    )


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
        for _, line in plain_lines(decoded(self.content)):
            yield line

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

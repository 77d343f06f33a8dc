"""JJ files: a protection problem as plain text, as written by tau-ARGUS and sdcTable.

::

    file     := 0  N  cell{N}  M  relation{M}
    cell     := index value weight status lb ub lpl upl spl
    relation := rhs k ":" ( index "(" coefficient ")" ){k}

Tokens are separated by white space. Status s safe, u sensitive, m must be suppressed,
z frozen; lb and ub are absolute, the levels are distances.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Texts
from tablecloak.errors import InputError
from tablecloak.packed import unpacked
from tablecloak.storage import replacing
from tablecloak.tables.formats.format import FORMATS, ProblemFormat
from tablecloak.tables.formats.lost_digits import least_level, lost_digits, may_lose, remedy
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.relations import relation_matrix
from tablecloak.tables.table import Table

_FIELDS = ("index", "value", "weight", "status", "lb", "ub", "lpl", "upl", "spl")
_INDEX = re.compile(r"0|[1-9][0-9]{0,17}")
_FINITE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?(inf|infinity)", re.IGNORECASE)


@FORMATS.register
class JJ(ProblemFormat):
    """Plain text of tau-ARGUS and sdcTable: cells, levels, bounds and relations, no codes."""

    name = "jj"
    suffixes = (".jj", ".in")

    def read_problem(self, path: Path, tolerance: float) -> ProtectionProblem:
        """Read a problem, also a compressed one."""
        return read_jj(path, tolerance=tolerance)

    def write_problem(self, problem: ProtectionProblem, path: Path) -> None:
        """Write a problem, compressed if its name ends so."""
        write_jj(problem, path)


def read_jj(path: str | Path, *, tolerance: float = 0.0) -> ProtectionProblem:
    """Read a JJ file, also a compressed one (``.gz``).

    Parameters
    ----------
    path : str or Path
    tolerance : float, default=0
        Accepted absolute error of a relation; see `Table`.

    Returns
    -------
    ProtectionProblem
        Its only dimension is ``cell``, the index in the file.

    Raises
    ------
    InputError
        If the file cannot be read, breaks off, or holds something else than expected, or numbers
        of more digits than a double holds where these count; the message names line and cell.
    """
    path = Path(path)
    try:
        # Editors on Windows write a byte-order mark in front.
        text = unpacked(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: cannot be read ({error}).") from error
    reader = _JJReader(path, text)
    reader.expect("0", "the format mark 0")
    n_cells = reader.whole("the number of cells")
    cells = reader.cells(n_cells)
    n_relations = reader.whole("the number of relations")
    relations, right_hand_side = reader.relations(n_relations, n_cells)
    reader.end()
    numbers = {
        name: reader.numbers(cells[:, column], name, 2 + column)
        for column, name in enumerate(_FIELDS)
        if name not in ("index", "status")
    }
    level = least_level(*(numbers[name] for name in ("lpl", "upl", "spl")))
    for column, name in enumerate(_FIELDS):
        if name in numbers and name != "weight":
            reader.require_held(cells[:, column], numbers[name], name, 2 + column, level)
    reader.require_sides_held(right_hand_side, level)
    table = Table(
        keys=pd.DataFrame({"cell": [str(index) for index in range(n_cells)]}),
        values=numbers["value"],
        relations=relations,
        right_hand_side=right_hand_side,
        tolerance=tolerance,
    )
    return ProtectionProblem(
        table=table,
        status=cells[:, 3],
        lower_protection=numbers["lpl"],
        upper_protection=numbers["upl"],
        sliding_protection=numbers["spl"],
        lower_bound=numbers["lb"],
        upper_bound=numbers["ub"],
        weights=numbers["weight"],
    )


def write_jj(problem: ProtectionProblem, path: str | Path) -> None:
    """Write a problem as a JJ file that reads back to the same numbers.

    Capacities, dimension codes and reasons have no place in the format. A weight that is not
    a whole number is written as it is; tau-ARGUS wants whole numbers.

    Parameters
    ----------
    problem : ProtectionProblem
    path : str or Path
        A name that ends in ``.gz`` is compressed.
    """
    table = problem.table
    columns = [
        table.values,
        problem.weights,
        problem.lower_bound,
        problem.upper_bound,
        problem.lower_protection,
        problem.upper_protection,
        problem.sliding_protection,
    ]
    texts = [[_number(entry) for entry in column.tolist()] for column in columns]
    lines = ["0", str(table.n_cells)]
    for index, (value, weight, lb, ub, lpl, upl, spl) in enumerate(zip(*texts, strict=True)):
        status = problem.status[index]
        lines.append(f"{index} {value} {weight} {status} {lb} {ub} {lpl} {upl} {spl}")
    lines.append(str(table.n_relations))
    for row in range(table.n_relations):
        lines.append(_relation_line(table, row))
    text = "\n".join(lines) + "\n"
    with replacing(path, secret=True) as temporary:
        data = text.encode()
        # Without a time stamp the same problem gives the same file.
        temporary.write_bytes(gzip.compress(data, mtime=0) if Path(path).suffix == ".gz" else data)


def _relation_line(table: Table, row: int) -> str:
    part = slice(table.relations.indptr[row], table.relations.indptr[row + 1])
    entries = zip(table.relations.data[part], table.relations.indices[part], strict=True)
    # The total comes first: tau-ARGUS reads it so.
    terms = sorted(entries, key=lambda entry: (entry[0] > 0, entry[1]))
    text = " ".join(f"{cell} ({_number(coefficient)})" for coefficient, cell in terms)
    return f"{_number(table.right_hand_side[row])} {len(terms)} : {text}"


def _number(number: float) -> str:
    """Shortest text that is read as the same number."""
    return str(int(number)) if float(number).is_integer() else repr(float(number))


class _JJReader:
    """Reads the tokens of a file one after the other, with their position for messages."""

    def __init__(self, path: Path, text: str) -> None:
        self.path = path
        self.text = text
        # Colons and brackets are ignored: the count of its cells tells where a relation ends.
        self.tokens = text.translate(str.maketrans(":()", "   ")).split()
        self.at = 0
        self.sides: list[int] = []

    def fail(self, message: str, token: int | None = None) -> InputError:
        return InputError(f"{self.path}, line {self.line(self.at if token is None else token)}: "
                          f"{message}")  # fmt: skip

    def line(self, token: int) -> int:
        """Line of a token; found only when an error needs it."""
        plain = self.text.translate(str.maketrans(":()", "   "))
        for number, match in enumerate(re.finditer(r"\S+", plain)):
            if number == token:
                return plain.count("\n", 0, match.start()) + 1
        return plain.rstrip().count("\n") + 1

    def next(self, what: str) -> str:
        if self.at >= len(self.tokens):
            raise self.fail(
                f"the file ends where {what} should stand; it was cut off. Copy it again from its "
                f"source."
            )
        self.at += 1
        return self.tokens[self.at - 1]

    def expect(self, token: str, what: str) -> None:
        if self.next(what) != token:
            raise self.fail(f"expected {what}, found {self.tokens[0]!r}. Is this a JJ file?", 0)

    def whole(self, what: str) -> int:
        token = self.next(what)
        if not (token.isascii() and token.isdecimal() and len(token) < 18):
            raise self.fail(f"expected {what}, found {token!r}.", self.at - 1)
        return int(token)

    def cells(self, n_cells: int) -> Texts:
        width = len(_FIELDS)
        end = self.at + width * n_cells
        if end > len(self.tokens):
            done = (len(self.tokens) - self.at) // width
            raise self.fail(
                f"the file ends in the middle of cell {done} of {n_cells}; it was cut off. Copy it "
                f"again from its source.",
                len(self.tokens),
            )
        cells = np.array(self.tokens[self.at : end]).reshape(n_cells, width)
        wrong = np.flatnonzero(cells[:, 0] != np.arange(n_cells).astype(str))
        if len(wrong):
            raise self.fail(
                f"expected the cell with index {wrong[0]}, found {str(cells[wrong[0], 0])!r}. "
                f"Cells must be numbered 0, 1, ... with {width} entries each.",
                self.at + width * int(wrong[0]),
            )
        odd = np.flatnonzero(~np.isin(cells[:, 3], ["s", "u", "m", "z"]))
        if len(odd):
            raise self.fail(
                f"cell {odd[0]} has the status {str(cells[odd[0], 3])!r}; expected s, u, m or z.",
                self.at + width * int(odd[0]) + 3,
            )
        self.at = end
        return cells

    def numbers(self, column: Texts, name: str, first: int) -> Floats:
        """Return the numbers of a column of all cells; only bounds may be infinite."""
        tokens = column.tolist()
        bound = name in ("lb", "ub")
        for cell, token in enumerate(tokens):
            if not (_is_finite(token) or (bound and _INFINITE.fullmatch(token))):
                raise self.fail(
                    f"{name} of cell {cell} is {token!r}, not a {'finite ' * (not bound)}number.",
                    first + len(_FIELDS) * cell,
                )
        return np.array(tokens, dtype=np.float64)

    def require_held(
        self, column: Texts, numbers: Floats, name: str, first: int, level: float
    ) -> None:
        """Refuse numbers of cells of which a double loses what counts beside a level."""
        lost = lost_digits(column, numbers, level)
        if len(lost):
            cell = int(lost[0])
            reason = remedy(str(column[cell]), float(numbers[cell]), level, len(lost))
            raise self.fail(f"{name} of cell {cell} {reason}", first + len(_FIELDS) * cell)

    def require_sides_held(self, sides: Floats, level: float) -> None:
        """Refuse right-hand sides of which a double loses what counts beside a level."""
        if not len(may_lose(sides, level)):
            return
        texts = [self.tokens[place] for place in self.sides]
        lost = lost_digits(texts, sides, level)
        if len(lost):
            row = int(lost[0])
            reason = remedy(texts[row], float(sides[row]), level, len(lost))
            raise self.fail(f"the right-hand side of relation {row} {reason}", self.sides[row])

    def relations(self, n_relations: int, n_cells: int) -> tuple[csr_array, Floats]:
        if 2 * n_relations > len(self.tokens) - self.at:
            raise self.fail(
                f"{n_relations} relations are announced, but the file ends sooner; it was cut off. "
                f"Copy it again from its source.",
                len(self.tokens),
            )
        right_hand_side = np.zeros(n_relations)
        sizes = np.zeros(n_relations, dtype=np.int64)
        cells: list[str] = []
        coefficients: list[str] = []
        for row in range(n_relations):
            what = f"relation {row} of {n_relations}"
            token = self.next(what)
            if not _is_finite(token):
                raise self.fail(
                    f"the right-hand side of {what} is {token!r}, not a finite number.", self.at - 1
                )
            right_hand_side[row] = float(token)
            self.sides.append(self.at - 1)
            sizes[row] = size = self.whole(f"the number of cells in {what}")
            end = self.at + 2 * size
            if end > len(self.tokens):
                raise self.fail(
                    f"the file ends in the middle of {what}; it was cut off. Copy it again from "
                    f"its source.",
                    len(self.tokens),
                )
            cells.extend(self.tokens[self.at : end : 2])
            coefficients.extend(self.tokens[self.at + 1 : end : 2])
            self._check_terms(row, end, n_cells)
            self.at = end
        relation = np.repeat(np.arange(n_relations), sizes)
        indices = np.array(cells, dtype=np.int64)
        data = np.array(coefficients, dtype=np.float64)
        return relation_matrix(relation, indices, data, (n_relations, n_cells)), right_hand_side

    def _check_terms(self, row: int, end: int, n_cells: int) -> None:
        for place in range(self.at, end, 2):
            cell, coefficient = self.tokens[place : place + 2]
            if not (_INDEX.fullmatch(cell) and int(cell) < n_cells):
                raise self.fail(
                    f"relation {row} names the cell {cell!r}, but cells are numbered 0 to "
                    f"{n_cells - 1}.",
                    place,
                )
            if not _is_finite(coefficient):
                raise self.fail(
                    f"the coefficient of cell {cell} in relation {row} is {coefficient!r}, not a "
                    f"finite number.",
                    place + 1,
                )

    def end(self) -> None:
        if self.at < len(self.tokens):
            raise self.fail(
                f"the file goes on with {self.tokens[self.at]!r} after the last relation."
            )


def _is_finite(token: str) -> bool:
    return bool(_FINITE.fullmatch(token)) and abs(float(token)) < np.inf

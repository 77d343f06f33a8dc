"""Tables as tau-ARGUS writes them: matrix, code-value, SBS, intermediate, JJ."""

from __future__ import annotations

import csv
import io
import itertools
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from tablecloak.argus.recode import depth_of, parents_of
from tablecloak.errors import InputError
from tablecloak.storage import write_text
from tablecloak.tables.formats import write_jj
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["Protected", "write_table"]

SAFE, RULE, REQUEST, FREQUENCY, ZERO = 1, 3, 4, 5, 6
MANUAL, FROZEN, SECONDARY, EMPTY = 9, 10, 11, 14
_BY_REASON = {
    "dominance": RULE, "prior-posterior": RULE, "p-percent": RULE, "request": REQUEST,
    "minimum-frequency": FREQUENCY, "zero-unsafe": ZERO, "manual": MANUAL, "": MANUAL,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Protected:
    """A table with what was decided on its cells.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    values : numpy.ndarray of float, shape (n_cells,)
        Published values: adjusted or rounded ones, else the true ones.
    decimals : int
    codes : list of list of str
        All codes of each dimension, the total first, also those without a cell.
    """

    problem: ProtectionProblem
    suppressed: npt.NDArray[np.bool_]
    values: npt.NDArray[np.float64]
    decimals: int
    codes: list[list[str]]

    @property
    def is_changed(self) -> bool:
        """Whether values were adjusted or rounded."""
        return not np.array_equal(self.values, self.problem.table.values)

    def statuses(self) -> npt.NDArray[np.int64]:
        """Return the number of each cell's status."""
        problem = self.problem
        reasons = np.array([_BY_REASON.get(reason, RULE) for reason in problem.reasons.tolist()])
        return np.select(
            [problem.sensitive, self.suppressed, problem.frozen],
            [reasons, SECONDARY, FROZEN],
            SAFE,
        ).astype(np.int64)

    def number(self, value: float) -> str:
        """Write a value with the decimals of the response."""
        return f"{value:.{self.decimals}f}"


def write_table(protected: Protected, kind: int, options: dict[str, bool], path: Path) -> list[str]:
    """Write a table.

    Parameters
    ----------
    protected : Protected
    kind : int
        1 CSV, 3 code-value, 4 SBS, 5 intermediate, 6 JJ.
    options : dict of str to bool
        Two letters each: AS, FL, QU, SE, SO, HL and so on.
    path : Path

    Returns
    -------
    list of str
        What a reader should know about the file.

    Raises
    ------
    InputError
        For another kind.
    """
    match kind:
        case 1:
            text, secret = _matrix(protected), False
        case 3:
            text, secret = _code_value(protected, options), options.get("AS", False)
        case 4:
            text, secret = _sbs(protected, options), True
        case 5:
            text, secret = _intermediate(protected), True
        case 6:
            write_jj(protected.problem, path)
            return [f"{path.name}: holds true values; it must stay inside"]
        case _:
            raise InputError(f"Tables of type {kind} are not written; take 1, 3, 4, 5 or 6.")
    write_text(path, text, secret=secret)
    note = f"{path.name}: tells which cells are sensitive, or their values; it must stay inside"
    return [note] * secret


def _index(protected: Protected) -> dict[tuple[str, ...], int]:
    keys = protected.problem.table.keys
    return {key: at for at, key in enumerate(keys.itertuples(index=False, name=None))}


def _shown(protected: Protected, cell: int | None) -> str:
    if cell is None:
        return "-"
    if protected.suppressed[cell]:
        return "x"
    return protected.number(protected.values[cell])


def _written(rows: list[list[str]], quoted: int = 0) -> str:
    """Write rows with commas; the first columns in quotes."""
    buffer = io.StringIO()
    for row in rows:
        if quoted:
            codes = ",".join('"' + code.replace('"', '""') + '"' for code in row[:quoted])
            buffer.write(",".join([codes, *row[quoted:]]) + "\r\n")
        else:
            csv.writer(buffer).writerow(row)
    return buffer.getvalue()


def _matrix(protected: Protected) -> str:
    index, codes = _index(protected), protected.codes
    names = list(map(str, protected.problem.table.keys.columns))
    if len(names) == 1:
        return _written([[code, _shown(protected, index.get((code,)))] for code in codes[0]])
    rows: list[list[str]] = []
    for further in itertools.product(*codes[2:]):
        rows += [[name, code] for name, code in zip(names[2:], further, strict=True)]
        rows.append(["", *codes[1]])
        rows += [
            [first] + [_shown(protected, index.get((first, other, *further))) for other in codes[1]]
            for first in codes[0]
        ]
    return _written(rows)


def _code_value(protected: Protected, options: dict[str, bool]) -> str:
    index, statuses = _index(protected), protected.statuses()
    true = protected.problem.table.values
    names = list(map(str, protected.problem.table.keys.columns))
    rows: list[list[str]] = []
    if options.get("FL"):
        rows.append([*names, protected.problem.table.name] + ["Status"] * options.get("AS", False))
    for key in itertools.product(*protected.codes):
        cell = index.get(key)
        if cell is None and options.get("SE"):
            continue
        if options.get("AS"):
            value = "-" if cell is None else protected.number(true[cell])
            status = str(EMPTY if cell is None else statuses[cell])
            if protected.is_changed and cell is not None:
                rows.append([*key, value, protected.number(protected.values[cell]), status])
            else:
                rows.append([*key, value, status])
        else:
            rows.append([*key, _shown(protected, cell)])
    if options.get("SO"):
        rows = [[*row[: len(names)], row[-1]] for row in rows]
    return _written(rows, len(names) if options.get("QU", True) else 0)


def _sbs(protected: Protected, options: dict[str, bool]) -> str:
    problem, statuses = protected.problem, protected.statuses()
    known = problem.table.contributions
    letters = {SAFE: "V", FROZEN: "V", FREQUENCY: "A", SECONDARY: "D"}
    above = [parents_of(problem.table.hierarchies[name]) for name in problem.table.keys.columns]
    rows = []
    for key, cell in _index(protected).items():
        status = int(statuses[cell])
        letter = letters.get(status, "F" if problem.reasons[cell] == "p-percent" else "B")
        codes = list(key)
        if options.get("HL"):
            levels = [depth_of(tree, code) for tree, code in zip(above, key, strict=True)]
            codes = [part for pair in zip(key, map(str, levels), strict=True) for part in pair]
        share = ""
        if known is not None and known.total[cell]:
            share = f"{100 * known.largest[cell, 0] / known.total[cell]:.2f}"
        count = "" if known is None else str(int(known.count[cell]))
        hidden = bool(protected.suppressed[cell])
        # Numbers of contributors and shares of hidden cells would tell what is hidden.
        more = ["", letter, ""] if hidden else [count, letter, share]
        rows.append([*codes, _shown(protected, cell), *more])
    return _written(rows)


def _intermediate(protected: Protected) -> str:
    problem, statuses = protected.problem, protected.statuses()
    known = problem.table.contributions
    letters = {SAFE: "S", SECONDARY: "M", FROZEN: "P"}
    lines = []
    for key, cell in _index(protected).items():
        parts = [f'"{code}"' for code in key]
        parts.append(protected.number(problem.table.values[cell]))
        if known is not None:
            parts += [str(int(known.count[cell])), f"{known.total[cell]:.{protected.decimals}f}"]
            parts.append(f"{problem.weights[cell]:g}")
            parts += [f"{size:.{protected.decimals}f}" for size in known.largest[cell, :2]]
        parts.append(letters.get(int(statuses[cell]), "U"))
        parts += [f"{problem.lower_protection[cell]:g}", f"{problem.upper_protection[cell]:g}"]
        lines.append(";".join(parts))
    return "\n".join(lines) + "\n"

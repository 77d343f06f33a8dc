"""Tables as tau-ARGUS writes them: matrix, pivot, code-value, SBS, intermediate, JJ."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import InputError
from tablecloak.graph import children_of, parents_first, parents_of, path_to_root
from tablecloak.storage import private_folder, write_text
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.formats import write_jj
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES

SAFE, RULE, REQUEST, FREQUENCY, ZERO = 1, 3, 4, 5, 6
MANUAL, FROZEN, SECONDARY, EMPTY = 9, 10, 11, 14
_BY_RULE = {"P": RULE, "NK": RULE, "REQ": REQUEST, "FREQ": FREQUENCY, "ZERO": ZERO}
"""Status by the rule of tau-ARGUS that made a cell unsafe; all others are manual."""

INTERNAL = "internal"
"""Folder beside the others for what must not leave."""

CSV, PIVOT, CODE_VALUE, SBS, INTERMEDIATE, JJ = 1, 2, 3, 4, 5, 6

OPTIONS_OF = {
    CSV: ("QU",), PIVOT: ("AS", "FL", "QU", "SE", "SO"), CODE_VALUE: ("AS", "FL", "QU", "SE", "SO"),
    SBS: ("HL", "QU", "SE"), INTERMEDIATE: ("HI", "QU", "SE", "SO"), JJ: (),
}  # fmt: skip
"""Options that say something about a type; the others are logged as not needed."""


@dataclass(frozen=True, eq=False)
class BatchTable:
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
    method : {"none", "suppressed", "adjusted", "rounded"}
        What was done. Only "adjusted" and "rounded" change values.
    reach : float
        Of a rounded table, how far a value may be from the truth.
    is_proved : bool
        Whether every sensitive cell is proved to be protected.
    has_counts : bool
        Whether the number of contributors of each cell is known.
    line : int
        Line of the SUPPRESS that protected it; 0 if none did.
    """

    problem: ProtectionProblem
    suppressed: Flags
    values: Floats
    decimals: int
    codes: list[list[str]]
    method: Literal["none", "suppressed", "adjusted", "rounded"] = "none"
    reach: float = 0.0
    is_proved: bool = True
    has_counts: bool = True
    line: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether values were adjusted or rounded."""
        return self.method in ("adjusted", "rounded")

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return list(map(str, self.problem.table.keys.columns))

    def statuses(self) -> Integers:
        """Return the number of each cell's status."""
        problem = self.problem
        rules = {kind.name: kind.argus for kind in RULES}
        reasons = np.array(
            [_BY_RULE.get(rules.get(reason, ""), MANUAL) for reason in problem.reasons.tolist()]
        )
        return np.select(
            [problem.sensitive, self.suppressed | problem.forced, problem.frozen],
            [reasons, SECONDARY, FROZEN],
            SAFE,
        ).astype(np.int64)

    def number(self, value: float) -> str:
        """Write a value with the decimals of the response."""
        return f"{value:.{self.decimals}f}"


@dataclass(frozen=True, eq=False)
class OutputLayout:
    """How a table is written.

    Parameters
    ----------
    kind : int
        1 CSV, 2 CSV for pivot tables, 3 code-value, 4 SBS, 5 intermediate, 6 JJ.
    options : mapping of str to bool
        Two letters each: AS, FL, QU, SE, SO, HL, HI and so on.
    response : str
        Its name.
    n_largest : int
        How many largest contributions an intermediate table needs for its rules.
    is_count : bool
    rule_letter : {"B", "F"}
        Letter of an SBS file for cells that a rule on contributions makes unsafe: F if the table
        has a p% rule, else B. As in tau-ARGUS, which does not tell these rules apart by cell.
    """

    kind: int
    options: Mapping[str, bool]
    response: str
    n_largest: int = 0
    is_count: bool = False
    rule_letter: str = "B"

    def has(self, option: str) -> bool:
        """Whether an option is on; codes are in quotes unless said otherwise."""
        return self.options.get(option, option == "QU")

    @property
    def is_public(self) -> bool:
        """Whether the file may leave: neither statuses nor true values of hidden cells."""
        flat = self.kind in (PIVOT, CODE_VALUE)
        return self.kind == CSV or (flat and not self.has("AS") and not self.has("SO"))

    @property
    def is_internal(self) -> bool:
        """Whether the file lies in the folder ``internal``; an SBS file has another one there."""
        return not self.is_public and self.kind != SBS


@dataclass(frozen=True, eq=False)
class BatchOutput:
    """A file that is ready to be written.

    Parameters
    ----------
    path : Path
    text : str
        Empty for a JJ file, which is made of `problem`.
    is_secret : bool
        Whether only its owner may read it.
    problem : ProtectionProblem, optional
    is_table : bool
        Whether it belongs to a table; otherwise it tells of the batch.
    """

    path: Path
    text: str
    is_secret: bool
    problem: ProtectionProblem | None = None
    is_table: bool = True

    def write(self, encoding: str) -> None:
        """Write it."""
        if self.path.parent.name == INTERNAL:
            private_folder(self.path.parent)
        if self.problem is not None:
            write_jj(self.problem, self.path)
        else:
            write_text(self.path, self.text, secret=self.is_secret, encoding=encoding)


def made_of(protected: BatchTable, layout: OutputLayout, path: Path) -> list[BatchOutput]:
    """Return the files of a table, the table first.

    Parameters
    ----------
    protected : BatchTable
    layout : OutputLayout
    path : Path

    Returns
    -------
    list of BatchOutput
        An intermediate table comes with its metadata (.rda) and hierarchies (.hrc), an SBS file
        with one in the folder ``internal`` that has the values of hidden cells.

    Raises
    ------
    InputError
        For another kind, or one that does not suit what was done.
    """
    secret = not layout.is_public
    if layout.kind in (SBS, INTERMEDIATE) and protected.method == "adjusted":
        raise InputError("An adjusted table (CTA) is not written as type 4 or 5; take 1, 2 or 3.")
    if layout.kind == JJ and protected.is_changed:
        raise InputError("An adjusted or rounded table is not written as type 6; take 1, 2 or 3.")
    match layout.kind:
        case 1:
            return [BatchOutput(path, _matrix(protected, layout), secret)]
        case 2 | 3:
            return [BatchOutput(path, _code_value(protected, layout), secret)]
        case 4:
            inside = path.parent / INTERNAL / path.name
            return [
                BatchOutput(path, _sbs(protected, layout), secret),
                BatchOutput(inside, _sbs(protected, layout, with_hidden=True), True),
            ]
        case 5:
            return [BatchOutput(path, _intermediate(protected, layout), secret)] + [
                BatchOutput(path.with_name(name), text, secret)
                for name, text in _description(protected, layout, path)
            ]
        case 6:
            return [BatchOutput(path, "", secret, protected.problem)]
    raise InputError(f"Tables of type {layout.kind} are not written; take 1 to 6.")


def _index(protected: BatchTable) -> dict[tuple[str, ...], int]:
    keys = protected.problem.table.keys
    return {key: at for at, key in enumerate(keys.itertuples(index=False, name=None))}


def _shown(protected: BatchTable, cell: int | None) -> str:
    if cell is None:
        return "-"
    if protected.suppressed[cell]:
        return "x"
    return protected.number(protected.values[cell])


def _label(code: str, layout: OutputLayout) -> str:
    """Write a code; without quotes only what needs none."""
    if layout.has("QU") or any(mark in code for mark in ',"\r\n'):
        return '"' + code.replace('"', '""') + '"'
    return code


def _labels(codes: list[str], layout: OutputLayout) -> list[str]:
    return [_label(code, layout) for code in codes]


def _matrix(protected: BatchTable, layout: OutputLayout) -> str:
    """Write rows by columns, the last two dimensions; the first ones are layers."""
    index, codes = _index(protected), protected.codes
    columns = ",".join(["", *_labels(codes[-1], layout)])
    if len(codes) == 1:
        cells = [_shown(protected, index.get((code,))) for code in codes[0]]
        return f"{columns}\r\n{','.join(['', *cells])}\r\n"
    lines: list[str] = []
    for layer in itertools.product(*codes[:-2]):
        if layer:
            parts = [f"Var {at},{_label(code, layout)}" for at, code in enumerate(layer, start=1)]
            lines.append(", ".join(parts))
        lines.append(columns)
        for row in codes[-2]:
            cells = [_shown(protected, index.get((*layer, row, other))) for other in codes[-1]]
            lines.append(",".join([_label(row, layout), *cells]))
        lines.append("")
    return "".join(f"{line}\r\n" for line in lines)


def _code_value(protected: BatchTable, layout: OutputLayout) -> str:
    index, statuses = _index(protected), protected.statuses()
    true = protected.problem.table.values
    lines = [_first_line(protected, layout)] if layout.has("FL") or layout.kind == PIVOT else []
    for key in itertools.product(*protected.codes):
        cell = index.get(key)
        if cell is None and layout.has("SE"):
            continue
        status = str(EMPTY if cell is None else statuses[cell])
        original = "-" if cell is None else protected.number(true[cell])
        if layout.has("SO"):
            row = [status]
        elif not layout.has("AS"):
            row = [_shown(protected, cell)]
        elif protected.is_changed:
            row = [_shown(protected, cell), original]
            row += [status] if protected.method == "adjusted" else []
        else:
            row = [original, status]
        lines.append(",".join([*_labels(list(key), layout), *row]))
    return "".join(f"{line}\r\n" for line in lines)


def _first_line(protected: BatchTable, layout: OutputLayout) -> str:
    name = layout.response
    ending = {"rounded": "_Round", "adjusted": "_CTA"}.get(protected.method, "")
    columns = [*protected.names, name + ending]
    if layout.has("SO"):
        columns = [*protected.names, "Status"]
    elif layout.has("AS"):
        columns += [f"{name}_Orig"] if protected.is_changed else []
        columns += ["Status"] if protected.method != "rounded" else []
    return ",".join(_labels(columns, layout))


def _sbs(protected: BatchTable, layout: OutputLayout, *, with_hidden: bool = False) -> str:
    """Write codes, value, number of contributors and letter.

    What tau-ARGUS tells of a hidden cell (its value, number and largest shares) is written
    `with_hidden` only: who has the rest of the file could compute others with it.
    """
    problem, statuses = protected.problem, protected.statuses()
    known = problem.table.contributions
    letters = {SAFE: "V", FROZEN: "V", FREQUENCY: "A", SECONDARY: "D", RULE: layout.rule_letter}
    above = [parents_of(problem.table.hierarchies[name].groups) for name in protected.names]
    lines = []
    for key, cell in _index(protected).items():
        status = int(statuses[cell])
        codes = _labels(list(key), layout)
        if layout.has("HL"):
            levels = [
                len(path_to_root(code, tree)) - 1 for tree, code in zip(above, key, strict=True)
            ]
            codes = [part for pair in zip(codes, map(str, levels), strict=True) for part in pair]
        count = str(int(known.count[cell])) if known and protected.has_counts else ""
        letter = letters.get(status, "B")
        if protected.suppressed[cell] and not with_hidden:
            codes += ["x", "", letter]
        else:
            codes += [protected.number(protected.values[cell]), count, letter]
        if with_hidden and known and status == RULE and known.total[cell]:
            sizes = known.largest[cell, : layout.n_largest]
            codes += [f"{100 * size / known.total[cell]:.1f}" for size in sizes]
        lines.append(",".join(codes))
    return "".join(f"{line}\r\n" for line in lines)


# -- intermediate tables ------------------------------------------------------------------


def _contributions(protected: BatchTable, layout: OutputLayout) -> Contributions | None:
    table = protected.problem.table
    if layout.has("HI") and table.holdings is None:
        raise InputError(
            "HI asks for holdings, but the data have none (<HOLDING>). Describe their variable in "
            "the metadata, or remove HI."
        )
    return table.holdings if layout.has("HI") else table.contributions


def _intermediate(protected: BatchTable, layout: OutputLayout) -> str:
    """Write every cell, also the empty ones unless SE is on, so that it can be read again."""
    problem, statuses, index = protected.problem, protected.statuses(), _index(protected)
    known, has_amounts = _contributions(protected, layout), not layout.is_count
    n_tops = 0 if layout.has("SO") or known is None else layout.n_largest
    letters = {SAFE: "S", SECONDARY: "M", FROZEN: "P"}
    empty = "" if layout.has("SE") else protected.number(0.0)
    lines = []
    for key in itertools.product(*protected.codes):
        cell = index.get(key)
        if cell is None and layout.has("SE"):
            continue
        parts = [f'"{code}"' if layout.has("QU") else code for code in key]
        parts.append(empty if cell is None else protected.number(protected.values[cell]))
        if known is not None and has_amounts:
            if protected.has_counts:
                parts.append("0" if cell is None else str(int(known.count[cell])))
            if not layout.has("SO"):
                parts.append(empty if cell is None else protected.number(known.total[cell]))
        parts.append(empty if cell is None else protected.number(problem.weights[cell]))
        for rank in range(n_tops):
            size = 0.0
            if cell is not None and known is not None and rank < known.largest.shape[1]:
                size = float(known.largest[cell, rank])
            parts.append(protected.number(size))
        parts.append("E" if cell is None else letters.get(int(statuses[cell]), "U"))
        for levels in (problem.lower_protection, problem.upper_protection):
            parts.append(empty if cell is None else f"{levels[cell]:.12g}")
        lines.append(";".join(parts))
    return "\n".join(lines) + "\n"


def _description(protected: BatchTable, layout: OutputLayout, path: Path) -> list[tuple[str, str]]:
    """Return the metadata of an intermediate table and the hierarchies that they name."""
    known, has_tops = _contributions(protected, layout), not layout.has("SO")
    files, lines = [], ['   <SEPARATOR> ";"', "<SAFE> S", "<UNSAFE> U", "<PROTECT> P"]
    for name in protected.names:
        tree = protected.problem.table.hierarchies[name]
        lines += [name, "    <RECODEABLE>", f'    <TOTCODE> "{tree.total}"']
        below = children_of(tree.groups)
        if len(below) > 1:
            file = f"{path.stem}_{name}.hrc"
            walk = parents_first(below[tree.total], below)
            files.append((file, "".join(f"{'@' * depth}{code}\n" for code, depth in walk)))
            lines += ["    <HIERARCHICAL>", f'    <HIERCODELIST> "{file}"']
            lines += ['    <HIERLEADSTRING> "@"']
    decimals = f" <DECIMALS> {protected.decimals}"
    if layout.is_count:
        lines += ["FreqVar", "    <FREQUENCY>"]
    else:
        lines += [layout.response, f"    <NUMERIC>{decimals}"]
        if known is not None:
            lines += ["FreqVar", "    <FREQUENCY>"] * protected.has_counts
            lines += [f"{layout.response}_Shadow", "    <NUMERIC> <SHADOW>"] * has_tops
    lines += [f"{layout.response}_Cost", "    <NUMERIC> <COSTVAR>"]
    if known is not None and has_tops:
        for rank in range(layout.n_largest):
            lines += [f"Top{rank + 1}", "    <MAXSCORE>"]
    lines += ["StatusVar", "    <STATUS>", "LowerProtLevel", "    <NUMERIC> <LOWERPL>"]
    lines += ["UpperProtLevel", "    <NUMERIC> <UPPERPL>"]
    return [(f"{path.stem}.rda", "\n".join(lines) + "\n"), *files]

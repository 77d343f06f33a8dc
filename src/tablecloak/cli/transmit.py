"""``tablecloak transmit``: all values with flags, for another authority."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from tablecloak.cli.files import read_original, read_pattern
from tablecloak.cli.options import Original, Pattern, Tolerance
from tablecloak.errors import InputError

Output = Annotated[
    Path, typer.Option("--output", "-o", help="CSV file to write. Secret.", writable=True)
]
TemplateFile = Annotated[
    Path | None, typer.Option(help="CSV with a row for each cell that is asked for, in order.")
]
StructureFile = Annotated[
    Path | None,
    typer.Option(help="Data structure definition (SDMX-ML or SDMX-JSON) that it must fit."),
]
StructureId = Annotated[
    str, typer.Option(help="Id of the data structure, where the file defines several.")
]
Constant = Annotated[
    list[str] | None,
    typer.Option("--constant", help="COLUMN=TEXT: the same in each row; repeat."),
]
Name = Annotated[
    list[str] | None, typer.Option("--name", help="DIMENSION=COLUMN it is written in; repeat.")
]
Code = Annotated[
    list[str] | None,
    typer.Option("--code", help="DIMENSION:CODE=TEXT for codes written otherwise; repeat."),
]
Flag = Annotated[
    list[str] | None,
    typer.Option("--flag", help="RULE=LETTER, or unknown=LETTER for cells without one; repeat."),
]
Redistribution = Annotated[
    str, typer.Option(help="CONF_REDIST: to whom confidential values may be passed on.")
]
Secondary = Annotated[
    str, typer.Option(help="Flag of cells that protect others: D, or S set by the receiver.")
]
Embargo = Annotated[str, typer.Option(help="When free values may be published; E until then.")]
Partial = Annotated[
    bool, typer.Option("--partial", help="Accept rows of the template for other tables.")
]


def transmit(
    original: Original,
    pattern: Pattern,
    output: Output,
    template: TemplateFile = None,
    structure: StructureFile = None,
    structure_id: StructureId = "",
    constant: Constant = None,
    name: Name = None,
    code: Code = None,
    flag: Flag = None,
    redistribution: Redistribution = "",
    secondary: Secondary = "D",
    embargo: Embargo = "",
    partial: Partial = False,
    tolerance: Tolerance = 0.0,
) -> None:
    """Write all values with the reason why each is confidential, for another authority.

    The file holds what the release hides: it is internal, readable by you alone, and never
    written into a folder of releases. Flags are those of SDMX: A few contributors; O, T, G, M one,
    two, one or two, or more dominate; C other reasons; D protects other cells; F free.

    ORIGINAL may be a job file: its rules and contributors then tell how many dominate.

    Example: tablecloak transmit table.csv pattern.csv -o to_eurostat.csv --constant
    TIME_PERIOD=2026 --redistribution ESTAT
    """
    from tablecloak.publish.data_structure import DataStructure
    from tablecloak.publish.transmission import Transmission, require_internal, write_transmission
    from tablecloak.storage import require_writable

    require_writable(require_internal(output))
    problem, job = read_original(original, tolerance)
    table = Transmission(
        problem,
        read_pattern(problem, pattern),
        rules=() if job is None else job.every_rule,
        names=_pairs("--name", name),
        codes=_codes(code),
        constants=_pairs("--constant", constant),
        flags=_pairs("--flag", flag),
        redistribution=redistribution,
        secondary=secondary,
        embargo=embargo,
    )
    defined = None if structure is None else DataStructure.read(structure, structure_id)
    sent = write_transmission(
        table, output, template=template, structure=defined, complete=not partial
    )
    typer.echo(sent.summary())


def _pairs(option: str, given: Sequence[str] | None) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for entry in given or ():
        left, sign, right = entry.partition("=")
        if not left or not sign or left in pairs:
            raise InputError(f"{option} {entry}: give each name once, as NAME=TEXT.")
        pairs[left] = right
    return pairs


def _codes(given: Sequence[str] | None) -> dict[str, dict[str, str]]:
    codes: dict[str, dict[str, str]] = {}
    for entry, text in _pairs("--code", given).items():
        dimension, sign, code = entry.partition(":")
        if not sign:
            raise InputError(f"--code {entry}={text}: give DIMENSION:CODE=TEXT.")
        codes.setdefault(dimension, {})[code] = text
    return codes

"""No argument of a batch can be lost: whatever is changed shows in files or log, or is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import tablecloak as tc
import tablecloak.argus.tables as argus_tables
from shops import RDA, cells, write_shops
from tablecloak.argus import run_batch

FULL = """\
<LOGBOOK> "batch.log"
<OPENTABLEDATA> "shops.tab"
<OPENMETADATA> "shops.rda"
<SPECIFYTABLE> "Town""Kind"|"Sales"||"Firms",0.5
<SAFETYRULE> P(15,1)|NK(2,85)|FREQ(3,30)|ZERO(2)|MAN(15)|MIS(0)|WGT(0)|
<READTABLE> 1T
<APRIORI> "last.hst",1,";",0,0
<SOLVER> FREE
<WRITETABLE> (1,5,SO+QU-,"again.tab")
<WRITETABLE> (1,6,,"table.jj")
<VERSIONINFO> "version.txt"
<SUPPRESS> MOD(1,1,1,1,1)
<WRITETABLE> (1,3,AS+FL+SE-,"codes.csv")
<SUPPRESS> GH(1,150,0,1)
"""
"""Every command for tables of cells, with as many arguments as it takes."""

MICRO = """\
<OPENMICRODATA> "m.asc"
<OPENMETADATA> "m.rda"
<SPECIFYTABLE> "size""kind"|"v"|"v"|-1
<SAFETYRULE> P(15,60,1)|REQ(20,30,2,10)|WGT(1)
<READMICRODATA>
<RECODE> 1, size, "size.grc"
<SUPPRESS> OPT(1,1)
<WRITETABLE> (1,4,HL+,"sbs.csv")
<WRITETABLE> (1,2,AS-,"pivot.csv")
"""


COMMAS = """\
<OPENTABLEDATA> "shops.tab"
<OPENMETADATA> "shops.rda"
<SPECIFYTABLE> "Town""Kind"|"Sales"|"Top1"|"Top2"
<READTABLE> 1T
<SUPPRESS> OPT(1,1)
<WRITETABLE> (1,3,AS+,"one.csv")
"""

pytestmark = pytest.mark.usefixtures("solved_once", "added_up_once")


@pytest.fixture
def added_up_once(monkeypatch):
    """Add the same records up once, whatever was changed of what is done with them."""
    tables: dict[object, tc.Table] = {}

    def tabulate(frame, dimensions, value, **options):
        trees = {name: each.hierarchy for name, each in dimensions.items()}
        groups = [(name, tree and (tree.total, tree.groups)) for name, tree in trees.items()]
        key = frame.to_csv(), str(groups), value, str(options)
        if key not in tables:
            tables[key] = tc.tabulate(frame, dimensions, value, **options)
        return tables[key]

    monkeypatch.setattr(argus_tables, "tabulate", tabulate)


_PIECE = re.compile(r'"[^"]*"|[(),|]|[^\s"(),|]+')


def mutants(text: str) -> Iterator[tuple[int, str, str]]:
    """Line number, what was done to the line, and the batch with one piece changed."""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        command, _, rest = line.partition(">")
        if not command.startswith("<") or line.startswith("//"):
            continue
        changes = [f"{rest} 9", f"{rest},9", f'{rest}"Z"']
        for found in _PIECE.finditer(rest):
            piece, start, end = found.group(), found.start(), found.end()
            ends = not rest[end:].replace('""', "").strip(' |"')
            if piece == '""' or (piece == "|" and ends):
                continue  # An empty argument in the end means the same as none.
            changes += [rest[:start] + new + rest[end:] for new in _changed(piece)]
        for change in changes:
            mutated = [*lines[: number - 1], f"{command}>{change}", *lines[number:]]
            yield number, f"{command}>{change}", "\n".join(mutated) + "\n"


def _changed(piece: str) -> list[str]:
    if piece in "(),|":
        return [""]
    if re.fullmatch(r"-?[\d.]+", piece):
        return [str(float(piece) + 1.0).removesuffix(".0"), "-7", "1x"]
    if piece.startswith('"'):
        return ["", f'"{piece[1:-1]}Q"']
    return [f"{piece}Q"]


def _files(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.is_file()]


def outcome(path: Path, text: str) -> tuple[str, object]:
    """What a person can see of a batch: an error, or the log without times and all files."""
    path.write_text(text, encoding="utf-8")
    out = path.parent / "out"
    for old in _files(out):
        old.unlink()
    try:
        result = run_batch(path, out, time_limit=20)
    except tc.TablecloakError as error:
        assert not _files(out), "a batch that stops writes nothing"
        return "error", str(error)
    files = {str(file): file.read_bytes() for file in _files(out) if file not in result.beside}
    log = [re.sub(r"[\d.,]+ s\b", "", line) for line in result.log]
    return "done", (log, files, result.exit_code)


def check_all(path: Path, text: str) -> None:
    """Change one piece after another; each must show."""
    kind, original = outcome(path, text)
    assert kind == "done", original
    assert outcome(path, text) == (kind, original), "times or chance show in the log"
    assert isinstance(original, tuple)
    lost, n_changes = [], 0
    for number, change, mutated in mutants(text):
        n_changes += 1
        # Most changes show before the rest of the batch runs.
        begun = "".join(mutated.splitlines(keepends=True)[:number])
        kind, found = outcome(path, begun)
        if kind == "error":
            assert re.match(rf"{re.escape(str(path))}, line \d+: ", str(found)), found
            continue
        assert isinstance(found, tuple)
        if found[0] == original[0][: len(found[0])] and outcome(path, mutated)[1] == original:
            lost.append(f"line {number}: {change}")
    assert n_changes > 30
    assert not lost, "\n".join(lost)


def test_a_batch_on_a_table_of_cells_loses_no_argument(tmp_path):
    write_shops(tmp_path)
    (tmp_path / "last.hst").write_text("N1;a;u\nN2;b;c;5\n")
    check_all(tmp_path / "job.arb", FULL)


def test_a_batch_on_records_loses_no_argument(tmp_path):
    lines = [f"{n % 5},{'ab'[n % 2]},{n % 7 * 3 + 1},{n % 3 + 1},{n % 4}" for n in range(60)]
    (tmp_path / "m.asc").write_text("\n".join(lines) + "\n")
    (tmp_path / "m.rda").write_text(
        '<SEPARATOR> ","\nsize 1\n<RECODEABLE>\nkind 1\n<RECODEABLE>\nv 3\n<NUMERIC>\nw 1\n'
        '<WEIGHT>\nr 1\n<REQUEST> "1" "2"\n'
    )
    (tmp_path / "size.grc").write_text("S: 0-2\n")
    check_all(tmp_path / "job.arb", MICRO)


def test_a_batch_with_decimal_commas_and_own_columns_loses_no_argument(tmp_path):
    """As tau-ARGUS writes its tables under a Dutch locale: shadow, cost and status of each cell."""
    frame = cells()
    rows = [
        f"{r.Town};{r.Kind};{r.Sales:.1f};{r.Firms};{r.Top1:.1f};{r.Firms + 1};{r.Stat}"
        for r in frame.itertuples()
    ]
    (tmp_path / "shops.tab").write_text("\n".join(rows).replace(".", ",") + "\n")
    columns = {"Top1": "<NUMERIC> <SHADOW>", "Top2": "<NUMERIC> <COSTVAR>"}
    text = RDA
    for name, tags in columns.items():
        text = text.replace(f"{name}\n  <MAXSCORE>", f"{name}\n  {tags}")
    (tmp_path / "shops.rda").write_text(text)
    (tmp_path / "town.hrc").write_text("North\n@N1\n@N2\n@N3\nSouth\n@S1\n@S2\n@S3\n")
    check_all(tmp_path / "job.arb", COMMAS)

"""Mutated files for every reader: each must be read, or refused with an error of ours.

Run on its own for many files: python tests/fuzzing.py --files 100000
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import io
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd

import tablecloak as tc
from tablecloak.argus import read_metadata, run_batch
from tablecloak.argus.metadata import read_cells
from tablecloak.certificates.file import write_certificate
from tablecloak.certificates.verifier import main as verify
from tablecloak.jobs.job_file import read_job
from tablecloak.publish.released_cells import read_release

SPECIAL = [
    b"nan", b"inf", b"-1", b"1e400", b"999999999999999999999", b"\0", b"\xff\xfe", b'"', b"'", b",",
    b";", b"\n", b"\r\n", b"\n\n", b" ", b"\t", b"0", b"-", b"<", b">", b"(", b")", b"@", b"=1+1",
    b"<STATUS>", b"Total", b"[data]", b"\xc3\xa4", b"2147483648", b"0x10", b"1,5", b".5", b"u",
]  # fmt: skip

RDA = b"""<SEPARATOR> ";"\n<SAFE> S\n<UNSAFE> U\nTown\n<RECODEABLE>\n<TOTCODE> "Total"
<HIERARCHICAL>\n<HIERCODELIST> "town.hrc"\n<HIERLEADSTRING> "@"\nKind\n<RECODEABLE>\nSales
<NUMERIC> <DECIMALS> 1\nStat\n<STATUS>\n"""
TAB = b"".join(
    f"{t};{k};{v};{'U' if v == 2 else 'S'}\n".encode()
    for t, row in (
        ("Total", (21, 6, 15)), ("N1", (9, 2, 7)), ("N2", (12, 4, 8)),
        ("North", (21, 6, 15)),
    )
    for k, v in zip(("Total", "a", "b"), row, strict=True)
)  # fmt: skip
HRC = b"North\n@N1\n@N2\n"
HST = b"N1;a;u\nN2;b;c;5\nN1;a;pl;1;2\nN2;a;s\n"
ARB = b"""<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"
<SPECIFYTABLE> "Town""Kind"|"Sales"||\n<SAFETYRULE> MAN(20)\n<READTABLE> 0
<APRIORI> "t.hst",1,";",1\n"""
FWF = b"a 1 2 99\n<RECODEABLE>\nb 3 1\n<RECODEABLE>\n<HIERLEVELS> 1 0\nv 4 3\n<NUMERIC>\n"
JOB = b"""title = "t"\n[data]\nfile = "firms.csv"\nvalue = "v"\n[dimensions.r]\n[[rules]]
rule = "p-percent"\np = 10\n[protection]\nfloor = 1\n[suppression]\ntime_limit = 5\n[output]
formats = ["csv"]\n"""


def mutated(seed: bytes, random: np.random.Generator) -> bytes:
    """A file with a few things wrong, or nothing."""
    content = bytearray(seed)
    for _ in range(int(random.integers(1, 4))):
        at = int(random.integers(0, len(content) + 1))
        match int(random.integers(0, 11)):
            case 0 if content:
                content[at % len(content)] ^= 1 << int(random.integers(0, 8))
            case 1:
                content[at:at] = SPECIAL[int(random.integers(len(SPECIAL)))]
            case 2:
                del content[at : at + int(random.integers(1, 12))]
            case 3:
                del content[at:]
            case 4:
                lines = bytes(content).splitlines(keepends=True)
                if lines:
                    line = lines[int(random.integers(len(lines)))]
                    content = bytearray(b"".join([*lines, line]))
            case 5:
                lines = bytes(content).splitlines(keepends=True)
                random.shuffle(lines)
                content = bytearray(b"".join(lines))
            case 6:
                end = at + int(random.integers(1, 8))
                content[at:end] = SPECIAL[int(random.integers(len(SPECIAL)))]
            case 8 | 9 | 10:
                digits = [at for at, byte in enumerate(content) if 48 <= byte <= 57]
                if digits:
                    content[digits[int(random.integers(len(digits)))]] = 48 + int(
                        random.integers(10)
                    )
            case 7:
                part = bytes(content[at : at + 20])
                content[at:at] = part * int(random.integers(1, 4))
    return bytes(content)


@cache
def sound_files() -> dict[str, bytes]:
    """A problem in two formats, and a pattern with its certificate."""
    problem = tc.examples.cox_rounded()
    pattern = tc.suppress(problem)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        tc.write_jj(problem, folder / "cox.jj")
        tc.write_problem(problem, folder / "cells.csv")
        pattern.release().to_csv(folder / "release.csv", index=False)
        write_certificate(pattern.certificate, folder / "c.npz")
        return {path.name: path.read_bytes() for path in folder.iterdir()}


def readers(folder: Path) -> dict[str, tuple[bytes, Callable[[Path], object], str]]:
    """For each reader a sound file, the function, and the ending of its names."""
    problem = tc.examples.cox_rounded()
    for name, content in sound_files().items():
        (folder / name).write_bytes(content)
    firms = pd.DataFrame(
        {"r": ["01", "1", "b", "b"], "f": ["x", "y", "x", "z"], "v": [5, 7.5, 1, 2]}
    )
    (folder / "town.hrc").write_bytes(HRC)
    (folder / "firms.csv").write_text("r,v\na,1\nb,2\n")

    def cells(path: Path) -> object:
        (folder / "t.rda").write_bytes(RDA)
        return read_cells(read_metadata(folder / "t.rda"), path)

    def batch(path: Path) -> object:
        for name, content in (("t.rda", RDA), ("t.tab", TAB), ("t.hst", HST)):
            (folder / name).write_bytes(content)
        return run_batch(path, time_limit=1)

    def prepared(target: str) -> Callable[[Path], object]:
        def read(path: Path) -> object:
            for name, content in (("t.rda", RDA), ("t.tab", TAB), ("t.hst", HST), ("t.arb", ARB)):
                (folder / name).write_bytes(content)
            (folder / target).write_bytes(path.read_bytes())
            return run_batch(folder / "t.arb", time_limit=1)

        return read

    def checked(path: Path) -> object:
        with contextlib.redirect_stdout(io.StringIO()):
            if verify([str(path)]):
                raise tc.InputError("refused")
        return None

    def jj(path: Path) -> object:
        found = tc.read_jj(path)
        tc.write_jj(found, folder / "again.jj")
        again = tc.read_jj(folder / "again.jj")
        # What was read is what is written: nothing was taken for something else.
        assert np.array_equal(again.table.values, found.table.values)
        assert np.array_equal(again.status, found.status)
        return found

    def beside(path: Path) -> object:
        (folder / "other.csv").write_bytes((folder / "cells.csv").read_bytes())
        (folder / "other.relations.csv").write_bytes(path.read_bytes())
        return tc.read_problem(folder / "other.csv")

    def with_relations(path: Path) -> object:
        target = path.with_name(path.stem + ".relations.csv")
        target.write_bytes((folder / "cells.relations.csv").read_bytes())
        return tc.read_problem(path)

    return {
        "jj": ((folder / "cox.jj").read_bytes(), jj, ".jj"),
        "cells": ((folder / "cells.csv").read_bytes(), with_relations, ".csv"),
        "relations": ((folder / "cells.relations.csv").read_bytes(), beside, ".csv"),
        "release": (
            (folder / "release.csv").read_bytes(),
            lambda path: read_release(problem, path),
            ".csv",
        ),
        "certificate": (
            (folder / "c.npz").read_bytes(),
            checked,
            ".npz",
        ),
        "microdata": (
            firms.to_csv(index=False).encode(),
            lambda path: tc.tabulate(path, ["r"], "v", contributor="f"),
            ".csv",
        ),
        "hrc": (HRC + b"South\n@S1\n@@S11\n@@S12\n@S2\n", tc.Hierarchy.from_hrc, ".hrc"),
        "job": (JOB, read_job, ".toml"),
        "rda, cells": (RDA, read_metadata, ".rda"),
        "rda, records": (FWF, read_metadata, ".rda"),
        "tab": (TAB, cells, ".tab"),
        "arb": (ARB, batch, ".arb"),
        "hst": (HST, prepared("t.hst"), ".hst"),
        "rda in a batch": (RDA, prepared("t.rda"), ".rda"),
    }


def fuzz(name: str, files: int, seed: int = 0, hang: float | None = None) -> dict[str, int]:
    """Feed one reader; return how many files were read and how many refused.

    Raises whatever is no error of ours, with the file kept and named. A file on which a reader
    hangs for more than `hang` seconds ends the process with a trace.
    """
    counts = {"read": 0, "refused": 0}
    with tempfile.TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        folder = Path(place)
        seed_bytes, read, ending = readers(folder)[name]
        random = np.random.default_rng([seed, *name.encode()])
        for number in range(files):
            path = folder / f"mutated{ending}"
            path.write_bytes(mutated(seed_bytes, random))
            if hang:
                faulthandler.dump_traceback_later(hang, exit=True)
            try:
                read(path)
                counts["read"] += 1
            except tc.TablecloakError:
                counts["refused"] += 1
            except BaseException as error:
                kept = (
                    Path(tempfile.gettempdir()) / f"fuzz-{name.replace(' ', '')}-{number}{ending}"
                )
                kept.write_bytes(path.read_bytes())
                raise AssertionError(f"{kept}: {type(error).__name__}: {error}") from error
            finally:
                faulthandler.cancel_dump_traceback_later()
    return counts


def peak_memory() -> float:
    """Most memory that this process has held so far, in MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--files", type=int, default=100_000, help="over all readers")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--growth", type=float, help="MiB that memory may grow by, for each reader")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        names = [name for name in readers(Path(place)) if not options.only or name in options.only]
    for name in names:
        started = time.monotonic()
        before = peak_memory()
        found = fuzz(name, options.files // len(names), options.seed, hang=60)
        growth = peak_memory() - before
        seconds = time.monotonic() - started
        print(f"| {name} | {found['read']} | {found['refused']} | {seconds:.0f} s |", flush=True)
        if options.growth is not None and growth > options.growth:
            raise SystemExit(f"{name}: memory grew by {growth:.0f} MiB.")


if __name__ == "__main__":
    main()

"""Bad inputs made by hand, for every command: each must end with one message and nothing written.

Run on its own for all of them, with the program as a user has it:

    python tests/bad_inputs.py            # in this process
    python tests/bad_inputs.py --program  # each in a process of its own
    python tests/bad_inputs.py --sample 300 --seconds 10  # spread over all commands, in time
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import inspect
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import zip_longest
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pandas as pd
import typer
from typer.main import get_command
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cellkey import (
    KeyRows,
    design_count_table,
    design_magnitude_table,
    draw_record_keys,
    perturb_counts,
    write_perturbations,
)
from tablecloak.certificates.file import write_certificate
from tablecloak.cli.entry import parts_of
from tablecloak.cli.main import app
from tablecloak.microdata.agencies import make_certificate
from tablecloak.microdata.methods.method import METHODS
from tablecloak.safe import Outcome, Project, Reason

MESSAGE = re.compile(r"^(Error|Impossible|REFUSED|NOT SAFE|Nothing was written)\b", re.MULTILINE)
USAGE = re.compile(r"Usage: ")
FAULT = re.compile(r"Traceback|Internal error|(Runtime|Future|Deprecation|User)Warning")


NOT_APPLIED = 3
"""Exit code of `argus` where the tables are made and the log names lines that were passed over."""


@dataclass(frozen=True)
class BadInput:
    """One command with something wrong.

    Parameters
    ----------
    name : str
    words : tuple of str
        The command, with files by their names in the folder of sound files.
    files : mapping of str to bytes or None
        What is put over the sound files; None removes one, b"/" makes a folder of it.
    """

    name: str
    words: tuple[str, ...]
    files: Mapping[str, bytes | None] = field(default_factory=dict)


# -- sound files --------------------------------------------------------------------------

JOB = """title = "Turnover"
seed = 3
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
[dimensions.region]
hierarchy = "region.hrc"
[dimensions.branch]
[[rules]]
rule = "p-percent"
p = 20
[protection]
floor = 1
[suppression]
time_limit = 5
[output]
formats = ["csv"]
"""
TABLE_JOB = """[data]
file = "table.csv"
kind = "table"
value = "v"
frequency = "n"
largest = ["x", "y"]
[dimensions.d]
[[rules]]
rule = "p-percent"
p = 10
[adjustment]
time_limit = 5
"""
REQUEST = """{
 "data": {"kind": "table", "file": "cells.csv", "value": "n", "flags": "secret"},
 "dimensions": {"row": {}},
 "base": 5,
 "files": {"cells.csv": {
  "row": ["a", "b", "Total"], "n": [2, 20, 22], "secret": [true, false, false]
 }}
}
"""
KEYED_JOB = """[data]
file = "keyed.csv"
[dimensions.region]
[dimensions.sex]
[perturbation]
kind = "counts"
ptable = "ptable.csv"
threshold = 3
"""
PLANNED_JOB = """[publication]
metadata = "metadata.csv"
equations = ["all = turnover + staff"]
[data]
file = "planned.csv"
[dimensions.region]
hierarchy = "region.hrc"
[[rules]]
rule = "p-percent"
p = 10
[suppression]
time_limit = 5
"""
METADATA = """table_name,field,indicator,hrc_indicator,\
spanning_1,hrc_spanning_1,spanning_2,hrc_spanning_2
T1,2026,turnover,,region,hrc_region,,
T2,2026,staff,,region,hrc_region,branch,
T3,2026,all,,branch,,,
"""
EQUATIONS = "eq_name,eq_indicator,unit\ne1,all = turnover + staff,EUR\n"
TABLE = "d,v,n,x,y\nTotal,150,5,80,40\na,100,3,80,15\nb,50,2,40,10\n"
ASKED = "TIME_PERIOD,ROW,COLUMN\n2026,a,x\n2026,_T,z\n"
HRC = "North\n@N1\n@N2\nSouth\n"
RDA = """<SEPARATOR> ";"
<SAFE> S
<UNSAFE> U
Town
<RECODEABLE>
<TOTCODE> "Total"
Kind
<RECODEABLE>
<TOTCODE> "Total"
Sales
<NUMERIC> <DECIMALS> 0
Stat
<STATUS>
"""
TAB = """Total;Total;150;S
Total;a;70;S
Total;b;80;S
N;Total;60;S
N;a;20;U
N;b;40;S
S;Total;90;S
S;a;50;S
S;b;40;S
"""
HST = "N;b;c;5\n"
ARB = """<OPENTABLEDATA> "t.tab"
<OPENMETADATA> "t.rda"
<SPECIFYTABLE> "Town""Kind"|"Sales"||
<SAFETYRULE> MAN(20)
<READTABLE> 0
<APRIORI> "t.hst",1,";",1
<SUPPRESS> MOD(1,1)
<WRITETABLE> (1,1,,"out.csv")
"""
STUDY = """kind = "sum"
predictors = ["wage"]
timeout = 1
""" + "".join(
    f'[[agency]]\nname = "{name}"\naddress = "127.0.0.1:{port}"\ncertificate = "{name}.crt"\n'
    for name, port in (("north", 19071), ("east", 19072), ("south", 19073))
)


@cache
def sound_files() -> dict[str, bytes]:
    """Files on which every command works."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        _write_problems(folder)
        _write_records(folder)
        _write_counts(folder)
        _write_bundle(folder)
        for name, text in {
            "job.toml": JOB, "table.toml": TABLE_JOB, "table.csv": TABLE, "region.hrc": HRC,
            "asked.csv": ASKED, "metadata.csv": METADATA, "equations.csv": EQUATIONS,
            "planned.toml": PLANNED_JOB, "request.json": REQUEST,
            "keyed.toml": KEYED_JOB,
            "t.rda": RDA, "t.tab": TAB, "t.hst": HST, "job.arb": ARB, "study.toml": STUDY,
        }.items():  # fmt: skip
            (folder / name).write_text(text)
        for name in ("north", "east", "south"):
            make_certificate(name, folder)
        (folder / "jobs").mkdir()
        (folder / "jobs" / "one.toml").write_text(JOB.replace('"region', '"../region').replace(
            '"firms', '"../firms'))  # fmt: skip
        (folder / "instances").mkdir()
        (folder / "instances" / "p.jj").write_bytes((folder / "p.jj").read_bytes())
        return {
            str(path.relative_to(folder)): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }


def _write_bundle(folder: Path) -> None:
    project = Project()
    frame = pd.DataFrame({"N": [20.0, 30.0], "S": [40.0, 50.0]}, index=["a", "b"])
    project.record("table", "crosstab()", Outcome(), frames=[frame])
    failed = Outcome((Reason("fail", "threshold", "too few contributors"),))
    project.record("table", "crosstab()", failed, frames=[frame])
    project.finalise(folder / "bundle")


def _write_problems(folder: Path) -> None:
    leaves = pd.DataFrame([(r, c) for r in "abc" for c in "xyz"], columns=["row", "column"]).assign(
        n=[20, 50, 10, 8, 19, 22, 17, 32, 12]
    )
    table = tc.tabulate(leaves, ["row", "column"], "n", decimals=0)
    n = table.n_cells
    sensitive = np.isin(np.arange(n), [table.cell(row="a", column="z")])
    level = np.where(sensitive, 3.0, 0.0)
    problem = tc.ProtectionProblem(
        table, np.where(sensitive, "u", "s"), level, level, np.zeros(n), np.zeros(n),
        np.full(n, 1000.0), table.values,
    )  # fmt: skip
    tc.write_jj(problem, folder / "p.jj")
    tc.write_problem(problem, folder / "p.csv")
    tc.write_problem(problem, folder / "p.parquet")
    pattern = tc.suppress(problem, time_limit=5)
    cells = pd.DataFrame({"cell": np.arange(n)})
    cells.assign(status=pattern.statuses()).to_csv(folder / "pattern.csv", index=False)
    adjusted = tc.adjust(problem, time_limit=5)
    values = adjusted.values.astype(int)
    cells.assign(value=values).to_csv(folder / "adjusted.csv", index=False)
    found = tc.publish_intervals(problem, blur=0, time_limit=5)
    ends = found.release()[["lower", "upper"]]
    cells.assign(**ends).to_csv(folder / "intervals.csv", index=False)
    write_certificate(tc.audit(problem, pattern).certificate(), folder / "proof.npz")


def _write_records(folder: Path) -> None:
    random = np.random.default_rng(1)
    rows = [(r, b, f) for r in ("N1", "N2", "South") for b in ("food", "steel") for f in range(6)]
    firms = pd.DataFrame(rows, columns=["region", "branch", "number"])
    firms["firm"] = [f"f{number}" for number in range(len(firms))]
    firms["turnover"] = random.integers(10, 90, len(firms))
    firms.loc[0, "turnover"] = 400
    firms["staff"] = random.integers(1, 9, len(firms))
    firms["weight"], firms["ask"] = 1.0, 0
    firms.drop(columns="number").to_csv(folder / "firms.csv", index=False)
    planned = firms.drop(columns="number").assign(all=firms.turnover + firms.staff)
    planned.to_csv(folder / "planned.csv", index=False)
    n = 120
    home = np.repeat(np.arange(n // 2), 2)
    people = pd.DataFrame(
        {
            "home": home,
            "state": random.integers(1, 3, n // 2)[home],
            "town": random.integers(1, 4, n // 2)[home],
            "sex": random.choice(["m", "f"], n),
            "age": random.choice(["young", "middle", "old"], n),
            "wage": random.lognormal(8, 0.4, n).round(2),
            "hours": random.normal(38, 5, n).round(1),
            "heavy": np.round(random.uniform(1, 3, n), 1),
        }
    )
    people.to_csv(folder / "people.csv", index=False)
    people.to_parquet(folder / "people.parquet", index=False)


def _write_counts(folder: Path) -> None:
    """Records with keys, a perturbation table, the perturbed table, and a noisy one."""
    random = np.random.default_rng(2)
    n = 200
    people = pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(n)],
            "region": random.choice(["N1", "N2", "South"], n),
            "sex": random.choice(["m", "f"], n),
            "wage": random.integers(100, 900, n),
            "survey": 1.5,
        }
    )
    secret = bytes(range(32))
    (folder / "office.key").write_text(secret.hex() + "\n")
    people["record_key"] = draw_record_keys(people["person"], secret=secret)
    people.to_csv(folder / "keyed.csv", index=False)
    table = design_count_table(3, 1.0, blocked=1)
    write_perturbations(table, folder / "ptable.csv")
    write_perturbations(design_magnitude_table(3, 1.0, rows=[1, 3]), folder / "sums.csv")
    write_perturbations(KeyRows.rounding(n_rows=9, n_keys=4), folder / "ons.csv")
    counts = perturb_counts(people, ["region", "sex"], table).release()
    counts.to_csv(folder / "counts.csv", index=False)
    noisy = pd.DataFrame({"region": ["Total", "N", "S"], "count": [12, 4, 5]})
    noisy = noisy.assign(variance=[1.0, 4.0, 4.0], low=0, high=99, keep=False)
    noisy.to_csv(folder / "noisy.csv", index=False)


OUT = ("-o", "out.csv")
SWAP = ("swap", "people.csv", *OUT, "--attribute", "age", "--rate", "0.1", "--key", "sex", "--key",
        "age")  # fmt: skip
HOMES = ("swap-households", "people.csv", *OUT, "--hierarchy", "state", "--hierarchy", "town",
         "--household", "home", "--risk", "age", "--risk", "sex")  # fmt: skip
PRAM = ("pram", "people.csv", *OUT, "--key", "age", "--key", "sex")
NOISE = ("noise", "people.csv", *OUT, "--column", "wage", "--column", "hours", "--share", "0.1")
ALONE, KEEPING = ((name, *NOISE[1:]) for name in ("independent-noise", "restricted-noise"))
NEAR = ("neighbours", "people.csv", *OUT, "--eps", "1", "--column", "wage", "--column", "hours")
MEANS = ("microaggregate", "people.csv", *OUT, "--column", "wage", "--column", "hours")
TOPCODE = ("topcode", "people.csv", *OUT, "--column", "wage")
RANKS = ("rank-swap", "people.csv", *OUT, "--column", "wage", "--window", "0.1")
SHUFFLE = ("shuffle", "people.csv", *OUT, "--column", "wage", "--regressor", "hours")
LOCAL = ("local-suppression", "people.csv", *OUT, "--key", "age", "--key", "sex")
RECODE = ("recode", "people.csv", *OUT, "--key", "hours", "--key", "sex", "--hierarchy",
          "hours=5/10")  # fmt: skip
SINGLE = ("local-recode", *RECODE[1:], "--time-limit", "1")
MULTIPLY = ("multiply", "people.csv", *OUT, "--column", "wage")
MATRIX = ("pram-by-matrix", "people.csv", *OUT, "--attribute", "sex", "--matrix", "people.csv")
SUPPRESS = ("suppress", "p.jj", *OUT, "--time-limit", "5")
INTERVALS = ("intervals", "p.jj", *OUT, "--time-limit", "5")
ADJUST = ("adjust", "p.jj", *OUT, "--time-limit", "5")
ROUND = ("round", "p.jj", *OUT, "--base", "10", "--time-limit", "5")
SMALL = ("small-counts", "p.jj", *OUT, "--base", "8", "--time-limit", "5")
AUDIT = ("audit", "p.jj", "pattern.csv")
EXPLAIN = ("explain", "p.jj", "pattern.csv", "0", "--time-limit", "2")
TRANSMIT = ("transmit", "p.csv", "pattern.csv", *OUT, "--template", "asked.csv", "--constant",
            "TIME_PERIOD=2026", "--code", "row:Total=_T")  # fmt: skip
PUBLISH = ("publish", "p.csv", "pattern.csv", "--out", "out", "--columns", "column")
COMPARE = ("compare", "p.jj", "--time-limit", "2")
CONVERT = ("convert", "p.jj", "out.csv")
LIST = ("convert", "p.csv", "out.hst")
PROTECT = ("protect", "job.toml", "--out", "out")
READY = ("protect", "table.toml", "--out", "out")
ALL = ("protect", "--all", "jobs", "--out", "out")
KEYED = ("protect", "keyed.toml", "--out", "out")
ARGUS = ("argus", "job.arb", "--out", "out", "--time-limit", "2")
VERIFY = ("verify", "proof.npz", "p.jj")
CERTIFICATE = ("agencies", "certificate", "west", "--out", "out")
JOIN = ("agencies", "join", "study.toml", "people.csv", "--as", "north", "--key", "north.key")
APP = ("app", "--no-browser")
SERVE = ("serve",)
CALL = ("call", "round", "request.json", "-o", "answer.json")
SECRET = ("cellkey", "secret", "new.key")
KEYS = ("cellkey", "keys", "keyed.csv", *OUT, "--id", "person", "--column", "key",
        "--secret", "office.key")  # fmt: skip
DESIGN = ("cellkey", "design", *OUT)
COUNT = ("cellkey", "count", "keyed.csv", *OUT, "--by", "region", "--by", "sex", "--ptable",
         "ptable.csv")  # fmt: skip
SUM = ("cellkey", "sum", "keyed.csv", "wage", *OUT, "--by", "region", "--ptable", "sums.csv")
INFER = ("cellkey", "attack", "counts.csv", "--by", "region", "--by", "sex", "--ptable",
         "ptable.csv", *OUT)  # fmt: skip
RECONCILE = ("reconcile", "noisy.csv", *OUT, "--by", "region", "--value", "count")
EXAMPLE = ("example", "firms", "--out", "out")
INIT = ("init", "people.csv", "--output", "out.toml")
CHECK = ("check", "bundle", "--approve", "output_0", "--who", "Ada")
PLAN = ("plan", "metadata.csv", "--equations", "equations.csv", "--out", "out")
PLANNED = ("protect", "planned.toml", "--out", "out")
ASKED_FOR = ("plan", "--template", "asked.csv", "--total", "ROW=_T", "--total", "COLUMN=z", *OUT)

SOUND = [
    SWAP, HOMES, PRAM, NOISE, ALONE, KEEPING, NEAR, MEANS, TOPCODE, RANKS, SHUFFLE,
    LOCAL, RECODE, SINGLE,
    SUPPRESS, INTERVALS, ADJUST, ROUND, SMALL, AUDIT, COMPARE, CONVERT, PROTECT, READY, ALL,
    ARGUS, EXPLAIN, VERIFY, CERTIFICATE,
    ("audit", "p.jj", "adjusted.csv"), ("audit", "p.jj", "intervals.csv"),
    KEYED, SECRET, KEYS, DESIGN, COUNT, SUM, INFER, EXAMPLE, INIT, RECONCILE, TRANSMIT, LIST,
    PUBLISH, CALL, CHECK, ("check", "bundle"),
    PLAN, PLANNED, ("plan", "planned.toml", "--out", "out"), ASKED_FOR,
    (*RECONCILE, "--variance", "variance", "--lower-column", "low", "--upper-column", "high",
     "--fixed", "keep", "--whole"),
]  # fmt: skip
"""Commands that succeed on the sound files, so that a refusal is due to what is wrong."""


# -- bad inputs ---------------------------------------------------------------------------


def changed(name: str, old: str, new: str, count: int = 1) -> bytes:
    """A sound file with a piece replaced."""
    text = sound_files()[name].decode()
    assert old in text, (name, old)
    return text.replace(old, new, count).encode()


@cache
def frame_of(name: str) -> pd.DataFrame:
    """Entries of a sound CSV file."""
    return pd.read_csv(io.BytesIO(sound_files()[name]), dtype=str)


def cell(name: str, row: int, column: str, entry: str) -> bytes:
    """A sound CSV file with one entry replaced; rows from 0."""
    frame = frame_of(name).copy()
    frame.loc[row, column] = entry
    return frame.to_csv(index=False).encode()


def without(name: str, column: str) -> bytes:
    """A sound CSV file without a column."""
    return frame_of(name).drop(columns=column).to_csv(index=False).encode()


def header(name: str) -> bytes:
    """The header of a sound CSV file alone."""
    return sound_files()[name].split(b"\n", 1)[0] + b"\n"


def replaced(words: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    """A command with one word replaced."""
    assert old in words
    return tuple(new if word == old else word for word in words)


NO_FILE: dict[str, bytes | None] = {
    "is not there": None,
    "is a folder": b"/",
    "is empty": b"",
    "holds blank lines": b"\n\n\n",
    "is binary": bytes(range(256)) * 20,
    "is not UTF-8": b"\xff\xfe\x00caf\xe9,\x80\n\xe9,1\n",
    "is a web page": b"<!doctype html><html><body>404 Not Found</body></html>\n",
}
"""What may lie where a file is expected."""


def bad_files() -> Iterator[BadInput]:
    """Every file that a command reads, replaced by something that is none."""
    for words, name in (
        (SUPPRESS, "p.jj"), (INTERVALS, "p.jj"), (ADJUST, "p.jj"), (ROUND, "p.jj"),
        (SMALL, "p.jj"),
        (AUDIT, "p.jj"), (AUDIT, "pattern.csv"), (COMPARE, "p.jj"), (CONVERT, "p.jj"),
        (TRANSMIT, "p.csv"), (TRANSMIT, "pattern.csv"), (TRANSMIT, "asked.csv"),
        (PUBLISH, "p.csv"), (PUBLISH, "pattern.csv"),
        (replaced(CONVERT, "p.jj", "p.csv"), "p.csv"),
        (replaced(CONVERT, "p.jj", "p.csv"), "p.relations.csv"),
        (replaced(SUPPRESS, "p.jj", "p.parquet"), "p.parquet"),
        (PROTECT, "job.toml"), (PROTECT, "firms.csv"), (PROTECT, "region.hrc"),
        (READY, "table.csv"), (SWAP, "people.csv"), (HOMES, "people.csv"), (PRAM, "people.csv"),
        (NOISE, "people.csv"), (NEAR, "people.csv"),
        (replaced(SWAP, "people.csv", "people.parquet"), "people.parquet"),
        (ARGUS, "job.arb"), (ARGUS, "t.rda"), (ARGUS, "t.tab"), (ARGUS, "t.hst"),
        (VERIFY, "proof.npz"), (VERIFY, "p.jj"), (JOIN, "study.toml"), (JOIN, "people.csv"),
        (JOIN, "north.key"), (JOIN, "east.crt"),
    ):  # fmt: skip
        for what, content in NO_FILE.items():
            if name == "t.hst" and what in ("is empty", "holds blank lines"):
                continue  # A list without entries asks for nothing.
            yield BadInput(f"{words[0]}: {name} {what}", words, {name: content})


def bad_problems() -> Iterator[BadInput]:
    """JJ files and files of cells."""
    readers = [SUPPRESS, INTERVALS, ADJUST, ROUND, CONVERT, AUDIT, COMPARE]
    text = sound_files()["p.jj"].decode()
    lines = text.splitlines()
    first = lines[2].split()
    total = len(lines)

    def line(number: int, *words: str) -> bytes:
        return "\n".join([*lines[:number], " ".join(words), *lines[number + 1 :]]).encode()

    def entry(column: int, word: str) -> bytes:
        return line(2, *(word if at == column else old for at, old in enumerate(first)))

    jj = {
        "another format mark": line(0, "1"),
        "no number of cells": line(1, "many"),
        "a negative number of cells": line(1, "-3"),
        "10^12 cells": line(1, "1000000000000"),
        "a cell too few": "\n".join([*lines[:2], *lines[3:]]).encode(),
        "a cell too many": "\n".join([*lines[:3], lines[2], *lines[3:]]).encode(),
        "an index twice": line(3, *lines[2].split()),
        "an index that is no number": entry(0, "x"),
        "a value that is no number": entry(1, "abc"),
        "a value of nan": entry(1, "nan"),
        "an infinite value": entry(1, "inf"),
        "a value of 1e400": entry(1, "1e400"),
        "a value that does not add up": entry(1, "7"),
        "a decimal comma": entry(1, "7,5"),
        "a weight of nan": entry(2, "nan"),
        "a negative weight": entry(2, "-1"),
        "an unknown status": entry(3, "q"),
        "a status of two letters": entry(3, "su"),
        "a lower bound of nan": entry(4, "nan"),
        "a lower bound above the value": entry(4, "500"),
        "an upper bound below the value": entry(5, "1"),
        "an upper bound of nan": entry(5, "nan"),
        "a negative level": entry(6, "-1"),
        "a level of nan": entry(7, "nan"),
        "an infinite level": entry(7, "inf"),
        "a field too few": line(2, *first[:-1]),
        "half a file": text[: len(text) // 2].encode(),
        "no relations": "\n".join(lines[: total - 9]).encode(),
        "a relation with a cell that is not there": text.replace(" 0 (", " 99 (", 1).encode()
        if " 0 (" in text else line(total - 1, "0 1 : 99 (1)"),
        "a relation with a negative cell": line(total - 1, "0 1 : -1 (1)"),
        "a relation with a coefficient of nan": line(total - 1, "0 2 : 0 (nan) 1 (1)"),
        "a relation with a side of nan": line(total - 1, "nan 2 : 0 (-1) 1 (1)"),
        "a relation without brackets": line(total - 1, "0 2 : 0 -1 1 1"),
        "more after the end": (text + "\n0 0 :\n17\n").encode(),
    }  # fmt: skip
    for number, (what, content) in enumerate(jj.items()):
        for turn in (0, 3):
            words = readers[(number + turn) % len(readers)]
            yield BadInput(f"{words[0]}: JJ file with {what}", words, {"p.jj": content})

    entries = [
        ("value", ["", "nan", "inf", "abc", "7", "1e999"]),
        ("status", ["", "q", "5"]),
        ("lower_protection", ["", "-1", "nan", "inf", "x"]),
        ("upper_protection", ["", "-1", "nan"]),
        ("lower_bound", ["nan", "500", "x", ""]),
        ("upper_bound", ["nan", "1", ""]),
        ("weights", ["-1", "inf", "x"]),
        ("sliding_protection", ["-1", "x"]),
        ("row", [""]),
    ]
    for number, (column, words_) in enumerate(entries):
        for word in words_:
            words = replaced(readers[number % 5], "p.jj", "p.csv")
            content = cell("p.csv", 1, column, word)
            yield BadInput(f"{words[0]}: {column} {word!r} in p.csv", words, {"p.csv": content})
    again = replaced(CONVERT, "p.jj", "p.csv")
    for column in ("value", "status", "lower_protection", "upper_bound"):
        yield BadInput(f"p.csv without {column}", again, {"p.csv": without("p.csv", column)})
    yield BadInput("p.csv with a header only", again, {"p.csv": header("p.csv")})
    for column, words_ in (
        ("relation", ["", "-1", "0.5", "x", "1e9", "1e300"]),
        ("cell", ["", "-1", "99", "1.5", "x"]),
        ("coefficient", ["", "nan", "inf", "x"]),
        ("right_hand_side", ["", "nan", "inf", "5"]),
    ):
        for word in words_:
            name = "p.relations.csv"
            content = cell(name, 0, column, word)
            yield BadInput(f"{column} {word!r} in {name}", again, {name: content})
        name = "p.relations.csv"
        yield BadInput(f"{name} without {column}", again, {name: without(name, column)})
    for name in ("p.relations.csv", "p.csv"):
        for what, content in (("quote", sound_files()[name] + b'"a'),):
            yield BadInput(f"{name}: {what}", again, {name: content})
    for words in readers:
        yield BadInput(f"{words[0]}: a JJ file without a cell", words, {"p.jj": b"0\n0\n0\n"})
    for target in ("out", "out.txt", "out.xlsx", "p.jj/out.csv", "out.csv.exe", "jobs"):
        yield BadInput(f"convert to {target}", replaced(CONVERT, "out.csv", target))
    yield BadInput("convert what is neither", ("convert", "people.csv", "out.jj"))


def bad_options() -> Iterator[BadInput]:
    """Words that a command does not know, or numbers out of range."""
    more: list[tuple[str, ...]] = []
    for words in (SUPPRESS, INTERVALS, ADJUST, ROUND, SMALL):
        more += [(*words, "--time-limit", word) for word in ("0", "-1", "nan", "inf", "soon", "")]
        more += [(*words, "--weights", "heavy"), (*words, "--what"), words[:2]]
        more += [replaced(words, "out.csv", word) for word in ("out.txt", "jobs", "p.jj/x.csv")]
    for words in (SUPPRESS, INTERVALS, ADJUST):
        more += [(*words, "--seed", word) for word in ("-1", "1.5", "x", "1e3")]
        more += [(*words, "--tolerance", word) for word in ("-1", "nan", "inf", "x")]
    more += [(*SUPPRESS, "--require", "both"), (*INTERVALS, "--require", "both")]
    more += [(*SUPPRESS, "--method", "magic"), (*SUPPRESS, "--threads", "0")]
    more += [(*SUPPRESS, "--protect-against", who) for who in ("everybody", "contributors")]
    more += [(*SUPPRESS, "--discount", word) for word in ("-0.1", "1.1", "nan")]
    more += [(*SUPPRESS, "--previous", name) for name in ("none.csv", "jobs", "people.csv", "p.jj")]
    more += [(*INTERVALS, "--blur", word) for word in ("-1", "nan", "inf")]
    more += [(*ADJUST, "--preserve", word) for word in ("median", "mean:none", "", ":", "mean:")]
    more += [(*ADJUST, "--distance", "L3")]
    more += [
        (*SUPPRESS, "--published", word) for word in ("none.csv", "pattern.csv=none.jj", "p.jj")
    ]
    more += [(*SUPPRESS, "--between", "now = a"), (*AUDIT, "--published", "firms.csv")]
    twice = ("--published", "pattern.csv", "--published", "pattern.csv")
    more += [(*SUPPRESS, *twice), (*AUDIT, "--published", "pattern.csv", "--between", "now = x")]
    more += [(*ADJUST, "--recovery", word) for word in ("0", "1", "nan", "10 %")]
    more += [(*ADJUST, "--recovery", "0.1", "--repair")]
    more += [(*ADJUST, "--sensitive-limit", word) for word in ("0", "-1", "nan", "inf", "0.5")]
    more += [(*ROUND, "--base", word) for word in ("0", "1", "-5", "1e30", "2.5", "x")]
    more += [(*SMALL, "--base", word) for word in ("0", "1", "-5", "1e30", "2.5", "x")]
    more += [(*ROUND, "--max-steps", word) for word in ("0", "-1", "x")]
    more += [(*AUDIT, "--require", "both"), (*AUDIT, "--show", "-1"), (*AUDIT, "--threads", "0")]
    more += [(*AUDIT, "--intruder", who) for who in ("everybody", "contributors", "holdings")]
    more += [(*AUDIT, "--time-limit", word) for word in ("-1", "nan", "x")]
    more += [(*AUDIT, "--tolerance", word) for word in ("-1", "nan", "inf")]
    more += [(*AUDIT, "--plot", name) for name in ("x.xyz", "x", "jobs", "x.csv", "p.jj/x.png")]
    more += [(*AUDIT, "--output", name) for name in ("out.txt", "jobs", "p.jj/x.csv")]
    more += [(*AUDIT, "--certificate", name) for name in ("jobs", "p.jj/x.npz")]
    more += [("audit", "p.jj"), ("audit", "p.jj", "pattern.csv", "more.csv")]
    more += [replaced(EXPLAIN, "0", word) for word in ("99", "-1", "x", "1.5", "a, b", "")]
    more += [replaced(EXPLAIN, "pattern.csv", name) for name in ("none.csv", "p.jj", "jobs")]
    more += [(*EXPLAIN, "--require", "high"), (*EXPLAIN, "--intruder", "everybody")]
    more += [(*EXPLAIN, "--time-limit", word) for word in ("-1", "nan", "x")]
    more += [(*EXPLAIN, "--tolerance", "-1"), ("explain", "p.jj", "pattern.csv")]
    more += [(*TRANSMIT, "--flag", word) for word in ("dominance", "x=A", "dominance=?", "=A")]
    more += [(*TRANSMIT, "--secondary", word) for word in ("", "F", "both")]
    more += [(*TRANSMIT, "--code", word) for word in ("row=_T", "x:Total=_T", "row:none=_T", "row")]
    more += [(*TRANSMIT, "--name", word) for word in ("row", "x=ROW", "row=")]
    more += [(*TRANSMIT, "--constant", word) for word in ("TIME_PERIOD=2025", "=x", "x")]
    more += [replaced(TRANSMIT, "TIME_PERIOD=2026", word) for word in ("TIME=2026", "ROW=a", "")]
    more += [replaced(TRANSMIT, "row:Total=_T", "row:Total=T"), (*TRANSMIT, "--tolerance", "-1")]
    more += [replaced(TRANSMIT, "pattern.csv", "adjusted.csv"), ("transmit", "p.csv")]
    more += [replaced(TRANSMIT, "out.csv", name) for name in ("out.jj", "jobs", "release/x.csv")]
    more += [(*COMPARE, "--knows", "all"), (*COMPARE, "--executor", "cloud")]
    more += [(*COMPARE, "--executor", word) for word in ("threads:0", "threads:x", "processes:-1")]
    more += [(*COMPARE, "--risk-limit", word) for word in ("-1", "2", "nan")]
    more += [(*COMPARE, "--level", word) for word in ("-1", "nan", "x", "inf")]
    more += [(*COMPARE, "--time-limit", word) for word in ("-1", "nan", "x")]
    more += [(*COMPARE, "--output", name) for name in ("out.txt", "jobs")]
    more += [(*COMPARE, "--report", "p.jj/x.html"), (*COMPARE, "--report", "jobs")]
    more += [(*PUBLISH, "--columns", word) for word in ("row", "x", "")]
    more += [(*PUBLISH, "--marker", word) for word in ("", "=1", "7", "-")]
    more += [(*PUBLISH, "--totals", "middle"), (*PUBLISH, "--format", "paper")]
    more += [(*PUBLISH, "--tolerance", "-1"), replaced(PUBLISH, "out", "p.jj")]
    more += [replaced(PUBLISH, "pattern.csv", "adjusted.csv"), ("publish", "p.csv")]
    more += [(*PUBLISH[:-2], "--columns", "column", "--format", "px")]
    more += [("convert", name, "out.csv") for name in ("x.gconfid", "jobs", "asked.csv")]
    more += [("convert", "p.csv", name) for name in ("p.jj/x.gconfid", "jobs")]
    more += [(*CONVERT, "--apriori", name) for name in ("none.hst", "jobs", "t.hst", "p.jj")]
    more += [(*CONVERT, "--pattern", "pattern.csv"), (*LIST, "--pattern", "adjusted.csv")]
    more += [(*LIST, "--pattern", name) for name in ("none.csv", "jobs", "people.csv", "p.jj")]
    more += [replaced(LIST, "out.hst", "jobs/one.toml/x.hst")]
    more += [(*CONVERT, "--tolerance", word) for word in ("-1", "nan", "x")]
    more += [(*PROTECT, "--engine", word) for word in ("abacus", "", "spark2")]
    more += [(*PROTECT, "--out", "p.jj"), (*PROTECT, "--out", "p.jj/out")]
    more += [("protect", "--all", "job.toml", "--out", "out"), ("protect", "jobs", "--out", "out")]
    more += [("protect", "--all", "none", "--out", "out"), (*ALL, "--executor", "cloud")]
    more += [("protect", "--all", "instances", "--out", "out")]
    more += [(*ARGUS, "--time-limit", word) for word in ("0", "nan", "x")]
    more += [replaced(ARGUS, "out", "p.jj")]
    more += [("verify",), ("verify", "proof.npz", "people.csv"), ("verify", "p.jj")]
    more += [("verify", "proof.npz", "none.jj"), ("verify", "people.parquet")]
    more += [(*APP, "--port", word) for word in ("-1", "65536", "x")]
    more += [(*APP, "--folder", "p.jj"), (*APP, "--folder", "p.jj/x")]
    more += [("teleport",), ("suppress",), ("agencies", "divide"), ("protect",), ("argus",)]
    more += [replaced(CERTIFICATE, "west", name) for name in ("", "a/b", "../x", "x" * 300, "a\0b")]
    more += [
        ("register", *words) for words in (("list", "p.jj"), ("check", "nowhere"), ("divide",))
    ]
    more += [("register", "recall", "nowhere", "1", "--reason", "x")]
    more += [("register", "add", "nowhere", "p.jj", "--problem", "none.jj")]
    more += [(*CERTIFICATE, "--days", word) for word in ("0", "-1", "99999999999", "x")]
    more += [replaced(CERTIFICATE, "out", "p.jj"), ("agencies", "certificate", "north")]
    more += [replaced(JOIN, "north", "west"), replaced(JOIN, "north.key", "east.key")]
    more += [replaced(JOIN, "north.key", "north.crt"), JOIN]
    for words in more:
        yield BadInput(
            " ".join(word if word.isprintable() else repr(word) for word in words), words
        )


def bad_releases() -> Iterator[BadInput]:
    """Releases that `audit` is given, patterns of last period, and templates."""
    for row, column, word in (
        (0, "ROW", ""), (1, "ROW", "d"), (0, "COLUMN", "x "), (0, "TIME_PERIOD", "2025"),
    ):  # fmt: skip
        content = cell("asked.csv", row, column, word)
        yield BadInput(f"transmit: {column} {word!r}", TRANSMIT, {"asked.csv": content})
    twice = sound_files()["asked.csv"] + b"2026,a,x\n"
    for what, content in (
        ("header only", header("asked.csv")), ("a row twice", twice),
        ("an unknown column", changed("asked.csv", "COLUMN", "AGE")),
    ):  # fmt: skip
        yield BadInput(f"transmit: a template with {what}", TRANSMIT, {"asked.csv": content})
    bare = changed("pattern.csv", "primary", "published")
    yield BadInput("transmit: a sensitive cell is published", TRANSMIT, {"pattern.csv": bare})
    yield BadInput("publish: a sensitive cell is published", PUBLISH, {"pattern.csv": bare})
    for row, word in ((0, ""), (0, "gone"), (1, "5"), (2, "publ"), (3, "nan")):
        content = cell("pattern.csv", row, "status", word)
        yield BadInput(f"audit: status {word!r}", AUDIT, {"pattern.csv": content})
    for column, word in (("cell", "99"), ("cell", ""), ("cell", "1"), ("cell", "x")):
        content = cell("pattern.csv", 0, column, word)
        yield BadInput(f"audit: cell {word!r}", AUDIT, {"pattern.csv": content})
    for name, column in (
        ("pattern.csv", "cell"), ("pattern.csv", "status"), ("adjusted.csv", "value"),
        ("intervals.csv", "lower"), ("intervals.csv", "upper"), ("adjusted.csv", "cell"),
    ):  # fmt: skip
        words = replaced(AUDIT, "pattern.csv", name)
        yield BadInput(f"audit: {name} without {column}", words, {name: without(name, column)})
    for name, column, words_ in (
        ("adjusted.csv", "value", ["", "nan", "inf", "x", "secret", "1e400"]),
        ("intervals.csv", "lower", ["", "nan", "x", "1e9", "inf"]),
        ("intervals.csv", "upper", ["", "nan", "x", "-1e9", "-inf"]),
    ):
        for word in words_:
            words = replaced(AUDIT, "pattern.csv", name)
            content = cell(name, 0, column, word)
            yield BadInput(f"audit: {column} {word!r} in {name}", words, {name: content})
    for name in ("pattern.csv", "adjusted.csv", "intervals.csv"):
        words = replaced(AUDIT, "pattern.csv", name)
        text = sound_files()[name]
        lines = text.splitlines(keepends=True)
        for what, content in (
            ("header only", header(name)), ("a row too few", b"".join(lines[:-1])),
            ("a row twice", b"".join([*lines, lines[-1]])), ("an open quote", text + b'"x'),
            ("a field too many", text + b"1,2,3,4\n"), ("NUL", text.replace(b"1", b"\0", 3)),
        ):  # fmt: skip
            yield BadInput(f"audit: {name} with {what}", words, {name: content})
    both = pd.read_csv(io.BytesIO(sound_files()["pattern.csv"]))
    values = tc_values()
    for what, entry in (("text", "abc"), ("nothing", ""), ("a false value", "1")):
        frame = both.assign(value=values.astype(object))
        frame.loc[frame.index[frame.status == "published"][0], "value"] = entry
        content = frame.to_csv(index=False).encode()
        yield BadInput(f"audit: published {what}", AUDIT, {"pattern.csv": content})
    argus = "".join(f'"{c}",{v:g},1\n' for c, v in enumerate(values))
    for what, old, new in (
        ("status 99", ",1\n", ",99\n"),
        ("status 0", ",1\n", ",0\n"),
        ("an unknown code", '"0"', '"77"'),
    ):
        content = argus.replace(old, new, 1).encode()
        yield BadInput(f"audit: code-value with {what}", AUDIT, {"pattern.csv": content})
    last = (*SUPPRESS, "--previous", "pattern.csv")
    for what, content in (
        ("without status", without("pattern.csv", "status")), ("header", header("pattern.csv")),
        ("of another table", b"region,status\nN,suppressed\n"),
        ("with an odd status", cell("pattern.csv", 0, "status", "odd")),
    ):  # fmt: skip
        yield BadInput(f"suppress: previous pattern {what}", last, {"pattern.csv": content})
    yield BadInput("suppress: sums without the rules of a job", (*SUPPRESS, "--groups"), {})


def tc_values() -> np.ndarray:
    """Values of the sound problem."""
    return pd.read_csv(io.BytesIO(sound_files()["p.csv"]))["value"].to_numpy()


def bad_jobs() -> Iterator[BadInput]:
    """Job files, and the data of jobs."""
    deep = "[" * 3000 + "]" * 3000
    dotted = ".".join(["a"] * 3000)
    top = [
        ("nested 3,000 deep", "seed = 3\n", f"seed = 3\ndeep = {deep}\n"),
        (
            "a key nested 3,000 deep",
            "[dimensions.branch]",
            f"[dimensions.branch.hierarchy.{dotted}]",
        ),
        (
            "inline tables nested",
            "[dimensions.branch]",
            "[dimensions.branch]\nhierarchy = " + "{a = " * 300 + "1" + "}" * 300,
        ),
        ("a seed below 0", "seed = 3", "seed = -1"),
        ("a seed that is text", "seed = 3", 'seed = "x"'),
        ("a seed of 5,000 digits", "seed = 3", "seed = " + "9" * 5000),
        ("a seed of nan", "seed = 3", "seed = nan"),
        ("a title that is a number", 'title = "Turnover"', "title = 5"),
        ("no tables", "[data]", "tables = []\n[data]"),
        ("tables without dimensions", "[data]", "tables = [{}]\n[data]"),
        ("a table of no dimension", "[data]", "tables = [{dimensions = []}]\n[data]"),
        ("a table of an unknown one", "[data]", 'tables = [{dimensions = ["x"]}]\n[data]'),
        (
            "a table of one twice",
            "[data]",
            'tables = [{dimensions = ["region", "region"]}]\n[data]',
        ),
        ("no data", "[data]", "[date]"),
        ("data that is text", "[data]\n", 'data = "firms.csv"\n[other]\n'),
        ("a key twice", "seed = 3", "seed = 3\nseed = 4"),
        ("a section twice", "[protection]", "[data]\n[protection]"),
        ("no closing quote", '"firms.csv"', '"firms.csv'),
        ("a tab in a key", "value =", "va\tlue ="),
        ("a file that is a number", '"firms.csv"', "5"),
        ("a file that is a list", '"firms.csv"', '["firms.csv"]'),
        ("a file that is not there", '"firms.csv"', '"none.csv"'),
        ("a file that is a folder", '"firms.csv"', '"jobs"'),
        ("a file with a NUL in its name", '"firms.csv"', '"fi\\u0000rms.csv"'),
        ("a file with a name of 5,000 letters", '"firms.csv"', '"' + "x" * 5000 + '"'),
        ("a file of another kind", '"firms.csv"', '"p.jj"'),
        ("an empty name of a file", '"firms.csv"', '""'),
        ("an unknown kind", "[data]", '[data]\nkind = "cube"'),
        ("records with a frequency", "[data]", '[data]\nfrequency = "staff"'),
        ("a value that is not there", '"turnover"', '"turnovr"'),
        ("a value that is text", '"turnover"', '"branch"'),
        ("a value that is a dimension", '"turnover"', '"region"'),
        ("a value that is a number", '"turnover"', "7"),
        ("a contributor that is not there", '"firm"', '"firma"'),
        ("a holding that is not there", "[data]", '[data]\nholding = "none"'),
        ("a weight that is text", "[data]", '[data]\nweight = "branch"'),
        ("a weight that is not there", "[data]", '[data]\nweight = "heavy"'),
        ("a shadow that is text", "[data]", '[data]\nshadow = "branch"'),
        ("a request that is text", "[data]", '[data]\nrequest = "branch"'),
        ("a waiver that says neither", "[data]", '[data]\nwaiver = "branch"'),
        ("a margin of a waiver that is text", "[data]", '[data]\nwaiver_p = "branch"'),
        ("a margin of a waiver out of range", "[data]", '[data]\nwaiver_p = "turnover"'),
        ("a request out of range", "[data]", '[data]\nrequest = "turnover"'),
        ("decimals below 0", "[data]", "[data]\ndecimals = -400"),
        ("decimals of 400", "[data]", "[data]\ndecimals = 400"),
        ("decimals that are text", "[data]", '[data]\ndecimals = "two"'),
        ("a tolerance below 0", "[data]", "[data]\ntolerance = -1"),
        ("a tolerance of nan", "[data]", "[data]\ntolerance = nan"),
        ("an infinite tolerance", "[data]", "[data]\ntolerance = inf"),
        ("a connection as well", "[data]", '[data]\nconnection = "duckdb://x.db"\ntable = "t"'),
        ("a connection without a table", 'file = "firms.csv"', 'connection = "duckdb://x.db"'),
        (
            "a database that is not there",
            'file = "firms.csv"',
            'connection = "duckdb://none.db"\ntable = "t"',
        ),
        (
            "a database of SQLite that is not there",
            'file = "firms.csv"',
            'connection = "sqlite://none.db"\ntable = "t"',
        ),
        (
            "a database that is none",
            'file = "firms.csv"',
            'connection = "duckdb://p.jj"\ntable = "t"',
        ),
        (
            "an unknown kind of database",
            'file = "firms.csv"',
            'connection = "abacus://x"\ntable = "t"',
        ),
        (
            "a connection that is no address",
            'file = "firms.csv"',
            'connection = "hello"\ntable = "t"',
        ),
        (
            "a table that a database does not have",
            'file = "firms.csv"',
            'connection = "duckdb://"\ntable = "t"',
        ),
        ("a hierarchy that is a number", '"region.hrc"', "5"),
        ("a hierarchy that is a list", '"region.hrc"', '["N1"]'),
        ("a hierarchy that is true", '"region.hrc"', "true"),
        ("a hierarchy that is not there", '"region.hrc"', '"none.hrc"'),
        ("a hierarchy that is a folder", '"region.hrc"', '"jobs"'),
        ("a hierarchy with numbers below", '"region.hrc"', "{North = 5}"),
        ("a hierarchy with text below", '"region.hrc"', '{North = "N1"}'),
        ("a hierarchy with a code twice", '"region.hrc"', '{North = ["N1", "N2"], South = ["N1"]}'),
        ("a hierarchy with a cycle", '"region.hrc"', '{North = {N1 = ["North"]}}'),
        ("a hierarchy without codes of the data", '"region.hrc"', '{North = ["N1"]}'),
        ("an empty hierarchy", '"region.hrc"', "{}"),
        ("a total that is a code", "[dimensions.branch]", '[dimensions.branch]\ntotal = "food"'),
        ("a total that is empty", "[dimensions.branch]", '[dimensions.branch]\ntotal = ""'),
        ("a total that is a number", "[dimensions.branch]", "[dimensions.branch]\ntotal = 5"),
        (
            "a column that is not there",
            "[dimensions.branch]",
            '[dimensions.branch]\ncolumn = "none"',
        ),
        ("a column that is a number", "[dimensions.branch]", "[dimensions.branch]\ncolumn = 5"),
        (
            "levels that are not there",
            "[dimensions.branch]",
            '[dimensions.branch]\nlevels = ["a", "b"]',
        ),
        ("levels that are text", "[dimensions.branch]", '[dimensions.branch]\nlevels = "branch"'),
        (
            "levels that do not nest",
            "[dimensions.branch]",
            '[dimensions.branch]\nlevels = ["firm", "branch"]',
        ),
        ("an unknown key of a dimension", "[dimensions.branch]", "[dimensions.branch]\ncode = 1"),
        (
            "no dimension",
            '[dimensions.region]\nhierarchy = "region.hrc"\n[dimensions.branch]\n',
            "[dimensions]\n",
        ),
        ("a dimension that is text", "[dimensions.branch]", 'dimensions.branch = "x"'),
        ("an unknown rule", '"p-percent"', '"p-percnt"'),
        ("a rule that is a number", '"p-percent"', "5"),
        ("no rule", '[[rules]]\nrule = "p-percent"\np = 20\n', "rules = []\n"),
        ("rules that are text", '[[rules]]\nrule = "p-percent"\np = 20\n', 'rules = "p"\n'),
        ("p of 0", "p = 20", "p = 0"),
        ("p below 0", "p = 20", "p = -5"),
        ("p of nan", "p = 20", "p = nan"),
        ("an infinite p", "p = 20", "p = inf"),
        ("p that is text", "p = 20", 'p = "twenty"'),
        ("a coalition of 0", "p = 20", "p = 20\ncoalition = 0"),
        ("a coalition of 10^9", "p = 20", "p = 20\ncoalition = 1000000000"),
        ("a coalition of a half", "p = 20", "p = 20\ncoalition = 1.5"),
        ("a level of nobody", "p = 20", 'p = 20\nlevel = "nobody"'),
        ("a level of holdings that are not known", "p = 20", 'p = 20\nlevel = "holding"'),
        ("a floor below 0", "floor = 1", "floor = -1"),
        ("a floor of nan", "floor = 1", "floor = nan"),
        ("a lower factor below 0", "floor = 1", "lower_factor = -1"),
        ("a lower factor of nan", "floor = 1", "lower_factor = nan"),
        ("unknown zeros", "floor = 1", 'zeros = "hidden"'),
        ("zeros that are a number", "floor = 1", "zeros = 0"),
        ("zeros of amounts to be hidden", "floor = 1", 'zeros = "candidates"'),
        ("zeros of amounts to be protected", "floor = 1", 'zeros = "protected"'),
        ("empty cells that are text", "[data]", '[data]\nempty_cells = "many"'),
        ("one bound", "floor = 1", "lower_bound = 0"),
        ("bounds that exclude the values", "floor = 1", "lower_bound = 50\nupper_bound = 60"),
        ("bounds the wrong way round", "floor = 1", "lower_bound = 9\nupper_bound = 1"),
        ("a bound of nan", "floor = 1", "lower_bound = nan\nupper_bound = 1e9"),
        ("no method", "[suppression]\ntime_limit = 5\n", ""),
        ("a time limit of 0", "time_limit = 5", "time_limit = 0"),
        ("a time limit below 0", "time_limit = 5", "time_limit = -1"),
        ("a time limit of nan", "time_limit = 5", "time_limit = nan"),
        ("a time limit that is text", "time_limit = 5", 'time_limit = "long"'),
        ("an unknown method", "time_limit = 5", 'method = "magic"'),
        ("an unknown requirement", "time_limit = 5", 'require = "both"'),
        ("unknown weights", "time_limit = 5", 'weights = "heavy"'),
        ("a cost that is not there", "time_limit = 5", 'cost = "none"'),
        ("a cost that is text", "time_limit = 5", 'cost = "branch"'),
        ("an unknown insider", "time_limit = 5", 'protect_against = ["everybody"]'),
        ("insiders that are text", "time_limit = 5", 'protect_against = "pairs"'),
        ("insiders that are not known", "time_limit = 5", 'protect_against = ["holdings"]'),
        ("a previous pattern that is not there", "time_limit = 5", 'previous = "none.csv"'),
        ("a previous pattern of another table", "time_limit = 5", 'previous = "people.csv"'),
        ("a previous pattern that is a folder", "time_limit = 5", 'previous = "jobs"'),
        ("a discount above 1", "time_limit = 5", "discount = 2"),
        ("a discount of nan", "time_limit = 5", "discount = nan"),
        ("an unknown format", '["csv"]', '["doc"]'),
        ("formats that are text", '["csv"]', '"csv"'),
        ("no format", '["csv"]', "[]"),
        ("a report that is text", "[output]", '[output]\nreport = "maybe"'),
        ("an unknown section", "[output]", "[outputs]"),
        ("an unknown intruder", "[output]", '[audit]\nintruders = ["all"]\n[output]'),
        ("intruders that are not known", "[output]", '[audit]\nintruders = ["holdings"]\n[output]'),
    ]
    for what, old, new in top:
        yield BadInput(f"job with {what}", PROTECT, {"job.toml": changed("job.toml", old, new)})
    rules = {
        "dominance": ["n = 0\nk = 80", "n = 1\nk = 100", "n = 1\nk = nan", "n = 1",
                      "n = 1.5\nk = 75", "n = 1000000000\nk = 75"],
        "prior-posterior": ["p = 20\nq = 10", "p = 20", "p = nan\nq = 100", "p = 5\nq = inf"],
        "minimum-frequency": ["minimum = 0", "minimum = -1", "minimum = 2.5", "", "minimum = 3\n"
                              "range = -20", "minimum = 3\nrange = nan", "minimum = 3\n"
                              "range = [1, 2, 3]", 'minimum = 3\nrange = "a"'],
        "request": ["percentage = -1", "percentage = nan", "", "percentage = 10\nminimum = -1",
                    "percentage = 10\npercentage_2 = -1", "percentage = 10\nrange = inf"],
        "zero-unsafe": ["", "range = -1", "range = nan", 'range = "x"'],
        "manual": ["", 'cells = [{region = "none"}]', 'cells = [{country = "N"}]', "cells = [{}]",
                   'cells = ["a"]', 'cells = [{region = "N1"}]',
                   'cells = [{region = "N1", branch = "food"}]\nstatus = "odd"',
                   'cells = [{region = "N1", branch = "food"}]\nrange = -5'],
    }  # fmt: skip
    for rule, variants in rules.items():
        for text in variants:
            content = changed("job.toml", '"p-percent"\np = 20', f'"{rule}"\n{text}')
            yield BadInput(f"rule {rule} with {text!r}", PROTECT, {"job.toml": content})
    yield from _bad_groups()
    for text in (
        'weights = "heavy"', 'distance = "L3"', 'preserve = ["median"]', 'preserve = "mean"',
        "sensitive_limit = 0.5", "sensitive_limit = nan", "capacity = -1", "capacity = nan",
        "capacity_percent = -1", 'measurement_error = "none"', 'measurement_error = "branch"',
        'repair = "often"', 'integer = "yes, please"', "time_limit = 0", 'cost = "none"',
    ):  # fmt: skip
        content = changed("job.toml", "[suppression]\ntime_limit = 5", f"[adjustment]\n{text}")
        yield BadInput(f"adjustment with {text}", PROTECT, {"job.toml": content})
    linked = {"jobs/two.toml": sound_files()["jobs/one.toml"]}
    yield BadInput("two jobs that are linked", ALL, linked)
    yield BadInput("two jobs, one of them wrong", ALL, {"jobs/two.toml": b"seed = "})
    yield from _bad_data()


def _bad_groups() -> Iterator[BadInput]:
    """Rules on groups, in a job of counts but for the first."""
    rule = '"k-disclosure"\ncoalition = 1'
    content = changed("job.toml", '"p-percent"\np = 20', rule)
    yield BadInput("k-disclosure of amounts", PROTECT, {"job.toml": content})
    hidden = content.replace(b'value = "turnover"\n', b"").replace(
        b"floor = 1", b'zeros = "candidates"'
    )
    for text in (
        "coalition = -1", "coalition = 1.5", "coalition = nan", 'attributes = "branch"',
        'attributes = ["none"]', "attributes = [1]", "combinations = 3", 'combinations = ["food"]',
        'combinations = [{none = ["food"]}]', 'combinations = [{branch = ["none"]}]',
        'combinations = [{branch = ["food", "Total"]}]', "combinations = [{branch = 1}]",
        'combinations = [{region = ["N1", "South"]}]', 'combinations = [{branch = ["food"]}]',
    ):  # fmt: skip
        content = hidden.replace(b"coalition = 1", text.encode())
        yield BadInput(f"k-disclosure with {text}", PROTECT, {"job.toml": content})


def _bad_data() -> Iterator[BadInput]:
    for column, words_ in (
        ("turnover", ["", "x", "nan", "inf", "1e400", "1,5", "12 "]),
        ("region", ["", "X9", "North", "Total"]),
        ("branch", ["", "Total"]),
        ("firm", [""]),
    ):
        for word in words_:
            if (column, word) == ("turnover", "12 "):
                continue  # Blanks around a number are read.
            content = cell("firms.csv", 2, column, word)
            yield BadInput(f"records with {column} {word!r}", PROTECT, {"firms.csv": content})
    weighted = changed("job.toml", "[data]", '[data]\nweight = "weight"')
    for word in ("", "0", "-1", "nan", "inf", "x"):
        content = cell("firms.csv", 2, "weight", word)
        files = {"firms.csv": content, "job.toml": weighted}
        yield BadInput(f"records with weight {word!r}", PROTECT, files)
    asking = changed("job.toml", "[data]", '[data]\nrequest = "ask"')
    for word in ("3", "-1", "x", "0.5"):
        content = cell("firms.csv", 2, "ask", word)
        files = {"firms.csv": content, "job.toml": asking}
        yield BadInput(f"records with request {word!r}", PROTECT, files)
    text = sound_files()["firms.csv"]
    for what, content in (
        ("a header only", header("firms.csv")), ("a column twice", b"region,region\nN1,N1\n"),
        ("a field too many", text + b"N1,food,f99,5,1,1,0,9,9\n"), ("an open quote", text + b'"N1'),
        ("other columns", b"a,b\n1,2\n"),
    ):  # fmt: skip
        yield BadInput(f"records with {what}", PROTECT, {"firms.csv": content})
    for column, words_ in (
        ("v", ["", "x", "nan", "inf", "7"]),
        ("n", ["", "x", "-1", "2.5", "inf", "0", "1e300"]),
        ("x", ["", "x", "nan", "inf", "1"]),
        ("y", ["", "x", "500"]),
        ("d", ["", "b", "Total"]),
    ):
        for word in words_:
            content = cell("table.csv", 1, column, word)
            yield BadInput(f"ready table with {column} {word!r}", READY, {"table.csv": content})
    for what, content in (
        ("a header only", header("table.csv")), ("no total", b"d,v,n,x,y\na,100,3,80,15\n"),
        ("no column n", without("table.csv", "n")), ("no column y", without("table.csv", "y")),
        ("no column d", without("table.csv", "d")),
    ):  # fmt: skip
        yield BadInput(f"ready table with {what}", READY, {"table.csv": content})
    for what, old, new in (
        ("a contributor", "[data]", '[data]\ncontributor = "x"'),
        ("a weight", "[data]", '[data]\nweight = "x"'),
        ("largest without frequency", 'frequency = "n"\n', ""),
        ("largest that is text", '["x", "y"]', '"x"'),
        ("largest that is not there", '["x", "y"]', '["z"]'),
        ("too few of the largest", '["x", "y"]', '["x"]'),
        ("levels", "[dimensions.d]", '[dimensions.d]\nlevels = ["a", "d"]'),
        ("linked tables", "[data]", 'tables = [{dimensions = ["d"]}]\n[data]'),
        ("a connection", 'file = "table.csv"', 'connection = "duckdb://"\ntable = "t"'),
    ):
        content = changed("table.toml", old, new)
        yield BadInput(f"job of a ready table with {what}", READY, {"table.toml": content})
    for what, content in (
        ("a code twice", "North\n@N1\n@N1\nSouth\n"), ("a level skipped", "North\n@@N1\nSouth\n"),
        ("lead strings only", "@\n@@\n"), ("the total", "Total\n@N1\nSouth\n"),
        ("a parent below itself", "North\n@North\n"), ("other codes", "East\nWest\n"),
        ("a code of the data above others", "N1\n@N2\nSouth\n"),
        ("no code after the lead string", "North\n@\n@N1\n@N2\nSouth\n"),
        ("UTF-16", "North\n@N1\n"),
    ):  # fmt: skip
        encoding = "utf-16" if what == "UTF-16" else "utf-8"
        yield BadInput(f"hierarchy with {what}", PROTECT, {"region.hrc": content.encode(encoding)})


def bad_records() -> Iterator[BadInput]:
    """Records, and the options of the methods for them."""
    numeric, text = (NOISE, NEAR), (SWAP, HOMES, PRAM)
    for words in (*numeric, *text):
        files: dict[str, bytes] = {
            "a header only": header("people.csv"),
            "other columns": b"a,b\n1,2\n3,4\n",
            "an open quote": sound_files()["people.csv"] + b'"x',
            "a field too many": sound_files()["people.csv"] + b"1,1,1,m,old,1,1,1,9,9\n",
        }
        for what, content in files.items():
            yield BadInput(f"{words[0]}: records with {what}", words, {"people.csv": content})
        for word in ("-1", "x", "1.5"):
            yield BadInput(f"{words[0]} --seed {word}", (*words, "--seed", word))
        for target in ("out.txt", "jobs", "p.jj/x.csv"):
            yield BadInput(f"{words[0]} -o {target}", replaced(words, "out.csv", target))
        yield BadInput(f"{words[0]} --report", (*words, "--report", "p.jj/x.html"))
    for words in numeric:
        # A missing wage is none: it stays missing.
        for word in ("x", "inf", "-inf", "1e400", "1,5"):
            content = cell("people.csv", 3, "wage", word)
            yield BadInput(f"{words[0]}: a wage of {word!r}", words, {"people.csv": content})
        for word in ("none", "sex", ""):
            more = (*words, "--column", word)
            if words is NEAR and word == "sex":
                continue  # Categories have a distance too.
            yield BadInput(f"{words[0]} --column {word!r}", more)
        flat = pd.read_csv(io.BytesIO(sound_files()["people.csv"])).assign(wage=5)
        content = flat.to_csv(index=False).encode()
        yield BadInput(f"{words[0]}: a constant column", words, {"people.csv": content})
        one = b"".join(sound_files()["people.csv"].splitlines(keepends=True)[:2])
        yield BadInput(f"{words[0]}: one record", words, {"people.csv": one})
    for name in ("wage", "hours"):
        frame = pd.read_csv(io.BytesIO(sound_files()["people.csv"])).sort_values(name)
        content = frame.to_csv(index=False).encode()
        for words in ((*NOISE, "--keep-order"), (*NEAR, "--keep-order")):
            what = f"{words[0]}: order kept although sorted by {name}"
            yield BadInput(what, words, {"people.csv": content})
    more: list[tuple[str, ...]] = []
    more += [(*NOISE, "--share", word) for word in ("-1", "nan", "inf", "x")]
    more += [(*NEAR, "--eps", word) for word in ("0", "-1", "nan", "inf", "x")]
    more += [(*NEAR, "--proportion", word) for word in ("-1", "2", "nan")]
    more += [(*NEAR, "--nearest", word) for word in ("-1", "x")]
    more += [(*NEAR, "--weight", word) for word in ("wage", "wage=", "wage=x", "none=1", "wage=-1",
                                                    "wage=nan", "=1", "wage=inf")]  # fmt: skip
    more += [(*NEAR, "--together", word) for word in ("wage,none", ",", "wage,wage", "")]
    more += [(*SWAP, "--rate", word) for word in ("-1", "2", "nan", "x")]
    more += [(*SWAP, "--attribute", word) for word in ("none", "")]
    more += [(*SWAP, "--equal-on", word) for word in ("none", "age")]
    more += [(*SWAP, "--differ-on", word) for word in ("none", "age")]
    more += [(*SWAP, "--key", "none"), (*SWAP, "--must-change", "few")]
    more += [(*SWAP, "--rate", "1", "--must-change", "all", "--equal-on", "home")]
    more += [("swap", "people.csv", *OUT, "--rate", "0.1")]
    more += [(*HOMES, "--k", word) for word in ("-1", "nan", "x")]
    more += [(*HOMES, "--rate", word) for word in ("-1", "2", "nan")]
    more += [(*HOMES, "--similar", word) for word in ("none", "town", "age,none", "")]
    more += [(*HOMES, "--carry-along", "none"), (*HOMES, "--risk", "none")]
    more += [(*HOMES, "--hierarchy", "none"), (*HOMES, "--hierarchy", "age")]
    more += [(*HOMES, "--weight", word) for word in ("none", "sex")]
    more += [replaced(HOMES, "home", "none"), replaced(HOMES, "home", "sex")]
    more += [(*MEANS, "--k", word) for word in ("1", "0", "-1", "x", "1000")]
    more += [(*MEANS, "--column", word) for word in ("none", "sex", "")]
    more += [(*MEANS, "--grouping", word) for word in ("optimal", "best")]
    more += [(*MEANS, "--grouping", "search", "--time-limit", word) for word in ("-1", "nan", "x")]
    more += [(*TOPCODE, "--quantile", word) for word in ("-1", "2", "nan", "x")]
    more += [(*TOPCODE, "--threshold", word) for word in ("nan", "inf", "x")]
    more += [(*TOPCODE, "--threshold-of", word) for word in ("x", "wage=x", "age=3", "wage=nan")]
    more += [(*TOPCODE, "--side", "left"), (*TOPCODE, "--bottom-threshold", "3")]
    more += [(*RANKS, "--window", word) for word in ("-1", "2", "nan", "0", "x", "1e-9")]
    more += [(*RANKS, "--column", word) for word in ("none", "sex", "", "wage")]
    more += [(*SHUFFLE, "--column", word) for word in ("none", "sex", "", "wage", "hours")]
    more += [(*SHUFFLE, "--regressor", word) for word in ("none", "sex", "", "wage", "hours")]
    for words in (ALONE, KEEPING):
        more += [(*words, "--share", word) for word in ("-1", "nan", "inf", "x")]
        more += [(*words, "--column", word) for word in ("none", "sex", "", "wage")]
    more += [(*RANKS, *words) for words in (("--correlation", "0.9"), ("--top", "1"))]
    more += [(*LOCAL, "--k", word) for word in ("1", "-1", "x", "100000")]
    more += [(*LOCAL, "--weight", word) for word in ("age", "ag=2", "age=0", "age=nan")]
    more += [(*LOCAL, "--combination", "age,x"), (*LOCAL, "--subsets", "3")]
    more += [(*RECODE, "--k", word) for word in ("1", "x", "100000")]
    more += [(*SINGLE, "--k", word) for word in ("1", "x", "100000")]
    more += [(*SINGLE, "--weight", word) for word in ("age=1", "sex=0")]
    more += [(*LOCAL, "--importance", word) for word in ("age", "ag=2", "age=0", "age=3")]
    more += [(*LOCAL, "--stratum", word) for word in ("age", "ag")]
    more += [(*RECODE, "--suppression", word) for word in ("0", "-1", "nan", "x")]
    hierarchies = ("age", "x=5", "age=none.hrc", "age=5/7", "age=0", "sex=5")
    more += [(*RECODE, "--hierarchy", word) for word in hierarchies]
    more += [(*TOPCODE, "--replace-by", "nothing"), replaced(TOPCODE, "wage", "sex")]
    more += [(*MULTIPLY, "--least", word) for word in ("0", "-1", "1", "0.2", "nan", "x")]
    more += [(*MULTIPLY, "--most", word) for word in ("0", "1", "0.01", "inf", "x")]
    more += [(*MULTIPLY, "--contributor", "none"), (*MULTIPLY, "--shape", "nothing")]
    more += [(*MULTIPLY, "--balance", "none"), (*MULTIPLY, "--keep", "")]
    more += [replaced(MULTIPLY, "wage", "sex")]
    more += [MATRIX, (*MATRIX, "--matrix", "none.csv"), (*MATRIX, "--alpha", "2")]
    more += [(*MATRIX, "--attribute", "none"), (*MATRIX, "--alpha", "nan")]
    more += [(*PRAM, "--xi", word) for word in ("0", "0.2", "1", "2", "nan", "x")]
    more += [(*PRAM, "--key", word) for word in ("none", "")]
    more += [(*PRAM, "--block", word) for word in ("none", "age", "wage")]
    more += [("pram", "people.csv", *OUT), ("noise", "people.csv", *OUT), ("neighbours",)]
    for words in more:
        yield BadInput(" ".join(words), words)
    for word in ("", "nan", "-1", "inf"):
        content = cell("people.csv", 3, "heavy", word)
        words = (*HOMES, "--weight", "heavy")
        yield BadInput(f"swap-households: a weight of {word!r}", words, {"people.csv": content})


def bad_batches() -> Iterator[BadInput]:
    """Batch files of tau-ARGUS, and what they name."""
    for what, old, new in (
        ("an unknown command", "<READTABLE> 0", "<READTABEL> 0"),
        ("no brackets", "<READTABLE> 0", "READTABLE 0"),
        ("a table before the metadata", '<OPENMETADATA> "t.rda"\n', ""),
        ("no data", '<OPENTABLEDATA> "t.tab"\n', ""),
        ("data that are not there", '"t.tab"', '"none.tab"'),
        ("data without a name", '"t.tab"', '""'),
        ("metadata that are not there", '"t.rda"', '"none.rda"'),
        ("an unknown dimension", '"Town""Kind"', '"City""Kind"'),
        ("a dimension twice", '"Town""Kind"', '"Town""Town"'),
        ("no dimension", '"Town""Kind"', ""),
        ("an unknown response", '"Sales"', '"Profit"'),
        ("a response that is a code", '"Sales"', '"Kind"'),
        ("no table", '<SPECIFYTABLE> "Town""Kind"|"Sales"||\n', ""),
        ("a rule without a number", "MAN(20)", "MAN()"),
        ("a rule without brackets", "MAN(20)", "MAN"),
        ("a rule with text", "MAN(20)", "MAN(x)"),
        ("a range of nan", "MAN(20)", "MAN(nan)"),
        ("an a priori file that is not there", '"t.hst"', '"none.hst"'),
        ("a priori for table 5", '"t.hst",1', '"t.hst",5'),
        ("a priori without a separator", '"t.hst",1,";",1', '"t.hst"'),
        ("an unknown method", "MOD(1,1)", "MAGIC(1,1)"),
        ("a method without a table", "MOD(1,1)", "MOD()"),
        ("a method for table 9", "MOD(1,1)", "MOD(9,1)"),
        ("a method with text", "MOD(1,1)", "MOD(x,1)"),
        ("an output for table 9", "(1,1,", "(9,1,"),
        ("an unknown kind of output", "(1,1,", "(1,99,"),
        ("an output onto a folder", '"out.csv"', '"jobs"'),
        ("an output that is too short", '(1,1,,"out.csv")', "(1)"),
    ):
        files = {"job.arb": changed("job.arb", old, new)}
        words = replaced(ARGUS, "out", ".") if "folder" in what else ARGUS
        yield BadInput(f"batch with {what}", words, files)
    for what, old, new in (
        ("a field too few", "N;a;20;U", "N;a;20"),
        ("a field too many", "N;a;20;U", "N;a;20;U;5"),
        ("a value that is no number", "N;a;20;U", "N;a;x;U"),
        ("a value of nan", "N;a;20;U", "N;a;nan;U"),
        ("an infinite value", "N;a;20;U", "N;a;inf;U"),
        ("a value that does not add up", "N;a;20;U", "N;a;900;U"),
        ("an unknown status", "N;a;20;U", "N;a;20;Q"),
        ("a cell twice", "N;a;20;U\n", "N;a;20;U\nN;a;25;U\n"),
        ("another separator", ";", ","),
    ):
        count = -1 if what == "another separator" else 1
        files = {"t.tab": changed("t.tab", old, new, count)}
        yield BadInput(f"cells with {what}", ARGUS, files)
    for what, old, new in (
        ("no response", "Sales\n<NUMERIC> <DECIMALS> 0\n", ""),
        ("a dimension that is no code", "Kind\n<RECODEABLE>", "Kind\n<NUMERIC>"),
        ("decimals that are text", "<DECIMALS> 0", "<DECIMALS> x"),
        (
            "a hierarchy that is not there",
            "Kind\n<RECODEABLE>",
            'Kind\n<RECODEABLE>\n<HIERARCHICAL>\n<HIERCODELIST> "none.hrc"\n<HIERLEADSTRING> "@"',
        ),
        (
            "an empty lead string",
            "Kind\n<RECODEABLE>",
            'Kind\n<RECODEABLE>\n<HIERARCHICAL>\n<HIERCODELIST> "region.hrc"\n<HIERLEADSTRING> ""',
        ),
        (
            "a hierarchy of other codes",
            "Kind\n<RECODEABLE>",
            'Kind\n<RECODEABLE>\n<HIERARCHICAL>\n<HIERCODELIST> "region.hrc"\n<HIERLEADSTRING> "@"',
        ),
        ("no separator", '<SEPARATOR> ";"\n', ""),
    ):
        yield BadInput(f"metadata with {what}", ARGUS, {"t.rda": changed("t.rda", old, new)})
    for what, text in (
        ("an unknown letter", "N;b;q;5\n"),
        ("a cost that is text", "N;b;c;x\n"), ("a cost below 0", "N;b;c;-1\n"),
        ("a cost of nan", "N;b;c;nan\n"), ("too few fields", "N;b\n"),
        ("levels that are text", "N;b;pl;x;y\n"), ("levels below 0", "N;a;pl;-1;-1\n"),
    ):  # fmt: skip
        yield BadInput(f"a priori with {what}", ARGUS, {"t.hst": text.encode()})


def bad_studies() -> Iterator[BadInput]:
    """Study files and records of secure sums."""
    deep = "[" * 3000 + "]" * 3000
    for what, old, new in (
        ("an unknown kind", '"sum"', '"product"'),
        ("nested 3,000 deep", "timeout = 1", f"x = {deep}"),
        ("no predictors", '["wage"]', "[]"),
        ("predictors that are text", '["wage"]', '"wage"'),
        ("a predictor that is not there", '["wage"]', '["none"]'),
        ("a predictor that is text", '["wage"]', '["sex"]'),
        ("a timeout of 0", "timeout = 1", "timeout = 0"),
        ("a timeout of nan", "timeout = 1", "timeout = nan"),
        ("an unknown key", "timeout = 1", "patience = 1"),
        ("an agency twice", '"east"', '"north"'),
        ("an agency without a name", '"east"', '""'),
        ("an address without a port", '"127.0.0.1:19072"', '"127.0.0.1"'),
        ("a port of 10^6", '"127.0.0.1:19071"', '"127.0.0.1:1000000"'),
        ("a certificate that is not there", '"east.crt"', '"none.crt"'),
        ("a certificate that is a key", '"east.crt"', '"east.key"'),
        ("a regression without a response", '"sum"', '"regression"'),
        ("no share", "timeout = 1", "shares = 0"),
        ("too few bits", "timeout = 1", "modulus_bits = 1"),
    ):
        files = {"study.toml": changed("study.toml", old, new)}
        yield BadInput(f"study with {what}", JOIN, files)
    two = changed("study.toml", STUDY[STUDY.rindex("[[agency]]") :], "")
    yield BadInput("study of two agencies", JOIN, {"study.toml": two})
    for word in ("", "nan", "inf", "x"):
        content = cell("people.csv", 3, "wage", word)
        yield BadInput(f"join: a wage of {word!r}", JOIN, {"people.csv": content})


def bad_certificates() -> Iterator[BadInput]:
    """What `verify` is given instead of a proof."""
    proof = sound_files()["proof.npz"]
    for what, content in (
        ("half of it", proof[: len(proof) // 2]), ("one byte changed", _flipped(proof)),
        ("nothing after the signature", proof[:4]), ("an array alone", _array()),
    ):  # fmt: skip
        yield BadInput(f"certificate: {what}", VERIFY, {"proof.npz": content})
    for what, content in (
        ("of another table", b"0\n1\n0 5 1 s 0 9 0 0 0\n0\n"), ("cut", sound_files()["p.jj"][:99]),
    ):  # fmt: skip
        yield BadInput(f"certificate: problem {what}", VERIFY, {"p.jj": content})


def bad_keys() -> Iterator[BadInput]:
    """Record keys, perturbation tables, and perturbed tables."""
    for words, name in (
        (KEYS, "keyed.csv"), (KEYS, "office.key"), (COUNT, "keyed.csv"), (COUNT, "ptable.csv"),
        (SUM, "keyed.csv"), (SUM, "sums.csv"), (INFER, "counts.csv"), (INFER, "ptable.csv"),
    ):  # fmt: skip
        for what, content in NO_FILE.items():
            yield BadInput(f"{' '.join(words[:2])}: {name} {what}", words, {name: content})
    for words, name, column, entries in (
        (KEYS, "keyed.csv", "person", ["", "p5"]),
        (COUNT, "keyed.csv", "record_key", ["", "x", "-0.1", "1", "1.5", "nan", "inf"]),
        (SUM, "keyed.csv", "record_key", ["", "x", "-0.1", "1.5"]),
        (SUM, "keyed.csv", "wage", ["", "x", "nan", "inf"]),
        (COUNT, "keyed.csv", "region", [""]),
        ((*COUNT, "--weight", "survey"), "keyed.csv", "survey", ["", "x", "-1", "nan", "inf"]),
        ((*SUM, "--weight", "survey"), "keyed.csv", "survey", ["", "x", "-1"]),
        (INFER, "counts.csv", "count", ["x", "-3", "2.5", "nan?", "inf", "900000"]),
        (INFER, "counts.csv", "region", ["", "East"]),
    ):
        for entry in entries:
            what = f"{' '.join(words[:2])}: {column} {entry!r} in {name}"
            what += " with weights" if "--weight" in words else ""
            yield BadInput(what, words, {name: cell(name, 3, column, entry)})
    separated = sound_files()["ptable.csv"].decode().replace(";", ",").encode()
    for column, entries in (
        ("i", ["", "x", "-1", "nan", "1.5", "9"]), ("v", ["", "x", "-9", "0.5", "inf"]),
        ("p_int_ub", ["", "x", "-1", "2", "nan", "0.0001"]),
    ):  # fmt: skip
        for entry in entries:
            frame = pd.read_csv(io.BytesIO(separated), dtype=str)
            frame.loc[2, column] = entry
            content = frame.to_csv(index=False).encode()
            what = f"cellkey count: {column} {entry!r} in ptable.csv"
            yield BadInput(what, COUNT, {"ptable.csv": content})
    again = replaced(COUNT, "ptable.csv", "ons.csv")
    for column, entries in (
        ("pcv", ["", "x", "0", "99"]), ("ckey", ["", "x", "-1", "0.5", "77"]),
        ("pvalue", ["", "x", "-99", "0.5", "inf"]),
    ):  # fmt: skip
        for entry in entries:
            what = f"cellkey count: {column} {entry!r} in ons.csv"
            yield BadInput(what, again, {"ons.csv": cell("ons.csv", 2, column, entry)})
    for name, words in (("ptable.csv", COUNT), ("sums.csv", SUM)):
        for column in ("i", "v", "p_int_ub"):
            frame = pd.read_csv(io.BytesIO(sound_files()[name]), sep=";").drop(columns=column)
            content = frame.to_csv(index=False).encode()
            what = f"{' '.join(words[:2])}: {name} without {column}"
            yield BadInput(what, words, {name: content})
        yield BadInput(f"{name} with a header only", words, {name: header(name)})
    for name, column, words in (
        ("keyed.csv", "record_key", COUNT), ("keyed.csv", "region", COUNT),
        ("keyed.csv", "wage", SUM), ("keyed.csv", "person", KEYS),
        ("counts.csv", "count", INFER), ("counts.csv", "sex", INFER),
    ):  # fmt: skip
        what = f"{' '.join(words[:2])}: {name} without {column}"
        yield BadInput(what, words, {name: without(name, column)})
    for name, words in (("keyed.csv", KEYS), ("keyed.csv", COUNT), ("keyed.csv", SUM)):
        what = f"{' '.join(words[:2])}: {name} with a header only"
        yield BadInput(what, words, {name: header(name)})
    for what, content in (
        ("short", b"00ff\n"), ("not hexadecimal", b"zz" * 32), ("with a digit too few", b"a" * 63),
    ):  # fmt: skip
        yield BadInput(f"cellkey keys: a secret that is {what}", KEYS, {"office.key": content})
    twice = sound_files()["counts.csv"]
    twice += twice.splitlines(keepends=True)[1].rsplit(b",", 1)[0] + b",90\n"
    yield BadInput("cellkey attack: a cell with two counts", INFER, {"counts.csv": twice})
    yield BadInput("cellkey secret: a file that is there", SECRET, {"new.key": b"00"})


def bad_key_options() -> Iterator[BadInput]:
    """Words that `cellkey`, `reconcile` and `example` do not know, or numbers out of range."""
    more: list[tuple[str, ...]] = [("cellkey", "shake"), ("cellkey", "secret")]
    more += [replaced(SECRET, "new.key", word) for word in ("jobs", "p.jj/new.key", "office.key")]
    for words in (KEYS, COUNT, SUM, INFER, RECONCILE):
        more += [replaced(words, "out.csv", word) for word in ("jobs", "out.exe", "p.jj/x.csv")]
    more += [replaced(DESIGN, "out.csv", word) for word in ("jobs", "p.jj/x.csv")]
    more += [replaced(KEYS, "person", word) for word in ("none", "sex", "")]
    more += [(*KEYS, "--whole", word) for word in ("1", "-5", "x", "1e3")]
    more += [(*KEYS, "--column", "record_key"), (*KEYS, "--secret", "people.csv"), KEYS[:3]]
    more += [(*DESIGN, "--deviation", word) for word in ("0", "-1", "2.5", "x")]
    more += [(*DESIGN, "--variance", word) for word in ("-1", "nan", "inf", "x")]
    more += [(*DESIGN, "--blocked", word) for word in ("-1", "x", "99")]
    more += [(*DESIGN, "--stay", word) for word in ("-1", "1", "nan", "x")]
    more += [(*DESIGN, "--shuffle", word) for word in ("-1", "x")]
    for words in (COUNT, SUM):
        more += [(*words, "--by", word) for word in ("none", "region=", "region=none.hrc", "")]
        more += [(*words, "--key", word) for word in ("none", "sex", "wage", "")]
        more += [(*words, "--weight", word) for word in ("none", "sex")]
        more += [(*words, "--engine", "abacus"), (*words, "--inside", "jobs")]
    more += [(*COUNT, "--threshold", word) for word in ("-1", "x", "2.5")]
    more += [(*COUNT, "--ptable", "sums.csv"), (*COUNT, "--ptable", "people.csv")]
    more += [(*COUNT, "--inside", "out.csv"), (*SUM, "--inside", "out.csv")]
    more += [(*SUM, "--ptable", "ons.csv"), (*SUM, "--small-cells", "ons.csv")]
    more += [replaced(SUM, "wage", word) for word in ("none", "sex", "")]
    more += [(*SUM, "--small", word) for word in ("-1", "nan", "x")]
    more += [(*SUM, "--large", word) for word in ("-1", "nan", "9")]
    more += [(*SUM, "--point", word) for word in ("-1", "0", "nan", "inf")]
    more += [(*SUM, "--power", word) for word in ("0", "nan")]
    more += [(*SUM, "--epsilon", word) for word in ("-1", "nan", "x")]
    more += [(*INFER, "--by", word) for word in ("none", "region=region.xyz", "")]
    more += [(*INFER, "--deviation", word) for word in ("-1", "x", "2.5")]
    more += [(*INFER, "--threshold", word) for word in ("-1", "x")]
    more += [(*INFER, "--time-limit", word) for word in ("0", "-1", "nan")]
    more += [(*INFER[:7], *OUT), ("cellkey", "attack", "--by", "region", "--deviation", "1")]
    more += [(*RECONCILE, "--by", word) for word in ("none", "region=none.hrc", "")]
    more += [(*RECONCILE, "--value", word) for word in ("none", "region", "")]
    more += [(*RECONCILE, "--distance", word) for word in ("L3", "")]
    more += [(*RECONCILE, "--variance", word) for word in ("none", "region", "low")]
    more += [(*RECONCILE, "--lower", word) for word in ("nan", "x", "inf")]
    more += [(*RECONCILE, "--lower-column", word) for word in ("none", "region")]
    more += [(*RECONCILE, "--upper-column", word) for word in ("none", "region")]
    more += [(*RECONCILE, "--lower", "5", "--upper-column", "low")]
    more += [(*RECONCILE, "--fixed", word) for word in ("none", "region", "count")]
    more += [(*RECONCILE, "--time-limit", word) for word in ("0", "-1", "nan")]
    more += [(*RECONCILE, "--lower", "0", "--lower-column", "low"), RECONCILE[:4]]
    more += [replaced(EXAMPLE, "firms", word) for word in ("none", "")]
    more += [replaced(EXAMPLE, "out", word) for word in ("firms.csv", "p.jj/out")]
    more += [("example",), (*EXAMPLE, "--force")]
    for words in more:
        yield BadInput(" ".join(words), words)
    other = {"out/job.toml": b"[data]\n"}
    yield BadInput("example: files that are there and differ", EXAMPLE, other)


def bad_keyed_jobs() -> Iterator[BadInput]:
    """Jobs that perturb counts."""
    kind, ptable = 'kind = "counts"\n', 'ptable = "ptable.csv"\n'
    for what, old, new in (
        ("an unknown kind", kind, 'kind = "averages"\n'),
        ("no kind", kind, ""),
        ("a kind that is a number", kind, "kind = 3\n"),
        ("no perturbation table", ptable, ""),
        ("a perturbation table that is not there", "ptable.csv", "none.csv"),
        ("a perturbation table that is a folder", "ptable.csv", "jobs"),
        ("a perturbation table for magnitudes", "ptable.csv", "sums.csv"),
        ("records for a perturbation table", "ptable.csv", "people.csv"),
        ("a threshold below 0", "= 3", "= -3"),
        ("a threshold that is no whole number", "= 3", "= 2.5"),
        ("a misspelt key", "threshold", "treshold"),
        ("a column of keys that is not there", "threshold = 3", 'record_key = "none"'),
        ("a column of keys that is text", "threshold = 3", 'record_key = "sex"'),
        ("a value", "[dimensions.region]", 'value = "wage"\n[dimensions.region]'),
        ("a contributor", "[dimensions.region]", 'contributor = "person"\n[dimensions.region]'),
        (
            "a table in place of records",
            "[dimensions.region]",
            'kind = "table"\n[dimensions.region]',
        ),
        ("magnitudes without a value", kind, 'kind = "magnitudes"\n'),
        ("a suppression as well", "threshold = 3", "threshold = 3\n[suppression]"),
        ("a rule", "threshold = 3", '[[rules]]\nrule = "minimum-frequency"\nminimum = 3'),
        ("a table of an unknown dimension", "threshold = 3", '[[tables]]\ndimensions = ["age"]'),
        ("perturbation that is no table", "[perturbation]", ""),
    ):
        if what == "perturbation that is no table":
            content = (
                b"perturbation = 3\n" + KEYED_JOB.split("[perturbation]", maxsplit=1)[0].encode()
            )
        else:
            content = changed("keyed.toml", old, new)
        yield BadInput(f"cell-key job with {what}", KEYED, {"keyed.toml": content})


def bad_noisy_tables() -> Iterator[BadInput]:
    """Tables for `reconcile`."""
    whole = (*RECONCILE, "--variance", "variance", "--lower-column", "low", "--upper-column",
             "high", "--fixed", "keep")  # fmt: skip
    for what, content in NO_FILE.items():
        yield BadInput(f"reconcile: noisy.csv {what}", RECONCILE, {"noisy.csv": content})
    for column, entries in (
        ("count", ["", "x", "nan", "inf", "-inf", "1,5", "1e400"]),
        ("variance", ["", "x", "0", "-1", "nan", "inf"]), ("low", ["", "x", "200", "nan"]),
        ("high", ["", "x", "-5", "nan"]), ("region", ["", "N"]),
        ("keep", ["", "perhaps", "2"]),
    ):  # fmt: skip
        for entry in entries:
            content = cell("noisy.csv", 2, column, entry)
            what = f"reconcile: {column} {entry!r} in noisy.csv"
            yield BadInput(what, whole, {"noisy.csv": content})
    for column in ("region", "count", "variance", "keep", "low", "high"):
        content = without("noisy.csv", column)
        yield BadInput(f"reconcile: noisy.csv without {column}", whole, {"noisy.csv": content})
    yield BadInput("reconcile: a header only", RECONCILE, {"noisy.csv": header("noisy.csv")})
    fixed = changed("noisy.csv", "False", "True", -1)
    yield BadInput("reconcile: fixed cells that do not add up", whole, {"noisy.csv": fixed})
    half = changed("noisy.csv", "S,5,4.0,0,99,False", "S,5.5,4.0,0,99,True")
    words = (*whole, "--whole")
    yield BadInput("reconcile: a fixed half among whole numbers", words, {"noisy.csv": half})


def bad_plans() -> Iterator[BadInput]:
    """Descriptions of publications."""
    for column in frame_of("metadata.csv"):
        if column != "hrc_indicator":
            files = {"metadata.csv": without("metadata.csv", column)}
            yield BadInput(f"plan: metadata.csv without {column}", PLAN, files)
    for row, column, entry in (
        (0, "table_name", ""), (1, "table_name", "T1"), (1, "indicator", ""), (2, "field", "NA"),
        (0, "spanning_1", ""), (1, "spanning_2", "region"), (1, "hrc_spanning_2", "hrc_region"),
    ):  # fmt: skip
        files = {"metadata.csv": cell("metadata.csv", row, column, entry)}
        yield BadInput(f"plan: {column} {entry!r} in metadata.csv, row {row}", PLAN, files)
        yield BadInput(f"protect: {column} {entry!r} in metadata.csv, row {row}", PLANNED, files)
    for content in (b"", b"\xff\xfe\0", b"x\n", header("metadata.csv"), None, b"/"):
        shown = str(content)[:12]
        yield BadInput(f"plan: metadata.csv is {shown}", PLAN, {"metadata.csv": content})
        yield BadInput(f"plan: equations.csv is {shown}", PLAN, {"equations.csv": content})
        yield BadInput(f"plan: asked.csv is {shown}", ASKED_FOR, {"asked.csv": content})
    for text in ("all = turnover +", "all", "all = 2 turnover", "", "all = all + staff"):
        content = cell("equations.csv", 0, "eq_indicator", text)
        yield BadInput(f"plan: equation {text!r}", PLAN, {"equations.csv": content})
    for formula in ("~", "~ a +", "~ (a", "a ~ b ~ c", "~ a ^ 2", "~ a - a", "~ a b"):
        yield BadInput(f"plan: formula {formula!r}", ("plan", "--formula", formula))
    for extra in (
        ("--levels", "region"), ("--levels", "nowhere=a,b"), ("--levels", "region=other"),
        ("--total", "region"), ("--job", "none.toml"), ("--job", "firms.csv"),
        ("--out", "metadata.csv"), ("--template", "firms.csv"), ("--template", "none.csv"),
    ):  # fmt: skip
        yield BadInput(f"plan {' '.join(extra)}", (*PLAN, *extra))
    yield BadInput("plan of nothing", ("plan",))
    yield BadInput("plan of a job that is no publication", ("plan", "job.toml"))
    yield BadInput("plan planned.toml with options", ("plan", "planned.toml", "--formula", "~ a"))
    for old, new in (
        ("metadata =", "metdata ="), ('metadata = "metadata.csv"', ""),
        ('"metadata.csv"', '"none.csv"'), ('"metadata.csv"', "3"), ("all = turn", "all + turn"),
        ("dimensions.region", "dimensions.nowhere"), ('"planned.csv"', '"none.csv"'),
        ('["all', '[["x"], "all'), ("[data]", 'columns = {x = "y"}\n[data]'),
        ("[data]", "data = 3\n[dta]"), ('rule = "p-percent"', 'rule = "p-per"'),
        ("[[rules]]", '[[tables]]\ndimensions = ["region"]\n[[rules]]'),
        ("p = 10", "p = -1"), ("[data]", 'field = "x"\nfields = "y"\n[data]'),
        ("[data]", "dimensions = 3\n[data]"),
    ):  # fmt: skip
        files = {"planned.toml": changed("planned.toml", old, new)}
        yield BadInput(f"publication with {new!r} for {old!r}", PLANNED, files)
    several = {"metadata.csv": cell("metadata.csv", 0, "field", "2025")}
    yield BadInput("publication of two fields without field_column", PLANNED, several)
    yield BadInput("transmit of a publication", ("transmit", "planned.toml", "pattern.csv", *OUT))
    jobs = {"jobs/two.toml": changed("planned.toml", "metadata.csv", "../metadata.csv")}
    yield BadInput("a publication among the jobs of a folder", ALL, jobs)


def _flipped(content: bytes) -> bytes:
    at = len(content) // 3
    return content[:at] + bytes([content[at] ^ 0xFF]) + content[at + 1 :]


def _array() -> bytes:
    stream = io.BytesIO()
    np.savez(stream, values=np.ones(3))
    return stream.getvalue()


@cache
def bad_inputs() -> list[BadInput]:
    """All of them."""
    parts = (
        bad_files, bad_problems, bad_options, bad_releases, bad_jobs, bad_records, bad_batches,
        bad_studies, bad_certificates, bad_keys, bad_key_options, bad_keyed_jobs, bad_noisy_tables,
        bad_plans, bad_requests, bad_bundles, bad_roles, endless_files, bad_sizes,
        bad_archives, bad_numbers, bad_doubles,
    )  # fmt: skip
    return [bad for part in parts for bad in part()]


def bad_bundles() -> Iterator[BadInput]:
    """Bundles that were changed, decisions that cannot be read, and words that do not fit."""
    for name in ("checks.json", "output_0_0.csv", "checksums/checks.json.txt",
                 "checksums/output_0_0.csv.txt", "decisions.json"):  # fmt: skip
        for what, content in NO_FILE.items():
            if (name, what) != ("decisions.json", "is not there"):
                yield BadInput(f"check: {name} {what}", CHECK, {f"bundle/{name}": content})
    for text in (
        "{}", "[]", "5", '{"decisions": 5}', '{"decisions": {"x": {}}}',
        '{"decisions": {"output_0": []}}', '{"decisions": {"output_0": {"state": "yes"}}}',
        '{"decisions": {"output_0": {"files": []}}}', "[" * 100_000,
    ):  # fmt: skip
        files = {"bundle/decisions.json": text.encode()}
        yield BadInput(f"check: decisions.json is {text[:60]}", CHECK, files)
    for text in (
        "{}", '{"outputs": []}', '{"outputs": {"output_0": {}}}', '{"outputs": {"output_0": 5}}',
        '{"outputs": {"output_0": {"kind": "table", "status": "pass", "reasons": [], '
        '"exception": "", "files": ["../p.jj"]}}}',
    ):  # fmt: skip
        digits = hashlib.sha256(text.encode()).hexdigest().encode()
        files = {"bundle/checks.json": text.encode(), "bundle/checksums/checks.json.txt": digits}
        yield BadInput(f"check: checks.json is {text[:90]}", CHECK, files)
    for words in (
        ("--approve", "output_9"), ("--reject", "output_0"), ("--comment", "output_0"),
        ("--comment", "=x"), ("--comment", "output_9=x"), ("--approve", "output_1"),
        ("--release", "out"), ("--releese", "out"), ("extra",),
    ):  # fmt: skip
        yield BadInput(f"check {' '.join(words)}", (*CHECK, *words))
    for folder in ("jobs", "p.jj", "none", ""):
        yield BadInput(f"check of {folder!r}", ("check", folder))
    whole = (*CHECK, "--reject", "output_1", "--release")
    for out in ("bundle", "p.jj", "p.jj/out"):
        yield BadInput(f"check --release {out}", (*whole, out))


GROUP = {"check": "safe", **dict.fromkeys(METHODS.names, "records")}
"""The group of a command that is called by its own name above."""


def typed(words: tuple[str, ...]) -> list[str]:
    """What a user types for a command: its group in front."""
    return [*filter(None, [GROUP.get(words[0])]), *words] if words else []


@cache
def program() -> typer.core.TyperGroup:
    """All commands; to make them takes as long as to run one."""
    return get_command(app)


@cache
def paths_of(words: tuple[str, ...]) -> tuple[list[str], dict[str, str]]:
    """The inputs that a command was given, and all its outputs by their options."""
    command, context = program(), None
    rest = typed(words)
    while hasattr(command, "commands"):
        context = command.make_context(rest[0], rest, parent=context)
        _, command, rest = command.resolve_command(
            context, [*context._protected_args, *context.args]
        )
    given = command.make_context("", rest, parent=context).params
    inputs, outputs = [], {}
    for parameter in command.params:
        declared = get_type_hints(inspect.unwrap(command.callback), include_extras=True)
        kinds = list(parts_of(declared.get(parameter.name)))
        values = given.get(parameter.name)
        values = values if isinstance(values, list | tuple) else [values]
        if Path not in kinds:
            continue
        if any(getattr(kind, "writable", False) for kind in kinds):
            outputs[max(parameter.opts, key=len)] = str(values[0] or "")
        else:
            inputs += [str(value) for value in values if value]
    return inputs, outputs


def bad_roles() -> Iterator[BadInput]:
    """For each command each of its outputs in the place of each input, and of another output."""
    for words in SOUND:
        inputs, outputs = paths_of(words)
        short = " ".join(words[:2])
        for option, output in outputs.items():
            taken = [*inputs, *(other for other in outputs.values() if other not in ("", output))]
            for other in taken:
                used = (
                    replaced(words, output, other) if output in words else (*words, option, other)
                )
                if option.startswith("-") or output in words:
                    yield BadInput(f"{short}: {option} is {other}: {' '.join(words[2:])}", used)
    for out in (".", "..", "/", "~", "jobs", "instances"):
        home = str(Path.home()) if out == "~" else out
        yield BadInput(f"publish into {out}", replaced(PUBLISH, "out", home))
        yield BadInput(f"protect into {out}", replaced(PROTECT, "out", home))
    for words in (PROTECT, READY, KEYED, PLANNED):
        whole = "out/" if words is PLANNED else "out/release/"
        mine = {f"{whole}notes.txt": b"mine"}
        if words is not PLANNED:
            yield BadInput(f"{words[1]} into a folder with files of others", words, mine)


def endless_files() -> Iterator[BadInput]:
    """Devices in place of each input, and of each output."""
    for words in SOUND:
        inputs, outputs = paths_of(words)
        for name in inputs:
            if name in words and words[0] != "check":
                used = replaced(words, name, "/dev/zero")
                yield BadInput(f"{' '.join(words[:2])}: {name} is endless: {words[2:]}", used)
        for option, output in outputs.items():
            if output in words and output:
                used = replaced(words, output, "/dev/full")
                yield BadInput(f"{' '.join(words)}: {option} is a device", used)
    yield BadInput("cellkey keys: an endless secret", replaced(KEYS, "office.key", "/dev/zero"))
    for words, name, old in (
        (PROTECT, "job.toml", "firms.csv"), (PROTECT, "job.toml", "region.hrc"),
        (READY, "table.toml", "table.csv"), (KEYED, "keyed.toml", "ptable.csv"),
        (PLANNED, "planned.toml", "metadata.csv"), (JOIN, "study.toml", "east.crt"),
        (ARGUS, "job.arb", "t.tab"),
    ):  # fmt: skip
        files = {name: changed(name, old, "/dev/zero")}
        yield BadInput(f"{words[0]}: {old} is endless", words, files)


def bad_sizes() -> Iterator[BadInput]:
    """More of something than anybody means, which once took minutes or ended in a fault."""
    wide = ",".join(f"c{number}" for number in range(1_000_000)).encode()
    wide += b"\n" + b"1," * 999_999 + b"1\n"
    long = "9" * 100_000
    for words, name in (
        (AUDIT, "pattern.csv"), (TRANSMIT, "asked.csv"), (PLAN, "metadata.csv"),
        (PROTECT, "firms.csv"), (SWAP, "people.csv"), (KEYS, "keyed.csv"), (COUNT, "keyed.csv"),
        (COUNT, "ptable.csv"), (INFER, "counts.csv"), (RECONCILE, "noisy.csv"),
    ):  # fmt: skip
        yield BadInput(f"{' '.join(words[:2])}: {name} with 10^6 columns", words, {name: wide})
        rows = {name: header(name) + b"1," * 999_999 + b"1\n"}
        yield BadInput(f"{' '.join(words[:2])}: {name} with a row of 10^6 entries", words, rows)
    for words, name, row, column in (
        (PROTECT, "firms.csv", 2, "region"), (COUNT, "keyed.csv", 3, "region"),
        (INFER, "counts.csv", 3, "region"), (AUDIT, "pattern.csv", 0, "status"),
    ):  # fmt: skip
        files = {name: cell(name, row, column, long)}
        yield BadInput(f"{' '.join(words[:2])}: {column} of 100,000 letters", words, files)
    product = "*".join(f"d{number}" for number in range(40))
    deep = "(" * 2000 + "a" + ")" * 2000
    for formula in (product, product.replace("*", "+") + " + (" + product + "):e", deep):
        name = f"plan: formula {formula[:20]} of {len(formula):,} letters"
        yield BadInput(name, ("plan", "--formula", f"~ {formula}"))
    for number in ("201", "100000", "9" * 15):
        yield BadInput(f"a deviation of {number}", (*DESIGN, "--deviation", number))
    yield BadInput("suppress with 10^9 threads", (*SUPPRESS, "--threads", "1000000000"))
    for what, old, new in (
        ("p that is a number in quotes", "p = 20", 'p = "20"'),
        ("a time limit in quotes", "time_limit = 5", 'time_limit = "5"'),
        ("a seed in quotes", "seed = 3", 'seed = "3"'),
        ("a seed that is true", "seed = 3", "seed = true"),
        ("a truth value in quotes", "[output]", '[output]\nreport = "true"'),
        ("10^9 threads", "seed = 3", "threads = 1e9"),
        ("a table twice", "[data]", "tables = [{dimensions = ['region', 'branch']}, "
         "{dimensions = ['branch', 'region']}]\n[data]"),
    ):  # fmt: skip
        yield BadInput(f"job with {what}", PROTECT, {"job.toml": changed("job.toml", old, new)})


def bad_archives() -> Iterator[BadInput]:
    """Packed files that are broken, or that unpack to far more than they should."""
    zeros = gzip.compress(b"0 " * (1 << 26), 9)
    yield BadInput("suppress: a packed file of zeros", replaced(SUPPRESS, "p.jj", "p.jj.gz"),
                   {"p.jj.gz": zeros})  # fmt: skip
    files = {"r.hrc.gz": zeros, "job.toml": changed("job.toml", "region.hrc", "r.hrc.gz")}
    yield BadInput("protect: a packed hierarchy of zeros", PROTECT, files)
    for ending, start in (("gz", b"\x1f\x8b"), ("zip", b"PK\3\4"), ("xz", b"\xfd7zXZ\0"),
                          ("bz2", b"BZh"), ("zst", b"\x28\xb5\x2f\xfd")):  # fmt: skip
        for words, name in ((TOPCODE, "people.csv"), (PLAN, "metadata.csv"), (KEYS, "keyed.csv")):
            used = replaced(words, name, f"{name}.{ending}")
            broken = {f"{name}.{ending}": start + b"junk"}
            yield BadInput(f"{' '.join(words[:2])}: broken .{ending}", used, broken)
    book = io.BytesIO()
    frame_of("metadata.csv").to_excel(book, index=False)
    with zipfile.ZipFile(book) as sound:
        entries = {entry.filename: sound.read(entry) for entry in sound.infolist()}
    sheet = "xl/worksheets/sheet1.xml"
    last = b'<row r="1048576"><c r="XFD1048576"><v>1</v></c></row></sheetData>'
    entity = b'<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + b"".join(
        b'<!ENTITY %c "%s">' % (98 + n, b"&%c;" % (97 + n) * 10) for n in range(9)
    )
    for what, name, content in (
        ("a square at the far end", sheet, entries[sheet].replace(b"</sheetData>", last)),
        ("64 MiB in a sheet", sheet, b" " * ((1 << 26) + 1)),
        ("entities within entities", sheet, entity + b"]><x>&j;</x>"),
        ("no sheet", sheet, b""), ("no workbook", "xl/workbook.xml", b"<x/>"),
    ):  # fmt: skip
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
            for each, kept in entries.items():
                archive.writestr(each, content if each == name else kept)
        files = {"metadata.xlsx": made.getvalue()}
        yield BadInput(f"plan: a workbook with {what}",
                       replaced(PLAN, "metadata.csv", "metadata.xlsx"), files)  # fmt: skip
    yield BadInput("plan: a workbook that is none", ("plan", "m.xlsx"), {"m.xlsx": b"PK\3\4junk"})


def bad_numbers() -> Iterator[BadInput]:
    """Numbers that are finite, but whose sums and squares are not."""
    jj = sound_files()["p.jj"]
    for coefficient in ("1e308", "1e-320"):
        huge = {"p.jj": jj.replace(b"(-1)", f"({coefficient})".encode())}
        for words in (SUPPRESS, INTERVALS, ADJUST, ROUND):
            yield BadInput(f"{words[0]}: a coefficient of {coefficient}", words, huge)
    first, rest = jj.split(b"\n", 3)[2], jj.split(b"\n", 3)[3]
    entries = first.split()
    for what, at, number in (("weight", 2, b"1e308"), ("level", 6, b"1e-320")):
        line = b" ".join([*entries[:at], number, *entries[at + 1 :]])
        files = {"p.jj": b"\n".join([*jj.split(b"\n", 3)[:2], line, rest])}
        for words in (SUPPRESS, INTERVALS, ADJUST, COMPARE):
            yield BadInput(f"{words[0]}: a {what} of {number.decode()}", words, files)
    yield BadInput("round: a base of 400 digits", replaced(ROUND, "10", "9" * 400))
    for argument in ("x", "0"):
        yield BadInput(f"protect: dask:{argument}", (*ALL, "--executor", f"dask:{argument}"))
    quoted = REQUEST.replace('"base": 5', '"base": "5"').encode()
    yield BadInput("call: a base in quotes", CALL, {"request.json": quoted})
    for words in (NOISE, ALONE, KEEPING, MEANS, SHUFFLE, RANKS, NEAR, MULTIPLY):
        files = {"people.csv": cell("people.csv", 0, "wage", "1e308")}
        yield BadInput(f"{words[0]}: a wage of 1e308", words, files)
    for words in (NOISE, ALONE):
        yield BadInput(f"{words[0]}: a share of 1e308", replaced(words, "0.1", "1e308"))
    yield BadInput("recode: an infinite width", replaced(RECODE, "hours=5/10", "hours=1e400"))
    yield BadInput("intervals: a blur of 1e308", (*INTERVALS, "--blur", "1e308"))
    yield BadInput("cellkey keys: 10^22 whole keys", (*KEYS, "--whole", "1" + "0" * 22))
    yield BadInput("cellkey attack: a deviation of 10^21",
                   (*INFER[:-4], *OUT, "--deviation", "1" + "0" * 21))  # fmt: skip
    for executor in ("threads:1000000000", "processes:" + "9" * 30):
        yield BadInput(f"protect: {executor}", (*PROTECT, "--executor", executor))
    deep = "a." * 20_000 + "b = 1\n"
    for what, text in (("a key", deep), ("a key of a table", "x = {" + deep.strip() + "}\n")):
        yield BadInput(f"job with {what} of 20,000 parts", PROTECT,
                       {"job.toml": text.encode() + sound_files()["job.toml"]})  # fmt: skip
    nested = '{"a": ' * 900 + "{}" + "}" * 900
    yield BadInput("call: a hierarchy of 900 levels", CALL, {
        "request.json": REQUEST.replace('"row": {}', f'"row": {{"hierarchy": {nested}}}').encode()
    })  # fmt: skip


def bad_doubles() -> Iterator[BadInput]:
    """Columns, dimensions and lists in which something is there twice, or contradicts itself."""
    for words, name, old, new in (
        (TOPCODE, "people.csv", "sex", "age"), (COUNT, "keyed.csv", "wage", "sex"),
        (PROTECT, "firms.csv", "staff", "region"), (AUDIT, "pattern.csv", "status", "cell"),
        (RECONCILE, "noisy.csv", "low", "high"), (INFER, "counts.csv", "sex", "region"),
        (replaced(SUPPRESS, "p.jj", "p.csv"), "p.csv", "row", "column"),
    ):  # fmt: skip
        files = {name: changed(name, old, new)}
        yield BadInput(f"{' '.join(words[:2])}: two columns {new} in {name}", words, files)
    yield BadInput("swap-households: a place twice", (*HOMES, "--hierarchy", "town"))
    yield BadInput("swap-households: a risk twice", (*HOMES, "--risk", "age"))
    for words, extra in (
        (PRAM, ("--key", "age")), (NEAR, ("--column", "wage")), (SINGLE, ("--key", "sex")),
        (PRAM, ("--block", "town", "--block", "town")), (HOMES, ("--similar", "wage,wage")),
        (RECODE, ("--weight", "sex=1", "--weight", "sex=2")),
        (RECODE, ("--hierarchy", "hours=20")), (NEAR, ("--weight", "wage=1e308")),
        (RECODE, ("--weight", "sex=1e308")), (RANKS, ("--mean-change", "1e308")),
    ):  # fmt: skip
        yield BadInput(f"{words[0]}: once more {' '.join(extra)}", (*words, *extra))
    twice = changed("job.arb", '"Town""Kind"', '"Town""Town"')
    yield BadInput("argus: a dimension twice", ARGUS, {"job.arb": twice})
    for column, entry in (("p", "0.123"), ("j", "77"), ("v", "9")):
        text = sound_files()["ptable.csv"].replace(b";", b",")
        frame = pd.read_csv(io.BytesIO(text), dtype=str)
        frame.loc[1, column] = entry
        files = {"ptable.csv": frame.to_csv(index=False, sep=";").encode()}
        yield BadInput(f"cellkey count: {column} {entry} contradicts the line", COUNT, files)
    zero = cell("equations.csv", 0, "eq_indicator", "all = 0*turnover + staff")
    yield BadInput("plan: an equation with a coefficient of 0", PLAN, {"equations.csv": zero})
    words = replaced(SUPPRESS, "p.jj", "p.csv")
    for what, content in (
        ("without levels", b"cell,contributor\n0,x\n"), ("that is binary", b"\0"),
        ("with an unknown level", b"level,count\ncontribtor,1\n"),
    ):  # fmt: skip
        files = {"p.contributions.csv": content}
        yield BadInput(f"suppress p.csv: contributions {what}", words, files)
    yield BadInput("cellkey keys: a column without a name", replaced(KEYS, "key", " "))
    yield BadInput("plan over a job of somebody's own", PLAN, {"out/jobs/2026.all.toml": b"# mine"})


def bad_requests() -> Iterator[BadInput]:
    """Questions in JSON, and servers that cannot begin."""
    for old, new in (
        ("{", "["), ("{\n", "{,"), ('"base": 5', '"base": 1'), ('"base": 5', '"base": "x"'),
        ('"base": 5', '"base": NaN'), ('"base": 5', '"base": 5, "base": 6'), ('"base"', '"bse"'),
        ('"base": 5', '"weights": "unti"'), ('"base": 5', '"solver": "none"'),
        ('"base": 5', '"suppression": {}'), ('"base": 5', '"time_limit": 0'),
        ('"file": "cells.csv"', '"file": "cell.csv"'), ('"file": "cells.csv"', '"file": "p.jj"'),
        ('"file": "cells.csv"', '"file": "/etc/passwd"'), ('"file": "cells.csv", ', ""),
        ('"file": "cells.csv"', '"connection": "sqlite://x", "table": "t"'),
        ('"kind"', '"knid"'), ('"table"', '"tabel"'), ('"value": "n"', '"value": "m"'),
        ('"flags": "secret"', '"flags": "none"'), ("{}", "5"), ("{}", "[]"),
        ('"files": {"cells.csv"', '"files": {"../cells.csv"'), ('"files"', '"file"'),
        ('{"cells.csv": {', '{"cells.csv": [{'), ("[2, 20, 22]", "[2, 20]"),
        ("[2, 20, 22]", "[[2], 20, 22]"), ("[2, 20, 22]", '["x", 20, 22]'),
        ("[2, 20, 22]", "[2, 20, 23]"), ("[2, 20, 22]", "[2.5, 20, 22.5]"),
        ("[2, 20, 22]", "[Infinity, 20, 22]"), ("[2, 20, 22]", "[null, 20, 22]"),
        ("[2, 20, 22]", "[" + "9" * 5000 + ", 20, 22]"), ("[true", '["perhaps"'),
        ("{", '{"x": ' + "[" * 100_000),
    ):  # fmt: skip
        assert old in REQUEST
        files = {"request.json": REQUEST.replace(old, new, 1).encode()}
        yield BadInput(f"call: {new[:30]!r} for {old!r}", CALL, files)
    for content in (b"", b"{}", b"[]", b"5", b"null", b"\xff", b"\xff\xfe{\0}\0", None, b"/"):
        shown = str(content)[:12]
        yield BadInput(f"call: request.json is {shown}", CALL, {"request.json": content})
    for extra in (("-o", "jobs"), ("--output", "/proc/none/x")):
        yield BadInput(f"call {' '.join(extra)}", (*CALL, *extra))
    yield BadInput("call of no such name", ("call", "ronud", *CALL[2:]))
    for extra in (
        ("--port", "-1"), ("--port", "65536"), ("--port", "x"), ("--jobs", "0"), ("--most", "0"),
        ("--host", "192.0.2.1"), ("--host", ""), ("--host", "0.0.0.0"), ("--host", "::"),
        ("--host", "no such host"), ("--hots", "x"),
        ("--host", "." * 300), ("--host", "fe80::zz"), ("extra",),
    ):  # fmt: skip
        yield BadInput(f"serve {' '.join(extra)[:40]}", (*SERVE, *extra))


# -- running ------------------------------------------------------------------------------


def prepare(folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Lay out the sound files, and over them what is wrong."""
    for name, content in {**sound_files(), **files}.items():
        path = folder / name
        if content is None:
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if content == b"/":
            path.mkdir()
        else:
            path.write_bytes(content)


def state(folder: Path) -> dict[str, bytes]:
    """What lies in a folder."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b"/"
        for path in folder.rglob("*")
    }


def run_here(words: tuple[str, ...]) -> tuple[int, str]:
    """Run a command in this process, in this folder; return exit code and all output."""
    done = CliRunner().invoke(app, typed(words), env={"COLUMNS": "200"})
    output = done.output
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        output += f"\nTraceback: {type(done.exception).__name__}: {done.exception}"
    return done.exit_code, output


def run_program(words: tuple[str, ...]) -> tuple[int, str]:
    """Run a command as a user does."""
    if any("\0" in word for word in words):
        return 2, "Error: no system passes this word on."
    command = [sys.executable, "-m", "tablecloak.cli.main", *typed(words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout + done.stderr


def fault(bad: BadInput, run: object = run_here) -> str:
    """Say what is wrong with how a bad input is answered; empty if nothing is."""
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        prepare(folder, bad.files)
        before = state(folder)
        os.chdir(folder)
        try:
            code, output = run(bad.words)  # type: ignore[operator]
        finally:
            os.chdir(here)
        after = state(folder)
    if FAULT.search(output):
        return f"fault: {output.strip()[-400:]}"
    if bad.words[0] == "argus" and code == NOT_APPLIED:
        return ""
    if code not in (1, 2):
        return f"exit code {code}: {output.strip()[-300:]}"
    if not MESSAGE.search(output) and not USAGE.search(output):
        return f"no message: {output.strip()[-300:]}"
    if len(re.findall(r"^(?:Error|Impossible): ", output, re.MULTILINE)) > 1:
        return f"several messages: {output.strip()[-300:]}"
    if before != after:
        new = sorted(set(after) ^ set(before)) or [n for n in after if after[n] != before.get(n)]
        return f"written or changed: {new}"
    return ""


class Hang(BaseException):
    """A bad input took too long."""


def in_time(bad: BadInput, run: object, seconds: float | None) -> str:
    """Say what is wrong with how a bad input is answered, or that it is not in time."""
    if seconds is None:
        return fault(bad, run)

    def end(*_: object) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        return fault(bad, run)
    except Hang:
        return f"no answer within {seconds:g} seconds"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def command_of(bad: BadInput) -> str:
    """Name of the command of a bad input; with that of its group."""
    return " ".join(bad.words[: 2 if bad.words[0] in ("cellkey", "agencies", "register") else 1])


def spread(all_of_them: list[BadInput], size: int, seed: int) -> list[BadInput]:
    """A sample in which each command has the same share, as far as it has as many."""
    drawn = np.random.default_rng(seed).permutation(len(all_of_them))
    by_command: dict[str, list[BadInput]] = {}
    for number in drawn:
        by_command.setdefault(command_of(all_of_them[number]), []).append(all_of_them[number])
    turns = zip_longest(*by_command.values())
    return [bad for turn in turns for bad in turn if bad is not None][:size]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--program", action="store_true", help="each in a process of its own")
    parser.add_argument("--only", default="", help="those with this in their name")
    parser.add_argument("--sample", type=int, help="so many, spread over all commands")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--seconds", type=float, help="limit for each")
    options = parser.parse_args()
    warnings.simplefilter("error", RuntimeWarning)
    chosen = [bad for bad in bad_inputs() if options.only in bad.name]
    if options.sample:
        chosen = spread(chosen, options.sample, options.seed)
    sound_files()
    faults, slowest = 0, 0.0
    for bad in chosen:
        started = time.monotonic()
        found = in_time(bad, run_program if options.program else run_here, options.seconds)
        slowest = max(slowest, time.monotonic() - started)
        if found:
            faults += 1
            print(f"{bad.name}\n    {found}", flush=True)
    commands = len({command_of(bad) for bad in chosen})
    print(
        f"{len(chosen)} bad inputs of {commands} commands, {faults} answered wrongly; "
        f"the slowest took {slowest:.1f} s"
    )
    sys.exit(min(faults, 1))


if __name__ == "__main__":
    main()

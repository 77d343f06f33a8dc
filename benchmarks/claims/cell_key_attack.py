"""What follows from tables perturbed by cell keys: share of counts determined, width of intervals."""

import gzip
import tempfile
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from bench.claims import Claim, Column, Instance, Method
from bench.measure import timed
from tablecloak.argus.metadata import read_metadata, read_microdata
from tablecloak.cellkey import (
    KeyRows,
    attack_counts,
    design_count_table,
    draw_record_keys,
    perturb_counts,
    read_perturbations,
)

ONS_DIMENSIONS = ["var1", "var5", "var8"]


def ons_records(size=1000, largest_key=255):
    """Test records of the ONS package cell-key-perturbation: numpy's legacy generator, seed 111."""
    random = np.random.RandomState(111)
    five, four = [0.25, 0.35, 0.2, 0.1, 0.1], [0.25, 0.35, 0.2, 0.2]
    ten = [0.20, 0.15, 0.08, 0.15, 0.02, 0.025, 0.075, 0.1, 0.1, 0.1]
    columns = {"record_key": random.randint(0, largest_key + 1, size)}
    for number, chances in enumerate([five, [0.5, 0.5], four, four, ten, five, five], start=1):
        columns[f"var{number}"] = random.choice(
            np.arange(1, len(chances) + 1), p=chances, size=size
        )
    columns["var8"] = random.choice(list("ABCD"), size)
    return pd.DataFrame(columns)


def ons(tables, size=1000):
    """Tables of the ONS records under its rule: below 10 nothing, else to the nearest 5."""
    return [
        perturb_counts(ons_records(size), list(names), KeyRows.rounding(), threshold=10)
        for names in tables
    ]


def entropy(tables):
    """The same records with keys that are fractions, and a table of largest entropy."""
    records = ons_records().assign(record_key=draw_record_keys(range(1000), secret=bytes(32)))
    table = design_count_table(5, 3, blocked=2)
    return [perturb_counts(records, list(names), table) for names in tables]


def tau(folder, tables):
    """The test records of tau-ARGUS with its own perturbation table."""
    place = Path(folder) / "tau-argus"
    metadata = read_metadata(place / "Tau_TestW.rda")
    names = list(dict.fromkeys(name for table in tables for name in table))
    with tempfile.TemporaryDirectory() as own:
        plain = Path(own) / "tau_testW.asc"
        plain.write_bytes(gzip.decompress((place / "tau_testW.asc.gz").read_bytes()))
        records, _ = read_microdata(metadata, plain, names)
    region = metadata.hierarchy(metadata.variable("Region"), set(records["Region"]))
    if "IndustryCode" in records:
        # Five digits would give 10,000 cells, of which few are settled in time.
        records["IndustryCode"] = records["IndustryCode"].str.strip().str.slice(0, 3)
    records["record_key"] = draw_record_keys(range(len(records)), secret=bytes(32))
    table = read_perturbations(place / "cellkey-frequency" / "tau_testW_ptable.txt")
    return [
        perturb_counts(
            records, {name: region if name == "Region" else None for name in names}, table
        )
        for names in tables
    ]


def attacked(tables, setting):
    """Attack all tables together, the perturbation table known."""
    found, spent = timed(lambda: attack_counts(*tables, time_limit=setting.limit))
    return {
        "tables": len(tables),
        "counts": int(found.listed.sum()),
        "determined": int(found.determined[found.listed].sum()),
        "share": found.determined_share,
        "width": found.mean_width,
        "open": int((~found.is_exact)[found.listed].sum()),
        **spent,
    }


def instances(folder):
    pairs = list(combinations(ONS_DIMENSIONS, 2))
    place = folder or Path()
    yield Instance("ONS rule, one table", partial(ons, [ONS_DIMENSIONS]))
    yield Instance("ONS rule, three tables", partial(ons, pairs))
    yield Instance("ONS records, largest entropy, one table", partial(entropy, [ONS_DIMENSIONS]))
    yield Instance("ONS records, largest entropy, three tables", partial(entropy, pairs))
    yield Instance("tau_testW, one table", partial(tau, place, [["Size", "Region"]]))
    three = [["Size", "Region"], ["IndustryCode", "Size"], ["IndustryCode", "Region"]]
    yield Instance("tau_testW, three tables", partial(tau, place, three))


CLAIM = Claim(
    name="cell-key-attack",
    title="Attack on tables perturbed by cell keys",
    text="""Published counts whose true count follows exactly, and the mean width of the intervals of true counts, for one who knows
the perturbation table, and that true counts are whole, at least 0, and add up. The test records of the ONS (1,000; var1 by var5 by var8, or
the three tables of two of them), under its rule and with a table of largest entropy (D 5, V 3, no 1 and 2); those of τ-ARGUS (Size by Region; also
three digits of IndustryCode by Size and by Region) with the table of its own sample. With several tables all are attacked together.""",
    said_in=("docs/cell-keys.md",),
    methods=(Method("attack", attacked),),
    instances=instances,
    smallest=Instance("60 records", partial(ons, [["var1", "var2"]], 60)),
    columns=(
        Column("tables", "tables", ",d"),
        Column("counts", "published counts", ",d"),
        Column("determined", "determined", ",d"),
        Column("width", "mean width", ".2f"),
        Column("open", "not settled", ",d"),
        Column("cpu", "CPU s of the attack", ".1f"),
    ),
    limits=(30.0,),
    findings="""An interval that is not settled in time may be narrower still. τ-ARGUS is measured with `--instances FOLDER`, a folder with the
sample files in `tau-argus`.""",
)

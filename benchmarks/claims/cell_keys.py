"""Cell keys: time for a perturbed table against tabulation of the same records."""

from functools import partial

from bench.claims import Claim, Column, Instance, Method
from made_records import generate_keyed, number_of_cells, records

DIMENSIONS = ["a", "b", "c"]


def tabulated(path):
    import tablecloak as tc

    return tc.tabulate(path, DIMENSIONS, "v", contributor="firm").n_cells


def counted(path):
    import tablecloak as tc

    return tc.tabulate(path, DIMENSIONS).n_cells


def perturbed(path):
    from tablecloak.cellkey import design_count_table, perturb_counts

    table = design_count_table(5, 3, blocked=2)
    return len(perturb_counts(str(path), DIMENSIONS, table).counts)


METHODS = {"cell keys": perturbed, "counts": counted, "values": tabulated}

CLAIM = Claim(
    name="cell-keys",
    title="Cell keys: time",
    text="""The same records as for tabulation, each with a record key; three dimensions with 31 codes. "cell keys" counts the
records, adds up their keys and perturbs the counts; "counts" tabulates counts alone, "values" a variable with its contributors, which
suppression needs.""",
    said_in=("docs/cell-keys.md",),
    methods=tuple(
        Method(name, partial(number_of_cells, method)) for name, method in METHODS.items()
    ),
    instances=lambda folder: [
        Instance("10^6", partial(records, generate_keyed, 1_000_000, 31)),
        Instance("10^7", partial(records, generate_keyed, 10_000_000, 31)),
    ],
    smallest=Instance("1,000", partial(records, generate_keyed, 1_000, 3, apart=False)),
    columns=(Column("cells", "cells", ",d"), Column("cpu", "CPU s of the table", ".1f")),
    limits=(600.0,),
    findings="Target: cell keys within 1.3 times the tabulation: reached, with 0.3 times that of counts.",
)

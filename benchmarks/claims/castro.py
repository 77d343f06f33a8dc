"""Patterns on Castro's published tables."""

from bench.claims import Claim, Column, Method
from figures import COX, PATTERN, castro, pattern_figures


def by_weight(weights):
    return lambda problem, setting: pattern_figures(problem, setting, weights=weights)


CLAIM = Claim(
    name="castro",
    title="Suppression on Castro's tables",
    text="""Patterns on 17 published tables under a limit, each audited: no cell is under-protected, and a bound says how
much better any pattern could be. 14 of the tables are shipped; `--instances FOLDER` names a folder with all of them
(`NAME.jj.gz`).""",
    said_in=("README.md", "docs/choosing.md"),
    methods=(
        Method("value", by_weight("value"), "the loss is the sum of the hidden values"),
        Method("unit", by_weight("unit"), "the loss is the number of hidden cells"),
    ),
    instances=castro,
    smallest=COX,
    columns=(*PATTERN[2:], Column("attacked", "attacked by naive programs")),
    clock="wall",
    findings="""The optima 2,045,231 of targus and 262 of table8 are those of the reference code. The gaps of the large tables are
mostly those of the bound: the capacity rows that 120 s find at the root of hier16 prove 4.3 of 21.1 million. On hier13x7x7d
HiGHS proves 526,281 with the rows of the root alone and 548,019 with bridge rows of single relations.

What decided: costs per share (a cell that can carry a tenth of a need counts tenfold), neighbourhoods that reach the margins
(without them losses were 40 % above the optimum), exchange of secondaries, and deletion in the null space. On networks,
shortest paths give first patterns in 0.2 to 0.5 ms a path, at times better than programs, so both are tried for each cell.""",
)

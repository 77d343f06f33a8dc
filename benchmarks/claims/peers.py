"""Suppression beside other tools; the figures fill a page of the docs."""

import tempfile
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np

import tablecloak as tc
from bench.claims import Claim, Column, Instance, Method
from bench.measure import timed
from figures import COX, DATA
from peer_tools.anytime import draw_anytime
from peer_tools.contestants import PEERS, asked_peer
from peer_tools.judge import can_try_contributors, judged, table_facts
from peer_tools.page import page
from peer_tools.tables import Case, cases

LAST = 60.0


def ours(against, asked, setting):
    case, problem = asked
    if against and not can_try_contributors(problem):
        return table_facts(case, problem) | {"message": "not asked: contributors are not known"}
    pattern, spent = timed(
        lambda: tc.suppress(
            problem, protect_against=against, hold="possible", time_limit=setting.limit, threads=1
        )
    )
    told = {
        "seconds": spent["cpu"],
        "claim": "optimal" if pattern.is_optimal else f"at least {pattern.bound:,.0f}",
        "version": version("tablecloak"),
    }
    hidden = np.asarray(pattern.suppressed)
    return table_facts(case, problem) | told | judged(problem, hidden)


def other(who, asked, setting):
    case, problem = asked
    if who.needs_one_table and not case.is_one_table:
        told = {"message": "not asked: it takes one table, not linked ones"}
    else:
        with tempfile.TemporaryDirectory() as scratch:
            told = asked_peer(who, problem, setting, Path(scratch), case.is_one_table)
    return table_facts(case, problem) | told


def built(case):
    return case, case.make()


def instances(folder):
    for case in cases(folder or DATA / "rtauargus"):
        yield Instance(case.name, partial(built, case), case.limits)


METHODS = (
    Method("tablecloak", partial(ours, ())),
    Method("tablecloak, contributors", partial(ours, ("contributors",)), limits=(LAST,)),
    *(Method(who.name, partial(other, who), limits=(LAST,)) for who in PEERS),
)


def drawn(records, folder):
    """Write the page and its picture."""
    docs = folder.parent / "docs"
    (docs / "peers.md").write_text(page(records), "utf-8")
    draw_anytime(records, docs / "images" / "anytime.svg")


CLAIM = Claim(
    name="peers",
    title="Suppression beside other tools",
    text="""The same tables, the same limit and one audit for the patterns of tablecloak, pytauargus and G-Confid.""",
    said_in=("docs/peers.md",),
    methods=METHODS,
    instances=instances,
    smallest=Instance("cox", partial(built, Case("cox", "Cox's table", COX.build))),
    columns=(Column("loss", "loss", ",.0f"),),
    page="docs/peers.md",
    draw=drawn,
)

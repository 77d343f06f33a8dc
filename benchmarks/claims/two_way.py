"""The exact method on tables of 700 to 1,000 cells, beside that of pytauargus."""

import tempfile
from functools import partial
from pathlib import Path

from bench.claims import Claim, Column, Instance, Method
from enterprises import linked, two_way
from figures import COX, DATA, PATTERN, pattern_figures
from peer_tools.contestants import PEERS, asked_peer
from peer_tools.tables import ACTIVITIES, published
from tables_apart import side_by_side


def pytauargus(problem, setting):
    with tempfile.TemporaryDirectory() as scratch:
        return asked_peer(PEERS[0], problem, setting, Path(scratch))


def instances(folder):
    for seed in range(1, 6):
        yield Instance(f"two-way {seed}", partial(two_way, seed))
    yield Instance("two-way 1 to 4 as one", lambda: side_by_side([two_way(n) for n in range(1, 5)]))
    yield Instance("linked", partial(linked, 11))
    files = folder or DATA / "rtauargus"
    yield Instance("activities", partial(published, files, ACTIVITIES, zeros_published=True))


CLAIM = Claim(
    name="two-way",
    title="Exact suppression of two-way tables",
    text="""Tables with two levels of hierarchy on both sides (4,000 random enterprises, five seeds), two linked tables that share
a hierarchy, four of the first as one problem, whose parts are searched each for itself, and published tables of INSEE; p% 10 or dominance (1, 85), frequency below 3, weights by value. Most are proved
optimal in seconds, beside the Fischetti-Salazar code in pytauargus 0.6.0 with a limit of one minute (`--peers PYTHON`).""",
    said_in=("CHANGELOG.md", "docs/peers.md"),
    methods=(Method("tablecloak", pattern_figures), Method("pytauargus", pytauargus, limits=(60,))),
    instances=instances,
    smallest=COX,
    columns=(*PATTERN, Column("message", "message"), Column("claim", "it says")),
    limits=(1.0, 3.0, 10.0),
    findings="""The activities have the optimum 223,361,026, which ours proves in 14 s when given the time: root 4 s, programs over
all rows 6 s, tree of 115 nodes 2.5 s.""",
)

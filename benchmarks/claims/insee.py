"""INSEE's four linked turnover tables under short limits."""

from functools import partial

from bench.claims import Claim, Instance, Method
from figures import COX, DATA, PATTERN, pattern_figures
from peer_tools.tables import ACTIVITIES, FOUR, published


def instances(folder):
    for name, names in (("activities", ACTIVITIES), ("four tables", FOUR)):
        yield Instance(name, partial(published, folder or DATA / "rtauargus", names))


CLAIM = Claim(
    name="insee",
    title="Suppression of INSEE's linked tables",
    text="""Turnover by activity and by region, each by size and by legal form: two and four linked tables, dominance
(1, 85) and frequency 3. A good pattern within 5 s, for work at the screen.""",
    said_in=("docs/peers.md",),
    methods=(Method("tablecloak", pattern_figures),),
    instances=instances,
    smallest=COX,
    columns=PATTERN,
    limits=(1.0, 3.0, 5.0, 10.0, 60.0),
)

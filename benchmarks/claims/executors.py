"""A folder of jobs, and a table of several parts, over several workers: seconds, and results."""

import hashlib
import tempfile
from pathlib import Path

from bench.claims import Claim, Column, Instance, Method
from bench.measure import timed
from enterprises import SHAPES, enterprises, two_way
from figures import pattern_figures
from tables_apart import side_by_side

JOB = """
[data]
file = "{name}.csv"
value = "v"
[dimensions.a]
[dimensions.b]
levels = ["upper_b", "b"]
[[rules]]
rule = "p-percent"
p = 10
[[rules]]
rule = "minimum-frequency"
minimum = 3
[suppression]
time_limit = 60
"""


def jobs(number, enterprises_each):
    """A folder with so many jobs, each of a table of its own."""
    folder = Path(tempfile.mkdtemp(prefix="tablecloak-bench-"))
    for seed in range(number):
        frame, _ = enterprises(SHAPES["two-way"][0], enterprises_each, seed)
        # The first three letters of a code are the one above it.
        frame["upper_b"] = frame["b"].str[:3]
        frame.to_csv(folder / f"job{seed}.csv", index=False)
        (folder / f"job{seed}.toml").write_text(JOB.format(name=f"job{seed}"))
    return folder


class Work:
    """All jobs of a folder, or the suppression of one problem that falls into parts."""

    def __init__(self, executor):
        self.executor = executor

    def __call__(self, given, setting):
        return self.done(given) if isinstance(given, Path) else self.suppressed(given, setting)

    def suppressed(self, problem, setting):
        from tablecloak.executors import using_executor

        with using_executor(None if self.executor == "serial" else self.executor):
            return pattern_figures(problem, setting)

    def done(self, folder):
        from tablecloak.executors import executor_named
        from tablecloak.jobs.campaign import run_campaign

        with tempfile.TemporaryDirectory() as out:
            done, spent = timed(
                lambda: run_campaign(folder, out, executor=executor_named(self.executor))
            )
            releases = sorted(Path(out).rglob("release/**/table.csv"))
            whole = hashlib.sha256(b"".join(path.read_bytes() for path in releases))
        failed = sum(outcome.has_failed for outcome in done)
        return {
            "jobs": len(done) - failed,
            "seconds": spent["seconds"],
            "digest": whole.hexdigest()[:12] if releases else "no release",
        }


def remark(found):
    """Say whether all executors gave the same releases."""
    digests = {each.figures["digest"] for each in found if "digest" in each.figures}
    return "All releases are the same, byte for byte." if len(digests) == 1 else ""


METHODS = ("serial", "processes:2", "dask:4")

CLAIM = Claim(
    name="executors",
    title="Jobs, and parts of one table, over several workers",
    text="""Twelve jobs, each a table of made-up enterprises with some 650 cells and 240 sensitive ones, from records to a release and its certificate; all
are proved optimal. And eight two-way tables as one problem, whose parts no relation joins, until each is proved optimal.
Seconds of the wall, with the start of the workers; two cores.""",
    said_in=("docs/publication.md",),
    methods=tuple(Method(name, Work(name)) for name in METHODS),
    instances=lambda folder: [
        Instance("12 jobs", lambda: jobs(12, 4_000)),
        Instance("8 parts", lambda: side_by_side([two_way(n) for n in range(1, 9)])),
    ],
    smallest=Instance("1 job", lambda: jobs(1, 100)),
    columns=(
        Column("jobs", "jobs done", ",d"),
        Column("loss", "loss", ",.0f"),
        Column("gap", "gap", ".2%"),
        Column("seconds", "seconds of the wall", ".1f"),
        Column("digest", "all releases as one number"),
    ),
    limits=(600.0,),
    clock="wall",
    remark=remark,
)

"""Jobs that multiply the values of each contributor: what they produce, and the files of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.comparison import compare
from tablecloak.jobs.files import JobFiles
from tablecloak.jobs.load import contributed_records, load_problem
from tablecloak.jobs.noise_section import NoiseSpec
from tablecloak.jobs.schema import Job
from tablecloak.microdata.noisy_table import NoisyTable, noisy_table
from tablecloak.publish.publication import Leaving, write_leaving
from tablecloak.render.noise_report import noise_report
from tablecloak.tables.published import published_decimals

__all__ = ["NoisyResult", "noisy", "write_noisy"]

NAME = "noise of records"


@dataclass(frozen=True, eq=False)
class NoisyResult:
    """What a job with a section ``[noise]`` produced.

    Parameters
    ----------
    noisy : NoisyTable
    figures : dict of str to float
        Risk and utility, as `tablecloak.compare` measures them.
    files : list of Path
        All files that were written.
    withheld : dict of str to str
        Why the release was not written, if a hidden value stood in one of its files.
    """

    noisy: NoisyTable
    figures: dict[str, float]
    files: list[Path] = field(default_factory=list)
    withheld: dict[str, str] = field(default_factory=dict)

    @property
    def n_unchanged(self) -> int:
        """Number of sensitive cells that are published as they are, since their noise cancels."""
        sensitive = self.noisy.problem.sensitive
        return int(np.count_nonzero(self.noisy.changes[sensitive] == 0))

    @property
    def is_safe(self) -> bool:
        """Whether the release was written, and no sensitive value is published as it is."""
        return not self.withheld and not self.n_unchanged

    @property
    def verdict(self) -> str:
        """What is promised, in one sentence; empty if the release was withheld."""
        if self.withheld:
            return ""
        if self.n_unchanged:
            return (
                f"NOT SAFE: {self.n_unchanged} sensitive cells are published as they are, since "
                "their noise cancels."
            )
        return (
            "No sensitive value is published as it is, and cells of one contributor keep their "
            "distance. Nothing else is proved."
        )

    def lines(self) -> Iterator[str]:
        """Yield what was done, what is lost, and what can be inferred."""
        told = self.figures
        yield self.noisy.summary()
        yield (
            f"an outsider guesses {100 * told['guessed']:.3g} % of the sensitive cells to within "
            f"their level, a second largest contributor {100 * told['insider_guessed']:.3g} %"
        )
        yield (
            f"windows as wide as the levels ask for: {100 * told['window']:.3g} % for an outsider, "
            f"{100 * told['insider_window']:.3g} % for a second largest contributor"
        )
        yield (
            f"mean change {100 * told['mean_change']:.3g} %, slope of published on true values "
            f"{told['slope']:.4g}"
        )

    def summary(self) -> str:
        """Say in one line what was found. Secret."""
        kept = [f"release of the {name} withheld: {why}" for name, why in self.withheld.items()]
        return "; ".join([*self.lines(), *kept])


def noisy(job: Job, wanted: NoiseSpec, engine: str) -> NoisyResult:
    """Tabulate the records of a job, multiply them, and measure risk and utility."""
    made = noisy_table(
        load_problem(job, engine),
        contributed_records(job, engine, needs_contributor=False),
        # A seed that is the same in every job would be known to everybody.
        seed=job.seed if "seed" in job.model_fields_set else None,
        **wanted.model_dump(),
    )
    row = compare(made.problem, {NAME: made}).table.drop(columns=["kind", "level_factor"])
    figures = row.astype(np.float64).to_numpy()[0]
    return NoisyResult(made, dict(zip(map(str, row.columns), figures.tolist(), strict=True)))


def write_noisy(job: Job, result: NoisyResult, out: Path, fingerprint: str) -> None:
    """Write both folders; parameters as those of `tablecloak.jobs.write.write_results`."""
    files = JobFiles(out, result.files, result.withheld)
    files.begin()
    made = result.noisy
    write = partial(
        write_leaving, _leaving(job, made), title=job.title, formats=job.output.formats,
        report=job.output.report, layout=job.output.laid_out,
    )  # fmt: skip
    files.release("noise", write)
    files.secret("noise_cells.csv", made.to_frame())
    figures = pd.DataFrame({"figure": list(result.figures), "value": result.figures.values()})
    files.secret("noise_figures.csv", figures)
    files.state(fingerprint, result.is_safe, result.summary())
    if job.output.report:
        settings = pd.DataFrame({"setting": ["tablecloak"], "value": [version("tablecloak")]})
        page = noise_report(
            job.title or made.problem.table.name,
            made,
            [*result.lines(), result.verdict],
            figures,
            settings,
            job.source,
        )
        files.written("report.html", page.write)


def _leaving(job: Job, made: NoisyTable) -> Leaving:
    table = made.problem.table
    released = made.release()
    return Leaving(
        released=released,
        hierarchies=table.hierarchies,
        measure=table.name,
        unit=job.data.unit,
        decimals=published_decimals(made.values, table.decimals),
        n_cells=len(released),
        method={
            "method": "multiplicative noise of records",
            "reading": "The values of each contributor were multiplied by a number near 1 before "
            "they were added up, to protect them. Totals are the sums of their parts.",
        },
        hidden=table.values[made.changes != 0].tolist(),
    )

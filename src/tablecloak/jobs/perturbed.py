"""Jobs that perturb tables by cell keys: what they produce, and the files of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.budget import Progress
from tablecloak.cellkey.attack import CountAttack
from tablecloak.cellkey.perturbation import Perturbation
from tablecloak.cellkey.perturbed_tables import PerturbedTables
from tablecloak.errors import InputError
from tablecloak.jobs.files import JobFiles
from tablecloak.jobs.load import keyed_records
from tablecloak.jobs.schema import Job
from tablecloak.publish.publication import Leaving, write_leaving
from tablecloak.render.perturbation_report import perturbation_report

__all__ = ["PerturbedResult", "perturbed", "write_perturbed"]

MOST_ATTACKED = 20_000
"""Largest number of cells of a grid that a job attacks, and for which it waits
`ATTACK_SECONDS` at most. Larger tables can be attacked by `tablecloak cellkey attack`."""

ATTACK_SECONDS = 60.0
"""Time limit of the attack if the job sets none for its audit."""


@dataclass(frozen=True, eq=False)
class PerturbedResult:
    """What a job with a section ``[perturbation]`` produced.

    Parameters
    ----------
    perturbed : PerturbedTables
    attack : CountAttack or None
        What an intruder who knows the perturbation table can infer; None if it was not attacked.
    not_attacked : str
        Why there is no attack; otherwise empty.
    files : list of Path
        All files that were written.
    withheld : dict of str to str
        Why the release was not written, if a hidden value stood in one of its files.
    """

    perturbed: PerturbedTables
    attack: CountAttack | None
    not_attacked: str = ""
    files: list[Path] = field(default_factory=list)
    withheld: dict[str, str] = field(default_factory=dict)

    @property
    def is_safe(self) -> bool:
        """Whether the release was written, and no published count is determined exactly."""
        return not self.withheld and (self.attack is None or self.attack.determined_share == 0)

    @property
    def verdict(self) -> str:
        """What follows from the release, in one sentence; empty if that is not known."""
        if not self.is_safe:
            return "" if self.withheld else "NOT SAFE: some true counts follow from the release."
        return "" if self.attack is None else "No true count follows exactly from the release."

    def lines(self) -> Iterator[str]:
        """Yield what was done, what is lost, and what an intruder infers."""
        made = self.perturbed.utility()
        yield self.perturbed.summary()
        mean = made.distances.loc["mean"]
        yield (
            f"mean distances: d1 {mean['d1']:.3g}, d2 {100 * mean['d2']:.3g} %, d3 "
            f"{mean['d3']:.3g}; {made.false_zeros:,} false zeros, {made.false_nonzeros:,} false "
            f"counts above 0"
        )
        if self.attack is None:
            yield self.not_attacked
        else:
            yield f"{self.attack.summary()}; mean width {self.attack.mean_width:.3g}"

    def summary(self) -> str:
        """Say in one line what was found. Secret."""
        kept = [f"release of the {name} withheld: {why}" for name, why in self.withheld.items()]
        return "; ".join([*self.lines(), *kept])


def perturbed(
    job: Job, wanted: Perturbation, engine: str, progress: Progress | None
) -> PerturbedResult:
    """Perturb the tables of a job, and attack them."""
    records = keyed_records(job, engine)
    wanted.check(records)
    try:
        made = wanted.perturb(records)
    except InputError as error:
        named = [job.data.file, *wanted.files.values()]
        if job.data.file is None or str(error).startswith(tuple(map(str, named))):
            raise
        raise InputError(f"{job.data.file}: {error}", cells=error.cells) from None
    size = float(np.prod([len(tree.codes) for tree in made.hierarchies.values()]))
    if size > MOST_ATTACKED:
        why = f"Not attacked: the table has more than {MOST_ATTACKED:,} cells."
        return PerturbedResult(made, None, why)
    limit = job.audit.time_limit
    attack = wanted.attack(made, limit if np.isfinite(limit) else ATTACK_SECONDS, progress)
    return PerturbedResult(made, attack, "" if attack else wanted.not_attacked)


def write_perturbed(job: Job, result: PerturbedResult, out: Path, fingerprint: str) -> None:
    """Write both folders; parameters as those of `tablecloak.jobs.write.write_results`."""
    assert job.perturbation is not None
    files = JobFiles(out, result.files, result.withheld)
    files.begin()
    made = result.perturbed
    leaving = _leaving(job, job.perturbation, made)
    write = partial(
        write_leaving, leaving, title=job.title, formats=job.output.formats,
        report=job.output.report, layout=job.output.laid_out,
    )  # fmt: skip
    files.release("perturbation", write)
    files.secret("perturbation_cells.csv", made.to_frame())
    if result.attack is not None:
        files.secret("perturbation_attack.csv", result.attack.to_frame())
    files.state(fingerprint, result.is_safe, result.summary())
    if job.output.report:
        page = perturbation_report(
            job.title or made.measure,
            made,
            result.attack,
            list(result.lines()),
            pd.DataFrame({"setting": ["tablecloak"], "value": [version("tablecloak")]}),
            job.source,
        )
        files.written("report.html", page.write)


def _leaving(job: Job, wanted: Perturbation, made: PerturbedTables) -> Leaving:
    released = made.release()
    unlisted = wanted.unlisted
    return Leaving(
        released=released,
        hierarchies=made.hierarchies,
        measure=made.measure,
        unit=job.data.unit,
        decimals=made.digits,
        n_cells=len(released),
        method={
            "method": "cell-key perturbation",
            "reading": f"{wanted.reading} Cells that are not listed are {unlisted}.",
        },
        hidden=made.secrets(),
        unlisted=unlisted,
    )

"""The two folders of results of a job: one to publish, one to keep."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path

import pandas as pd
from pandas.api.types import is_float_dtype

from tablecloak.arrays import own_digits
from tablecloak.errors import TablecloakError
from tablecloak.jobs.result import JobResult
from tablecloak.jobs.schema import Job
from tablecloak.protection import Product
from tablecloak.publish.figures import covered_figures, lacking_figures
from tablecloak.publish.publication import write_audited
from tablecloak.render.page import Page
from tablecloak.render.report import internal_report
from tablecloak.storage import checksum, private_folder, write_text
from tablecloak.suppression.waivers_saved import saved_by_waivers
from tablecloak.tables.formats import write_frame, write_problem
from tablecloak.tables.problem import ProtectionProblem

RESULT = "internal/result.json"
"""File that says how a job went, and of which inputs its results are."""


def subject_of(job: Job, problem: ProtectionProblem) -> str:
    """Return a hash of what a release tells of, not of how it is searched for.

    That is cells, values, levels, figures and earlier releases. A file that holds other records as
    well, such as those of a later year, another time limit or version change nothing of it.
    """
    searched = ["weights", "capacity_down", "capacity_up"]
    # The last digits of sums of floats depend on how many other records are read with them.
    text = problem.to_frame().drop(columns=searched).to_csv(index=False, float_format="%.10g")
    figures = [repr(figure) for figure in job.derived]
    files = [path for release in job.published for path in (release.file, release.problem)]
    earlier = [checksum(path) for path in files if path]
    return hashlib.sha256("\0".join([text, *figures, *earlier]).encode()).hexdigest()


@dataclass(frozen=True)
class JobFiles:
    """Writes files of a job and records their paths.

    Parameters
    ----------
    out : Path
    written_files : list of Path
        All files are added to it.
    withheld : dict of str to str
        Methods whose release could not be written are added to it, with the reason.
    """

    out: Path
    written_files: list[Path]
    withheld: dict[str, str]

    @property
    def internal(self) -> Path:
        """Folder that may not be published."""
        return self.out / "internal"

    def begin(self) -> None:
        """Make both folders, also if nothing is released, so that older releases go."""
        (self.out / "release").mkdir()
        private_folder(self.internal)

    def written(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file of the internal folder, and perhaps others beside it.

        `write` sees to it that only their owner reads them.
        """
        before = set(self.internal.iterdir())
        write(self.internal / name)
        self.written_files.extend(sorted(set(self.internal.iterdir()) - before))

    def secret(self, name: str, content: pd.DataFrame) -> None:
        """Write a frame into the internal folder, decimals with the digits that people gave."""
        content = content.apply(
            lambda column: column.map(own_digits) if is_float_dtype(column) else column
        )
        self.written(name, lambda path: write_frame(content, path, secret=True))

    def state(self, fingerprint: str, is_safe: bool | None, message: str, **others: object) -> None:
        """Write how the job went, and the fingerprint of its inputs.

        `is_safe` is None if nothing was promised that could hold or not.
        """
        state = {"fingerprint": fingerprint, "is_safe": is_safe, "message": message, **others}
        text = json.dumps(state, indent=2) + "\n"
        self.written(Path(RESULT).name, lambda path: write_text(path, text, secret=True))

    def release(self, method: str, write: Callable[..., list[Path]], refusal: str) -> None:
        """Write what may be published of one method, or note why it is withheld.

        `write` writes to the folders `folder` and `withheld`, and gives back the paths. With a
        `refusal` the release is not safe: it is kept inside, to be looked at.
        """
        folder, inside = self.out / "release" / method, self.internal / "withheld" / method
        try:
            files = write(folder=folder, withheld=inside)
        except TablecloakError as error:
            # The proofs are kept even if the files of the release are withheld.
            self.withheld[method] = str(error)
            shutil.rmtree(folder, ignore_errors=True)
            return
        if refusal:
            inside.parent.mkdir(exist_ok=True)
            folder.replace(inside)
            files = [inside / path.relative_to(folder) for path in files]
            self.withheld[method] = refusal
        self.written_files.extend(files)


def write_results(job: Job, result: JobResult, out: Path, fingerprint: str) -> None:
    """Write both folders, and add their files to those of the result.

    Parameters
    ----------
    job : Job
    result : JobResult
        What cannot be released is noted in it.
    out : Path
        An empty folder.
    fingerprint : str
        That of the job when its data were read.
    """
    files = JobFiles(out, result.files, result.withheld)
    files.begin()
    for name, product in result.products.items():
        write = partial(
            write_audited, product.release, title=job.title, formats=job.output.formats,
            report=job.output.report, layout=job.output.laid_out,
        )  # fmt: skip
        is_safe = product.audit is None or product.audit.is_safe
        files.release(name, write, "" if is_safe else product.way.refusal(product))
        for file, content in product.way.secrets(product):
            (files.written if callable(content) else files.secret)(file, content)  # type: ignore[arg-type]
        send = _sending(job, product)
        if send is not None:
            files.written("transmission.csv", send)
    if any(not way.is_alone for way in job.ways.values()):
        files.written("problem.csv", partial(write_problem, result.problem))
        files.written("problem.jj", partial(write_problem, result.problem))
    waivers = _waivers(job, result)
    if waivers is not None:
        files.secret("waivers.csv", waivers)
    files.state(
        fingerprint,
        result.is_safe,
        result.summary(),
        report=result.report(),
        figures=result.figures(),
        subject=subject_of(job, result.problem) if job.in_publication else "",
    )
    if job.output.report:
        files.written("report.html", _report(job, result, waivers).write)


def _sending(job: Job, product: Product) -> Callable[[Path], object] | None:
    """Return what writes the values for another authority; only of a release that is safe."""
    hidden = product.way.hidden(product.release)
    if job.transmission is None or hidden is None or not product.audit.is_safe:
        return None
    return partial(job.transmission.write, product.release.problem, hidden, job.every_rule)


def _waivers(job: Job, result: JobResult) -> pd.DataFrame | None:
    """Return what each waiver saves, in each variable; None where nobody could waive. Secret."""
    if not (job.data.waiver or job.data.waiver_p):
        return None
    hidden = [product.way.hidden(product.release) for product in result.products.values()]
    pattern = next((cells for cells in hidden if cells is not None), None)
    first, frames = 0, []
    for alone, problem in zip(job.alone, result.parts, strict=True):
        last = first + problem.table.n_cells
        suppressed = None if pattern is None else pattern[first:last]
        frames.append(saved_by_waivers(problem, alone.rules, suppressed))
        first = last
    if not job.variables:
        return frames[0]
    return pd.concat(frames, keys=job.variables, names=["variable"]).reset_index("variable")


def _report(job: Job, result: JobResult, waivers: pd.DataFrame | None) -> Page:
    """Return the internal report. Secret: it shows true values and sensitive cells."""
    products = list(result.products.values())
    settings = pd.DataFrame({"setting": ["tablecloak"], "value": [version("tablecloak")]})
    page: Page | None = products[0].way.report(products[0], job.title, settings, job.source)
    if page is None:
        page = internal_report(
            job.title or result.problem.table.name,
            result.problem,
            products,
            waivers=waivers,
            settings={"seed": job.seed}
            | {f"no {name}": why for name, why in result.failures.items()}
            | {f"withheld {name}": why for name, why in result.withheld.items()},
            source=job.source,
        )
    for product in products:
        page.heading(f"What may stand beside the {product.way.noun}")
        page.table(covered_figures(product), index=False, caption="Figures beside this release")
        for statement in (
            () if product.way.is_alone else lacking_figures(product.release.problem.table)
        ):
            page.text(statement)
    return page

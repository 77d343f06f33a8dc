"""Writing tables, after the last check."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.batch import read_writing
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.gate import check, check_together
from tablecloak.argus.lines import Command, Writing
from tablecloak.argus.outputs import OPTIONS_OF, Layout, Protected, made_of
from tablecloak.argus.rules import n_largest
from tablecloak.argus.state import BatchState
from tablecloak.argus.table_job import TableJob
from tablecloak.errors import InputError, VerificationError
from tablecloak.tables.problem import ProtectionProblem


@COMMANDS.register
class WriteTable(BatchCommand):
    """Write a table in one of the formats of tau-ARGUS."""

    name: ClassVar[str] = "WRITETABLE"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        wanted = read_writing(arguments)
        job = batch.job(wanted.table)
        problem = batch.known(job)
        layout = _layout(job, wanted)
        protected = _ready(job, problem, wanted, layout)
        _check(batch, command, job, protected, layout)
        unused = [name for name in wanted.options if name not in OPTIONS_OF.get(wanted.kind, ())]
        for name in unused:
            batch.skip(command, f"the option {name}, which says nothing about type {wanted.kind}")
        files = made_of(protected, layout, batch.output_path(wanted.file))
        for output in files:
            batch.output_path(output.path.name)
            batch.outputs.append(output)
        options = "".join(f"{name}{'+' if on else '-'}" for name, on in wanted.options.items())
        batch.say(
            command, f"table {job.number}, type {wanted.kind} {options}: {files[0].path.name}"
        )
        if not layout.is_public:
            batch.say(
                command,
                f"{files[0].path.name}: tells which cells are sensitive, or their values; it must "
                f"stay inside",
            )


def _layout(job: TableJob, wanted: Writing) -> Layout:
    return Layout(
        wanted.kind,
        wanted.options,
        "Freq" if job.is_count else job.metadata.variable(job.specification.response).name,
        n_largest(job.all_rules),
        job.is_count,
    )


def _check(
    batch: BatchState, command: Command, job: TableJob, protected: Protected, layout: Layout
) -> None:
    """Raise if the file would show what must be protected, alone or beside others."""
    assert job.evidence is not None
    published = check(protected, job.evidence, job.all_rules, job.asked, is_public=layout.is_public)
    if not layout.is_public:
        return
    if published:
        batch.skip(
            command,
            f"the rules on {len(published)} cells that APRIORI declares safe: "
            f"{'; '.join(published)}",
        )
    _check_beside_others(batch, job, protected)


def _check_beside_others(batch: BatchState, job: TableJob, protected: Protected) -> None:
    """Check a table beside those of the same response that will be published too."""
    response = job.specification.response.lower()
    for data, name, other in batch.published:
        if (data, name) == (job.data, response):
            check_together(protected, other)
    batch.published.append((job.data, response, protected))


def _ready(job: TableJob, problem: ProtectionProblem, wanted: Writing, layout: Layout) -> Protected:
    """Return the protected table; an unprotected one only for internal formats."""
    inner = wanted.kind in (5, 6)
    if job.protected is None:
        if not inner:
            raise InputError(
                "The table was not protected (no SUPPRESS): it would be published with its "
                "sensitive cells."
            )
        return Protected(
            problem,
            np.zeros(problem.table.n_cells, dtype=bool),
            problem.table.values,
            job.decimals,
            job.codes(),
        )
    if not inner and not job.says_what:
        raise InputError(
            f"Nothing says which cells of table {job.number} are sensitive: there is no rule "
            f"in force, no <STATUS> and no APRIORI. Give it rules by SAFETYRULE."
        )
    if layout.is_public and not job.protected.is_proved:
        raise VerificationError(
            f"Nothing was written: table {job.number} is not proved to be safe. Give SUPPRESS "
            f"more time, or remove cells."
        )
    return job.protected

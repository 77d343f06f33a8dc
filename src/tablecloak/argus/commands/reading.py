"""Reading records or cells: opening data and their metadata, and closing them again."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.lines import Command
from tablecloak.argus.metadata import read_cells, read_metadata, read_microdata
from tablecloak.argus.preparation import tabulate_records, take_cells
from tablecloak.argus.rules import numbers_of
from tablecloak.argus.state import BatchState
from tablecloak.errors import InputError


class _OpenData(BatchCommand):
    """Open a file of data."""

    is_microdata: ClassVar[bool]

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        if batch.data is not None and batch.metadata is None:
            raise InputError(f"{batch.data.name} was opened already and has no metadata yet.")
        is_microdata = self.is_microdata
        if batch.jobs and (is_microdata or batch.is_microdata or batch.is_read):
            raise InputError("Other data are open already. Put CLEAR before this line.")
        batch.data = batch.input_path(arguments.word("the name of a file"))
        batch.is_microdata, batch.metadata = is_microdata, None
        batch.say(command, batch.data.name)


@COMMANDS.register
class OpenMicrodata(_OpenData):
    """Open a file of records."""

    name: ClassVar[str] = "OPENMICRODATA"
    is_microdata: ClassVar[bool] = True


@COMMANDS.register
class OpenTableData(_OpenData):
    """Open a file of cells."""

    name: ClassVar[str] = "OPENTABLEDATA"
    is_microdata: ClassVar[bool] = False


@COMMANDS.register
class OpenMetadata(BatchCommand):
    """Open the description of the data."""

    name: ClassVar[str] = "OPENMETADATA"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        if batch.data is None or batch.metadata is not None:
            raise InputError("Open data before their metadata, and metadata only once.")
        path = batch.input_path(arguments.word("the name of a file"))
        batch.metadata = read_metadata(path)
        batch.say(command, path.name)


@COMMANDS.register
class Clear(BatchCommand):
    """Close all tables, data and metadata."""

    name: ClassVar[str] = "CLEAR"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        arguments.end()
        batch.jobs, batch.recodes = [], {}
        batch.data = batch.metadata = batch.frame = None
        batch.say(command, "tables, data and metadata are closed")


@COMMANDS.register
class ReadMicrodata(BatchCommand):
    """Read the records, and make all tables of them."""

    name: ClassVar[str] = "READMICRODATA"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        arguments.end()
        batch.before_reading()
        if not batch.jobs or not batch.is_microdata:
            raise InputError("Open microdata and specify a table first (OPENMICRODATA).")
        names: list[str] = []
        for job in batch.jobs:
            if job.rules is None:
                raise InputError(
                    f"Table {job.number} has no SAFETYRULE: every cell would be safe. Add one."
                )
            wanted = job.specification
            response = "" if job.is_count else wanted.response
            names += [*wanted.dimensions, response, wanted.shadow, wanted.cost]
            if any(numbers[0] for numbers in numbers_of(job.rules, "WGT")):
                names += [variable.name for variable in job.metadata.with_tag("WEIGHT")]
        metadata, data = batch.jobs[0].metadata, batch.jobs[0].data
        for tag in ("HOLDING", "REQUEST"):
            names += [variable.name for variable in metadata.with_tag(tag)]
        names = [name for name in names if name and not name.startswith(("<", "-"))]
        known = dict.fromkeys(metadata.variable(name).name for name in names)
        batch.frame, notes = read_microdata(metadata, data, list(known))
        batch.say(command, f"{len(batch.frame)} records of {data.name}")
        for note in notes:
            batch.say(command, note)
        for job in batch.jobs:
            job.trees = {
                variable.name: metadata.hierarchy(variable, set(batch.frame[variable.name]))
                for variable in job.variables()
            }
            tabulate_records(batch, command, job)


@COMMANDS.register
class ReadTable(BatchCommand):
    """Read the cells of all tables."""

    name: ClassVar[str] = "READTABLE"

    def do(self, batch: BatchState, command: Command, arguments: Arguments) -> None:
        """Apply the line."""
        mode = (arguments.optional() or "0").upper()
        arguments.end()
        if mode not in ("0", "1", "1T", "1F", "2"):
            raise InputError(f"READTABLE takes 0, 1, 1T, 1F or 2, found {mode!r}.")
        batch.before_reading()
        if not batch.jobs or batch.is_microdata:
            raise InputError("Open a table and specify it first (OPENTABLEDATA).")
        how = {"0": "totals must add up", "2": "totals need not add up"}
        batch.say(command, f"{mode}: {how.get(mode, 'totals are made of the most detailed cells')}")
        for job in batch.jobs:
            cells, notes = read_cells(job.metadata, job.data)
            for note in notes:
                batch.say(command, note)
            take_cells(batch, command, job, cells, mode)

"""Opening data and their metadata, and closing them again."""

from __future__ import annotations

from typing import ClassVar

from tablecloak.argus.arguments import Arguments
from tablecloak.argus.command import COMMANDS, BatchCommand
from tablecloak.argus.lines import Command
from tablecloak.argus.metadata import read_metadata
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

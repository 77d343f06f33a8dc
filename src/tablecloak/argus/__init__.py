"""The files of tau-ARGUS: metadata, data, tables, a priori lists, and batch files as they are."""

from tablecloak.argus.batch import read_batch
from tablecloak.argus.lines import Command
from tablecloak.argus.metadata import Metadata, Variable, read_metadata
from tablecloak.argus.run import BatchResult, run_batch

__all__ = [
    "BatchResult",
    "Command",
    "Metadata",
    "Variable",
    "read_batch",
    "read_metadata",
    "run_batch",
]

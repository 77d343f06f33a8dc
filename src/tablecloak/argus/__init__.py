"""The files of tau-ARGUS: metadata, data, tables, a priori lists, and batch files as they are."""

from tablecloak.argus.apriori import AprioriList, read_apriori, write_apriori
from tablecloak.argus.lines import Command
from tablecloak.argus.metadata import Metadata, Variable, read_metadata
from tablecloak.argus.run import BatchResult, read_batch, run_batch

__all__ = [
    "AprioriList",
    "BatchResult",
    "Command",
    "Metadata",
    "Variable",
    "read_apriori",
    "read_batch",
    "read_metadata",
    "run_batch",
    "write_apriori",
]

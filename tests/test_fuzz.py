"""A few hundred mutated files for every reader; 100,000 by `python tests/fuzzing.py`."""

from __future__ import annotations

import pytest

from fuzzing import fuzz

READERS = [
    "jj", "cells", "relations", "release", "certificate", "microdata", "hrc", "job", "rda, cells",
    "rda, records", "tab", "arb", "hst", "rda in a batch",
]  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_mutated_files_are_read_or_refused_with_an_error_of_ours(name):
    counts = fuzz(name, 200, seed=2, seconds=8)
    assert counts["read"] + counts["refused"] >= 30
    assert counts["refused"] > 0


@pytest.mark.parametrize("name", ["jj", "cells", "rda, cells"])
def test_no_reader_takes_a_file_for_more_than_it_holds(name):
    """A reader that asks for memory by a number in the file would be killed here."""
    resource = pytest.importorskip("resource")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    fuzz(name, 100, seed=3, seconds=5)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000

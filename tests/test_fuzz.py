"""Some mutated files for every reader; 100,000 by `python tests/fuzzing.py`.

TABLECLOAK_FUZZ_FACTOR multiplies their number, and TABLECLOAK_FUZZ_SEED draws other ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import fuzzing
from fuzzing import fuzz

FILES = {
    "jj": 40, "cells": 40, "relations": 40, "release": 40, "certificate": 40, "hrc": 60,
    "job": 60, "rda, cells": 60, "rda, records": 60, "tab": 40,
    # Each of these files is tabulated or protected.
    "microdata": 10, "arb": 60, "hst": 12, "rda in a batch": 20,
}  # fmt: skip


FACTOR = int(os.environ.get("TABLECLOAK_FUZZ_FACTOR", "1"))
SEED = int(os.environ.get("TABLECLOAK_FUZZ_SEED", "2"))


@pytest.mark.parametrize("name", FILES)
def test_mutated_files_are_read_or_refused_with_an_error_of_ours(name):
    files = FACTOR * FILES[name]
    counts = fuzz(name, files, seed=SEED)
    assert counts["read"] + counts["refused"] == files
    assert min(counts.values()) > 0


def test_every_reader_is_tested(tmp_path):
    assert FILES.keys() == fuzzing.readers(tmp_path).keys()


def test_no_reader_takes_a_file_for_more_than_it_holds():
    """A reader that asks for memory by a number in the file; measured in a process of its own."""
    pytest.importorskip("resource")
    program = [sys.executable, fuzzing.__file__, "--files", "150", "--seed", "3"]
    done = subprocess.run(
        [*program, "--only", "jj", "cells", "rda, cells", "--growth", "300"],
        check=False, cwd=Path(fuzzing.__file__).parent, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr

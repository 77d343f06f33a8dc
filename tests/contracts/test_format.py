"""Formats: all that are registered keep the contract, and wrong ones are told why."""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
import pytest

from tablecloak.contracts import check_format
from tablecloak.storage import write_text
from tablecloak.tables.formats import FORMATS, ReleaseFormat
from tablecloak.tables.formats.csv_file import CSV
from tablecloak.tables.formats.jj import JJ


class Markdown(ReleaseFormat):
    """A table in Markdown, for pages."""

    name = "markdown"
    suffixes = (".md",)

    def write_release(self, released, about, path):
        rows = ["| " + " | ".join(map(str, row)) + " |" for row in self.rows(released)]
        write_text(path, "\n".join([f"# {about['measure']}", *rows]) + "\n")

    def rows(self, released):
        return released.astype(object).to_numpy().tolist()


class Unmasked(Markdown):
    """Writes what lies under the mask of missing values."""

    def rows(self, released):
        return released.assign(turnover=released["turnover"].array._data).to_numpy().tolist()


class Rounded(Markdown):
    """Writes thousands."""

    def rows(self, released):
        return [[row[0], pd.NA] for row in super().rows(released)]


class Stamped(Markdown):
    """Writes the time."""

    def write_release(self, released, about, path):
        super().write_release(released, {"measure": time.perf_counter_ns()}, path)


class Loud(Markdown):
    """Has an ending in capitals."""

    suffixes = (".MD",)


class Shortened(JJ):
    """Writes six digits."""

    def write_problem(self, problem, path):
        short = np.array([float(f"{value:.6g}") for value in problem.weights])
        super().write_problem(problem.with_changes(weights=short), path)


class Open(JJ):
    """Lets everybody read."""

    def write_problem(self, problem, path):
        super().write_problem(problem, path)
        path.chmod(0o644)


class Trusting(JJ):
    """Raises what Python raises."""

    def read_problem(self, path, tolerance):
        path.read_bytes().decode("utf-8").split()[0]
        return super().read_problem(path, tolerance)


class Guessing(CSV):
    """Reads codes as numbers."""

    def read(self, path, text_columns=()):
        return pd.read_csv(path)


WRONG = {
    Unmasked: "The hidden value 7351829 is in the file",
    Rounded: "The published value 5318264 is missing",
    Stamped: "The same release is written as the same bytes at any time",
    Loud: "The ending '.MD' has no dot or is not in lower case",
    Shortened: "The numbers in `weights` differ after writing and reading",
    Open: r"Others may open the file \(mode 44\)",
    Trusting: "A file of another kind is refused .* It raised IndexError",
    Guessing: "Column 'code' came back as",
}


@pytest.mark.parametrize("name", FORMATS.names)
def test_every_registered_format_keeps_the_contract(name):
    check_format(FORMATS.build(name))


def test_a_format_that_is_not_registered_keeps_it_too():
    check_format(Markdown())


@pytest.mark.parametrize("file_format", WRONG, ids=lambda kind: kind.__name__)
def test_a_wrong_format_is_told_which_fact_it_breaks(file_format):
    with pytest.raises(AssertionError, match=f"The format '{file_format.name}' breaks its "
                       f"contract: .*{WRONG[file_format]}"):  # fmt: skip
        check_format(file_format())

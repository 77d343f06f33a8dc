"""The contract of a method for records: rows stay, only named columns change, seeds repeat."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from tablecloak.contracts.facts import check_facts, expect, first_line
from tablecloak.errors import TablecloakError
from tablecloak.microdata.methods.method import Columns, Method, Release
from tablecloak.parameters import parameters_of

__all__ = ["METHOD", "Trial", "check_microdata_method"]

SEED = 20
"""Seed of a trial's random numbers; any other number would do."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A method with its parameters, and records that it can protect.

    Parameters
    ----------
    method : Method
    frame : pandas.DataFrame
        Records, with all columns that the method reads.
    """

    method: Method[Release]
    frame: pd.DataFrame

    def uses(self) -> Columns:
        """Return the columns that the method reads and changes."""
        return self.method.uses(list(self.frame.columns))

    def given(self) -> pd.DataFrame:
        """Return a copy of the columns that the method reads."""
        columns = self.uses()
        read = {*columns.categories, *columns.numbers}
        return self.frame[[name for name in self.frame.columns if name in read]].copy()

    def released(self) -> Release:
        """Protect the records again, without the stored release."""
        return self.method.protect(self.given(), seed=SEED)

    @cached_property
    def release(self) -> Release:
        """The protected records."""
        return self.released()


def it_says_what_it_is(trial: Trial) -> None:
    """A method has a name, and a sentence of help on itself and on each of its parameters."""
    kind = type(trial.method)
    expect(kind.name, "The class variable `name` is missing.")
    expect(
        first_line(kind).endswith("."),
        "The first line of its docstring is no sentence: it must end with a full stop.",
    )
    for parameter in parameters_of(kind):
        expect(
            parameter.help.endswith("."),
            f"The help of `{parameter.name}` is no sentence: it must end with a full stop.",
        )


def it_reads_and_changes_columns_that_are_there(trial: Trial) -> None:
    """`uses` names columns of the file only, and those that it changes are also read."""
    columns = trial.uses()
    known = set(trial.frame.columns)
    read = {*columns.categories, *columns.numbers}
    expect({*columns.changed} & known, "It changes no column of the file.")
    absent = sorted(read - known, key=str)
    expect(not absent, f"It reads {absent}, which the file does not have.")
    unread = sorted({*columns.changed} - read)
    expect(not unread, f"It changes {unread} without reading them.")


def records_stay_in_their_rows(trial: Trial) -> None:
    """The release has the columns, the rows and the index of the original, in the same order."""
    given, released = trial.given(), trial.release.frame
    expect(list(released.columns) == list(given.columns), f"Columns are {list(released.columns)}.")
    expect(released.index.equals(given.index), "The index differs.")


def only_named_columns_change(trial: Trial) -> None:
    """Only columns that `uses` names as changed differ in the release, and at least one does."""
    given, released = trial.given(), trial.release.frame
    changed = [name for name in given.columns if not released[name].equals(given[name])]
    surplus = [name for name in changed if name not in trial.uses().changed]
    expect(not surplus, f"The columns {surplus} changed, which `uses` does not name.")
    expect(changed, "Nothing changed: give records that the method protects.")


def the_original_is_left_alone(trial: Trial) -> None:
    """The method does not change the frame that is passed to it."""
    given, before = trial.given(), trial.given()
    trial.method.protect(given, seed=SEED)
    expect(given.equals(before), "The frame that was passed has changed.")


def a_seed_repeats_and_no_other_randomness_is_used(trial: Trial) -> None:
    """The same seed gives the same release, and numpy's global random numbers stay untouched."""
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    first = trial.released().frame
    drawn = np.random.random() != expected  # noqa: NPY002
    expect(not drawn, "Global random numbers were drawn; use the generator of the seed.")
    expect(first.equals(trial.released().frame), "The second release with the same seed differs.")


def a_summary_is_one_line(trial: Trial) -> None:
    """The release has a summary of one line."""
    summary = trial.release.summary()
    expect(isinstance(summary, str) and summary.strip(), "The summary is empty.")
    expect("\n" not in summary, "The summary has more than one line.")


def missing_columns_are_named(trial: Trial) -> None:
    """A frame without a column that it changes is refused by an error that names the column."""
    given = trial.given()
    for name in trial.uses().changed:
        if trial.method.uses([str(other) for other in given.columns if other != name]).changed != (
            trial.uses().changed
        ):
            continue  # The method uses all columns that it finds.
        try:
            trial.method.protect(given.drop(columns=name), seed=SEED)
        except TablecloakError as error:
            expect(str(name) in str(error), f"Without the column {name!r} the error is: {error}")
        else:
            raise AssertionError(f"Without the column {name!r} there was no error.")


METHOD: tuple[Callable[[Trial], None], ...] = (
    it_says_what_it_is,
    it_reads_and_changes_columns_that_are_there,
    records_stay_in_their_rows,
    only_named_columns_change,
    the_original_is_left_alone,
    a_seed_repeats_and_no_other_randomness_is_used,
    a_summary_is_one_line,
    missing_columns_are_named,
)
"""Facts that every method for records must satisfy, each a function of a `Trial`."""


def check_microdata_method(method: Method[Release], frame: pd.DataFrame) -> None:
    """Check a method for records on records of your own.

    Parameters
    ----------
    method : Method
        A method of your own with its parameters. It need not be registered.
    frame : pandas.DataFrame
        Some hundred records with the columns that the parameters name, of which the method changes
        some. The frame itself stays as it is.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and the columns that contradict it.

    Examples
    --------
    >>> import pandas as pd
    >>> from tablecloak.contracts import check_microdata_method
    >>> from tablecloak.microdata import Microaggregation
    >>> wages = pd.DataFrame({"wage": [31.0, 12, 18, 55, 24, 39], "hours": [38.0, 9, 8, 7, 20, 4]})
    >>> check_microdata_method(Microaggregation(["wage", "hours"]), wages)
    """
    trial = Trial(method, frame)
    check_facts(trial, f"The method {getattr(method, 'name', '?')!r}", METHOD)

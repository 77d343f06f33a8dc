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
"""Of the random numbers of a trial; any would do."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A method with its parameters, and records that it can protect.

    Parameters
    ----------
    method : Method
    frame : pandas.DataFrame
        Records, with all columns that the method reads.
    """

    method: Method
    frame: pd.DataFrame

    def uses(self) -> Columns:
        """Return the columns that the method reads and changes."""
        return self.method.uses(list(self.frame.columns))

    def given(self) -> pd.DataFrame:
        """Return a copy of the columns that it reads."""
        columns = self.uses()
        read = {*columns.categories, *columns.numbers}
        return self.frame[[name for name in self.frame.columns if name in read]].copy()

    def released(self) -> Release:
        """Protect the records anew."""
        return self.method.protect(self.given(), seed=SEED)

    @cached_property
    def release(self) -> Release:
        """The protected records."""
        return self.released()


def it_says_what_it_is(trial: Trial) -> None:
    """A method has a name, and sentences on itself and on each of its parameters."""
    kind = type(trial.method)
    expect(kind.name, "The class variable `name` is missing.")
    expect(first_line(kind).endswith("."), "The first line of its docstring is no sentence.")
    for parameter in parameters_of(kind):
        expect(parameter.help.endswith("."), f"`{parameter.name}` has no sentence of help.")


def it_reads_and_changes_columns_that_are_there(trial: Trial) -> None:
    """What `uses` names are columns of the file, and what is changed is also read."""
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
    expect(released.index.equals(given.index), "The index is another one.")


def only_named_columns_change(trial: Trial) -> None:
    """Columns that `uses` does not name as changed stay as they are."""
    given, released = trial.given(), trial.release.frame
    changed = [name for name in given.columns if not released[name].equals(given[name])]
    surplus = [name for name in changed if name not in trial.uses().changed]
    expect(not surplus, f"{surplus} changed.")
    expect(changed, "Nothing changed.")


def the_original_is_left_alone(trial: Trial) -> None:
    """The frame that is given is not written to."""
    given, before = trial.given(), trial.given()
    trial.method.protect(given, seed=SEED)
    expect(given.equals(before), "The frame that was given is another one afterwards.")


def a_seed_repeats_and_no_other_randomness_is_used(trial: Trial) -> None:
    """The same seed gives the same release, and numpy's global random numbers stay untouched."""
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    first = trial.released().frame
    drawn = np.random.random() != expected  # noqa: NPY002
    expect(not drawn, "Global random numbers were drawn.")
    expect(first.equals(trial.released().frame), "The second release with the same seed differs.")


def a_summary_is_one_line(trial: Trial) -> None:
    """The release says in one line what was done."""
    summary = trial.release.summary()
    expect(isinstance(summary, str) and summary.strip(), "The summary is empty.")
    expect("\n" not in summary, "The summary has more than one line.")


def missing_columns_are_named(trial: Trial) -> None:
    """A frame without a column that it changes is refused with an error of this package."""
    given = trial.given()
    for name in trial.uses().changed:
        if trial.method.uses([str(other) for other in given.columns if other != name]).changed != (
            trial.uses().changed
        ):
            continue  # It takes whatever columns there are.
        try:
            trial.method.protect(given.drop(columns=name), seed=SEED)
        except TablecloakError as error:
            expect(str(name) in str(error), f"Without {name!r} it says: {error}")
        else:
            raise AssertionError(f"Without {name!r} it went on.")


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


def check_microdata_method(method: Method, frame: pd.DataFrame) -> None:
    """Check a method for records on records of yours.

    Parameters
    ----------
    method : Method
        A method of your own with its parameters. It need not be registered.
    frame : pandas.DataFrame
        Some hundred records with the columns that its parameters name, on which it changes
        something. It is not written to.

    Raises
    ------
    AssertionError
        With the first fact that does not hold, and the columns where it does not.

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

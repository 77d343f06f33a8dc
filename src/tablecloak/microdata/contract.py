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

SEED = 20
"""Seed of a trial's random numbers; any other number would do."""

SOME_MISSING = 0.1
"""Share of values that go missing in a trial; enough for records that lack several."""


@dataclass(frozen=True, eq=False)
class MethodTrial:
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


def it_says_what_it_is(trial: MethodTrial) -> None:
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


def it_reads_and_changes_columns_that_are_there(trial: MethodTrial) -> None:
    """`uses` names columns of the file only, and those that it changes are also read."""
    columns = trial.uses()
    known = set(trial.frame.columns)
    read = {*columns.categories, *columns.numbers}
    expect({*columns.changed} & known, "It changes no column of the file.")
    absent = sorted(read - known, key=str)
    expect(not absent, f"It reads {absent}, which the file does not have.")
    unread = sorted({*columns.changed} - read)
    expect(not unread, f"It changes {unread} without reading them.")


def records_stay_in_their_rows(trial: MethodTrial) -> None:
    """The release has the columns, the rows and the index of the original, in the same order."""
    given, released = trial.given(), trial.release.frame
    expect(list(released.columns) == list(given.columns), f"Columns are {list(released.columns)}.")
    expect(released.index.equals(given.index), "The index differs.")


def only_named_columns_change(trial: MethodTrial) -> None:
    """Only columns that `uses` names as changed differ in the release, and at least one does."""
    given, released = trial.given(), trial.release.frame
    changed = [name for name in given.columns if not released[name].equals(given[name])]
    surplus = [name for name in changed if name not in trial.uses().changed]
    expect(not surplus, f"The columns {surplus} changed, which `uses` does not name.")
    expect(changed, "Nothing changed: give records that the method protects.")


def the_original_is_left_alone(trial: MethodTrial) -> None:
    """The method does not change the frame that is passed to it."""
    given, before = trial.given(), trial.given()
    trial.method.protect(given, seed=SEED)
    expect(given.equals(before), "The frame that was passed has changed.")


def a_seed_repeats_and_no_other_randomness_is_used(trial: MethodTrial) -> None:
    """The same seed gives the same release, and numpy's global random numbers stay untouched."""
    np.random.seed(1)  # noqa: NPY002
    expected = np.random.random()  # noqa: NPY002
    np.random.seed(1)  # noqa: NPY002
    first = trial.released().frame
    drawn = np.random.random() != expected  # noqa: NPY002
    expect(not drawn, "Global random numbers were drawn; use the generator of the seed.")
    expect(first.equals(trial.released().frame), "The second release with the same seed differs.")


def a_summary_is_one_line(trial: MethodTrial) -> None:
    """The release has a summary of one line."""
    summary = trial.release.summary()
    expect(isinstance(summary, str) and summary.strip(), "The summary is empty.")
    expect("\n" not in summary, "The summary has more than one line.")


def missing_columns_are_named(trial: MethodTrial) -> None:
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


def parameters_make_an_equal_method(trial: MethodTrial) -> None:
    """`get_params` returns what the constructor takes, and a method made of it does the same."""
    method = trial.method
    again = type(method)(**method.get_params())
    released = again.protect(trial.given(), seed=SEED).frame
    expect(released.equals(trial.release.frame), "A method with the same parameters differs.")


def labels_types_and_categories_stay(trial: MethodTrial) -> None:
    """Labels that are no numbers, or occur twice, stay; so do categories and nullable types."""
    given = trial.given()
    for labels in (
        pd.Index([f"record {at}" for at in range(len(given))]),
        pd.Index(np.arange(len(given)) // 2),
        pd.MultiIndex.from_arrays([np.arange(len(given)) // 2, np.arange(len(given)) % 2]),
    ):
        released = trial.method.protect(given.set_axis(labels), seed=SEED).frame
        expect(released.index.equals(labels), f"The labels {labels[:3].tolist()} are not kept.")
        same = released.reset_index(drop=True).equals(trial.release.frame.reset_index(drop=True))
        expect(same, "With other labels the release differs.")
    categories = trial.uses().categories
    coded = given.astype(dict.fromkeys(categories, "category"))
    released = trial.method.protect(coded, seed=SEED).frame
    for name in categories:
        expect(
            released[name].dtype == "category" or released[name].dtype == object,
            f"Categories of {name!r} became {released[name].dtype}.",
        )
    numbers = [name for name in trial.uses().numbers if given[name].dtype.kind == "f"]
    nullable = given.astype(dict.fromkeys(numbers, "Float64"))
    released = trial.method.protect(nullable, seed=SEED).frame
    lost = [name for name in numbers if released[name].dtype != "Float64"]
    expect(
        not lost, f"The nullable columns {lost} became {[str(released[n].dtype) for n in lost]}."
    )


def missing_values_are_no_obstacle(trial: MethodTrial) -> None:
    """Records with missing values are protected; a missing number stays missing.

    Where categories move between records or are drawn, missing is one of them.
    """
    given = trial.given()
    hidden = np.random.default_rng(SEED)
    for name in trial.uses().changed:
        given[name] = given[name].mask(hidden.random(len(given)) < SOME_MISSING)
    before = given.copy()
    released = trial.method.protect(given, seed=SEED).frame
    expect(given.equals(before), "The frame that was passed has changed.")
    for name in trial.uses().changed:
        if name in trial.uses().numbers:
            filled = given[name].isna() & released[name].notna()
            expect(not filled.any(), f"Missing values of {name!r} became numbers.")
    changed = [name for name in trial.uses().changed if not released[name].equals(given[name])]
    expect(changed, "Nothing changed in records with missing values.")


def hard_files_are_protected_or_refused_in_words(trial: MethodTrial) -> None:
    """No record is refused; one record and constant columns are protected, or refused in words."""
    given = trial.given()
    try:
        trial.method.protect(given.iloc[:0], seed=SEED)
    except TablecloakError as error:
        expect("no records" in str(error), f"Without a record the error is: {error}")
    else:
        raise AssertionError("Without a record there was no error.")
    constant = given.copy()
    for name in trial.uses().changed:
        constant[name] = given[name].iloc[0]
    for hard in (given.iloc[:1], given.iloc[:2], constant):
        try:
            released = trial.method.protect(hard, seed=SEED).frame
        except TablecloakError:
            continue
        expect(released.index.equals(hard.index), "The index differs.")
        expect(list(released.columns) == list(hard.columns), "The columns differ.")


def other_libraries_get_back_what_they_gave(trial: MethodTrial) -> None:
    """Frames of polars and tables of Arrow get back their own kind, with equal values."""
    import pyarrow as pa

    given = trial.given().reset_index(drop=True)
    expected = trial.method.protect(given, seed=SEED).frame
    table = pa.Table.from_pandas(given, preserve_index=False)
    released = trial.method.protect(table, seed=SEED).frame
    expect(isinstance(released, pa.Table), f"A table of Arrow became {type(released).__name__}.")
    expect(
        _as_text(released.to_pandas()) == _as_text(expected), "Values differ in a table of Arrow."
    )
    try:
        import polars as pl
    except ImportError:
        return
    frame = pl.from_arrow(table)
    released = trial.method.protect(frame, seed=SEED).frame
    expect(
        isinstance(released, pl.DataFrame), f"A frame of polars became {type(released).__name__}."
    )
    again = released.to_arrow().to_pandas()
    expect(_as_text(again) == _as_text(expected), "Values differ in a frame of polars.")


def _as_text(frame: pd.DataFrame) -> dict[str, list[str]]:
    """Return values as text, all missing ones alike."""
    return {
        str(name): ["" if pd.isna(value) else str(value) for value in frame[name].tolist()]
        for name in frame.columns
    }


METHOD: tuple[Callable[[MethodTrial], None], ...] = (
    it_says_what_it_is,
    it_reads_and_changes_columns_that_are_there,
    records_stay_in_their_rows,
    only_named_columns_change,
    the_original_is_left_alone,
    a_seed_repeats_and_no_other_randomness_is_used,
    a_summary_is_one_line,
    missing_columns_are_named,
    parameters_make_an_equal_method,
    labels_types_and_categories_stay,
    missing_values_are_no_obstacle,
    hard_files_are_protected_or_refused_in_words,
    other_libraries_get_back_what_they_gave,
)
"""Facts that every method for records must satisfy, each a function of a `MethodTrial`."""


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
    trial = MethodTrial(method, frame)
    check_facts(trial, f"The method {getattr(method, 'name', '?')!r}", METHOD)

"""From microdata to a table: a few questions to an engine, then a roll-up of what comes back.

The records are read and aggregated by Ibis (DuckDB by default, or any backend that the caller's
Ibis table lives on), or by pandas where no engine is installed. What comes back are cells, not
records. Leaves, the combinations of the most detailed codes, are rolled up here where they are few.
Contributors that occur in more than one leaf count once in every margin, with all that they
contribute there: where they are few they are carried one by one, and else the engine groups by
contributor once more for each margin.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tablecloak.errors import InputError, TablecloakWarning, require_known
from tablecloak.tables.table import Table
from tablecloak.tables.tabulation.frames import aggregated_frame, frame_records
from tablecloak.tables.tabulation.queries import aggregated
from tablecloak.tables.tabulation.records import (
    ColumnRoles,
    Overview,
    checked_records,
    labelled_dimensions,
)
from tablecloak.tables.tabulation.roll_up import rolled_up

MOST_LARGEST = 1000
"""Contributors that are kept for each cell at most."""

MOST_DECIMALS = 15
"""Digits after the decimal point that a floating-point number holds."""


def tabulate(
    data: Any,
    dimensions: Mapping[str, Any] | Sequence[str],
    value: str | None = None,
    *,
    contributor: str | None = None,
    holding: str | None = None,
    weight: str | None = None,
    shadow: str | None = None,
    request: str | None = None,
    waiver: str | None = None,
    waiver_p: str | None = None,
    tables: Sequence[Sequence[str]] | None = None,
    n_largest: int = 3,
    decimals: int | None = None,
    unit: str = "",
    empty_cells: bool = False,
    engine: str = "duckdb",
) -> Table:
    """Aggregate microdata to a table with all its margins.

    Parameters
    ----------
    data : str, Path, DataFile, pandas or polars frame, pyarrow.Table or ibis.Table
        A file (CSV, also compressed, Parquet, a workbook, Stata, SAS), a frame, or an Ibis table on
        any backend. A `DataFile` says how a file is read: decimal commas, a sheet.
    dimensions : mapping of str to specification, or sequence of str
        The dimensions. For each name: None (codes from the data, below "Total"), a
        `Hierarchy`, the path of an ``.hrc`` file, nested dictionaries, a list of columns with
        one level each, coarsest first, or a `Dimension`.
    value : str, optional
        Column to sum up. Without it the table counts records.
    contributor : str, optional
        Column that identifies the contributor. Without it each record is one contributor.
    holding : str, optional
        Column that identifies the holding to which a contributor belongs. Rules then look at
        holdings, each as one respondent, unless they say ``level="contributor"``. Where it is
        empty, a contributor is a holding of its own.
    weight : str, optional
        Column with sampling weights, greater than 0; values are multiplied by them.
    shadow : str, optional
        Column by which contributors are ranked in the rules; by default `value`.
    request : str, optional
        Column with request codes 0, 1 or 2 of respondents that asked for protection.
    waiver : str, optional
        Column that says who gave a full waiver: yes or no, true or false, 1 or 0; empty means no.
        Such a contributor needs no protection but goes on to attack others. A contributor or a
        holding waives in a cell if all its records there do; see `Waivers`.
    waiver_p : str, optional
        Column with the margin of a partial waiver, in per cent from 0 to 100, that takes the place
        of the p of the p% and prior-posterior rules; 0 is a full waiver, empty none. Where both
        columns are given, the margin holds.
    tables : sequence of sequence of str, optional
        Linked tables, each given by the names of its dimensions. By default one table over
        all dimensions.
    n_largest : int, default=3
        How many largest contributors to keep for each cell.
    decimals : int, optional
        Digits after the decimal point that will be published. The most detailed cells are
        rounded to them before margins are formed, so that the table adds up exactly; with 0
        it is a table of whole numbers. By default nothing is rounded.
    unit : str, default=""
        Unit of the values, for people.
    empty_cells : bool, default=False
        Whether cells into which no record falls are listed with the value 0, one for each further
        combination of codes. Where zeros may be suppressed, this is needed; see `protect`.
    engine : str, default="duckdb"
        What reads a file: "duckdb", "spark", a cluster such as "spark://host:7077", or "pandas",
        which holds all records in memory and is taken where DuckDB is not installed. The table is
        the same. An Ibis table is aggregated where it lies.

    Returns
    -------
    Table
        Unless `empty_cells` are asked for, non-empty cells only: an empty cell is 0 and everybody
        knows it.

    Raises
    ------
    InputError
        For a missing column, missing or infinite values, weights of 0 or less, or a code
        that is not a leaf of its hierarchy; the message names row, column and code.

    Warns
    -----
    TablecloakWarning
        If contributions are negative.

    Notes
    -----
    Time is one aggregation of the records by contributor, one more for each margin if many
    contributors stand in several cells, and work that grows with the number of non-empty cells
    times `n_largest`. DuckDB puts what does not fit into its memory on disk; here the cells have to
    fit, at about 500 bytes each.

    Sums are exact: numbers of up to 6 decimals are added up as whole numbers in the last one, so
    that 0.1 + 0.2 is 0.3, and others as two or three whole numbers each; see `ExactSum`. The
    same records give the same table in any order and through any engine.

    Examples
    --------
    >>> import pandas as pd
    >>> firms = pd.DataFrame({"region": ["N", "N", "S"], "turnover": [5, 7, 11]})
    >>> tabulate(firms, ["region"], "turnover").to_frame()
      region  turnover
    0  Total      23.0
    1      N      12.0
    2      S      11.0
    """
    _check_options(n_largest, decimals)
    chosen = _checked_tables(tables, dimensions)
    roles = ColumnRoles(
        value,
        contributor,
        holding,
        weight,
        shadow or value,
        request,
        waiver=waiver,
        waiver_p=waiver_p,
    )
    parsed = labelled_dimensions(dimensions, data)
    if (frame := frame_records(data, parsed, roles, engine)) is not None:
        leaves = aggregated_frame(frame, roles, n_largest, chosen)
    else:
        with checked_records(data, parsed, roles, engine) as records:
            leaves = aggregated(records, roles, n_largest, chosen)
    _warn_negative(leaves.overview)
    return rolled_up(leaves, chosen, roles, unit, decimals, empty_cells)


def _check_options(n_largest: int, decimals: int | None) -> None:
    if not 1 <= n_largest <= MOST_LARGEST:
        raise InputError(
            f"`n_largest` must lie between 1 and {MOST_LARGEST}. Got {n_largest}; rules look at as "
            f"many contributors as their coalition has, and one more."
        )
    if decimals is not None and not 0 <= decimals <= MOST_DECIMALS:
        raise InputError(f"`decimals` must lie between 0 and {MOST_DECIMALS}. Got {decimals}.")


def _checked_tables(
    tables: Sequence[Sequence[str]] | None, dimensions: Iterable[str]
) -> list[list[str]]:
    """Return the dimensions of each table; of one over all of them if none is given.

    Raises
    ------
    InputError
        If a table has no dimension, or one twice, or an unknown one.
    """
    listed = list(dimensions)
    chosen = [list(names) for names in tables] if tables else [listed]
    for names in chosen:
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"`tables` has an entry with the dimensions {names}. Each needs one or more, and "
                f"none of them twice."
            )
        for name in names:
            require_known(name, listed, f"`tables` names the dimension {name!r}.")
    return chosen


def _warn_negative(overview: Overview) -> None:
    if overview.negative:
        warnings.warn(
            "Some contributions are negative. Contributors are ranked by absolute value against "
            "the signed total, as is usual; where contributions cancel, a cell's total says little "
            "about its largest contributor, and the dominance and p% rules can miss or overstate "
            "a risk. Consider a `shadow` variable without negative values.",
            TablecloakWarning,
            stacklevel=3,
        )

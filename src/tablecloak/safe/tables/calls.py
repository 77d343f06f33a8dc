"""`crosstab` and `pivot_table` of a project, with pandas' arguments.

The call of a researcher is noted as it stands in the program.
"""

from __future__ import annotations

import inspect
import linecache
import sys
from collections.abc import Hashable, Sequence
from typing import Any, Literal

import numpy as np
import pandas as pd

from tablecloak.arrays import Floats
from tablecloak.errors import InputError, suggestion
from tablecloak.safe.bundle import ACRO_METHODS
from tablecloak.safe.ledger import Ledger
from tablecloak.safe.tables.publishing import SafeFrame, publish
from tablecloak.safe.tables.request import Protect, TableRequest, named, statistic_of

WEIGHTED = ("count", "size", "sum", "mean")


def callers_text(default: str) -> str:
    """Return the source of the call that led here from outside the safe room.

    Parameters
    ----------
    default : str
        What is returned if the source is not known, as in an interactive session.
    """
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__", "")).startswith("tablecloak.safe"):
        frame = frame.f_back
    where = inspect.getframeinfo(frame, context=1)
    positions = where.positions
    first = (positions.lineno if positions else None) or where.lineno
    last = (positions.end_lineno if positions else None) or first
    lines = [linecache.getline(where.filename, at).strip() for at in range(first, last + 1)]
    return " ".join(line for line in lines if line) or default


class TableOutputs(Ledger):
    """Tables of a project, as pandas makes them; `Project` has these calls."""

    def crosstab(
        self,
        index: Any,
        columns: Any,
        values: Any = None,
        rownames: Any = None,
        colnames: Any = None,
        aggfunc: Any = None,
        margins: bool = False,
        margins_name: str = "All",
        dropna: bool = True,
        normalize: Any = False,
        *,
        weights: Any = None,
        protect: Protect | Literal["project"] = "project",
        **of_acro: Any,
    ) -> SafeFrame:
        """Count records, or add up values, by keys; as `pandas.crosstab`.

        Parameters
        ----------
        index, columns, values, aggfunc, margins, dropna, normalize
            As in pandas. Records are known by the index of the Series.
        weights : Series of float, optional
            Weight of each record: counts add up weights, sums weighted values. Rules count
            contributors without weights.
        protect : {"suppression", "rounding", "project"} or None, default="project"
            Hide cells until the table is safe; round counts; or leave it as it is, so that it fails
            if a cell is unsafe. The project hides unless `disable_suppression` was called.
        **of_acro
            Arguments of ACRO: `mitigation` ("suppress", "round" or "none") is its name for
            `protect`, and `show_suppressed` makes no difference, since margins are the true ones.

        Returns
        -------
        SafeFrame
            pandas' table; hidden cells are missing values. Margins are the true ones.

        Raises
        ------
        InputError
            If a statistic is not offered, or records cannot be told apart.
        """
        protect = self._chosen(protect, of_acro)
        if (values is None) != (aggfunc is None):
            raise InputError(
                "`aggfunc` and `values` go together: give both, or neither to count records"
            )
        statistic, several = _statistics(aggfunc, values is None)
        if values is None and normalize is not False and weights is not None:
            raise InputError("weighted shares are not offered: ask for the weighted counts")
        if normalize is not False and values is not None:
            raise InputError("shares are offered of counts: leave out `values` or `normalize`")
        call: dict[str, Any] = {
            "rownames": rownames, "colnames": colnames, "margins": margins,
            "margins_name": margins_name, "dropna": dropna, "normalize": normalize,
        }  # fmt: skip
        if values is not None:
            call |= {"values": values, "aggfunc": named(aggfunc)}
        keys = [_parts(index), _parts(columns)]
        if any(isinstance(key, str) for part in keys for key in part):
            raise InputError(
                "crosstab takes columns of a frame, as data['region'], not their names"
            )
        if any(each is None for part in keys for each in part):
            raise InputError("crosstab needs columns of a frame as `index` and as `columns`")
        series = [each for part in keys for each in part if isinstance(each, pd.Series)]
        _require_keys(series)
        for each in series:
            if not each.index.is_unique:
                self.positions(each.index)  # says which label occurs twice
        if margins and len(keys[1]) > 1:
            columns = [keys[1][0], *map(_beside_totals, keys[1][1:])]
        frame = pd.crosstab(index, columns, **call)
        records, names = _records(keys, series, values, weights)
        variable = str(getattr(values, "name", None) or "values")
        if values is not None and variable not in records:
            records = records.rename(columns={"__values": variable})
            column = variable
        else:
            column = "__values"

        def piece(prefix: tuple[Any, ...]) -> tuple[str, Hashable]:
            name = statistic_of(prefix[0]) if several else statistic[0]
            return name, None if values is None else variable

        request = TableRequest(
            "crosstab", frame, records, names[0], names[1],
            {} if values is None else {variable: column}, piece,
            margins_name if margins else None, dropna, _shares(normalize),
            _weights(records, statistic, weights),
        )  # fmt: skip
        return publish(self, request, protect, callers_text("crosstab()"))

    def pivot_table(
        self,
        data: pd.DataFrame,
        values: Any = None,
        index: Any = None,
        columns: Any = None,
        aggfunc: Any = "mean",
        fill_value: Any = None,
        margins: bool = False,
        dropna: bool = True,
        margins_name: str = "All",
        observed: bool = True,
        sort: bool = True,
        *,
        weights: Any = None,
        protect: Protect | Literal["project"] = "project",
        **of_acro: Any,
    ) -> SafeFrame:
        """Summarise values by keys, as `pandas.pivot_table`; see `crosstab`.

        Parameters
        ----------
        data, values, index, columns, aggfunc, fill_value, margins, dropna
            As in pandas, like all other arguments of its own; keys are names of columns.
        weights : str or Series of float, optional
            Weight of each record, or the column that holds it.
        protect : {"suppression", "rounding", "project"} or None, default="project"
        **of_acro
        """
        protect = self._chosen(protect, of_acro)
        if not isinstance(data, pd.DataFrame):
            raise InputError(f"pivot_table takes a frame; got {type(data).__name__}")
        rows, across = _names(data, index, "index"), _names(data, columns, "columns")
        if not rows:
            raise InputError("give the rows as `index`: the name of a column, or several")
        _require_keys([data[name] for name in (*rows, *across)])
        if isinstance(aggfunc, dict):
            if margins and any(isinstance(some, list | tuple) for some in aggfunc.values()):
                raise InputError(
                    "pandas has no margins of several statistics of one column beside others: give "
                    "one statistic a column, or ask for each column in a table of its own"
                )
            chosen = list(aggfunc)
            statistic = [
                statistic_of(each)
                for some in aggfunc.values()
                for each in (some if isinstance(some, list) else [some])
            ]
        else:
            statistic, _ = _statistics(aggfunc, False)
            chosen = _names(data, values, "values")
            if not chosen:
                numbers = data.select_dtypes(["number", "bool"]).columns
                needs = set(statistic) - {"count", "size"}
                all_columns = [name for name in data.columns if name not in (*rows, *across)]
                chosen = [name for name in all_columns if name in numbers] if needs else all_columns
        _require_no_size(statistic)
        if fill_value is not None and fill_value != 0 and not pd.isna(fill_value):
            raise InputError(f"fill_value is {fill_value!r}; gaps are filled with 0 or not at all")
        taken = data
        if margins and len(across) > 1:
            taken = data.copy(deep=False)
            for name in across[1:]:
                taken[name] = _beside_totals(data[name])
        frame = pd.pivot_table(
            taken, values=values if isinstance(aggfunc, dict) or values is not None else chosen,
            index=index, columns=columns, aggfunc=named(aggfunc), fill_value=fill_value,
            margins=margins, dropna=dropna, margins_name=margins_name, observed=observed, sort=sort,
        )  # fmt: skip
        wanted = list(dict.fromkeys([*rows, *across, *chosen]))
        records = data[wanted]
        if weights is not None:
            column = data[weights] if isinstance(weights, str) else weights
            records = records.assign(__weights=column)

        def piece(prefix: tuple[Any, ...]) -> tuple[str, Hashable]:
            left = list(prefix)
            if isinstance(aggfunc, dict):
                variable = left.pop(0) if left else chosen[0]
                given = aggfunc[variable]
                return statistic_of(left[0] if isinstance(given, list) else given), variable
            name = statistic_of(left.pop(0)) if isinstance(aggfunc, list) else statistic[0]
            return name, left[0] if left else chosen[0]

        request = TableRequest(
            "pivot_table", frame, records, rows, across, {name: name for name in chosen}, piece,
            margins_name if margins else None, dropna, "", _weights(records, statistic, weights),
            data,
        )  # fmt: skip
        return publish(self, request, protect, callers_text("pivot_table()"))

    def enable_suppression(self) -> None:
        """Hide unsafe cells of the tables that follow, unless a call says otherwise."""
        self.hides = True

    def disable_suppression(self) -> None:
        """Hide nothing in the tables that follow, which fail if a cell is unsafe."""
        self.hides = False

    def _chosen(self, protect: Protect | Literal["project"], of_acro: dict[str, Any]) -> Protect:
        """Return how a table is protected; arguments of ACRO are taken out of `of_acro`."""
        for name in of_acro.keys() - {"mitigation", "show_suppressed"}:
            near = suggestion(name, ("mitigation", "show_suppressed", "protect", "weights"))
            raise InputError(f"tables have no argument {name!r}.{near}")
        if "mitigation" in of_acro:
            ways = [way for way, name in ACRO_METHODS.items() if name == of_acro["mitigation"]]
            if not ways:
                raise InputError(
                    f"mitigation is {of_acro['mitigation']!r}; give 'suppress', 'round' or 'none'"
                )
            protect = ways[0]
        if protect != "project":
            return protect
        return "suppression" if self.hides else None


def _require_keys(keys: Sequence[pd.Series[Any]]) -> None:
    """Refuse keys that pandas makes no table of.

    Raises
    ------
    InputError
        Says which, and what to do.
    """
    for key in keys:
        if key.dtype == np.float16:
            raise InputError(f"{key.name}: half precision is taken for no key: use astype('float')")
        if key.dtype == object and any(map(pd.api.types.is_list_like, key)):
            raise InputError(
                f"{key.name} has tuples or lists: give each part as a key of its own, or texts"
            )


def _beside_totals(key: Any) -> Any:
    """Return a key as pandas takes it beside totals: among dates their empty label is no date."""
    kinds = ("datetime64", "datetime", "date", "timedelta64", "timedelta", "period")
    is_date = pd.api.types.infer_dtype(key, skipna=True) in kinds
    if not is_date:
        return key
    return key.astype("category") if isinstance(key, pd.Series) else pd.Categorical(key)


def _records(
    keys: Sequence[Sequence[Any]], series: Sequence[pd.Series[Any]], values: Any, weights: Any
) -> tuple[pd.DataFrame, list[list[str]]]:
    """Return all records with keys, values and weights, and the names of both sides' keys."""
    common: Any = None
    for each in series:
        if common is None:
            common = each.index
        elif not common.is_(each.index):
            common = common[common.isin(each.index)]
    names: list[list[str]] = [[], []]
    data: dict[str, Any] = {}
    for side, part in enumerate(keys):
        for number, each in enumerate(part):
            given = getattr(each, "name", None)
            name = f"__{side}.{number}" if given is None or str(given) in data else str(given)
            names[side].append(name)
            data[name] = each
    if values is not None:
        data["__values"] = values
    if weights is not None:
        data["__weights"] = weights
    return pd.DataFrame(data, index=common), names


def _shares(normalize: Any) -> str:
    """Return of what shares are taken: "all", "index" or "columns"; "" for none."""
    if isinstance(normalize, bool):
        return "all" if normalize else ""
    if normalize in (0, 1):
        return "columns" if normalize else "index"
    return str(normalize)


def _statistics(aggfunc: Any, counts: bool) -> tuple[list[str], bool]:
    if counts:
        return ["size"], False
    several = isinstance(aggfunc, list | tuple)
    found = [statistic_of(each) for each in (aggfunc if several else [aggfunc])]
    _require_no_size(found)
    return found, several


def _require_no_size(statistic: Sequence[str]) -> None:
    if "size" in statistic:
        raise InputError("size counts records with missing values as well: ask for 'count'")


def _parts(given: Any) -> list[Any]:
    """Return keys as pandas takes them: one array, or a list of arrays."""
    is_nested = isinstance(given, list | tuple) and all(
        pd.api.types.is_list_like(each) for each in given
    )
    return list(given) if is_nested else [given]


def _names(data: pd.DataFrame, given: Any, argument: str) -> list[Any]:
    if given is None:
        return []
    names: Sequence[Any] = given if isinstance(given, list) else [given]
    for name in names:
        if not pd.api.types.is_hashable(name) or name not in data.columns:
            raise InputError(
                f"{argument} has {name!r}, which is no column of the data; give names of columns"
            )
    return list(names)


def _weights(records: pd.DataFrame, statistic: Sequence[str], given: Any) -> Floats | None:
    if given is None:
        return None
    odd = [name for name in statistic if name not in WEIGHTED]
    if odd:
        raise InputError(f"{odd[0]!r} is not offered with weights: {', '.join(WEIGHTED)} are")
    weights = records["__weights"].to_numpy(np.float64)
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise InputError("weights must be numbers of 0 or more, one for each record")
    return weights

"""What leaves the office of a release, whoever made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from math import prod

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags
from tablecloak.tables.hierarchy import Hierarchy
from tablecloak.tables.keys import are_figures
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.published import published_decimals, released_rows

NOT_LISTED = "Cells that are not listed (empty squares on pages) are"
"""How it begins what readers are told of cells without a row."""

UNLISTED = "empty (nobody contributes) or not part of the table"
"""What readers are told of combinations of codes without a cell."""


@dataclass(frozen=True, eq=False)
class Leaving:
    """What leaves the office, and what its files are searched for.

    Parameters
    ----------
    released : pandas.DataFrame
        Codes, the value in the column `measure`, and for suppression the column ``status``.
    hierarchies : mapping of str to Hierarchy
    measure, unit : str
    decimals : int or None
        Digits behind the decimal point; None if no value is shown that has any.
    method : mapping of str to object
        Name of the method, and how readers must understand the release.
    hidden : iterable of float
        Values that must not stand in any file.
    unlisted : str, default=UNLISTED
        What readers are told of cells that the release does not list.
    columns : tuple of str, default=()
        Columns of values, if they are others than `measure`: both ends of intervals.
    figures : pandas.DataFrame, optional
        Derived figures beside the table; see `tablecloak.released_figures`.
    variables : mapping of str to str
        Unit of each variable, if there are several.
    """

    released: pd.DataFrame
    hierarchies: Mapping[str, Hierarchy]
    measure: str
    unit: str
    decimals: int | None
    method: Mapping[str, object]
    hidden: Iterable[float]
    unlisted: str = UNLISTED
    columns: tuple[str, ...] = ()
    figures: pd.DataFrame | None = None
    variables: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_table(
        cls,
        released: pd.DataFrame,
        problem: ProtectionProblem,
        hidden: Flags,
        method: Mapping[str, object],
        columns: tuple[str, ...] = (),
    ) -> Leaving:
        """Return what leaves of a table of which some true values are kept back."""
        table = problem.table
        shown = released[list(columns or (table.name,))]
        values = shown.to_numpy(dtype=np.float64, na_value=np.nan).reshape(-1)
        values = values[np.isfinite(values)]
        codes = released.drop(columns=[*shown.columns, "status"], errors="ignore")
        if len(released) < prod(codes.nunique()):
            reading = f"{method['reading']} {NOT_LISTED} {UNLISTED}."
            method = {**method, "reading": reading}
        return cls(
            released=released,
            hierarchies=table.hierarchies,
            measure=table.name,
            unit=table.unit,
            decimals=published_decimals(values, table.decimals) if len(values) else None,
            method=method,
            hidden=table.values[hidden & ~are_figures(table.keys)].tolist(),
            columns=columns,
            variables={} if table.variables is None else table.variables.units,
        )

    @classmethod
    def of_pattern(cls, problem: ProtectionProblem, suppressed: Flags) -> Leaving:
        """Return what leaves of a table if some of its cells are suppressed."""
        method = {
            "method": "cell suppression",
            "suppressed cells": int((suppressed & ~problem.table.rests).sum()),
            "reading": "Cells that are listed without a value are confidential, or protect others.",
        }
        return cls.of_table(released_rows(problem.table, suppressed), problem, suppressed, method)

    @property
    def value_columns(self) -> tuple[str, ...]:
        """Columns of values."""
        return self.columns or (self.measure,)

    @property
    def dimensions(self) -> list[str]:
        """Columns of codes."""
        others = (*self.value_columns, "status")
        return [name for name in self.released.columns if name not in others]

    @property
    def labels(self) -> dict[str, dict[str, str]]:
        """Labels of the released codes, of dimensions that have some."""
        labels = {}
        for name in self.dimensions:
            texts = self.hierarchies[name].labels if name in self.hierarchies else {}
            if shown := {
                code: texts[code] for code in self.released[name].unique() if texts.get(code)
            }:
                labels[name] = shown
        return labels

    def about(self, title: str) -> dict[str, object]:
        """Return what is told of a release beside its values."""
        return {
            "title": title,
            "measure": self.measure,
            "unit": self.unit,
            **self.method,
            "cells": len(self.released),
            "software": f"tablecloak {version('tablecloak')}",
        } | ({} if self.decimals is None else {"decimals": self.decimals})

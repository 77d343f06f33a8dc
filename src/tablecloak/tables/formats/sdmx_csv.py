"""SDMX-CSV: one row for each cell, with OBS_STATUS and CONF_STATUS.

References
----------
.. [1] SDMX-CSV field guide, version 1.0; code lists CL_OBS_STATUS and CL_CONF_STATUS.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import pandas as pd

from tablecloak.storage import replacing
from tablecloak.tables.formats.csv_file import CSV
from tablecloak.tables.formats.files import read_frame
from tablecloak.tables.formats.format import FORMATS, ReleaseFormat
from tablecloak.tables.formats.layouts import hidden_cells
from tablecloak.tables.formats.spreadsheet_text import harmless

NORMAL, ESTIMATED, SUPPRESSED = "A", "E", "Q"
"""CL_OBS_STATUS: normal, estimated, missing because it is suppressed."""

FREE, CONFIDENTIAL = "F", "C"
"""CL_CONF_STATUS, as it is written."""

ALL_CONFIDENTIAL = ("C", "D", "N", "S")
"""CL_CONF_STATUS, as others write it: confidential, secondary, not for publication, and so on."""


@FORMATS.register
class SDMXCSV(ReleaseFormat):
    """For exchange between agencies: CSV with the names and flags of SDMX."""

    name = "sdmx-csv"
    suffixes = (".sdmx.csv",)

    def write_release(
        self, released: pd.DataFrame, about: Mapping[str, object], path: Path
    ) -> None:
        """Write a release; of `about`, ``measure`` is used."""
        measure, hidden = str(about["measure"]), hidden_cells(released)
        dimensions = [name for name in released.columns if name not in (measure, "status")]
        status = NORMAL if "status" in released else ESTIMATED
        frame = released[dimensions].rename(columns=sdmx_names(dimensions))
        frame.insert(0, "DATAFLOW", f"TABLECLOAK:{measure}(1.0)")
        frame = frame.assign(
            OBS_VALUE=released[measure],
            OBS_STATUS=hidden.map({True: SUPPRESSED, False: status}),
            CONF_STATUS=hidden.map({True: CONFIDENTIAL, False: FREE}),
        )
        with replacing(path) as temporary:
            harmless(frame).to_csv(temporary, index=False, lineterminator="\n")

    def in_our_words(
        self, frame: pd.DataFrame, dimensions: list[str], path: Path
    ) -> pd.DataFrame | None:
        """Translate names and flags; the frame is read again, since codes are text."""
        if "OBS_VALUE" not in frame.columns:
            return None
        names = sdmx_names(dimensions)
        frame = read_frame(path, tuple(names.values()))
        back = {name: dimension for dimension, name in names.items()}
        frame = frame.rename(columns=back | {"OBS_VALUE": "value"})
        if "CONF_STATUS" in frame.columns:
            hidden = frame["CONF_STATUS"].isin(ALL_CONFIDENTIAL)
            if hidden.any():
                words = hidden.map({True: "suppressed", False: "published"})
                frame = frame.assign(status=words)
        return frame

    def fields(self, text: str) -> Iterable[str]:
        """Return all fields, as of any CSV."""
        return CSV().fields(text)


def sdmx_names(dimensions: Sequence[str]) -> dict[str, str]:
    """Column of each dimension in SDMX-CSV: in capitals, unless two would be the same."""
    names: dict[str, str] = {}
    taken = {"DATAFLOW", "OBS_VALUE", "OBS_STATUS", "CONF_STATUS"}
    for dimension in map(str, dimensions):
        name, number = dimension.upper(), 2
        while name in taken:
            name, number = f"{dimension.upper()}_{number}", number + 1
        names[dimension] = name
        taken.add(name)
    return names

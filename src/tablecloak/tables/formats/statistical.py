"""Files of SAS and Stata: codes as they are stored, without their labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.formats.frame_format import RecordFormat


@FORMATS.register
class SAS(RecordFormat):
    """Data sets of SAS and its transport files: codes as they are stored, without their labels."""

    name = "sas"
    holds = "records (read)"
    suffixes = (".sas7bdat", ".xpt")

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; its types are its own."""
        del text_columns
        frame: pd.DataFrame = pd.read_sas(path, encoding=self.how.encoding)
        return frame


@FORMATS.register
class Stata(RecordFormat):
    """Data sets of Stata: codes as they are stored, without their labels."""

    name = "stata"
    holds = "records (read)"
    suffixes = (".dta",)

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; its types are its own."""
        del text_columns
        return pd.read_stata(path, convert_categoricals=False)

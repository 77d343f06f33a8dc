"""Files of SAS and Stata: codes as they are stored; the labels of Stata beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from tablecloak.errors import InputError
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.formats.frame_format import RecordFormat
from tablecloak.tables.number_codes import are_whole, as_codes

LARGEST_WHOLE = 2.0**53
"""Whole numbers below it are exact in the doubles of SAS and Stata."""


def _with_whole_numbers(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Return a frame whose whole numbers have no decimal point, as SAS has none without one.

    The named columns become text.
    """
    whole = {name: frame[name] for name in frame.columns if are_whole(frame[name])}
    small = {name: of for name, of in whole.items() if of.abs().max() < LARGEST_WHOLE}
    numbers = {name: of.astype("Int64" if of.hasnans else "int64") for name, of in small.items()}
    codes = {name: as_codes(whole[name], quietly=True) for name in columns if name in whole}
    return frame.assign(**numbers | codes)


@FORMATS.register
class SAS(RecordFormat):
    """Data sets of SAS and its transport files: codes as they are stored, without their labels."""

    name = "sas"
    holds = "records (read)"
    suffixes = (".sas7bdat", ".xpt")

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; its types are its own, and a data set says its encoding.

        Raises
        ------
        InputError
            If it is a transport file of another version than 5.
        """
        is_data_set = ".sas7bdat" in map(str.lower, Path(path).suffixes)
        is_told = is_data_set and "encoding" not in self.how.signs
        encoding = "infer" if is_told else self.how.encoding
        try:
            frame: pd.DataFrame = pd.read_sas(
                path, format="sas7bdat" if is_data_set else "xport", encoding=encoding
            )
        except ValueError as error:
            if "XPORT" not in str(error):
                raise
            raise InputError(
                f"{path}: is no transport file of version 5. In SAS write it by libname NAME xport "
                f"and proc copy, not by %loc2xpt; or give the .sas7bdat, or .csv."
            ) from None
        return _with_whole_numbers(frame, text_columns)


@FORMATS.register
class Stata(RecordFormat):
    """Data sets of Stata: codes as they are stored, with their labels beside them."""

    name = "stata"
    holds = "records (read)"
    suffixes = (".dta",)

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        """Read a whole file; its types are its own."""
        return _with_whole_numbers(pd.read_stata(path, convert_categoricals=False), text_columns)

    def code_labels(self, path: Path, columns: Sequence[str]) -> dict[str, dict[str, str]]:
        """Return the labels of values; none where two codes of a column have one label."""
        wanted = [name for name in columns if name in self.column_names(path)]
        codes = self.read(path, wanted)[wanted]
        labels: dict[str, dict[str, str]] = {}
        for name in wanted:
            try:
                texts = pd.read_stata(path, columns=[name])[name]
            except ValueError:
                continue
            if isinstance(texts.dtype, pd.CategoricalDtype):
                pairs = pd.DataFrame({"code": codes[name].astype(str), "text": texts.astype(str)})
                pairs = pairs[codes[name].notna()].drop_duplicates()
                labels[name] = dict(zip(pairs["code"], pairs["text"], strict=True))
        return labels

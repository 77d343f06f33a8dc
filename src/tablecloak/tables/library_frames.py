"""Frames of other libraries than pandas: those of polars, tables of Arrow, and others like them."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tablecloak.extras import required


def as_arrow(data: Any) -> Any:
    """Return a frame of polars, or whatever speaks the protocol of Arrow, as a table of Arrow.

    Returns
    -------
    pyarrow.Table or None
        None for frames of pandas, tables of ibis, and what is no frame.
    """
    if isinstance(data, pd.DataFrame):
        return None
    if hasattr(data, "collect_schema") and not hasattr(data, "to_arrow"):
        data = data.collect()  # a query of polars that has not run yet
    if hasattr(data, "to_arrow") and not hasattr(data, "__arrow_c_stream__"):
        data = data.to_arrow()  # frames of polars before release 1.3
    if hasattr(data, "columns") and hasattr(data, "__arrow_c_stream__"):
        is_query = hasattr(data, "execute")
        return None if is_query else required("pyarrow", "Frames of other libraries").table(data)
    return None


def as_pandas(data: Any) -> Any:
    """Return a frame of another library as one of pandas, and anything else as it is."""
    table = as_arrow(data)
    return data if table is None else table.to_pandas()

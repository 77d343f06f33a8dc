"""Types of arrays, each named once."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.str_]

Signs: TypeAlias = npt.NDArray[np.int8]
"""1, -1, or 0 for neither."""

AnyIntegers: TypeAlias = npt.NDArray[np.integer[Any]]
"""Whole numbers of any size, as indices of sparse matrices are."""

LongFloats: TypeAlias = npt.NDArray[np.longdouble]
"""Numbers with the longest mantissa that the machine computes with."""

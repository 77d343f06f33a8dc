"""Tables and results in types of JSON. The OpenAPI description is made of these types.

A table is one list of values for each column.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import pandas as pd
from pydantic import Field
from typing_extensions import TypedDict

from tablecloak.errors import InputError
from tablecloak.protection import Product, way_of
from tablecloak.tables.problem import ProtectionProblem

Value = str | int | float | bool | None

Columns = Annotated[
    dict[str, list[Value] | Value],
    Field(
        description="A table: for each column the list of its values, all of one length; a single "
        "value stands for a list of one."
    ),
]


def frame_of(columns: dict[str, Any], place: str) -> pd.DataFrame:
    """Return the table that columns describe, with each value in the type that was sent.

    Codes such as "01" stay text, and whole numbers stay whole beside missing ones.

    Parameters
    ----------
    columns : dict of str to list
    place : str
        Where they stand in the request, for messages.

    Raises
    ------
    InputError
        If the columns differ in length, or there is none.
    """
    lists = {name: each if isinstance(each, list) else [each] for name, each in columns.items()}
    lengths = {name: len(each) for name, each in lists.items()}
    if not lengths:
        raise InputError(f"{place}: the table has no columns. Send a list of values for each.")
    if len(set(lengths.values())) > 1:
        told = ", ".join(f"{name!r} {length}" for name, length in list(lengths.items())[:5])
        raise InputError(
            f"{place}: all columns must have one length. Found {told}. Send a value, or null, for "
            f"each row."
        )
    return pd.DataFrame({name: pd.Series(each, dtype=object) for name, each in lists.items()})


def columns_of(frame: pd.DataFrame) -> dict[str, list[Any]]:
    """Return the columns of a table as lists that JSON can hold; missing values are None."""
    return {str(name): _values(frame[name]) for name in frame.columns}


def _values(column: pd.Series) -> list[Any]:
    known = column.notna().to_numpy()
    plain: list[Any] = column.tolist()
    return [finite(value) if there else None for value, there in zip(plain, known, strict=True)]


def finite(value: Any) -> Any:
    """Return a value in a type of JSON; None for a number that is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


# TypedDict of the standard library tells pydantic too little before Python 3.12.


Table = dict[str, list[Any]]

IsSafe = Annotated[bool, Field(description="Whether every release passed its audit.")]
Promise = Annotated[
    str,
    Field(description="What is proved of a release that passed its audit; empty where nothing is."),
]
Release = Annotated[
    Table, Field(description="May be published: codes and values, null where suppressed.")
]


class Measured(TypedDict):
    """Figures that all results share. Secret: losses are sums of hidden values."""

    summary: str
    loss: float | None
    bound: Annotated[float | None, Field(description="Proved lower bound on any loss.")]
    gap: Annotated[float | None, Field(description="(loss - bound) / loss; 0: proved optimal.")]
    is_optimal: bool
    seconds: float | None
    notes: list[str]


class AuditedRelease(Measured):
    """A release with its audit."""

    is_safe: Annotated[
        bool | None,
        Field(
            description="Whether the release passed its audit; null if it did, and that proves "
            "nothing, as for noise."
        ),
    ]
    promise: Promise
    audit: str
    release: Release
    cells: Annotated[Table, Field(description="Every cell with its true value. Secret.")]


class Rounded(Measured):
    """A rounded table."""

    is_safe: IsSafe
    promise: Promise
    audit: str
    sensitive: Annotated[Table, Field(description="Sensitive cells, worst first. Secret.")]
    release: Annotated[Table | None, Field(description="Null if it is not safe.")]


class AuditedReleases(TypedDict, total=False):
    """Results of all methods that were asked for; each is there under its name as well."""

    is_safe: IsSafe
    failures: Annotated[dict[str, str], Field(description="Methods without a release, and why.")]


class AuditVerdict(TypedDict):
    """What an audit says."""

    is_safe: IsSafe
    summary: str
    sensitive: Annotated[Table, Field(description="Sensitive cells, worst first. Secret.")]


def measured(result: Any) -> Measured:
    """Return the figures that all results share."""
    # Noise has no loss that is minimised, and no bound.
    return {
        "summary": result.summary(),
        "loss": finite(getattr(result, "loss", None)),
        "bound": finite(getattr(result, "bound", None)),
        "gap": finite(getattr(result, "gap", None)),
        "is_optimal": bool(getattr(result, "is_optimal", False)),
        "seconds": finite(getattr(result, "seconds", None)),
        "notes": list(getattr(result, "notes", ())),
    }


def audited(found: Any) -> AuditVerdict:
    """Return the verdict of an audit."""
    return {
        "is_safe": bool(found.is_safe),
        "summary": found.summary(),
        "sensitive": columns_of(found.to_frame()),
    }


def of_product(problem: ProtectionProblem, product: Product) -> AuditedRelease:
    """Return a release with its audit.

    Parameters
    ----------
    problem : ProtectionProblem
        As it was asked. That of a pattern may have sums of hidden cells besides.
    product : Product
    """
    release, audit = product.release, product.audit
    is_safe = audit is not None and bool(audit.is_safe)
    return {
        **measured(release),
        "is_safe": None if is_safe and not product.way.is_proved else is_safe,
        "promise": product.way.promise(),
        "audit": "" if audit is None else audit.summary(),
        "release": columns_of(release.release()),
        "cells": columns_of(product.way.answer(product, problem)),
    }


def of_rounding(rounded: Any, found: Any) -> Rounded:
    """Return a rounded table; its release is left out if it is not safe."""
    verdict = audited(found)
    way = way_of(rounded)
    return {
        **measured(rounded),
        "is_safe": verdict["is_safe"],
        "promise": "" if way is None else way.promise(),
        "audit": verdict["summary"],
        "sensitive": verdict["sensitive"],
        "release": columns_of(rounded.release()) if found.is_safe else None,
    }

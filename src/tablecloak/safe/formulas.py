"""Formulas of a researcher, computed for each record from its own columns alone."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial, reduce
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, require_known
from tablecloak.safe.values import YEARS, is_round

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.USub: operator.neg,
    ast.UAdd: operator.pos, ast.Not: np.logical_not, ast.Invert: np.logical_not,
    ast.And: np.logical_and, ast.Or: np.logical_or,
    ast.BitAnd: np.logical_and, ast.BitOr: np.logical_or,
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip

DATE = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)

POWERS = (0, 0.5, 1, 2, 3, 4, 5)
"""Exponents: larger ones carry one record beyond the digits of all others."""

Column = Any
"""A column, or a constant."""


def _dates(values: Column) -> Column:
    if not isinstance(values, str) and pd.api.types.is_numeric_dtype(values):
        raise TypeError("dates are needed, not numbers")
    # Other forms would be guessed from the first record.
    return values if _is_date(values) else pd.to_datetime(values, format="ISO8601")


def _is_date(values: Column) -> bool:
    return isinstance(values, pd.Series) and pd.api.types.is_datetime64_any_dtype(values)


def _part_of_date(part: str, values: Column) -> Column:
    dates = _dates(values)
    return getattr(dates.dt if isinstance(dates, pd.Series) else dates, part)


def _days(later: Column, earlier: Column) -> Column:
    """Return the whole days between two dates."""
    return (_dates(later) - _dates(earlier)) // pd.Timedelta(days=1)


def _years(later: Column, earlier: Column) -> Column:
    """Return the completed years between two dates, as of an age."""
    year, month, day = (
        [_part_of_date(part, date) for date in (later, earlier)]
        for part in ("year", "month", "day")
    )
    is_before = (month[0] < month[1]) | ((month[0] == month[1]) & (day[0] < day[1]))
    return year[0] - year[1] - is_before


FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs), "log": (1, np.log), "log1p": (1, np.log1p), "log10": (1, np.log10),
    "exp": (1, np.exp), "sqrt": (1, np.sqrt), "round": (1, np.round), "floor": (1, np.floor),
    "ceil": (1, np.ceil), "minimum": (2, np.minimum), "maximum": (2, np.maximum),
    "where": (3, np.where), "isna": (1, pd.isna),
    "year": (1, partial(_part_of_date, "year")), "month": (1, partial(_part_of_date, "month")),
    "quarter": (1, partial(_part_of_date, "quarter")),
    "weekday": (1, partial(_part_of_date, "day_of_week")), "days": (2, _days), "years": (2, _years),
}  # fmt: skip
"""Functions of formulas, and how many arguments each takes."""


def computed(formula: str, data: pd.DataFrame) -> pd.Series[Any]:
    """Compute a formula such as ``where(age >= 65, income / persons, 0)`` for each record.

    Names are columns; there are arithmetic, comparisons, `and`, `or`, `not`, `in [...]` with
    constants, letters of texts such as `code[:2]`, and the functions of `FUNCTIONS`. Nothing in it
    looks at another record.

    Parameters
    ----------
    formula : str
    data : DataFrame

    Raises
    ------
    InputError
        If it is no formula, names no column or function of these, or has a number of more than
        three digits, which may be somebody's amount.
    """
    if not isinstance(formula, str):
        raise InputError(f"a formula is a text such as 'income / 12', not {formula!r}")
    try:
        tree = ast.parse(formula.strip(), mode="eval")
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{formula!r} is no formula: {error}") from None
    except (RecursionError, MemoryError):
        raise _too_long(formula) from None
    try:
        with np.errstate(all="ignore"):
            values = _value(tree.body, data, formula)
        return pd.Series(values, index=data.index)
    except InputError:
        raise
    except RecursionError:
        raise _too_long(formula) from None
    except (TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise InputError(f"{formula!r} cannot be computed: {error}") from None


def _too_long(formula: str) -> InputError:
    return InputError(
        f"a formula of {len(formula):,} letters has too many parts: compute it in several steps, "
        "each with a name"
    )


def _value(node: ast.AST, data: pd.DataFrame, formula: str) -> Any:
    """Return what a part of a formula gives: a column or a constant."""
    value = partial(_value, data=data, formula=formula)
    match node:
        case ast.Name(id=name):
            columns = [str(one) for one in data.columns]
            require_known(name, columns, f"{formula!r}: there is no column {name!r}.")
            result: Any = data[name]
        case ast.Constant(value=str() | int() | float() as constant):
            _require_round(constant, formula)
            result = constant
        case ast.Compare(
            left=left,
            ops=[ast.In() | ast.NotIn() as sign],
            comparators=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
        ) if all(isinstance(part, ast.Constant | ast.UnaryOp) for part in parts):
            # A list of constants: one of columns would look at all records.
            is_in = pd.Series(value(left)).isin([value(part) for part in parts])
            result = is_in if isinstance(sign, ast.In) else ~is_in
        case ast.BinOp(
            left=left, op=ast.Pow(), right=ast.Constant(value=int() | float() as power)
        ) if power in POWERS:
            result = value(left) ** power
        case ast.Subscript(value=text, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            result = _letters(value(text), slice(*map(_place, (lower, upper))))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
            result = OPERATORS[type(sign)](value(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            values = value(left), value(right)
            if any(isinstance(one, str) for one in values):
                raise InputError(f"{formula!r}: texts are compared, and not computed with")
            result = OPERATORS[type(sign)](*values)
        case ast.Compare(left=left, ops=signs, comparators=parts) if all(
            type(sign) in OPERATORS for sign in signs
        ):
            pairs = zip(signs, pairwise(map(value, [left, *parts])), strict=True)
            result = reduce(np.logical_and, [OPERATORS[type(sign)](*two) for sign, two in pairs])
        case ast.BoolOp(op=sign, values=parts):
            result = reduce(OPERATORS[type(sign)], map(value, parts))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
            result = _called(name, [*map(value, parts)], formula)
        case _:
            raise InputError(
                f"{formula!r}: {ast.unparse(node)!r} is not taken: formulas are columns, numbers, "
                f"+ - * / % //, ** with an exponent of {', '.join(map(str, POWERS))}, comparisons, "
                f"in [...] with constants, letters as code[:2], and {', '.join(FUNCTIONS)}"
            )
    return result


def _called(name: str, values: Sequence[Column], formula: str) -> Column:
    """Return what a function gives.

    Raises
    ------
    InputError
        If there is none of that name, or it takes another number of columns.
    """
    require_known(name, list(FUNCTIONS), f"{formula!r}: there is no function {name!r}.")
    number, function = FUNCTIONS[name]
    if len(values) != number:
        raise InputError(f"{formula!r}: {name} takes {number} columns, not {len(values)}")
    return function(*values)


def _place(node: ast.expr | None) -> int | None:
    """Return where letters of a text begin or end.

    Raises
    ------
    TypeError
        If it is no whole number.
    """
    match node:
        case None | ast.Constant(value=int()):
            return None if node is None else int(ast.literal_eval(node))
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as behind)):
            return -behind
    raise TypeError("letters are counted by whole numbers, as in code[1:3]")


def _letters(values: Column, part: slice) -> pd.Series[Any]:
    """Return letters of the text that each record has, or digits of its whole number."""
    if isinstance(values, str | int | float) or pd.api.types.is_float_dtype(values):
        raise TypeError("letters are taken of columns of texts or whole numbers")
    texts = pd.Series(values).astype(object).map(str, na_action="ignore")
    return texts.astype("str").str[part]


def _require_round(constant: str | float, formula: str) -> None:
    """Refuse numbers and dates that may be somebody's.

    Raises
    ------
    InputError
        Says which.
    """
    if isinstance(constant, str) and DATE.fullmatch(constant):
        date = pd.Timestamp(constant)
        if not (date.is_month_start or date.is_month_end):
            raise InputError(
                f"{formula!r}: {constant} is neither the first nor the last day of a month, and "
                "may be somebody's: give it as a column of the data"
            )
    if isinstance(constant, str | bool):
        return
    digits = np.format_float_positional(constant, trim="-")
    if not is_round(digits) and digits not in YEARS:
        raise InputError(
            f"{formula!r}: {digits} has more than three digits, and may be somebody's amount: give "
            "it as a column of the data, or round it"
        )

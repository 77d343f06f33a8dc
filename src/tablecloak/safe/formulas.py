"""Formulas of a researcher, computed for each record from its own columns alone."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from functools import partial, reduce
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

MOST_POWER = 5
"""Largest exponent: larger ones carry one record beyond the digits of all others."""

FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    "abs": (1, np.abs), "log": (1, np.log), "log1p": (1, np.log1p), "log10": (1, np.log10),
    "exp": (1, np.exp), "sqrt": (1, np.sqrt), "round": (1, np.round), "floor": (1, np.floor),
    "ceil": (1, np.ceil), "minimum": (2, np.minimum), "maximum": (2, np.maximum),
    "where": (3, np.where), "isna": (1, pd.isna),
}  # fmt: skip
"""Functions of formulas, and how many arguments each takes."""


def computed(formula: str, data: pd.DataFrame) -> pd.Series[Any]:
    """Compute a formula such as ``where(age >= 65, income / persons, 0)`` for each record.

    Names are columns; there are arithmetic, comparisons, `and`, `or`, `not`, `in [...]` with
    constants, and the functions of `FUNCTIONS`. Nothing in it looks at another record.

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
    except SyntaxError as error:
        raise InputError(f"{formula!r} is no formula: {error.msg}") from None
    try:
        with np.errstate(all="ignore"):
            values = _value(tree.body, data, formula)
        return pd.Series(values, index=data.index)
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, RecursionError) as error:
        raise InputError(f"{formula!r} cannot be computed: {error}") from None


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
        case ast.BinOp(left=left, op=ast.Pow(), right=ast.Constant(value=int() as power)) if (
            0 <= power <= MOST_POWER
        ):
            result = value(left) ** power
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
            result = OPERATORS[type(sign)](value(operand))
        case (
            ast.BinOp(left=left, op=sign, right=right)
            | ast.Compare(left=left, ops=[sign], comparators=[right])
        ) if type(sign) in OPERATORS:
            values = value(left), value(right)
            if isinstance(node, ast.BinOp) and any(isinstance(one, str) for one in values):
                raise InputError(f"{formula!r}: texts are compared, and not computed with")
            result = OPERATORS[type(sign)](*values)
        case ast.BoolOp(op=sign, values=parts):
            result = reduce(OPERATORS[type(sign)], map(value, parts))
        case ast.Call(func=ast.Name(id=name), args=parts, keywords=[]):
            require_known(name, list(FUNCTIONS), f"{formula!r}: there is no function {name!r}.")
            number, function = FUNCTIONS[name]
            if len(parts) != number:
                raise InputError(f"{formula!r}: {name} takes {number} columns, not {len(parts)}")
            result = function(*map(value, parts))
        case _:
            raise InputError(
                f"{formula!r}: {ast.unparse(node)!r} is not taken: formulas are columns, numbers, "
                f"+ - * / % //, ** with an exponent of 0 to {MOST_POWER}, comparisons of two, "
                f"in [...] with constants, and {', '.join(FUNCTIONS)}"
            )
    return result


def _require_round(constant: str | float, formula: str) -> None:
    """Refuse numbers that may be somebody's amount.

    Raises
    ------
    InputError
        Says which.
    """
    if isinstance(constant, str | bool):
        return
    digits = np.format_float_positional(constant, trim="-")
    if not is_round(digits) and digits not in YEARS:
        raise InputError(
            f"{formula!r}: {digits} has more than three digits, and may be somebody's amount: give "
            "it as a column of the data, or round it"
        )

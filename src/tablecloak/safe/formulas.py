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

DATE = re.compile(r"\d{4}-\d\d-\d\d.*", re.DOTALL)

POWERS = (0, 0.5, 1, 2, 3, 4, 5)
"""Exponents: larger ones carry one record beyond the digits of all others."""

OVERRUN = 1e-9
"""Relative difference from double precision beyond which whole numbers have run over 64 bits."""

Column = Any
"""A column of records by position, or a constant: what each part of a formula gives."""


def _loaded(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return a column of the data by position, so that no step joins records by their labels."""
    values = column.reset_index(drop=True)
    is_ordered = isinstance(values.dtype, pd.CategoricalDtype) and values.cat.ordered
    return values if is_ordered else _typed(_plain(values))


def _typed(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return what numbers, truths, texts and dates become where another type holds them."""
    if isinstance(values.dtype, pd.StringDtype | pd.ArrowDtype) and values.dtype.na_value is pd.NA:
        values = values.astype(object).where(values.notna(), np.nan).infer_objects()
    kind = pd.api.types.infer_dtype(values, skipna=True) if values.dtype == object else ""
    if kind in {"integer", "floating", "mixed-integer-float", "decimal"}:
        return pd.to_numeric(values)
    if kind in {"date", "datetime", "datetime64"}:
        return pd.to_datetime(values)
    return values.astype("boolean") if kind == "boolean" else values


def _plain(values: Column) -> Column:
    """Return categories as their values."""
    if not isinstance(values, pd.Series) or not isinstance(values.dtype, pd.CategoricalDtype):
        return values
    categories = pd.Series(values.cat.categories)
    return _typed(categories.reindex(values.cat.codes).reset_index(drop=True))


def _is_text(values: Column) -> bool:
    if not isinstance(values, pd.Series):
        return isinstance(values, str)
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


def _is_truth(values: Column) -> bool:
    if not isinstance(values, pd.Series):
        return isinstance(values, bool | np.bool_)
    return pd.api.types.is_bool_dtype(values.dtype)


def _is_date(values: Column) -> bool:
    return isinstance(values, pd.Series) and pd.api.types.is_datetime64_any_dtype(values)


def _amounts(values: Column) -> Column:
    """Return what is computed with: truths as 1 and 0, and numbers of 64 bits."""
    values = _plain(values)
    if _is_text(values):
        raise TypeError("texts are compared, and not computed with")
    if not isinstance(values, pd.Series):
        return int(values) if _is_truth(values) else values
    dtype: Any = values.dtype
    if not pd.api.types.is_numeric_dtype(dtype) or dtype.itemsize >= np.dtype(np.int64).itemsize:
        return values
    name: Any = "float64" if pd.api.types.is_float_dtype(dtype) else "int64"
    is_nullable = pd.api.types.is_extension_array_dtype(dtype)
    return values.astype(name.capitalize() if is_nullable else name)


def _numbers(values: Column) -> Column:
    if _is_date(values):
        raise TypeError("numbers are needed, not dates")
    return _amounts(values)


def _condition(values: Column) -> Column:
    """Return where a truth or a number other than 0 stands; missing ones stay missing."""
    values = _plain(values)
    if not isinstance(values, pd.Series) and not _is_text(values):
        return np.bool_(values)
    if _is_text(values) or not pd.api.types.is_numeric_dtype(values):
        raise TypeError("conditions are needed, not texts or dates")
    holds, missing = values if _is_truth(values) else values != 0, values.isna()
    return holds.astype("boolean").mask(missing) if missing.any() else holds


def _date(values: Column, zone: Any) -> Column:
    values = _plain(values)
    if not isinstance(values, str) and pd.api.types.is_numeric_dtype(values):
        raise TypeError("dates are needed, not numbers")
    # Other forms would be guessed from the first record.
    dates = values if _is_date(values) else pd.to_datetime(values, format="ISO8601")
    is_local = isinstance(dates, pd.Series) or dates.tzinfo is not None
    return dates if is_local else dates.tz_localize(zone)


def _dates(*values: Column) -> list[Column]:
    """Return dates; constants are those of the time zone that a column has."""
    zone = next((one.dt.tz for one in values if _is_date(one)), None)
    return [_date(one, zone) for one in values]


def _alike(*values: Column) -> Sequence[Column]:
    """Return texts beside a column of dates as dates."""
    return _dates(*values) if any(map(_is_date, values)) else values


def _columns(*values: Column) -> list[Column]:
    """Return constants beside a column as columns."""
    index = next((one.index for one in values if isinstance(one, pd.Series)), None)
    is_constant = [index is not None and not isinstance(one, pd.Series) for one in values]
    pairs = zip(values, is_constant, strict=True)
    return [pd.Series(one, index) if constant else one for one, constant in pairs]


def _on(prepared: Callable[[Column], Column], function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of values that are brought into one form before."""
    return lambda *values: function(*map(prepared, values))


def _doubles(values: Column) -> Column:
    return values.astype("float64") if isinstance(values, pd.Series) else float(values)


def _within_64_bits(function: Callable[..., Column]) -> Callable[..., Column]:
    """Return an operator that refuses whole numbers which 64 bits do not hold."""

    def checked(*values: Column) -> Column:
        result = function(*values)
        if isinstance(result, pd.Series) and pd.api.types.is_integer_dtype(result):
            near = function(*map(_doubles, values))
            if ((_doubles(result) - near).abs() > OVERRUN * near.abs()).any():
                raise OverflowError("whole numbers have at most 18 digits: begin with 1.0 *")
        return result

    return _on(_amounts, checked)


def _divided(function: Callable[..., Column]) -> Callable[..., Column]:
    """Return a division by 0, never by -0: whole numbers have none, and numbers beside gaps do."""
    return lambda one, other: function(_amounts(one), _amounts(other) + 0)


def _compared(function: Callable[..., Column]) -> Callable[..., Column]:
    return lambda *values: function(*_alike(*values))


def _is_in(values: Column, *constants: Column) -> Column:
    """Return whether values are among constants."""
    looked_for, *among = _alike(values, *constants)
    return looked_for.isin(among) if isinstance(looked_for, pd.Series) else looked_for in among


_power = _within_64_bits(operator.pow)

OPERATORS: Mapping[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _within_64_bits(operator.add), ast.Sub: _within_64_bits(operator.sub),
    ast.Mult: _within_64_bits(operator.mul), ast.Div: _divided(operator.truediv),
    ast.FloorDiv: _divided(operator.floordiv), ast.Mod: _divided(operator.mod),
    ast.USub: _on(_amounts, operator.neg), ast.UAdd: _on(_amounts, operator.pos),
    ast.Not: _on(_condition, operator.invert), ast.Invert: _on(_condition, operator.invert),
    ast.And: _on(_condition, operator.and_), ast.Or: _on(_condition, operator.or_),
    ast.BitAnd: _on(_condition, operator.and_), ast.BitOr: _on(_condition, operator.or_),
    ast.Eq: _compared(operator.eq), ast.NotEq: _compared(operator.ne),
    ast.Lt: _compared(operator.lt), ast.LtE: _compared(operator.le),
    ast.Gt: _compared(operator.gt), ast.GtE: _compared(operator.ge),
}  # fmt: skip


def _where(condition: Column, one: Column, other: Column) -> Column:
    """Return one value where a condition holds, and the other where it does not or is missing.

    Raises
    ------
    TypeError
        If the values are of two kinds.
    """
    if _is_truth(one) is not _is_truth(other):
        one, other = map(_amounts, (one, other))
    holds, one, other = _columns(_condition(condition), *_alike(_plain(one), _plain(other)))
    if not isinstance(holds, pd.Series):
        return one if holds else other
    columns: list[pd.Series[Any]] = [one, other]
    both = pd.concat(columns, ignore_index=True)
    if both.dtype == object and not all(map(_is_text, columns)):
        raise TypeError("both values must be numbers, texts or dates")
    rows = np.arange(len(holds))
    is_other = ~holds.fillna(False).to_numpy(dtype=bool)
    return both.iloc[rows + is_other * len(rows)].reset_index(drop=True)


def _extreme(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *values: function(*map(_amounts, _columns(*_alike(*values))))


def _part_of_date(part: str, values: Column) -> Column:
    (dates,) = _dates(values)
    return getattr(dates.dt if isinstance(dates, pd.Series) else dates, part)


def _days(*values: Column) -> Column:
    """Return the whole days between two dates."""
    later, earlier = _dates(*values)
    return (later - earlier) // pd.Timedelta(days=1)


def _years(later: Column, earlier: Column) -> Column:
    """Return the completed years between two dates, as of an age."""
    year, month, day = (
        [_part_of_date(part, date) for date in (later, earlier)]
        for part in ("year", "month", "day")
    )
    is_before = (month[0] < month[1]) | ((month[0] == month[1]) & (day[0] < day[1]))
    return year[0] - year[1] - is_before


FUNCTIONS: Mapping[str, tuple[int, Callable[..., Any]]] = {
    **{
        function.__name__: (1, _on(_numbers, function))
        for function in (np.log, np.log1p, np.log10, np.exp, np.sqrt, np.round, np.floor, np.ceil)
    },
    "abs": (1, _on(_numbers, np.abs)),
    "minimum": (2, _extreme(np.minimum)), "maximum": (2, _extreme(np.maximum)),
    "where": (3, _where), "isna": (1, pd.isna),
    "year": (1, partial(_part_of_date, "year")), "month": (1, partial(_part_of_date, "month")),
    "quarter": (1, partial(_part_of_date, "quarter")),
    "weekday": (1, partial(_part_of_date, "day_of_week")), "days": (2, _days), "years": (2, _years),
}  # fmt: skip
"""Functions of formulas, and how many arguments each takes."""


def computed(formula: str, data: pd.DataFrame) -> pd.Series[Any]:
    """Compute a formula such as ``where(age >= 65, income / persons, 0)`` for each record.

    Names are columns; there are arithmetic, comparisons, `and`, `or`, `not`, `in [...]` with
    constants, letters of texts such as `code[:2]`, and the functions of `FUNCTIONS`. Nothing in it
    looks at another record. Conditions are 1 and 0 in arithmetic, and `where` takes its last value
    if a condition is missing. The index of the data says nothing: records are joined by position.

    Parameters
    ----------
    formula : str
    data : DataFrame

    Raises
    ------
    InputError
        If it is no formula, names no column or function of these, or has a number of more than
        three digits, which may be somebody's amount; or if a part cannot be computed of the types
        that its columns have.
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
    except RecursionError:
        raise _too_long(formula) from None
    if not isinstance(values, pd.Series):
        return pd.Series(values, index=data.index)
    return values.set_axis(data.index)


def _too_long(formula: str) -> InputError:
    return InputError(
        f"a formula of {len(formula):,} letters has too many parts: compute it in several steps, "
        "each with a name"
    )


def _value(node: ast.AST, data: pd.DataFrame, formula: str) -> Column:
    """Return what a part of a formula gives: a column or a constant.

    Raises
    ------
    InputError
        If it cannot be computed: which part, and of what.
    """
    value = partial(_value, data=data, formula=formula)
    try:
        return _part(node, value, data, formula)
    except InputError:
        raise
    except (TypeError, ValueError, ArithmeticError, NotImplementedError) as error:
        names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name) and one.id in data]
        columns = [f"{name} ({data[name].dtype})" for name in dict.fromkeys(names)]
        of = f" of {' and '.join(columns)}" if columns else ""
        part = f"{formula!r}, in {ast.unparse(node)!r}"
        raise InputError(f"{part}: this cannot be computed{of}: {error}") from None


def _part(
    node: ast.AST, value: Callable[[ast.AST], Column], data: pd.DataFrame, formula: str
) -> Column:
    match node:
        case ast.Name(id=name):
            columns = [str(one) for one in data.columns]
            require_known(name, columns, f"{formula!r}: there is no column {name!r}.")
            result: Column = _loaded(data[name])
        case ast.Constant(value=str() | int() | float() as constant):
            _require_round(constant, formula)
            result = constant
        case ast.Compare(
            left=left,
            ops=[ast.In() | ast.NotIn() as sign],
            comparators=[ast.List(elts=parts) | ast.Tuple(elts=parts)],
        ) if all(isinstance(part, ast.Constant | ast.UnaryOp) for part in parts):
            # A list of constants: one of columns would look at all records.
            is_in = _is_in(value(left), *map(value, parts))
            result = is_in if isinstance(sign, ast.In) else OPERATORS[ast.Not](is_in)
        case ast.BinOp(
            left=left, op=ast.Pow(), right=ast.Constant(value=int() | float() as power)
        ) if power in POWERS:
            result = _power(value(left), power)
        case ast.Subscript(value=text, slice=ast.Slice(lower=lower, upper=upper, step=None)):
            result = _letters(value(text), slice(*map(_place, (lower, upper))))
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in OPERATORS:
            result = OPERATORS[type(sign)](value(operand))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in OPERATORS:
            result = OPERATORS[type(sign)](value(left), value(right))
        case ast.Compare(left=left, ops=signs, comparators=parts) if all(
            type(sign) in OPERATORS for sign in signs
        ):
            pairs = zip(signs, pairwise(map(value, [left, *parts])), strict=True)
            result = reduce(operator.and_, [OPERATORS[type(sign)](*two) for sign, two in pairs])
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
    values = _plain(values)
    if not isinstance(values, pd.Series) or pd.api.types.is_float_dtype(values):
        raise TypeError("letters are taken of columns of texts or whole numbers")
    texts = values.astype(object).map(str, na_action="ignore")
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

"""Formulas of a project: each record has its own values, whatever labels and types there are."""

import datetime
import decimal
import re
from functools import cache
from numbers import Number

import numpy as np
import pandas as pd
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from tablecloak import InputError
from tablecloak.safe import Project
from tablecloak.safe.formulas import FUNCTIONS, OPERATORS, POWERS, computed

N = 12


def people(n=N, seed=1):
    """Records with one column of each type, some values missing."""
    random = np.random.default_rng(seed)
    age = random.integers(0, 90, n)
    moved = pd.Series(
        pd.Timestamp("2000-01-01") + pd.to_timedelta(random.integers(0, 9000, n), "D")
    )
    data = pd.DataFrame(
        {
            "whole": age * 11,
            "small": age.astype("int8"),
            "amount": random.lognormal(3, 1, n),
            "single": random.normal(0, 9, n).astype("float32"),
            "is_ill": random.random(n) < 0.4,
            "moved": moved,
            "code": random.choice(["A01", "A02", "B10"], n),
        }
    )
    data["moved_second"] = moved.astype("datetime64[s]")
    data["moved_nano"] = moved.astype("datetime64[ns]")
    data["moved_there"] = moved.dt.tz_localize("Europe/Berlin")
    data["moved_text"] = moved.dt.strftime("%Y-%m-%d")
    data["moved_object"] = moved.dt.date
    data["grade"] = pd.Categorical(random.choice([1, 2, 3], n))
    data["level"] = pd.Categorical(data.code, ["B10", "A01", "A02"], ordered=True)
    data["group"] = data.code.astype("category")
    data["name"] = data.code.astype("string")
    data["arrow"] = data.whole.astype("int64[pyarrow]")
    data["price"] = [decimal.Decimal(int(one)) / 8 for one in age]
    data["Whole"], data["Amount"] = data.whole.astype("Int64"), data.amount.astype("Float64")
    data["Is_ill"] = data.is_ill.astype("boolean")
    for name in data.columns[len(data.columns) // 3 :]:
        data.loc[random.random(n) < 0.2, name] = None
    return data


NUMBERS = ["whole", "small", "amount", "single", "grade", "price", "arrow", "Whole", "Amount"]
TRUTHS = ["is_ill", "Is_ill"]
DATES = ["moved", "moved_second", "moved_nano", "moved_object", "moved_text"]
TEXTS = ["code", "group", "name", "moved_text"]
OF_DATES = {"year": 1, "month": 1, "quarter": 1, "weekday": 1, "days": 2, "years": 2}
OF_NUMBERS = sorted(set(FUNCTIONS) - set(OF_DATES) - {"where", "isna"})
SIGNS = ["+", "-", "*", "/", "//", "%"]
COMPARISONS = ["==", "!=", "<", "<=", ">", ">="]


def called(name, *parts):
    return st.tuples(*parts).map(lambda given: f"{name}({', '.join(given)})")


def joined(signs, one, other):
    parts = st.tuples(one, st.sampled_from(signs), other)
    return parts.map(lambda given: f"({' '.join(given)})")


def listed_in(values, *constants):
    parts = st.tuples(values, st.sampled_from(["in", "not in"]))
    return parts.map(lambda given: f"({given[0]} {given[1]} [{', '.join(constants)}])")


def chosen(values, truths):
    return called("where", truths, values, values)


@cache
def numbers(depth):
    if not depth:
        return st.sampled_from([*NUMBERS, "2", "0.5", "-3"])
    inner, when = numbers(depth - 1), dates(depth - 1)
    return st.one_of(
        truths(depth - 1),
        joined(SIGNS, inner, inner),
        inner.map("(-{})".format),
        st.tuples(inner, st.sampled_from(POWERS)).map(lambda given: "({} ** {})".format(*given)),
        *(called(name, *[inner] * FUNCTIONS[name][0]) for name in OF_NUMBERS),
        *(called(name, *[when] * number) for name, number in OF_DATES.items()),
        chosen(inner, truths(depth - 1)),
    )


@cache
def truths(depth):
    if not depth:
        return st.sampled_from([*TRUTHS, "True", "(level >= 'A01')"])
    inner, amounts, when, words = (kind(depth - 1) for kind in (truths, numbers, dates, texts))
    return st.one_of(
        *(joined(COMPARISONS, one, one) for one in (amounts, when, words)),
        st.tuples(amounts, amounts, amounts).map(lambda given: "({} < {} <= {})".format(*given)),
        joined(["and", "or", "&", "|"], inner, inner),
        st.tuples(st.sampled_from(["not ", "~"]), inner).map(lambda given: "({}{})".format(*given)),
        listed_in(amounts, "2", "-3", "0.5"),
        listed_in(words, "'A'", "'A01'"),
        listed_in(when, "'2020-01-01'"),
        called("isna", st.one_of(amounts, when, words)),
    )


@cache
def dates(depth):
    if not depth:
        return st.sampled_from([*DATES, "'2010-01-01'"])
    inner = dates(depth - 1)
    extreme = called("maximum", st.sampled_from(DATES[:-1]), inner)
    return st.one_of(inner, chosen(inner, truths(depth - 1)), extreme)


@cache
def texts(depth):
    if not depth:
        return st.sampled_from([*TEXTS, "'A01'"])
    inner, letters = texts(depth - 1), st.sampled_from(["whole", "Whole", "level", *TEXTS])
    return st.one_of(
        inner,
        chosen(inner, truths(depth - 1)),
        letters.map("{}[-2:]".format),
        chosen(inner, truths(depth - 1)).map("{}[-2:]".format),
    )


formulas = st.one_of(kind(3) for kind in (numbers, truths, dates, texts))

LABELS = {
    "from one": lambda n: range(1, n + 1),
    "shuffled": lambda n: np.random.default_rng(2).permutation(n),
    "repeated": lambda n: [0, 1, 1] * (n // 3),
    "names": lambda n: [f"s{row % 5}" for row in range(n)],
    "dates": lambda n: pd.date_range("2020-01-01", periods=n)[::-1],
    "two levels": lambda n: pd.MultiIndex.from_arrays([[*range(n)][::-1], [0] * n]),
}


def answer(formula, data):
    """Return what a formula gives, by position, or the text of the refusal."""
    try:
        made = computed(formula, data)
    except InputError as refusal:
        return str(refusal)
    assert made.index.equals(data.index)
    return made.reset_index(drop=True)


def assert_same(one, other, formula, **options):
    if isinstance(one, str):
        assert one == other
    else:
        pd.testing.assert_series_equal(one, other, check_names=False, obj=formula, **options)


def test_the_random_formulas_are_of_the_whole_grammar():
    assert set(OF_DATES) | set(OF_NUMBERS) | {"where", "isna"} == set(FUNCTIONS)
    assert len(SIGNS) + len(COMPARISONS) + len(
        ["and", "or", "&", "|", "not", "~", "-", "+"]
    ) == len(OPERATORS)


several = st.lists(formulas, min_size=8, max_size=8)
without_shrinking = settings(phases=[Phase.generate], max_examples=60)
"""The formula that fails is named, and long ones take minutes to shorten."""


@without_shrinking
@given(several, st.sampled_from(sorted(LABELS)))
def test_labels_of_records_change_no_value(formulas, labels):
    data = people()
    labelled = data.set_axis(pd.Index(LABELS[labels](N)), axis=0)
    for formula in formulas:
        assert_same(answer(formula, labelled), answer(formula, data), formula)


@without_shrinking
@given(several, st.lists(st.integers(0, N - 1), min_size=1, max_size=N))
def test_each_record_has_the_value_that_it_has_among_others(formulas, rows):
    data = people()
    for formula in formulas:
        made, alone = (answer(formula, one) for one in (data, data.iloc[rows]))
        # Columns of none but missing values have no type, and may be refused.
        if not isinstance(alone, str):
            made = made.iloc[rows].reset_index(drop=True)
            pair = [one.astype(object).where(one.notna(), None) for one in (made, alone)]
            # Whole numbers above 2^53 are floats where another record has none.
            pair = [one.map(lambda v: float(v) if isinstance(v, Number) else v) for one in pair]
            assert_same(*pair, formula, check_dtype=False, check_exact=True)


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        ("where(is_ill, whole, 0) in [0]", lambda d: d.whole.where(d.is_ill, 0) == 0),
        ("where(whole > 20, code, code)[:2]", lambda d: d.code.str[:2]),
        (
            "year(where(is_ill, moved, moved)) in [2005, 2006]",
            lambda d: d.moved.dt.year.isin([2005, 2006]),
        ),
    ],
)
def test_a_value_of_the_next_record_is_no_value_of_this_one(formula, made):
    data = people().assign(
        whole=range(N), code="A01", is_ill=True, moved=pd.Timestamp("2005-03-04")
    )
    data.loc[3:, ["is_ill", "code"]] = [False, "B10"]
    data.loc[7:, "moved"] = pd.Timestamp("2007-01-01")
    data.index = range(1, N + 1)
    column = Project(data=data).compute("made", formula)
    pd.testing.assert_series_equal(column, made(data), check_names=False)


@pytest.mark.parametrize("sign", ["/", "//"])
def test_zero_has_no_sign_in_a_division(sign):
    data = pd.DataFrame({"amount": [9, None], "whole": [0.0, None]})
    for rows in (data, data.iloc[:1].astype(int)):
        assert computed(f"amount {sign} -whole", rows)[0] == np.inf


@pytest.mark.parametrize(
    ("formula", "made"),
    [
        ("(whole > 300) + (amount > 20)", lambda d: (d.whole > 300) * 1 + (d.amount > 20) * 1),
        ("(whole > 300) - (amount > 20)", lambda d: (d.whole > 300) * 1 - (d.amount > 20) * 1),
        ("(whole > 300) * (amount > 20)", lambda d: ((d.whole > 300) & (d.amount > 20)) * 1),
        ("-is_ill + 1", lambda d: (~d.is_ill) * 1),
        ("3 * is_ill", lambda d: d.is_ill * 3),
        ("where(is_ill, whole > 300, 7)", lambda d: ((d.whole > 300) * 1).where(d.is_ill, 7)),
    ],
)
def test_conditions_are_counted_in_arithmetic(formula, made):
    data = people()
    pd.testing.assert_series_equal(computed(formula, data), made(data), check_names=False)


def one_record(**values):
    return pd.DataFrame({name: [value] for name, value in values.items()})


@pytest.mark.parametrize(
    ("formula", "value"),
    [
        ("where(Whole > 20, 1, 0)", 0),
        ("where(Is_ill, 1, 0)", 0),
        ("where(ill, 1, 0)", 0),
        ("Is_ill or True", True),
        ("days(where(isna(died), '2020-12-31', died), came)", 30),
        ("days(where(isna(died), came, died), '2020-11-30')", 1),
        ("minimum(died, '2020-12-31') == '2020-12-31'", False),
        ("maximum(came, '2020-12-31') == '2020-12-31'", True),
        ("came in ['2020-12-01']", True),
        ("came == came_text", True),
        ("date >= '2020-12-01'", True),
        ("days(there, '2020-11-30')", 1),
        ("small * 12", 1200),
        ("small ** 2", 10_000),
        ("price + 1", 3.5),
        ("grade + is_first", 4),
        ("grade[:1]", "3"),
        ("exp(is_first)", np.e),
    ],
)
def test_missing_values_and_types(formula, value):
    data = one_record(
        Whole=pd.NA, ill=np.nan, Is_ill=pd.NA, died=pd.NaT, came=pd.Timestamp("2020-12-01"),
        came_text="2020-12-01", date=datetime.date(2020, 12, 1), small=np.int8(100), grade=3,
        price=decimal.Decimal("2.5"), is_first=True,
        there=pd.Timestamp("2020-12-01", tz="Asia/Tokyo"),
    )  # fmt: skip
    data = data.astype(
        {"Whole": "Int64", "Is_ill": "boolean", "small": "int8", "grade": "category"}
    )
    data["died"] = data.died.astype("datetime64[ns]")
    (made,) = computed(formula, data)
    assert made == value


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        (
            "days(moved_there, moved) > 3",
            "'days(moved_there, moved)': this cannot be computed of moved_t",
        ),
        (
            "1 + log(name)",
            "'log(name)': this cannot be computed of name (string): texts are compared",
        ),
        ("where(is_ill, name, 0)", "of is_ill (bool) and name (string): both values must be"),
        (
            "where(is_ill, 'soon', moved) == moved",
            "in \"where(is_ill, 'soon', moved)\": this cannot",
        ),
        ("code and is_ill", "conditions are needed, not texts or dates"),
        ("round(moved)", "numbers are needed, not dates"),
        ("whole * 10 ** 5 * 10 ** 5 * 10 ** 5 * 10 ** 5", "whole numbers have at most 18 digits"),
        ("level >= 'C'", "of level (category)"),
    ],
)
def test_a_refusal_names_the_part_and_the_types_of_its_columns(formula, why):
    data = people().assign(code="A01", moved=pd.Timestamp("2020-01-01"), is_ill=True)
    with pytest.raises(InputError, match=re.escape(why)):
        computed(formula, data)

"""Calls as they stand in pandas' documentation and in ACRO's notebooks, with another name in front.

The data of the documentation come thirty times over, so that nothing in them is disclosive.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak import safe
from tablecloak.errors import InputError

OPEN = {"zeros_are_disclosive": False, "safe_threshold": 10}


def thirty_times(frame):
    return pd.concat([frame] * 30, ignore_index=True)


def reference():
    """Frame of the reference page of `pandas.pivot_table`."""
    return thirty_times(
        pd.DataFrame(
            {
                "A": ["foo"] * 5 + ["bar"] * 4,
                "B": ["one", "one", "one", "two", "two", "one", "one", "two", "two"],
                "C": list("SLLSSLSSL"),
                "D": [1, 2, 2, 3, 3, 4, 5, 6, 7],
                "E": [2, 4, 5, 5, 6, 6, 8, 9, 9],
            }
        )
    )


def guide():
    """Frame of the chapter on reshaping in the user guide."""
    rng = np.random.default_rng(3)
    return thirty_times(
        pd.DataFrame(
            {
                "A": ["one", "one", "two", "three"] * 6,
                "B": ["A", "B", "C"] * 8,
                "C": ["foo", "foo", "foo", "bar", "bar", "bar"] * 4,
                "D": rng.gamma(3, 1, 24),
                "E": rng.gamma(3, 1, 24),
            }
        )
    )


def small():
    return thirty_times(
        pd.DataFrame({"A": [1, 2, 2, 2, 2], "B": [3, 3, 4, 4, 4], "C": [1, 1, np.nan, 1, 1]})
    )


def nursery():
    """Records like those of ACRO's notebooks."""
    rng = np.random.default_rng(8)
    n = 4000
    return pd.DataFrame(
        {
            "parents": rng.choice(["usual", "pretentious", "great_pret"], n),
            "finance": rng.choice(["convenient", "inconv"], n),
            "recommend": rng.choice(["not_recom", "priority", "spec_prior", "very_recom"], n),
            "children": rng.integers(1, 10, n),
        }
    )


def charities():
    rng = np.random.default_rng(9)
    n = 3000
    frame = pd.DataFrame(
        {
            "year": rng.integers(2010, 2016, n),
            "grant_type": rng.choice(["G", "N", "R", "R/G"], n, p=[0.2, 0.3, 0.3, 0.2]),
            "survivor": rng.choice(["Dead in 2015", "Alive in 2015"], n),
            "inc_grants": rng.gamma(4, 1000, n).round(),
        }
    )
    frame.loc[rng.choice(n, 100, replace=False), "inc_grants"] = np.nan
    return frame


a = np.array(list("ffffbbbbfff") * 30)
b = np.array(list("oootooottto") * 30)
c = np.array(list("ddsddssdsss") * 30)

REFERENCE, GUIDE, SMALL = reference(), guide(), small()
NURSERY, CHARITIES = nursery(), charities()

CALLS = {
    "sum of two row keys": lambda pd, df=REFERENCE: pd.pivot_table(
        df, values="D", index=["A", "B"], columns=["C"], aggfunc="sum"
    ),
    "fill value": lambda pd, df=REFERENCE: pd.pivot_table(
        df, values="D", index=["A", "B"], columns=["C"], aggfunc="sum", fill_value=0
    ),
    "a statistic for each value": lambda pd, df=REFERENCE: pd.pivot_table(
        df, values=["D", "E"], index=["A", "C"], aggfunc={"D": "mean", "E": "mean"}
    ),
    "several statistics for a value": lambda pd, df=REFERENCE: pd.pivot_table(
        df, values=["D", "E"], index=["A", "C"], aggfunc={"D": "mean", "E": ["min", "max", "mean"]}
    ),
    "mean by default": lambda pd, df=GUIDE: pd.pivot_table(
        df, values="D", index=["A", "B"], columns=["C"]
    ),
    "two values, two column keys": lambda pd, df=GUIDE: pd.pivot_table(
        df, values=["D", "E"], index=["B"], columns=["A", "C"], aggfunc="sum"
    ),
    "two statistics": lambda pd, df=GUIDE: pd.pivot_table(
        df, values="E", index=["B", "C"], columns=["A"], aggfunc=["sum", "mean"]
    ),
    "all values": lambda pd, df=GUIDE: pd.pivot_table(
        df[["A", "B", "C", "D", "E"]], index=["A", "B"], columns=["C"]
    ),
    "deviations with margins": lambda pd, df=GUIDE: pd.pivot_table(
        df, index=["A", "B"], columns="C", values=["D", "E"], margins=True, aggfunc="std"
    ),
    "sums with margins of another name": lambda pd, df=GUIDE: pd.pivot_table(
        df, values="D", index="B", columns="C", margins=True, aggfunc="sum", margins_name="Total"
    ),
    "rows alone with margins": lambda pd, df=GUIDE: pd.pivot_table(
        df, values=["D", "E"], index="B", margins=True, aggfunc="sum"
    ),
    "arrays with names": lambda pd: pd.crosstab(a, [b, c], rownames=["a"], colnames=["b", "c"]),
    "arrays with margins": lambda pd: pd.crosstab(
        a, [b, c], rownames=["a"], colnames=["b", "c"], margins=True
    ),
    "arrays without names": lambda pd: pd.crosstab(a, b),
    "two series": lambda pd, df=SMALL: pd.crosstab(df["A"], df["B"]),
    "shares": lambda pd, df=SMALL: pd.crosstab(df["A"], df["B"], normalize=True),
    "shares of columns": lambda pd, df=SMALL: pd.crosstab(df["A"], df["B"], normalize="columns"),
    "shares by position": lambda pd, df=GUIDE: pd.crosstab(df["B"], df["C"], normalize=0),
    "shares with margins": lambda pd, df=GUIDE: pd.crosstab(
        df["B"], df["C"], normalize="index", margins=True
    ),
    "values of two series": lambda pd, df=SMALL: pd.crosstab(
        df["A"], df["B"], values=df["C"], aggfunc="sum"
    ),
    "ACRO's first table": lambda pd, df=NURSERY: pd.crosstab(df.recommend, df.parents),
    "ACRO's table of means": lambda pd, df=NURSERY: pd.crosstab(
        index=[df.parents, df.finance],
        columns=[df.recommend],
        values=df.children,
        aggfunc="mean",
        margins=True,
    ),
    "ACRO's pivot table": lambda pd, df=NURSERY: pd.pivot_table(
        df, index=["parents"], values=["children"], aggfunc=["mean", "std"]
    ),
    "ACRO's table with missing values": lambda pd, df=CHARITIES: pd.crosstab(
        df.year, [df.grant_type, df.survivor], values=df.inc_grants, aggfunc="mean", margins=True
    ),
    "ACRO's two statistics": lambda pd, df=CHARITIES: pd.crosstab(
        df.year, df.grant_type, values=df.inc_grants, aggfunc=["mean", "std"], margins=True
    ),
    "ACRO's counts of values": lambda pd, df=CHARITIES: pd.pivot_table(
        df, index=["grant_type"], values=["inc_grants"], aggfunc=["count", "median"], margins=True
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_call_gives_what_pandas_gives_where_nothing_is_disclosive(name):
    call = CALLS[name]
    shown = call(safe.Project(OPEN))
    assert (shown.outcome.cells == "ok").all().all(), shown.outcome.summary
    ordered = {"min", "max", "median"} & {
        name[0] for name in shown.columns if isinstance(name, tuple)
    }
    said = {reason.rule for reason in shown.outcome.reasons}
    # Each record stands there thirty times, so that some cells show an amount of all in them.
    assert said - {"constant"} == ({"extremes"} if ordered or "several" in name else set())
    pd.testing.assert_frame_equal(pd.DataFrame(shown), call(pd))


@pytest.mark.parametrize("dropna", [True, False])
def test_categories_that_do_not_occur_and_intervals_stay_in_their_places(dropna):
    ages = pd.Series(np.tile([10, 25, 40, 70], 50), name="age")
    groups = pd.cut(ages, [0, 18, 35, 65, 80, 120])
    letters = pd.Series(pd.Categorical(["a", "b"] * 100, categories=["a", "b", "c"]), name="x")
    for margins in (False, True):
        truth = pd.crosstab(groups, letters, dropna=dropna, margins=margins)
        shown = safe.Project(OPEN).crosstab(groups, letters, dropna=dropna, margins=margins)
        pd.testing.assert_frame_equal(pd.DataFrame(shown), truth)
        strict = safe.Project().crosstab(groups, letters, dropna=dropna, margins=margins)
        assert strict.isna().to_numpy()[truth.to_numpy() == 0].all()


def test_missing_keys_are_a_group_of_their_own_if_asked_for():
    rng = np.random.default_rng(2)
    keys = pd.DataFrame({"a": rng.choice(["x", "y", None], 300), "b": rng.choice(["u", "v"], 300)})
    for dropna in (True, False):
        truth = pd.crosstab(keys.a, keys.b, margins=True, dropna=dropna)
        shown = safe.Project(OPEN).crosstab(keys.a, keys.b, margins=True, dropna=dropna)
        pd.testing.assert_frame_equal(pd.DataFrame(shown), truth)


def test_series_are_matched_by_their_index_and_a_filter_is_known():
    data = nursery()
    some = data.parents[data.finance == "inconv"]
    truth = pd.crosstab(some, data.recommend)
    shown = safe.Project(OPEN).crosstab(some, data.recommend)
    pd.testing.assert_frame_equal(pd.DataFrame(shown), truth)


def test_arguments_that_acro_alone_has_mean_what_they_mean_there(tmp_path):
    data = nursery()
    project = safe.Project(OPEN)
    keys = (data.recommend, data.parents)
    for of_acro, ours in [
        ({"mitigation": "round"}, {"protect": "rounding"}),
        ({"mitigation": "none"}, {"protect": None}),
        ({"show_suppressed": True}, {}),
    ]:
        shown = project.crosstab(*keys, margins=True, **of_acro)
        pd.testing.assert_frame_equal(shown, project.crosstab(*keys, margins=True, **ours))
    event = (data.finance == "inconv").astype(int)
    table = project.surv_func(data.children, event, output="table")
    pd.testing.assert_frame_equal(table, project.surv_func(data.children, event))
    project.surv_func(data.children, event, "plot", filename=tmp_path / "km.png")
    assert (tmp_path / "km.png").read_bytes().startswith(b"\x89PNG")
    assert project.outputs["output_8"].files == (tmp_path / "km.png",)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, d: p.crosstab(d.A, d.B, values=d.D, aggfunc="sum", normalize=True), "shares"),
        (lambda p, d: p.pivot_table(d, "D", columns="A"), "give the rows"),
        (lambda p, d: p.pivot_table(d, "D", index="nobody"), "no column"),
        (lambda p, d: p.crosstab(d.A, d.B, protect="swap"), "protect is 'swap'"),
        (lambda p, d: p.pivot_table(d, "D", "A", aggfunc="std", weights="E"), "with weights"),
        (lambda p, d: p.crosstab(d.A, d.B, mitigate="round"), "Did you mean 'mitigation'"),
        (lambda p, d: p.crosstab(d.A, d.B, mitigation="swap"), "'suppress', 'round' or 'none'"),
        (lambda p, d: p.surv_func(d.D, d.D, "figure"), "'table' or 'plot'"),
        (lambda p, d: p.crosstab("A", "B"), "columns of a frame"),
        (lambda p, d: p.crosstab(d.A[:0], d.B[:0]), "no records"),
        (lambda p, d: p.corr(d.D, d.E), "give one frame"),
        (lambda p, d: safe.Project(contributor="A"), r"contributor=data\['A'\]"),
        (lambda p, d: p.crosstab(pd.concat([d.A, d.A]), pd.concat([d.B, d.B])), "more than once"),
    ],
)
def test_what_is_not_offered_is_refused_with_a_remedy(call, message):
    with pytest.raises(InputError, match=message):
        call(safe.Project(OPEN), reference())

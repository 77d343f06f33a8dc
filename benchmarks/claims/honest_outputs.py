"""Outputs that an honest researcher asks for: how many of them pass, and why the others do not."""

import warnings
from collections import Counter

import numpy as np
import pandas as pd

from bench.claims import NOT_MEASURED, Claim, Column, Instance, Method
from tablecloak.safe import Project

SIZES = (400, 1_000, 3_000, 10_000, 50_000)
ASKED = 10
"""Outputs of one project."""


def survey(random, n):
    """Records of persons, as surveys have them."""
    data = pd.DataFrame(
        {
            "region": random.choice(list("ABCDEFGH"), n, p=random.dirichlet(np.full(8, 5.0))),
            "sex": random.choice(["men", "women"], n),
            "age": random.integers(16, 90, n),
            "education": random.choice(["low", "middle", "high"], n, p=[0.3, 0.5, 0.2]),
            "tenure": random.choice(["owner", "tenant", "other"], n, p=[0.55, 0.38, 0.07]),
            "income": random.lognormal(10, 0.6, n).round(-1),
            "hours": random.normal(36, 9, n).clip(0, 70).round(),
            "ill": (random.random(n) < 0.2).astype(int),
            "months": random.integers(1, 60, n),
        }
    )
    data["band"] = pd.cut(data["age"], [15, 24, 34, 44, 54, 64, 74, 90]).astype(str)
    data.loc[random.random(n) < 0.03, "hours"] = np.nan
    return data


FILTERS = (
    lambda data: data[data.age >= 18],
    lambda data: data[data.age < 65],
    lambda data: data[data.sex == "women"],
    lambda data: data[data.tenure != "other"],
    lambda data: data[data.hours.notna()],
)
KEYS = ("region", "sex", "band", "education", "tenure", "age_class", "working")


def table(project, data, random):
    row, column = random.choice(KEYS, 2, replace=False)
    project.crosstab(data[row], data[column], margins=bool(random.random() < 0.6))


def made(data):
    """Columns that researchers make themselves."""
    return data.assign(
        monthly=data.income / 12,
        hourly=data.income / (52 * data.hours.clip(lower=1)),
        capped=data.income.clip(upper=100_000),
        old=(data.age >= 65).astype(int),
        age_class=pd.cut(data.age, [15, 29, 49, 69, 90], labels=["15-29", "30-49", "50-69", "70+"]),
        working=np.where(data.age.between(20, 64) & (data.hours > 0), "yes", "no"),
    )


def amounts(project, data, random):
    row, column = random.choice(KEYS, 2, replace=False)
    project.pivot_table(
        data,
        values=str(random.choice(["income", "hours", "ill", "monthly", "hourly", "capped", "old"])),
        index=row,
        columns=column if random.random() < 0.5 else None,
        aggfunc=str(random.choice(["mean", "sum", "count"])),
        margins=bool(random.random() < 0.5),
    )


KINDS = (
    (0.35, table),
    (0.3, amounts),
    (0.1, lambda project, data, random: project.histogram(
        data, str(random.choice(["income", "age"])), bins=int(random.choice([5, 8, 10])))),
    (0.05, lambda project, data, random: project.pie(data, str(random.choice(KEYS)))),
    (0.05, lambda project, data, random: project.quantile(
        data.income, [0.1, 0.25, 0.5, 0.75, 0.9], base=1000)),
    (0.1, lambda project, data, random: project.olsr("np.log(income) ~ age + I(age**2) + C(sex) * C(education)", data)),
    (0.03, lambda project, data, random: project.logitr("ill ~ age + C(sex)", data)),
    (0.02, lambda project, data, random: project.surv_func(data.months, data.ill)),
)  # fmt: skip
"""How often each kind of output is asked for."""


def asked(sizes, setting):
    """Ask for all outputs of some projects, and count their statuses and reasons."""
    n_records, n_projects = sizes
    status, why, hidden = Counter(), Counter(), 0
    for number in range(n_projects):
        random = np.random.default_rng((setting.seed, n_records, number))
        data = survey(random, n_records)
        project = Project({"zeros_are_disclosive": False}, data=data)
        for _ in range(ASKED):
            some = made(data if random.random() < 0.6 else random.choice(FILTERS)(data))
            kind = random.choice(len(KINDS), p=[share for share, _ in KINDS])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                KINDS[kind][1](project, some, random)
        for output in project.outputs.values():
            status[output.outcome.status] += 1
            hidden += any(frame.isna().to_numpy().any() for frame in output.frames)
            why.update({(each.status, each.rule) for each in output.outcome.reasons})
    return {
        "outputs": status.total(),
        **{each: status[each] for each in ("pass", "review", "fail")},
        "hidden": hidden,
        "why": ", ".join(f"{n} {rule} ({each})" for (each, rule), n in why.most_common()) or "none",
    }


CLAIM = Claim(
    apart=NOT_MEASURED,
    name="honest-outputs",
    title="Outputs of honest researchers",
    text="""Ten outputs of one survey, drawn as researchers ask for them: tables of counts, means and sums, two of five of them with a filter
that others use as well; columns of the data, and columns made of them; histograms, quartiles, regressions, survival tables. Limits are those of ACRO, empty cells are shown.""",
    said_in=("docs/safe.md",),
    methods=(Method("project", asked),),
    instances=lambda folder: [
        Instance(f"{n:,} records, 10 projects", lambda n=n: (n, 10)) for n in SIZES
    ],
    smallest=Instance("200 records, 1 project", lambda: (200, 1)),
    columns=(
        Column("outputs", "outputs", ",d"),
        Column("pass", "pass", ",d"),
        Column("review", "review", ",d"),
        Column("fail", "fail", ",d"),
        Column("hidden", "with gaps", ",d"),
        Column("why", "outputs by reason"),
    ),
    limits=(600.0,),
)

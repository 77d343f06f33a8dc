"""Draw ``records-map.svg``, risk and utility of one file under many methods, and write its table.

Run with the path of Adult (UCI, 48,842 records of the US census of 1994, with the usual names of
its columns in the first line): ``python docs/images/draw_records_map.py adult.csv.gz``. The table
in ``docs/records-methods.md`` is replaced between its marks.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd

from tablecloak.microdata import (
    METHODS,
    Chain,
    risk_utility_map,
)
from tablecloak.microdata.utility.comparison import regression_compared
from tablecloak.microdata.utility.propensity import propensity_score

HERE = Path(__file__).parent
PAGE = HERE.parent / "records-methods.md"

N_RECORDS = 3_000
"""Random records of the file, so that distances of all pairs are quick."""

NUMBERS = ["age", "education_num", "hours_per_week"]
CATEGORIES = ["sex", "race", "marital_status"]
KNOWN = [*NUMBERS, *CATEGORIES]
"""What the intruder knows of everybody, and what analysts use."""

BANDS = {"age": [5, 10, 20], "hours_per_week": [10, 20, 40], "education_num": [2, 4, 8]}

STEPS: dict[str, list[tuple[str, dict[str, object]]]] = {
    "top and bottom coding, 5 %": [
        ("topcode", {"column": NUMBERS, "side": "both", "quantile": 0.95, "bottom_quantile": 0.05})
    ],
    "recoding, k = 3": [
        ("recode", {"keys": KNOWN, "hierarchies": BANDS, "k": 3, "suppression": 1.0})
    ],
    "local suppression, k = 3": [("local-suppression", {"keys": KNOWN, "k": 3})],
    "microaggregation, k = 5": [("microaggregate", {"columns": NUMBERS, "k": 5})],
    "swapping, 20 %": [("swap", {"attributes": ["marital_status", "race"], "rate": 0.2})],
    "PRAM, xi = 3/4": [("pram", {"keys": CATEGORIES, "xi": 0.75})],
    "rank swapping, window 5 %": [("rank-swap", {"columns": NUMBERS, "window": 0.05})],
    "shuffling": [("shuffle", {"columns": NUMBERS})],
    "noise, a tenth of the variance": [("noise", {"columns": NUMBERS, "noise": 0.1})],
    "multiplicative noise, 5 to 15 %": [("multiply", {"columns": NUMBERS})],
    "neighbourhood sampling, 1/2": [("neighbours", {"columns": KNOWN, "eps": 0.5})],
    "rank swapping, then swapping": [
        ("rank-swap", {"columns": NUMBERS, "window": 0.05}),
        ("swap", {"attributes": ["marital_status", "race"], "rate": 0.2}),
    ],
}
"""Methods of the map, each as steps with the parameters of its name in the registry."""


def middles(released: pd.DataFrame) -> pd.DataFrame:
    """Return a release in which analysts and intruders take a band of numbers as its middle."""
    read = released.copy()
    for name in NUMBERS:
        if not pd.api.types.is_numeric_dtype(read[name]):
            ends = read[name].astype("string").str.extract(r"^(\d+)-(\d+)$").astype("Float64")
            read[name] = ends.mean(axis=1).to_numpy(dtype=np.float64, na_value=np.nan)
    return read


def matched(original: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return the share of records that an intruder who knows all columns matches rightly.

    The nearest released record is taken, one of them at random if there are several. A number that
    differs by a standard deviation counts like a category that differs; what is missing counts as
    the mean difference.
    """
    read = middles(released)
    distance = np.zeros((len(original), len(read)))
    for name in NUMBERS:
        x, y = original[name].to_numpy(float), read[name].to_numpy(float)
        part = np.abs(x[:, None] - y[None]) / x.std()
        distance += np.where(np.isnan(part), np.nanmean(part), part)
    for name in CATEGORIES:
        x, y = original[name].to_numpy(object), read[name].to_numpy(object)
        part = (x[:, None] != y[None]).astype(float)
        missing = pd.isna(y)
        part[:, missing] = part[:, ~missing].mean()
        distance += part
    nearest = distance <= distance.min(axis=1, keepdims=True) + 1e-9
    return float(np.mean(np.diag(nearest) / nearest.sum(axis=1)))


def design(records: pd.DataFrame) -> pd.DataFrame:
    """Return the variables of the analysts' regression of hours."""
    read = middles(records)
    married = read["marital_status"].eq("Married-civ-spouse").where(read["marital_status"].notna())
    male = read["sex"].eq("Male").where(read["sex"].notna())
    columns = read[NUMBERS].astype(float).assign(male=male.astype(float))
    columns["married"] = married.astype(float)
    columns["married_man"] = columns["male"] * columns["married"]
    columns["age_squared"] = columns["age"] ** 2
    return columns


def overlap(original: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return the mean overlap of the confidence intervals of a regression of hours, at 95 %.

    The overlap is that of Karr, Kohnen, Oganian, Reiter and Sanil (2006): 1 for equal intervals, 0
    or less for such that do not meet, here counted as 0.
    """
    predictors = ["age", "age_squared", "education_num", "male", "married", "married_man"]
    found = regression_compared(
        design(original), design(released), "hours_per_week", predictors
    ).loc[predictors]
    ends = [
        (
            found[f"coefficient_{which}"] - 1.96 * found[f"standard_error_{which}"],
            found[f"coefficient_{which}"] + 1.96 * found[f"standard_error_{which}"],
        )
        for which in ("original", "masked")
    ]
    (low, high), (other_low, other_high) = ends
    common = np.minimum(high, other_high) - np.maximum(low, other_low)
    shares = (common / (high - low) + common / (other_high - other_low)) / 2
    return float(np.maximum(shares, 0).mean())


def alike(original: pd.DataFrame, released: pd.DataFrame) -> float:
    """Return 1 if no logistic model tells released from original records, 0 if one always does."""
    return 1 - 4 * propensity_score(original, middles(released), KNOWN).pmse


def main() -> None:
    """Measure all methods, draw the map and write the table."""
    records = pd.read_csv(sys.argv[1])[KNOWN].sample(N_RECORDS, random_state=1)
    records = records.reset_index(drop=True)
    methods = {
        name: Chain([METHODS.build(step, **given) for step, given in steps])
        for name, steps in STEPS.items()
    }
    found = risk_utility_map(records, methods, risk=matched, utility=overlap, replicates=5)
    found.plot(HERE / "records-map.svg")
    # Maps are secret by default; this one is of a public file.
    (HERE / "records-map.svg").chmod(0o644)
    margins = risk_utility_map(records, methods, risk=matched, utility=alike, replicates=5)
    lines = [
        "| method | right matches | regression kept | margins alike | on the frontier |",
        "|---|---|---|---|---|",
        f"| as it is | {100 * matched(records, records):.1f} % | 1 | 1 | |",
    ]
    for name, row in found.table.sort_values("risk", ascending=False).iterrows():
        lines.append(
            f"| {name} | {100 * row['risk']:.1f} % | {row['utility']:.2f} | "
            f"{margins.table.loc[name, 'utility']:.2f} | {'yes' if row['frontier'] else ''} |"
        )
    text = PAGE.read_text(encoding="utf-8")
    table = "\n".join(lines)
    marked = re.sub(
        r"(<!-- table -->\n).*?(\n<!-- end -->)", lambda m: m[1] + table + m[2], text, flags=re.S
    )
    PAGE.write_text(marked, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()

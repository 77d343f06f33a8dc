"""Records of people, and parameters with which every method for records changes some of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

SOME = {
    "swap": {"attributes": ["job"], "rate": 0.2, "keys": ["state", "job"]},
    "swap-households": {"hierarchy": ["state"], "household": "home", "risk_variables": ["job"]},
    "pram": {"keys": ["job"]},
    "pram-by-matrix": {"attribute": "job", "matrix": np.full((3, 3), 1 / 3)},
    "noise": {"columns": ["wage"], "noise": 0.1},
    "neighbours": {"eps": 0.5, "columns": ["wage", "hours"]},
    "microaggregate": {"columns": ["wage", "hours"]},
    "local-suppression": {"keys": ["state", "job"], "k": 20},
    "local-recode": {"keys": ["state", "job"], "k": 20},
    "recode": {"keys": ["state", "job"], "k": 30},
    "rank-swap": {"columns": ["wage", "hours"], "window": 0.1},
    "shuffle": {"columns": ["wage"], "regressors": ["hours"]},
    "independent-noise": {"columns": ["wage"], "noise": 0.1},
    "restricted-noise": {"columns": ["wage", "hours"], "noise": 0.1},
    "topcode": {"column": "wage", "quantile": 0.9},
    "multiply": {"columns": ["wage"]},
}
"""Parameters with which each method runs on the records below."""


def people() -> pd.DataFrame:
    random = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "home": random.permutation(120),
            "state": random.choice(["01", "02"], 120),
            "job": random.choice(["a", "b", "c"], 120),
            "wage": random.lognormal(8, 0.4, 120),
            "hours": random.normal(38, 5, 120),
        }
    )

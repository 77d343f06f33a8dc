"""The example of rtauargus' README, and the four tables of turnover of INSEE."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from instances import Instances
from tablecloak.service.answers import columns_of
from tablecloak.service.call import CALLS
from tablecloak.service.request import asked

ACT_SIZE = {
    "ACTIVITY": ["01"] * 3 + ["02"] * 3 + ["06"] * 3 + ["Total"] * 3,
    "SIZE": ["tr1", "tr2", "Total"] * 4,
    "VAL": [100, 50, 150, 30, 20, 50, 60, 40, 100, 190, 110, 300],
    "N_OBS": [10, 5, 15, 2, 5, 7, 8, 6, 14, 20, 16, 36],
    "MAX": [20, 15, 20, 20, 10, 20, 16, 38, 38, 20, 38, 38],
}
"""The table of the README of rtauargus."""

EXAMPLE: dict[str, Any] = {
    "tabular": ACT_SIZE,
    "explanatory_vars": ["ACTIVITY", "SIZE"],
    "safety_rules": "FREQ(3,10)|NK(1,85)",
    "value": "VAL",
    "freq": "N_OBS",
    "maxscore": "MAX",
    "totcode": {"ACTIVITY": "Total", "SIZE": "Total"},
}
"""The call of the README."""

PRIMARIES = {("02", "tr1"): "A", ("06", "tr2"): "B"}
"""What tau-ARGUS finds unsafe in it."""

FOUR = {
    "act_size": ["ACTIVITY", "SIZE"],
    "act_cj": ["ACTIVITY", "CJ"],
    "nuts_size": ["NUTS", "SIZE"],
    "nuts_cj": ["NUTS", "CJ"],
}
"""The four tables of INSEE with what spans them."""

TREES = {"ACTIVITY": "activity_corr_table", "NUTS": "nuts23_fr_corr_table"}


def ask(call: str, **body: Any) -> dict[str, Any]:
    """Return the answer of a call, as JSON carries both."""
    with TemporaryDirectory() as folder:
        made, question = asked(CALLS[call], json.loads(json.dumps(body)), Path(folder))
        answer: dict[str, Any] = json.loads(json.dumps(made.answer(question), allow_nan=False))
        return answer


def insee(name: str) -> pd.DataFrame:
    """One of the four tables with its primaries, as rtauargus' examples find them."""
    path = Instances() / f"rtauargus/turnover_{name}.csv.gz"
    frame = pd.read_csv(path, dtype=dict.fromkeys(FOUR[name], str))
    few = (frame.N_OBS > 0) & (frame.N_OBS < 3)
    return frame.assign(is_secret_prim=few | ((frame.MAX != 0) & (frame.MAX / frame.TOT > 0.85)))


def correspondence(variable: str) -> pd.DataFrame:
    """The table of correspondence of a variable."""
    return pd.read_csv(Instances() / f"rtauargus/{TREES[variable]}.csv.gz", dtype=str)


def hierarchies(*variables: str) -> dict[str, str]:
    """Texts of .hrc files, made by the call."""
    lines = {
        name: ask("write_hrc2", corr_table=columns_of(correspondence(name)))["lines"]
        for name in variables
        if name in TREES
    }
    return {name: "\n".join(each) + "\n" for name, each in lines.items()}

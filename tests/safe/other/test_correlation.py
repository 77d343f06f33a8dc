"""Rank correlations of columns with two values tell the same counts as Pearson's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tablecloak.safe import Project


@pytest.mark.parametrize("method", ["pearson", "spearman", "kendall"])
@pytest.mark.parametrize("other", ["ill", "income"])
def test_a_flag_and_the_same_without_one_person_go_to_the_checker(method, other):
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"ill": (rng.random(300) < 0.3).astype(int)})
    data["income"] = rng.lognormal(10, 0.5, 300).round()
    data["group"] = (data.index < 40).astype(int)
    data["fewer"] = data.group.where(data.index != 7, 0)
    project = Project()
    project.corr(data[[other, "group"]], method=method)
    project.corr(data[[other, "fewer"]], method=method)
    verdicts = [output.outcome.status for output in project.outputs.values()]
    assert verdicts == ["pass", "review"]

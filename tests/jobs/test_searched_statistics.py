"""Jobs that keep statistics for which no row exists: variances, and those of two variables."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tablecloak.certificates.verifier import main
from tablecloak.jobs.run import run_job

JOB = """
[data]
file = "pay.csv"
contributor = "firm"
{value}
[dimensions.region]
[dimensions.industry]
{variables}
[[rules]]
rule = "p-percent"
p = 20
[adjustment]
preserve = {preserve}
time_limit = 1000
"""

VARIABLES = """
[variables.wages]
value = "wages"
[variables.bonuses]
value = "bonuses"
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    random = np.random.default_rng(1)
    wages = np.ceil(random.lognormal(6, 1.5, 300))
    bonuses = np.ceil(wages * random.lognormal(-1, 0.8, 300))
    frame = pd.DataFrame(
        {
            "firm": [f"f{number}" for number in range(300)],
            "region": random.choice(list("ABCDE"), 300),
            "industry": random.choice(list("uvwxyz"), 300),
            "wages": wages,
            "bonuses": bonuses,
        }
    )
    frame.to_csv(tmp_path / "pay.csv", index=False)
    return tmp_path


def proved(folder: Path, capsys, **parts: str) -> str:
    """What the certificate of a job proves; the release must be in whole numbers."""
    (folder / "job.toml").write_text(JOB.format(**parts), encoding="utf-8")
    result = run_job(folder / "job.toml", folder / "out")
    assert result.is_safe
    assert result.problem.n_sensitive > 0
    assert np.array_equal(result.adjustment.values, np.rint(result.adjustment.values))
    assert main([str(folder / "out" / "internal" / "adjustment_certificate.npz")]) == 0
    return str(capsys.readouterr().out)


def test_a_job_keeps_how_two_variables_go_together_and_publishes_whole_numbers(folder, capsys):
    preserve = '["joint-regression:bonuses ~ wages", "correlation:bonuses ~ wages"]'
    told = proved(folder, capsys, value="", variables=VARIABLES, preserve=preserve)
    assert "the slope of 30 pairs of cells" in told
    assert "the correlation of 30 pairs of cells" in told


def test_a_job_keeps_the_variance_of_a_table_of_whole_numbers(folder, capsys):
    value = 'value = "wages"'
    told = proved(folder, capsys, value=value, variables="", preserve='["variance:all"]')
    assert "the variance of 42 cells is kept" in told

"""A release that the audit finds unsafe stays inside; the others of the job leave."""

from __future__ import annotations

from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app

JOB = """
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
decimals = 0
[dimensions.region]
[dimensions.industry]
[[rules]]
rule = "p-percent"
p = 10
[suppression]
[rounding]
base = 2
"""


def test_an_unsafe_rounding_is_withheld_and_the_pattern_beside_it_is_not(tmp_path):
    tc.examples.firms(60).to_csv(tmp_path / "firms.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    out = tmp_path / "out"
    done = CliRunner().invoke(app, ["protect", str(tmp_path / "job.toml"), "--out", str(out)])
    assert done.exit_code == 1
    assert [folder.name for folder in (out / "release").iterdir()] == ["suppression"]
    assert (out / "internal" / "withheld" / "rounding" / "table.csv").is_file()
    assert "The release of the rounding was WITHHELD: NOT SAFE" in done.output
    assert "Publish one of" not in done.output

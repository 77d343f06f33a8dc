"""All certificates of a whole job are accepted, and each altered one is refused."""

from __future__ import annotations

import shutil

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.certificates.file import write_certificate
from tablecloak.cli.main import app

JOB = """
title = "Turnover"
[data]
file = "firms.csv"
value = "turnover"
contributor = "firm"
[dimensions.region]
[dimensions.sector]
[[rules]]
rule = "p-percent"
p = 15
[suppression]
time_limit = 5
[adjustment]
time_limit = 5
preserve = ["mean:all"]
[output]
report = false
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A job with suppression and adjustment; intervals and rounding of the same problem."""
    folder = tmp_path_factory.mktemp("job")
    random = np.random.default_rng(3)
    places = [(r, s) for r in "NESW" for s in ("farms", "mills", "shops")]
    rows = [(r, s, f"firm {number}") for r, s in places for number in range(random.integers(2, 9))]
    frame = pd.DataFrame(rows, columns=["region", "sector", "firm"])
    frame = frame.assign(turnover=np.ceil(random.lognormal(4, 1.2, len(frame))))
    frame.to_csv(folder / "firms.csv", index=False)
    (folder / "job.toml").write_text(JOB)
    result = tc.run_job(folder / "job.toml", folder / "results")
    assert result.is_safe, result.summary()
    internal = folder / "results" / "internal"
    intervals = tc.publish_intervals(result.problem, seed=1, time_limit=5)
    write_certificate(intervals, internal / "intervals_certificate.npz")
    rounded = tc.controlled_rounding(result.problem, base=10, time_limit=5)
    write_certificate(rounded, internal / "rounding_certificate.npz")
    return internal


def verdict(path, problem):
    done = CliRunner().invoke(app, ["verify", str(path), str(problem)])
    return done.exit_code, done.output


RELEASED = {
    "suppression": "suppressed",
    "adjustment": "published",
    "intervals": "published_lower",
    "rounding": "published",
}


@pytest.mark.parametrize("release", RELEASED)
def test_each_certificate_of_a_job_is_accepted_and_each_altered_one_refused(
    release, folder, tmp_path
):
    proof, problem = folder / f"{release}_certificate.npz", folder / "problem.jj"
    code, text = verdict(proof, problem)
    # Rounding proves no protection, and the verdict says so first.
    told = (3, "NOT CLAIMED: protection") if release == "rounding" else (0, "PROVED: ")
    assert (code, text[: len(told[1])]) == told, text
    assert "no such release loses less than" in text
    assert proof.stat().st_mode & 0o777 == 0o600
    with np.load(proof) as file:
        arrays = {name: file[name] for name in file.files}
    assert str(arrays["format"]) == "tablecloak certificate, secret"
    for name in (RELEASED[release], "values", "loss", "bound", "status", "relation_data"):
        array = arrays[name].copy().reshape(-1)
        for place in {0, len(array) // 2, len(array) - 1}:
            altered = array.copy()
            if array.dtype.kind == "b":
                altered[place] = not altered[place]
            elif array.dtype.kind == "U":
                altered[place] = "z" if altered[place] != "z" else "u"
            else:
                altered[place] += 1 + abs(altered[place])
            changed = {**arrays, name: altered.reshape(arrays[name].shape)}
            np.savez_compressed(tmp_path / "altered.npz", **changed)
            code, text = verdict(tmp_path / "altered.npz", problem)
            assert (code, text[:9]) == (1, "REFUSED: "), (name, place, text)


def test_certificates_of_a_job_speak_of_its_problem_only(folder, tmp_path):
    other = tmp_path / "other.jj"
    tc.write_problem(tc.examples.cox_rounded(), other)
    for release in RELEASED:
        code, text = verdict(folder / f"{release}_certificate.npz", other)
        assert (code, text[:9]) == (1, "REFUSED: "), text
    # Files of one release are not those of another.
    shutil.copy(folder / "adjustment_certificate.npz", tmp_path / "suppression_certificate.npz")
    code, text = verdict(tmp_path / "suppression_certificate.npz", folder / "problem.jj")
    assert code == 0
    assert "each adjusted value lies" in text

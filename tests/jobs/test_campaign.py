"""Campaigns and interruptions: what is finished stays, and nothing is ever half."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from tablecloak.cli.main import app
from tablecloak.executors import DaskExecutor
from tablecloak.jobs.campaign import run_campaign
from tablecloak.storage import replacing_folder

JOB = """\
title = "{title}"
[data]
file = "{file}"
value = "{value}"
decimals = 0
[dimensions.industry]
[dimensions.region]
[dimensions.size]
[[tables]]
dimensions = ["industry", "region"]
[[tables]]
dimensions = ["industry", "size"]
[[rules]]
rule = "p-percent"
p = 10
[suppression]
method = "{method}"
time_limit = 60
[output]
report = false
"""


def two_jobs(tmp_path: Path) -> Path:
    """Two jobs with two linked tables each, on 40 firms: half of the cells are sensitive."""
    firms = tc.examples.firms(40, seed=2)
    share = np.random.default_rng(1).uniform(0.2, 0.9, len(firms))
    data = firms.rename(columns={"turnover": "TURNOVER"})
    data["PRODUCTION"] = (data["TURNOVER"] * share).round()
    folder = tmp_path / "jobs"
    folder.mkdir()
    data.to_csv(tmp_path / "data.csv", index=False)
    for value in ("TURNOVER", "PRODUCTION"):
        text = JOB.format(title=value, file=tmp_path / "data.csv", value=value, method="sequential")
        (folder / f"{value.lower()}.toml").write_text(text)
    return folder


@pytest.fixture
def jobs(tmp_path):
    return two_jobs(tmp_path)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a campaign over these jobs that ran to its end, one job after another."""
    folder = tmp_path_factory.mktemp("undisturbed")
    run_campaign(two_jobs(folder), folder / "out")
    return folder / "out"


def releases(folder: Path) -> dict[str, bytes]:
    """Everything that may be published, and every internal status."""
    found = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ("release" in path.parts or path.name.endswith("statuses.csv"))
    }
    assert found
    return found


def campaign(jobs: Path, out: Path, *options: str) -> subprocess.Popen:
    command = [sys.executable, "-m", "tablecloak.cli.main", "protect", "--all", str(jobs)]
    return subprocess.Popen(
        [*command, "--out", str(out), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_every_job_of_the_campaigns_has_cells_to_protect(undisturbed):
    """Without sensitive cells nothing would be searched, and any outcome would be the same."""
    for folder in undisturbed.glob("[!.]*"):
        status = pd.read_csv(folder / "internal" / "suppression_statuses.csv")["status"]
        assert (status == "primary").sum() >= 10
        assert (status == "secondary").sum() >= 5


@pytest.mark.slow
def test_a_campaign_interrupted_and_resumed_equals_the_uninterrupted_one(
    jobs, tmp_path, undisturbed
):
    out = tmp_path / "out"
    running = campaign(jobs, out)
    # Killed as soon as a job is on disk.
    while True:
        done_before = {path.parent.parent.name for path in out.glob("[!.]*/internal/result.json")}
        if done_before or running.poll() is not None:
            break
        time.sleep(0.05)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    assert done_before
    again = run_campaign(jobs, out)
    assert {outcome.name for outcome in again if not outcome.is_new} >= done_before
    assert all(outcome.is_safe for outcome in again)
    assert releases(out) == releases(undisturbed)
    assert not [path for path in out.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_the_outcome_is_the_same_if_a_dask_worker_is_killed(jobs, tmp_path, undisturbed):
    distributed, dask = pytest.importorskip("distributed"), pytest.importorskip("dask")
    # Workers are processes that import everything: on a busy machine they take long to start.
    distributed_config = {"distributed.comm.timeouts.connect": "180s"}
    with (
        dask.config.set(distributed_config),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
    ):
        killed = []

        def kill_one(outcome):
            if not killed:
                with distributed.Client(cluster) as client:
                    busy = [w for w, tasks in client.processing().items() if tasks]
                    process = client.run(os.getpid, workers=busy[:1] or None)
                killed.append(next(iter(process.values())))
                os.kill(killed[0], signal.SIGKILL)

        out = tmp_path / "dask"
        run_campaign(jobs, out, executor=DaskExecutor(cluster.scheduler_address), said=kill_one)
    assert killed
    assert releases(out) == releases(undisturbed)


def test_linked_jobs_are_refused_with_the_remedy(jobs, tmp_path):
    shutil.copy(jobs / "production.toml", jobs / "other.toml")
    with pytest.raises(tc.InputError, match="tables are linked.*one job with one"):
        run_campaign(jobs, tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.raises(tc.InputError, match=r"no job file \(\*.toml\)"):
        run_campaign(tmp_path / "nowhere", tmp_path / "out")


def test_a_failed_job_keeps_no_other_from_being_done_and_changes_are_noticed(jobs, tmp_path):
    text = (jobs / "production.toml").read_text()
    (jobs / "production.toml").write_text(text.replace('"PRODUCTION"', '"PRODUCTIN"'))
    command = ["protect", "--all", str(jobs), "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 1
    assert re.search(r"production: NOT SAFE: .*The data has no column 'PRODUCTIN'", done.output)
    assert "turnover: safe: " in done.output
    assert "1 of 2 jobs are done and safe" in done.output
    (jobs / "production.toml").write_text(text)
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "turnover: safe (was there already)" in done.output
    with (tmp_path / "data.csv").open("a") as data:
        data.write("f120,g0,N,N1,food,small,63,40\n")
    again = run_campaign(jobs, tmp_path / "out")
    assert all(outcome.is_new for outcome in again)


def test_a_folder_is_replaced_whole_or_not_at_all(tmp_path):
    out = tmp_path / "out"
    with replacing_folder(out) as folder:
        (folder / "a").write_text("1")
    (out / "mine.txt").write_text("kept")
    with pytest.raises(RuntimeError), replacing_folder(out) as folder:
        (folder / "a").write_text("2")
        raise RuntimeError
    assert (out / "a").read_text() == "1"
    with replacing_folder(out) as folder:
        (folder / "a").write_text("3")
    assert {path.name: path.read_text() for path in out.iterdir()} == {"a": "3", "mine.txt": "kept"}
    assert is_private(out)
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


RUN = "import sys; from tablecloak.jobs.run import run_job; run_job(sys.argv[1], sys.argv[2])"


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_old_results_or_the_new_ones(jobs, tmp_path):
    job, out = jobs / "turnover.toml", tmp_path / "out"
    tc.run_job(job, tmp_path / "old")
    more = 'p = 10\n[[rules]]\nrule = "minimum-frequency"\nminimum = 5'
    job.write_text(job.read_text().replace("p = 10", more))
    tc.run_job(job, tmp_path / "new")
    old, new = releases(tmp_path / "old"), releases(tmp_path / "new")
    assert old != new
    seen = set()
    # By what lies on disk and not by the clock: the moments are the same on a busy machine.
    for written in (".out-*/internal/problem.jj", ".out-*/release/*/*"):
        shutil.rmtree(out, ignore_errors=True)
        shutil.copytree(tmp_path / "old", out)
        running = subprocess.Popen([sys.executable, "-c", RUN, str(job), str(out)])
        while running.poll() is None and not list(tmp_path.glob(written)):
            time.sleep(0.002)
        running.send_signal(signal.SIGKILL)
        running.wait()
        found = releases(out)
        assert found in (old, new), written
        seen.add("old" if found == old else "new")
    assert "old" in seen
    for left in tmp_path.glob(".out-*"):
        assert is_private(left)
    # What killed runs left behind is gone after the next one.
    tc.run_job(job, out)
    assert not list(tmp_path.glob(".out-*"))
    assert releases(out) == new


SMALL = """\
[data]
file = "{file}"
{more}
[dimensions.{dimension}]
[[rules]]
rule = "minimum-frequency"
minimum = 2
[suppression]
"""


def small_jobs(folder: Path, *jobs: dict[str, str]) -> Path:
    """Jobs on records of some firms, each with a file, a dimension and further keys of [data]."""
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "region": random.choice(["N", "S"], 80),
            "branch": random.choice(["a", "b", "c"], 80),
            "turnover": np.round(random.lognormal(5, 1, 80), 2),
            "staff": random.integers(1, 9, 80),
            "exports": random.permutation(np.repeat([0, 1], 40)),
            "imports": random.permutation(np.repeat([0, 1], 40)),
            "one": 1,
            "two": 2,
        }
    )
    frame["same"], frame["thousands"] = frame["turnover"], frame["turnover"] / 1000
    frame["signs"] = frame["staff"]
    frame.to_csv(folder / "data.csv", index=False)
    (folder / "hard.csv").hardlink_to(folder / "data.csv")
    (folder / "soft.csv").symlink_to(folder / "data.csv")
    shuffled = frame.sample(frac=1, random_state=1)
    shuffled.to_csv(folder / "copy.csv", index=False)
    shuffled.to_parquet(folder / "data.parquet", index=False)
    frame.assign(turnover=frame["turnover"] + 1).to_csv(folder / "other.csv", index=False)
    fewer = shuffled.rename(columns={"turnover": "sales"})[["branch", "sales", "staff"]]
    fewer.to_csv(folder / "fewer.csv", index=False)
    other = pd.DataFrame({"branch": ["x", "y"] * 40, "region": ["k", "l", "m", "n"] * 20})
    other.to_csv(folder / "unrelated.csv", index=False)
    (folder / "jobs").mkdir()
    for number, job in enumerate(jobs):
        more = "\n".join(
            f'{key} = "{entry}"' for key, entry in job.items() if key in ROLES and entry
        )
        text = SMALL.format(file=folder / job["file"], more=more, dimension=job["dimension"])
        text += job.get("variables", "")
        (folder / "jobs" / f"job{number}.toml").write_text(text)
    return folder / "jobs"


ROLES = ("value", "weight")
TURNOVER = {"file": "data.csv", "value": "turnover", "dimension": "region"}
STAFF = {"file": "data.csv", "value": "staff", "dimension": "region"}
COUNT = {"file": "data.csv", "dimension": "region"}
MANY = {**COUNT, "variables": "[variables.t]\nvalue='turnover'\n[variables.s]\nvalue='staff'\n"}
NORTH = {**COUNT, "variables": "[variables.n]\nvalue='staff'\nonly={region='N'}\n"}


@pytest.mark.parametrize(
    ("first", "change"),
    [
        *[(TURNOVER, {"file": name}) for name in
          ("data.csv", "hard.csv", "soft.csv", "copy.csv", "data.parquet")],
        (TURNOVER, {"value": "same"}),
        (TURNOVER, {"value": "thousands"}),
        (TURNOVER, {"weight": "one"}),
        (TURNOVER, {"weight": "two"}),
        (TURNOVER, {"file": "fewer.csv", "value": "sales"}),
        (STAFF, {"value": "signs"}),
        (STAFF, {"file": "data.parquet"}),
        (COUNT, {"value": "one"}),
        (COUNT, {"file": "copy.csv"}),
        (COUNT, {"file": "fewer.csv"}),
        (STAFF, MANY | {"value": ""}),
        (NORTH, {}),
    ],
)  # fmt: skip
def test_the_same_contributions_are_found_under_any_name(tmp_path, first, change):
    folder = small_jobs(tmp_path, first, first | {"dimension": "branch"} | change)
    with pytest.raises(tc.InputError, match="job0.toml, job1.toml tabulate the same values"):
        run_campaign(folder, tmp_path / "out")


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (TURNOVER, STAFF),
        (TURNOVER, {**TURNOVER, "file": "other.csv"}),
        (TURNOVER, {**TURNOVER, "weight": "staff"}),
        (TURNOVER, COUNT),
        # As many ones in both, in other records; as many records, of other data.
        ({**COUNT, "value": "exports"}, {**COUNT, "value": "imports"}),
        (COUNT, {**COUNT, "file": "unrelated.csv"}),
        (MANY, {**COUNT, "variables": "[variables.e]\nvalue='exports'\n"}),
        (NORTH, {**NORTH, "variables": NORTH["variables"].replace("'N'", "'S'")}),
    ],
)
def test_other_contributions_are_not_taken_for_the_same(tmp_path, first, second):
    found = run_campaign(small_jobs(tmp_path, first, second), tmp_path / "out")
    assert len(found) == 2

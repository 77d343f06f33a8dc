"""Real searches in the background: stopped, at the same time, and with the end of the program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import urllib.request
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

import pytest

import tablecloak as tc
from rtauargus import FOUR, hierarchies, insee
from serving import TABLE
from tablecloak.budget import Budget
from tablecloak.service.answers import columns_of
from tablecloak.service.call import CALLS, Call
from tablecloak.service.work import Work


@pytest.fixture
def work(tmp_path):
    work = Work(tmp_path, 2)
    yield work
    work.queue.close()


@cache
def of_insee(name: str) -> dict:
    """A request for one of the four tables of INSEE, which takes more than a moment."""
    tree = hierarchies(*FOUR[name])[FOUR[name][0]]
    return {
        "data": {"kind": "table", "file": "t.csv", "value": "TOT", "flags": "is_secret_prim",
                 "tolerance": 1},
        "dimensions": {key: {} for key in FOUR[name]}
        | {key: {"hierarchy": "h.hrc"} for key in FOUR[name][:1]},
        "suppression": {"time_limit": 1000, "hold": "off"},
        "files": {"t.csv": columns_of(insee(name)), "h.hrc": tree},
    }  # fmt: skip


def test_a_search_that_is_stopped_answers_with_a_pattern_that_is_proved(work):
    job = work.ask(CALLS["suppress"], of_insee("nuts_cj"))
    told = work.state(job)
    # While cells are being protected one after the other there is no pattern yet.
    before = ("", "reading", "adding up records", "protecting")
    while told.progress.stage in before and told.state in ("waiting", "running"):
        told = work.state(job, wait=0.02)
    work.queue[job].stop()
    told = work.state(job, wait=60)
    assert told.state == "done", told.error
    assert told.answer["is_safe"]
    assert told.answer["loss"] >= told.answer["bound"] > 0


@dataclass(frozen=True, kw_only=True)
class Hopeless(Call):
    """Find nothing until it is stopped."""

    name: ClassVar[str] = "hopeless"

    def answer(self, question: Any) -> dict[str, Any]:
        budget = Budget.of(1000, progress=question.progress)
        while not budget.is_over:
            budget.report("protecting", 5.0, open_=3)
            threading.Event().wait(0.005)
        raise tc.SolverError("Interrupted before any pattern was proved.")


def test_a_search_that_is_stopped_before_anything_is_proved_has_no_answer(work):
    with CALLS.including(Hopeless):
        job = work.ask(Hopeless, {})
    while work.state(job).state == "waiting":
        work.state(job, wait=0.01)
    work.queue[job].stop()
    told = work.state(job, wait=60)
    assert (told.state, told.answer) == ("stopped", None)
    assert "before any pattern was proved" in told.error.message


def test_two_questions_at_once_are_answered_as_each_alone(work):
    other = {**TABLE, "dimensions": {"region": {"total": "Total"}, "size": {}}, "solver": "highs",
             "suppression": {"weights": "unit"}}  # fmt: skip
    jobs = [work.ask(CALLS["suppress"], body) for body in (TABLE, other, TABLE, other)]
    found = [work.state(job, wait=60).answer for job in jobs]
    assert [answer["loss"] for answer in found] == [140, 4, 140, 4]
    assert [answer["cells"]["status"] for answer in found[:2]] == [
        answer["cells"]["status"] for answer in found[2:]
    ]


def test_what_is_asked_is_gone_when_all_is_closed(work):
    job = work.ask(CALLS["suppress"], TABLE)
    work.state(job, wait=60)
    work.queue.close()
    assert work.all() == []


@pytest.mark.skipif(os.name == "nt", reason="Windows ends programs without telling them")
def test_a_server_that_is_told_to_end_leaves_no_file_of_a_request(tmp_path):
    command = [sys.executable, "-m", "tablecloak.cli.main", "serve"]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address, token = (server.stdout.readline().split()[-1] for _ in range(2))
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        body = json.dumps(TABLE).encode()
        with urllib.request.urlopen(
            urllib.request.Request(f"{address}/v1/suppress", body, headers), timeout=60
        ) as answer:
            assert json.load(answer)["state"] != "failed"
        assert list(tmp_path.iterdir())
        server.send_signal(signal.SIGTERM)
        assert server.wait(60) == 0
    finally:
        server.kill()
        server.stdout.close()
    assert not list(tmp_path.iterdir())

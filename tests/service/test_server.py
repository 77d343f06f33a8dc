"""The server: who gets an answer, what errors say, jobs that wait, run, end and are stopped."""

from __future__ import annotations

import json
import math
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import pytest
from pydantic import Field

from serving import CELLS, TABLE, TOKEN, Client, serving
from tablecloak.budget import Budget
from tablecloak.service import server as server_module
from tablecloak.service.call import CALLS, Call
from tablecloak.service.server import create_app
from tablecloak.service.work import Work
from tablecloak.web import tasks

MOST = 20_000
"""Bytes of the largest request to the server of these tests."""


@dataclass(frozen=True, kw_only=True)
class Endless(Call):
    """Search until stopped."""

    name: ClassVar[str] = "endless"
    loss: Annotated[float, Field(ge=0, description="Loss that is reported.")] = 7.0

    def answer(self, question: Any) -> dict[str, Any]:
        budget = Budget.of(1000, progress=question.progress)
        while not budget.is_over:
            budget.report("searching", self.loss, -math.inf, 3)
            threading.Event().wait(0.005)
        return {"stopped": budget.is_stopped}


@dataclass(frozen=True, kw_only=True)
class Broken(Call):
    """Fail by a fault of the program."""

    name: ClassVar[str] = "broken"

    def answer(self, question: Any) -> dict[str, Any]:
        raise KeyError("row 4711")


@pytest.fixture(scope="module")
def client(tmp_path_factory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("work")
    with CALLS.including(Endless), CALLS.including(Broken), serving(folder, MOST) as client:
        yield client


@pytest.fixture
def running(client) -> Iterator[str]:
    """A job that runs until it is stopped."""
    job = begun(client)
    yield job
    client.work.queue.forget(job)


def begun(client: Client, **body: Any) -> str:
    """Ask for an endless search, and wait until it has begun."""
    status, job = client.send("POST", "/v1/endless", body)
    assert status == 202
    while client.send("GET", f"/v1/jobs/{job['id']}")[1]["progress"]["stage"] != "searching":
        threading.Event().wait(0.01)
    return job["id"]


def test_a_finished_table_is_protected_and_its_release_shows_no_hidden_value(client):
    answer = client.ask("suppress", TABLE)
    release = answer["release"]
    hidden = [status == "suppressed" for status in release["status"]]
    assert sum(hidden) == 4
    assert [value is None for value in release["value"]] == hidden
    # Codes stay text as they were sent.
    assert set(release["size"]) == {"01", "02", "Total"}
    assert answer["cells"]["status"].count("primary") == 1
    assert answer["is_safe"] is True
    assert answer["loss"] == 140


@pytest.mark.parametrize(
    ("path", "token"),
    [
        ("/openapi.json", ""),
        ("/nothing", "Bearer"),
        ("/v1/jobs", f"Bearer {TOKEN}x"),
        ("/v1/jobs", TOKEN),
        ("/v1/jobs", "Bearer ä"),
        ("/v1/jobs", "Basic x"),
    ],
)
def test_without_the_token_nothing_is_answered(client, path, token):
    status, answer = client.send("GET", path, Authorization=token.encode("utf-8").decode("latin-1"))
    assert status == 401
    assert answer["error"]["kind"] == "token"
    assert TOKEN not in str(answer)


def test_other_names_that_lead_here_get_no_answer(client):
    request = (
        f"GET /v1/jobs HTTP/1.1\r\nHost: evil.example\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
    )
    status, answer = raw(client, request)
    assert (status, answer["error"]["kind"]) == (403, "host")


def test_pages_of_other_servers_get_no_answer(client):
    status, answer = client.send("POST", "/v1/suppress", TABLE, Origin="http://127.0.0.1:1")
    assert (status, answer["error"]["kind"]) == (403, "origin")
    own = f"http://127.0.0.1:{client.port}"
    assert client.send("GET", "/v1/jobs", Origin=own)[0] == 200


def raw(client: Client, request: str) -> tuple[int, dict[str, Any]]:
    """Send bytes as they are; return status and answer."""
    with socket.create_connection(("127.0.0.1", client.port), timeout=60) as connection:
        connection.sendall(request.encode())
        answer = connection.makefile("rb")
        status = int(answer.readline().split()[1])
        length = 0
        while line := answer.readline().strip():
            if line.lower().startswith(b"content-length:"):
                length = int(line.split()[1])
        return status, json.loads(answer.read(length))


def test_a_request_that_is_too_large_is_refused_with_the_remedy(client):
    body = {**TABLE, "title": "x" * MOST}
    status, answer = client.send("POST", "/v1/suppress", body)
    assert (status, answer["error"]["kind"]) == (413, "size")
    assert "--most" in answer["error"]["message"]


def test_a_much_too_large_request_is_refused_before_it_is_read(client):
    request = f"POST /v1/suppress HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {10**12}\r\n\r\n"
    status, answer = raw(client, request)
    assert (status, answer["error"]["kind"]) == (413, "size")


def test_what_is_no_request_of_http_is_told_so_in_json(client):
    status, answer = raw(client, "GET /v1/jobs HTTP/1.1\r\nContent-Length: x\r\n\r\n")
    assert (status, answer["error"]["kind"]) == (400, "request")


@pytest.mark.parametrize(
    ("method", "path", "status", "kind", "words"),
    [
        ("GET", "/", 404, "address", "/openapi.json"),
        ("GET", "/v1/suppress", 405, "method", "/openapi.json"),
        ("POST", "/v1/supress", 404, "address", "Did you mean 'suppress'?"),
        ("GET", "/v1/jobs/none", 404, "address", "There is no job 'none'"),
        ("DELETE", "/v1/jobs/none", 404, "address", "There is no job 'none'"),
        ("GET", "/v1/jobs/none?wait=x", 400, "input", "'x' is not a number of seconds"),
        ("GET", "/v1/jobs/none?wait=nan", 400, "input", "'nan' is not a number of seconds"),
        ("GET", "/v1/jobs/none?wait=1e9", 400, "input", "from 0 to 60"),
    ],
)
def test_a_wrong_address_is_told_where_to_look(client, method, path, status, kind, words):
    found, answer = client.send(method, path, {} if method == "POST" else None)
    assert (found, answer["error"]["kind"]) == (status, kind)
    assert words in answer["error"]["message"]


def test_only_json_is_read(client):
    status, answer = client.send("POST", "/v1/suppress", TABLE, Content_Type="text/plain")
    assert (status, answer["error"]["kind"]) == (415, "type")


def test_a_running_job_tells_its_progress_and_stops_with_its_best_answer(client, running):
    status, job = client.send("GET", f"/v1/jobs/{running}")
    assert (status, job["state"]) == (202, "running")
    assert job["progress"] == {"stage": "searching", "loss": 7.0, "open": 3}
    status, job = client.send("POST", f"/v1/jobs/{running}/stop?wait=60")
    assert (status, job["state"]) == (200, "done")
    assert job["answer"] == {"stopped": True}


def test_a_deleted_job_ends_and_is_forgotten(client, running):
    task = client.work.queue[running]
    assert client.send("DELETE", f"/v1/jobs/{running}")[1] == {"id": running, "deleted": True}
    assert client.send("GET", f"/v1/jobs/{running}")[0] == 404
    assert task.wait(60)
    client.work.queue._tasks[running] = task  # for the end of the fixture


def test_a_second_request_is_answered_while_the_first_one_runs(client, running):
    assert client.ask("suppress", TABLE)["is_safe"]
    states = {job["id"]: job["state"] for job in client.send("GET", "/v1/jobs")[1]["jobs"]}
    assert states[running] == "running"


def test_what_waits_for_its_turn_never_begins_after_a_stop(client, running):
    second = begun(client, loss=8)
    third = client.send("POST", "/v1/endless", {"loss": 9})[1]
    assert third["state"] == "waiting"
    stopped = client.send("POST", f"/v1/jobs/{third['id']}/stop")[1]
    assert stopped["state"] == "stopped"
    assert "answer" not in stopped
    assert client.send("POST", f"/v1/jobs/{second}/stop?wait=60")[1]["state"] == "done"


def test_files_of_a_request_are_gone_when_it_has_ended(client):
    client.ask("suppress", TABLE)
    assert client.send("POST", "/v1/suppress", {**TABLE, "dat": 1})[0] == 400
    # One worker may still be removing its folder.
    assert len(list(client.work.folder.iterdir())) <= 1


def test_an_internal_error_tells_its_kind_and_no_value(client, capfd):
    job = client.send("POST", "/v1/broken?wait=60", {})[1]
    assert job["state"] == "failed"
    assert job["error"]["kind"] == "internal"
    assert "KeyError" in job["error"]["message"]
    out, err = capfd.readouterr()
    assert "4711" not in f"{job}{out}{err}"


def test_nothing_of_a_request_is_printed(client, capfd):
    client.ask("suppress", TABLE)
    client.error(
        "suppress", {**TABLE, "files": {"cells.csv": {**CELLS, "value": [4711] * 9}}, "x": 1}
    )
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")


def test_a_fault_in_the_data_names_the_file_as_it_was_sent(client):
    body = {**TABLE, "files": {"cells.csv": {**CELLS, "value": ["many", *CELLS["value"][1:]]}}}
    job = client.send("POST", "/v1/suppress?wait=60", body)[1]
    assert job["state"] == "failed"
    assert job["error"]["message"].startswith("cells.csv, row 1: column 'value' must hold numbers")


def test_the_oldest_answer_makes_room_and_running_jobs_never_do(client, running, monkeypatch):
    monkeypatch.setattr(tasks, "MOST_KEPT", len(client.work.all()))
    first = next(job.id for job in client.work.all() if job.state == "done")
    assert client.ask("suppress", TABLE)["is_safe"]
    assert client.send("GET", f"/v1/jobs/{first}")[0] == 404
    monkeypatch.setattr(tasks, "MOST_KEPT", 0)
    for job in client.work.all():
        if job.state != "running":
            client.work.queue.forget(job.id)
    status, answer = client.send("POST", "/v1/suppress", TABLE)
    assert (status, answer["error"]["kind"]) == (429, "busy")
    assert client.send("GET", f"/v1/jobs/{running}")[0] == 202


def test_a_server_for_other_machines_is_called_by_its_own_address(tmp_path):
    app = create_app(Work(tmp_path, 1), TOKEN, "10.1.2.3", MOST)
    user = app.test_client()
    headers = {"Authorization": f"Bearer {TOKEN}"}
    assert user.get("/v1/jobs", headers={**headers, "Host": "10.1.2.3:80"}).status_code == 200
    assert user.get("/v1/jobs", headers={**headers, "Host": "localhost"}).status_code == 403


def test_requests_that_wait_leave_threads_for_others(client, running):
    threads = [
        threading.Thread(target=client.send, args=("GET", f"/v1/jobs/{running}?wait=60"))
        for _ in range(server_module.THREADS)
    ]
    for thread in threads:
        thread.start()
    # Two of them are told at once that there is no place to wait.
    while sum(thread.is_alive() for thread in threads) > server_module.MOST_WAITING:
        threading.Event().wait(0.01)
    # Nor does a new question wait for its own end; it is asked again.
    status, job = client.send("POST", "/v1/suppress?wait=60", TABLE)
    assert status == 202
    while client.send("GET", f"/v1/jobs/{job['id']}")[1]["state"] != "done":
        threading.Event().wait(0.01)
    assert sum(thread.is_alive() for thread in threads) == server_module.MOST_WAITING
    client.send("POST", f"/v1/jobs/{running}/stop")
    for thread in threads:
        thread.join()

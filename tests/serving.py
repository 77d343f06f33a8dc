"""A real server on a free port, and a client of the standard library."""

from __future__ import annotations

import http.client
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tablecloak.service.server import create_app, listening
from tablecloak.service.work import Work
from tablecloak.web.tasks import hearing_warnings

TOKEN = "a token of the tests"

FIRMS = {
    "region": ["N", "N", "N", "S", "S", "S", "S"],
    "size": ["big", "small", "small", "big", "big", "small", "small"],
    "firm": ["a", "b", "c", "d", "e", "f", "g"],
    "turnover": [90, 5, 7, 40, 45, 6, 8],
}
"""Invented records."""

RECORDS: dict[str, Any] = {
    "data": {"file": "firms.csv", "value": "turnover", "contributor": "firm"},
    "dimensions": {"region": {}, "size": {}},
    "rules": [{"rule": "p-percent", "p": 10}],
    "files": {"firms.csv": FIRMS},
}
"""A request from records."""

CELLS = {
    "region": ["N", "N", "N", "S", "S", "S", "Total", "Total", "Total"],
    "size": ["01", "02", "Total"] * 3,
    "value": [20, 50, 70, 30, 40, 70, 50, 90, 140],
    "secret": [True, False, False, False, False, False, False, False, False],
}
"""A finished table, whose first cell is flagged."""

TABLE: dict[str, Any] = {
    "data": {"kind": "table", "file": "cells.csv", "flags": "secret", "flags_range": 10},
    "dimensions": {"region": {}, "size": {}},
    "files": {"cells.csv": CELLS},
}
"""A request from a finished table."""


@dataclass(frozen=True)
class Client:
    """Speaks to a server."""

    port: int
    work: Work

    def send(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[int, dict[str, Any]]:
        """Send a request; return status and answer. Names of headers have _ for -."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        usual = {"Authorization": f"Bearer {TOKEN}", "Content-Type": "application/json"}
        given = usual | {name.replace("_", "-"): value for name, value in headers.items()}
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, data, {k: v for k, v in given.items() if v})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.getheader("Content-Type") == "application/json", text
        return answer.status, json.loads(text, parse_constant=lambda word: 1 / 0)

    def ask(self, call: str, body: Any) -> dict[str, Any]:
        """Return the answer of a call."""
        status, job = self.send("POST", f"/v1/{call}?wait=60", body)
        assert (status, job.get("state")) == (200, "done"), job
        return job["answer"]

    def error(self, call: str, body: Any) -> dict[str, Any]:
        """Return what is wrong with a request."""
        status, answer = self.send("POST", f"/v1/{call}", body)
        assert status == 400, answer
        return answer["error"]


@contextmanager
def serving(folder: Path, most_bytes: int = 10**6) -> Iterator[Client]:
    """Serve on a free port of this machine."""
    work = Work(folder, 2)
    app = create_app(work, TOKEN, "127.0.0.1", most_bytes)
    server = listening(app, "127.0.0.1", 0, most_bytes)
    thread = threading.Thread(target=server.run, daemon=True)
    with hearing_warnings():
        thread.start()
        yield Client(int(server.effective_port), work)
        end(server)


def end(server: Any) -> None:
    """Close a server in the thread that waits for its sockets: elsewhere that wait would fail."""
    server.trigger.pull_trigger(server.close)

"""The server of `tablecloak serve`: JSON over HTTP, for this machine.

The server listens on 127.0.0.1 unless told otherwise. Every request carries a token that is new at
each start. Requests to another host name (DNS rebinding) and from pages of other servers (an
`Origin` that is not this server) get no answer. Nothing of a request is written to a log.
"""

from __future__ import annotations

import json
import secrets
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablecloak.errors import InputError, TablecloakError, suggestion
from tablecloak.extras import required
from tablecloak.service.call import CALLS
from tablecloak.service.faults import Fault, Kind, fault_of
from tablecloak.service.openapi import description
from tablecloak.service.request import read_json
from tablecloak.service.work import Work
from tablecloak.web.guard import LOOPBACK, guard, is_secret
from tablecloak.web.listening import listen, run
from tablecloak.web.tasks import BusyError, UnknownJobError, hearing_warnings

if TYPE_CHECKING:
    from flask import Flask

MEGABYTE = 2**20

THREADS = 8
"""Requests that are read, or wait for an answer, at a time. Jobs have threads of their own."""

MOST_WAITING = THREADS - 2
"""Most requests that wait for the end of a job; others are told at once how far it is."""

MOST_WAIT = 60.0
"""Most seconds that a request can wait for the end of a job."""

MOST_SENDING = 60.0
"""Most seconds for a whole request."""

OF_STATUS: dict[int, tuple[Kind, str]] = {
    404: ("address", "There is nothing at this address. All addresses are in /openapi.json."),
    405: ("method", "This address takes other methods. All of them are in /openapi.json."),
    413: ("size", "The request is too large. Send less, or start the server with a larger --most."),
    415: ("type", "Send JSON, with the header Content-Type: application/json."),
}
"""What is said of errors that Flask finds."""


def serve(
    port: int = 0,
    *,
    host: str = "127.0.0.1",
    at_once: int = 2,
    most_bytes: int = 256 * MEGABYTE,
    attached: bool = False,
) -> None:
    """Answer questions over HTTP until interrupted.

    Parameters
    ----------
    port : int, default=0
        0 takes any free port.
    host : str, default="127.0.0.1"
        Address to listen on. Requests must name it as their host; with another one than that of
        this machine alone, tables travel through the network unencrypted.
    at_once : int, default=2
        Questions that are answered at a time; others wait.
    most_bytes : int
        Larger requests are refused.
    attached : bool, default=False
        Whether to end when the standard input does.

    Raises
    ------
    InputError
        If Flask or waitress is not installed, or the port is taken.
    """
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as temporary, hearing_warnings():
        token = secrets.token_urlsafe(24)
        work = Work(Path(temporary), at_once)
        app = create_app(work, token, host, most_bytes)
        server = listening(app, host, port, most_bytes)
        shown = f"[{host}]" if ":" in host else host
        print(f"tablecloak serves at http://{shown}:{server.effective_port}", flush=True)
        print(f"token: {token}\nCtrl-C ends.", flush=True)
        try:
            run(server, attached=attached)
        finally:
            work.queue.close()


def listening(app: Flask, host: str, port: int, most_bytes: int) -> Any:
    """Return a server that listens; its method `run` answers.

    Raises
    ------
    InputError
        If waitress is not installed, or host and port cannot be used.
    """
    return listen(
        app,
        host,
        port,
        threads=THREADS,
        # Who sends a little too much reads why; who sends more is cut off while sending.
        most_bytes=2 * most_bytes,
        most_seconds=MOST_SENDING,
        refusal=_refusal,
    )


def _refusal(status: int) -> str:
    kind, message = OF_STATUS.get(status, ("request", "This is no request of HTTP."))
    return _text({"error": Fault(kind=kind, message=message).model_dump()})


def create_app(work: Work, token: str, host: str, most_bytes: int) -> Flask:
    """Build the server's application.

    Parameters
    ----------
    work : Work
    token : str
        What every request must carry.
    host : str
        Address on which the server listens.
    most_bytes : int
        Larger requests are refused.

    Returns
    -------
    flask.Flask
    """
    required("flask", "Questions over HTTP")
    from flask import Flask
    from werkzeug.exceptions import HTTPException

    app = Flask("tablecloak.service", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = most_bytes
    names = frozenset({host.lower(), f"[{host.lower()}]"})
    hosts = names | LOOPBACK if names & LOOPBACK else names
    guard(app, Bearer(token), hosts, {"Content-Security-Policy": "default-src 'none'"})
    _add_addresses(app, work)

    @app.errorhandler(TablecloakError)
    def explained(error: TablecloakError) -> Any:
        fault = fault_of(error, work.folder)
        if isinstance(error, UnknownJobError):
            return _refused("address", fault.message, 404)
        if isinstance(error, BusyError):
            return _refused("busy", fault.message, 429)
        return _answer({"error": fault.model_dump()}, 400)

    @app.errorhandler(Exception)
    def unexplained(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            kind, message = OF_STATUS.get(error.code or 500, ("request", "See /openapi.json."))
            return _refused(kind, message, error.code or 500)
        return _answer({"error": fault_of(error, work.folder).model_dump()}, 500)

    return app


class Bearer:
    """Who carries the token that the server printed.

    Parameters
    ----------
    token : str
    """

    reads_are_free = False

    def __init__(self, token: str) -> None:
        self._token = token

    def refuse(self, kind: str) -> Any:
        """Say what is wrong with the address or the origin."""
        if kind == "host":
            return _refused("host", "Call the server by the address that it printed.", 403)
        return _refused("origin", "Pages of other servers get no answer.", 403)

    def admit(self) -> Any:
        """Let in who carries the token."""
        from flask import request

        if is_secret(request.headers.get("Authorization", ""), f"Bearer {self._token}"):
            return None
        answer = _refused(
            "token",
            "Send the header Authorization: Bearer TOKEN, with the token that the server printed "
            "when it was started.",
            401,
        )
        answer.headers["WWW-Authenticate"] = "Bearer"
        return answer


def _add_addresses(app: Flask, work: Work) -> None:
    """Register all addresses; `openapi.py` describes them."""
    from flask import request

    places = threading.BoundedSemaphore(MOST_WAITING)

    def told(job: str) -> Any:
        wait = _seconds(request.args.get("wait", "0"))
        if not (wait and places.acquire(blocking=False)):
            return _told(work, job, 0.0)
        try:
            return _told(work, job, wait)
        finally:
            places.release()

    @app.get("/openapi.json")
    def openapi() -> Any:
        return _answer(description(request.host_url.rstrip("/")))

    @app.post("/v1/<name>")
    def ask(name: str) -> Any:
        if name not in CALLS:
            message = f"There is no call {name!r}.{suggestion(name, CALLS.names)}"
            return _refused("address", message, 404)
        if not request.is_json:
            return _refused(*OF_STATUS[415], 415)
        _seconds(request.args.get("wait", "0"))
        return told(work.ask(CALLS[name], read_json(request.get_data(cache=False))))

    @app.get("/v1/jobs")
    def jobs() -> Any:
        return _answer({"jobs": [each.model_dump(exclude_none=True) for each in work.all()]})

    @app.get("/v1/jobs/<job>")
    def look(job: str) -> Any:
        return told(job)

    @app.post("/v1/jobs/<job>/stop")
    def stop(job: str) -> Any:
        work.queue[job].stop()
        return told(job)

    @app.delete("/v1/jobs/<job>")
    def forget(job: str) -> Any:
        work.queue.forget(job)
        return _answer({"id": job, "deleted": True})


def _told(work: Work, job: str, wait: float) -> Any:
    state = work.state(job, wait)
    is_open = state.state in ("waiting", "running")
    answer = _answer(state.model_dump(exclude_none=True), 202 if is_open else 200)
    answer.headers["Location"] = f"/v1/jobs/{job}"
    return answer


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MOST_WAIT:
        raise InputError(f"wait: {text!r} is not a number of seconds from 0 to {MOST_WAIT:g}.")
    return seconds


def _refused(kind: Kind, message: str, status: int) -> Any:
    return _answer({"error": Fault(kind=kind, message=message).model_dump()}, status)


def _answer(found: dict[str, Any], status: int = 200) -> Any:
    from flask import Response

    return Response(_text(found), status, mimetype="application/json")


def _text(found: dict[str, Any]) -> str:
    return json.dumps(found, allow_nan=False, ensure_ascii=False)

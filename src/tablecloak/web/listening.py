"""A server that listens, closes connections that are idle or too slow, and ends cleanly."""

from __future__ import annotations

import math
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable
from typing import Any

from tablecloak.budget import Stopwatch
from tablecloak.errors import InputError
from tablecloak.extras import required

MOST_CONNECTIONS = 500
"""Most connections that are open; further ones are accepted when others have ended."""

PATIENCE = 10.0
"""Seconds after which a connection is closed that sends nothing, or not all headers."""

EVERYWHERE = ("", "0.0.0.0", "::", "*")
"""What stands for all addresses of a machine."""


def listen(
    app: Any,
    host: str,
    port: int,
    *,
    threads: int,
    most_bytes: int,
    most_seconds: float = math.inf,
    refusal: Callable[[int], str] | None = None,
) -> Any:
    """Return a server that listens; its method `run` answers.

    Parameters
    ----------
    app : flask.Flask
    host : str
    port : int
        0 takes any free port.
    threads : int
        Requests that are read or answered at a time.
    most_bytes : int
        Who sends more is cut off while sending.
    most_seconds : float
        For a whole request.
    refusal : callable, optional
        JSON for the status of what is no request of HTTP, or too large a one; by default a line.

    Raises
    ------
    InputError
        If waitress is not installed, or host and port cannot be used.
    """
    required("waitress", "Pages and questions over HTTP")
    from waitress import create_server
    from waitress.channel import HTTPChannel
    from waitress.task import ErrorTask

    class Refusal(ErrorTask):  # type: ignore[misc]
        """An answer in JSON."""

        def execute(self) -> None:
            error = self.request.error
            body = refusal(error.code).encode() if refusal else b""
            self.status = f"{error.code} {error.reason}"
            self.response_headers.append(("Content-Type", "application/json"))
            self.set_close_on_finish()
            self.content_length = len(body)
            self.write(body)

    class Channel(HTTPChannel):  # type: ignore[misc]
        """A connection that is closed when it is idle, or its request takes too long.

        The server closes what had no activity for a while. What is sent bit by bit is none.
        """

        error_task_class = Refusal if refusal else ErrorTask
        watch = Stopwatch()
        last_activity: float

        def handle_read(self) -> None:
            """Take what was sent."""
            before, is_first = self.last_activity, self.request is None
            super().handle_read()
            if is_first:
                self.watch = Stopwatch()
            part = self.request
            if part and (not part.headers_finished or self.watch.seconds > most_seconds):
                self.last_activity = before

    # Bound here: waitress leaves a socket open where it cannot bind.
    server = create_server(
        app,
        sockets=[_bound(host, port)],
        threads=threads,
        connection_limit=MOST_CONNECTIONS,
        channel_timeout=PATIENCE,
        cleanup_interval=1,
        max_request_body_size=most_bytes,
    )
    server.channel_class = Channel
    return server


def run(server: Any, *, attached: bool = False) -> None:
    """Answer until interrupted, or ended by another program: what a caller cleans up is cleaned.

    Parameters
    ----------
    server : waitress.server.BaseWSGIServer
    attached : bool, default=False
        Whether the end of the standard input ends it too: it ends with the program at the other
        end, however that one ends.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if attached:
        threading.Thread(target=_end_with_input, daemon=True).start()
    try:
        server.run()
    finally:
        server.close()


def _end_with_input() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)


def _bound(host: str, port: int) -> socket.socket:
    if host in EVERYWHERE:
        raise InputError(
            f"--host {host!r} is every address of this machine. Give one of them, so that requests "
            f"to any other name are refused."
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError, UnicodeError) as error:
        raise InputError(
            f"{host}, port {port}: the server cannot listen there ({error}). Choose another port, "
            f"or an address of this machine."
        ) from None

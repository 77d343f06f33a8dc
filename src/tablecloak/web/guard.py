"""The guard of every request: the name by which the server is called, the origin, the secret.

Requests to another host name (DNS rebinding) and from pages of other servers, also of servers on
this machine, get no answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from flask import Flask

LOOPBACK = frozenset({"127.0.0.1", "localhost", "[::1]"})
"""Names by which this machine calls itself."""

HEADERS = {"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
"""Of every answer: it is what it says it is, and is not kept."""


class Door(Protocol):
    """Whom a server lets in, and what others are told."""

    reads_are_free: bool
    """Whether requests that only read may come from pages of other servers."""

    def refuse(self, kind: str) -> Any:
        """Answer a request to another `host`, or from another `origin`."""

    def admit(self) -> Any:
        """Return None for who has the secret, an answer for others."""


def guard(app: Flask, door: Door, hosts: frozenset[str], headers: Mapping[str, str]) -> None:
    """Answer only requests that name this server, that no other page sent, and that a door admits.

    Parameters
    ----------
    app : flask.Flask
    door : Door
    hosts : frozenset of str
        Names of the server, in small letters.
    headers : mapping of str to str
        Of every answer, besides those of all servers.
    """
    from flask import request

    @app.before_request
    def admitted() -> Any:
        name = request.host.lower()
        if name not in hosts and name.rsplit(":", 1)[0] not in hosts:
            return door.refuse("host")
        # For a browser, other servers on this machine are the same site: their pages could send
        # forms with the cookie.
        here = request.host_url.rstrip("/")
        is_free = door.reads_are_free and request.method in ("GET", "HEAD")
        if not is_free and request.headers.get("Origin", here) != here:
            return door.refuse("origin")
        return door.admit()

    @app.after_request
    def closed(answer: Any) -> Any:
        for name, value in {**HEADERS, **headers}.items():
            answer.headers[name] = value
        return answer


def is_secret(offer: str, secret: str) -> bool:
    """Whether an offer is the secret, in a time that does not depend on where they differ."""
    return secrets.compare_digest(offer.encode(), secret.encode())

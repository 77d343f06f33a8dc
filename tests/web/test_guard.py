"""The guard: which names, origins and visitors a server answers."""

from __future__ import annotations

import pytest
from flask import Flask

from tablecloak.web.guard import LOOPBACK, guard, is_secret


class Door:
    """Lets everybody in who comes by a name of the server and from none of another one."""

    def __init__(self, *, reads_are_free: bool) -> None:
        self.reads_are_free = reads_are_free

    def refuse(self, kind: str) -> tuple[str, int]:
        return kind, 403

    def admit(self) -> None:
        return None


def client(*, reads_are_free: bool = False):
    app = Flask("guarded")
    app.add_url_rule("/", "page", lambda: "here", methods=["GET", "POST"])
    guard(app, Door(reads_are_free=reads_are_free), LOOPBACK, {"Referrer-Policy": "same-origin"})
    return app.test_client()


@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST:80", "[::1]:8000"])
def test_this_machine_is_answered_by_its_names(host):
    assert client().get("/", headers={"Host": host}).text == "here"


@pytest.mark.parametrize(
    "host", ["evil.example", "127.0.0.1.evil.example:80", "localhost.evil", "10.0.0.1"]
)
def test_other_names_that_lead_here_are_refused(host):
    answer = client().get("/", headers={"Host": host})
    assert (answer.text, answer.status_code) == ("host", 403)


def test_pages_of_other_servers_may_at_most_read():
    away, here = {"Origin": "http://localhost:1"}, {"Origin": "http://localhost"}
    assert client().get("/", headers=away).text == "origin"
    assert client(reads_are_free=True).get("/", headers=away).text == "here"
    assert client(reads_are_free=True).post("/", headers=away).text == "origin"
    assert client().post("/", headers=here).text == "here"


def test_every_answer_says_that_it_is_not_kept():
    headers = client().get("/", headers={"Host": "evil.example"}).headers
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "same-origin"


def test_a_secret_is_only_itself():
    assert is_secret("schlüssel", "schlüssel")
    assert not any(is_secret(offer, "secret") for offer in ("", "secre", "secrets", "SECRET", "ä"))

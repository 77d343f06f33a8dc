"""The local server: who is let in, and what answers carry."""

from __future__ import annotations

import http.client
import socket
import threading

import pytest

import tablecloak as tc
from serving import end
from tablecloak.app.pages import ROUTES, Pages
from tablecloak.app.server import create_app, listening
from tablecloak.web import listening as listening_module


@pytest.fixture
def app(tmp_path):
    return create_app(tmp_path / "app", "secret")


@pytest.fixture
def user(app):
    client = app.test_client()
    client.get("/?token=secret")
    return client


@pytest.mark.parametrize(("method", "address", "name"), ROUTES)
def test_every_address_has_its_answer_and_is_closed_to_strangers(app, method, address, name):
    assert hasattr(Pages, name)
    path = address.replace("<method>", "suppression")
    assert app.test_client().open(path, method=method).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1:80", "localhost", "localhost:5000"])
def test_this_machine_is_let_in_by_its_names(user, host):
    # Cookies belong to a host: the secret is offered again.
    assert user.get("/?token=secret", headers={"Host": host}).status_code in (200, 302)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil:80"])
def test_other_names_that_lead_here_are_not(user, host):
    assert user.get("/?token=secret", headers={"Host": host}).status_code == 403


@pytest.mark.parametrize("token", ["", "secre", "secrets", "SECRET", "ä"])
def test_a_wrong_secret_is_no_secret(app, token):
    assert app.test_client().get("/", query_string={"token": token}).status_code == 403


@pytest.mark.parametrize("path", ["/", "/choose", "/no-such-page", "/report"])
def test_every_answer_forbids_what_comes_from_elsewhere_and_is_not_kept(user, path):
    headers = user.get(path).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["/choose", "/table", "/progress", "/results"])
def test_pages_whose_turn_has_not_come_lead_back(user, path):
    assert user.get(path).status_code == 302


def test_an_error_of_the_program_is_told_by_its_kind_alone(app, user, monkeypatch):
    def broken(self):
        raise KeyError("row 4711")

    monkeypatch.setitem(app.view_functions, "start", lambda: broken(None))
    answer = user.get("/")
    assert answer.status_code == 500
    assert "error of the program (KeyError)" in answer.text
    assert "4711" not in answer.text


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(tc.InputError, match="no folder can be made there"):
        create_app(tmp_path / "file" / "app", "secret")


def test_idle_and_half_sent_requests_keep_nobody_from_a_page(tmp_path, monkeypatch):
    monkeypatch.setattr(listening_module, "PATIENCE", 1)
    monkeypatch.setattr(listening_module, "MOST_CONNECTIONS", 20)
    server = listening(create_app(tmp_path, "secret"), 0)
    port = server.effective_port
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
        for connection in idle[::2]:
            connection.sendall(b"POST / HTTP/1.1\r\nContent-Length: 900\r\n\r\n{")
        page = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        page.request("GET", "/?token=secret")
        assert page.getresponse().status == 302
        page.close()
        for connection in idle:
            connection.settimeout(30)
            assert connection.recv(1 << 16) == b""
            connection.close()
    finally:
        end(server)
        server.task_dispatcher.shutdown()

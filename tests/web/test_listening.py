"""Listening: where nothing can listen, and connections that send nothing or too slowly."""

from __future__ import annotations

import socket
import threading

import pytest

import tablecloak as tc
from serving import TABLE, serving
from tablecloak.service import server as server_module
from tablecloak.web import listening as listening_module
from tablecloak.web.listening import listen


@pytest.mark.parametrize("host", ["", "0.0.0.0", "::", "*"])
def test_a_server_listens_at_one_address_and_not_at_all(host):
    with pytest.raises(tc.InputError, match="is every address of this machine"):
        listen(None, host, 0, threads=1, most_bytes=1)


def test_a_place_where_nothing_can_listen_is_named():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(tc.InputError, match=f"port {port}: the server cannot listen there"):
            listen(None, "127.0.0.1", port, threads=1, most_bytes=1)


def test_idle_and_half_sent_requests_keep_nobody_from_an_answer(tmp_path, monkeypatch):
    """More connections than are open at a time; those that send nothing, or bit by bit, end."""
    monkeypatch.setattr(listening_module, "PATIENCE", 1.0)
    monkeypatch.setattr(server_module, "MOST_SENDING", 2.0)
    monkeypatch.setattr(listening_module, "MOST_CONNECTIONS", 60)
    head = b"POST /v1/suppress HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    starts = [b"", b"POST /v1/sup", head, head + b"Content-Length: 900\r\n\r\n{"]
    with serving(tmp_path) as client:
        opened = [socket.create_connection(("127.0.0.1", client.port)) for _ in range(100)]
        dripping = set()
        for number, connection in enumerate(opened):
            connection.sendall(starts[number % len(starts)])
            connection.settimeout(60)
        for _ in range(13):
            threading.Event().wait(0.2)
            for connection in opened[2::4] + opened[3::4]:
                try:
                    connection.send(b"x")
                    dripping.add(connection)
                except OSError:
                    pass
        assert len(dripping) == 50
        assert client.ask("suppress", TABLE)["is_safe"]
        ended = 0
        for connection in opened:
            try:
                ended += connection.recv(1 << 16) == b""
            except ConnectionError:
                ended += 1
            connection.close()
        assert ended == len(opened)

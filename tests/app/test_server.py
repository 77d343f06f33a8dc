"""The local server: who is let in, and what answers carry."""

from __future__ import annotations

import subprocess
import sys
import warnings

import pytest

import tablecloak as tc
from tablecloak.app import server as module
from tablecloak.app.bench_pages import ROUTES as GRID_ROUTES
from tablecloak.app.bench_pages import BenchPages
from tablecloak.app.pages import FIRST_ROUTES, ROUTES, FirstPages, Pages
from tablecloak.app.server import create_app
from tablecloak.errors import InputError
from tablecloak.web.tasks import noting


@pytest.fixture
def app(tmp_path):
    return create_app(tmp_path / "app", "secret")


@pytest.fixture
def user(app):
    client = app.test_client()
    client.get("/?token=secret")
    return client


@pytest.mark.parametrize(
    ("method", "address", "name", "pages"),
    [
        *((*route, FirstPages) for route in FIRST_ROUTES),
        *((*route, Pages) for route in ROUTES),
        *((*route, BenchPages) for route in GRID_ROUTES),
    ],
)
def test_every_address_has_its_answer_and_is_closed_to_strangers(
    app, user, method, address, name, pages
):
    assert hasattr(pages, name)
    path = address.replace("<method>", "suppression").replace("<int:cell>", "0")
    if pages is not FirstPages:
        path = f"/table/none{path}"
        gone = user.open(path, method=method)
        assert gone.status_code == 404 and "is gone" in gone.text
    refused = app.test_client().open(path, method=method)
    assert refused.status_code == 403
    assert "Use the address that tablecloak app printed in its terminal" in refused.text


def test_this_machine_alone_is_called_by_its_names(user):
    # Cookies belong to a host: the secret is offered again.
    assert user.get("/?token=secret", headers={"Host": "localhost:5000"}).status_code == 302
    assert user.get("/?token=secret", headers={"Host": "evil.example"}).status_code == 403


def test_an_upload_is_cut_off_where_it_is_refused(app, tmp_path, monkeypatch):
    begun = []
    monkeypatch.setattr(module, "run", begun.append)
    module.serve(open_browser=False, folder=tmp_path)
    assert begun[0].adj.max_request_body_size == app.config["MAX_CONTENT_LENGTH"]
    begun[0].close()


def test_a_warning_while_it_serves_goes_to_its_pages_and_not_to_the_terminal(
    tmp_path, monkeypatch, capsys
):
    notes = []

    def run(server):
        with noting(notes):
            warnings.warn("a secret value", tc.TablecloakWarning, stacklevel=1)
            warnings.warn("a secret value", tc.TablecloakWarning, stacklevel=1)
        server.close()

    monkeypatch.setattr(module, "run", run)
    module.serve(open_browser=False, folder=tmp_path)
    assert notes == ["a secret value"]
    assert "secret value" not in capsys.readouterr().err


@pytest.mark.parametrize("token", ["", "secrets"])
def test_a_wrong_secret_is_no_secret(app, token):
    assert app.test_client().get("/", query_string={"token": token}).status_code == 403


@pytest.mark.parametrize("path", ["/choose", "/no-such-page"])
def test_every_answer_forbids_what_comes_from_elsewhere_and_is_not_kept(user, path):
    headers = user.get(path).headers
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["look", "progress", "results", "shape", "grid"])
def test_pages_whose_turn_has_not_come_lead_back(user, path):
    opened = user.post("/open", data={"example": "records"}).location.removesuffix("choose")
    assert user.get(f"{opened}{path}").status_code == 302


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


HOLDER = """
import sys, time
from pathlib import Path
from tablecloak.storage import kept_alone
with kept_alone(Path(sys.argv[1])):
    print("here", flush=True)
    time.sleep(600)
"""
"""A program that keeps a folder until it is ended."""


def test_a_folder_that_another_program_uses_is_refused_until_that_one_ends(tmp_path, monkeypatch):
    started = []

    def run(server):
        started.append(server)
        server.close()

    monkeypatch.setattr(module, "run", run)
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE
    ) as holder:
        try:
            assert holder.stdout is not None and holder.stdout.readline() == b"here\n"
            with pytest.raises(InputError, match="another program that is running uses"):
                module.serve(open_browser=False, folder=tmp_path)
        finally:
            holder.kill()
    assert not started
    # Killed, it left its file, which keeps nobody out.
    for _ in range(2):
        module.serve(open_browser=False, folder=tmp_path)
    assert len(started) == 2

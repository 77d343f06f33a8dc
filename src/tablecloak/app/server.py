"""The server of the app, for this machine only.

The server listens on 127.0.0.1. Its address contains a secret that is new at each start. Requests
without the secret, or to another host name (DNS rebinding), get no answer. Forms that pages of
other servers send, also of servers on this machine, are refused. Pages load nothing from other
servers; their one script is a file of this package.

A second address is for a checker, who sees everything and can change nothing.
"""

from __future__ import annotations

import secrets
import tempfile
import webbrowser
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tablecloak.data_file import how_read
from tablecloak.errors import InputError, TablecloakError
from tablecloak.executors import DelayedCall
from tablecloak.extras import required
from tablecloak.render.page import STYLE, with_code
from tablecloak.storage import kept_alone
from tablecloak.web.guard import LOOPBACK, guard, is_secret
from tablecloak.web.listening import listen, run
from tablecloak.web.tasks import hearing_warnings

if TYPE_CHECKING:
    from flask import Flask

BROWSER_SECONDS = 0.5
"""Seconds that the server has to begin before a browser asks for its first page."""

COOKIE = "tablecloak"
"""Beginning of the name of the cookie that holds the secret. The port follows: browsers send a
cookie to all ports of a machine."""

POLICY = (
    "default-src 'none'; style-src 'self' 'unsafe-inline'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Content security policy of every answer: no scripts in pages, nothing from other servers."""

READING = ("grid_view",)
"""Views that a checker may send something to: they change nothing."""

REFUSED = {
    "token": "Use the address that tablecloak app printed in its terminal when it started: it "
    "holds a secret that is new at each start, and this request lacks it.",
    "right": "This is a checker's view: nothing can be changed here.",
}
"""What is said of refused requests from this machine, by their kind."""

MOST_SENT = 2**30
"""Most bytes of a request, with an upload; larger files are opened by their path."""


def serve(port: int = 0, *, open_browser: bool = True, folder: Path | None = None) -> None:
    """Serve the app on this machine until it is interrupted.

    Parameters
    ----------
    port : int, default=0
        0 takes any free port.
    open_browser : bool, default=True
    folder : Path, optional
        Folder for uploads and results; by default a private one that is removed at the end.

    Raises
    ------
    InputError
        If Flask or waitress is not installed, the port is taken, or another program has the folder.
    """
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as temporary, hearing_warnings():
        token = secrets.token_urlsafe(24)
        checker = secrets.token_urlsafe(24)
        app = create_app(folder or Path(temporary), token, checker, is_kept=folder is not None)
        with kept_alone(folder or Path(temporary)):
            # Connections that send nothing are closed, so that they keep nobody from a page.
            server = listen(app, "127.0.0.1", port, threads=4, most_bytes=MOST_SENT)
            start = f"http://127.0.0.1:{server.effective_port}/?token="
            address = f"{start}{token}"
            print(f"tablecloak is at {address}", flush=True)
            print(f"For a checker, who can look and change nothing: {start}{checker}", flush=True)
            print("Ctrl-C ends.", flush=True)
            if open_browser:
                DelayedCall(BROWSER_SECONDS, webbrowser.open, address)
            run(server)


def create_app(folder: Path, token: str, checker: str = "", *, is_kept: bool = True) -> Flask:
    """Build the app.

    Parameters
    ----------
    folder : Path
        Private folder for uploads, job files, decisions and results.
    token : str
        Secret that the first address must carry.
    checker : str, optional
        Another such secret, of somebody who may look at everything and change nothing.
    is_kept : bool, default=True
        Whether the folder stays when the app ends; the first page says so.

    Returns
    -------
    flask.Flask
    """
    required("flask", "The pages of the app")
    from flask import Flask, g, render_template
    from markupsafe import Markup, escape
    from werkzeug.exceptions import HTTPException

    from tablecloak.app.bench_pages import BenchPages
    from tablecloak.app.given_file import KINDS
    from tablecloak.app.open_tables import OpenTables
    from tablecloak.app.pages import FirstPages, Pages

    home = Path(__file__).parent
    app = Flask(
        "tablecloak.app",
        template_folder=str(home / "templates"),
        static_folder=str(home / "static"),
    )
    app.config["MAX_CONTENT_LENGTH"] = MOST_SENT
    app.jinja_env.globals.update(style=STYLE)
    # Markup would escape the tags as they are joined.
    app.jinja_env.filters["code"] = lambda text: Markup(with_code(str(escape(text))))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise InputError(
            f"{folder}: no folder can be made there ({error}). Give a folder that you may write to."
        ) from None
    tables = OpenTables(folder, is_kept=is_kept)
    guard(
        app,
        Visitors({"user": token, "checker": checker}),
        LOOPBACK - {"[::1]"},
        {"Content-Security-Policy": POLICY, "Referrer-Policy": "same-origin"},
    )
    FirstPages(tables).add_to(app)
    Pages.add_to(app, tables)
    BenchPages.add_to(app, tables)

    @app.context_processor
    def of_all_pages() -> dict[str, Any]:
        return {
            "may_change": g.get("may_change", False),
            "locked": "" if g.get("may_change", False) else "disabled", "session": g.get("session"),
            "kinds": KINDS, "how_read": how_read(),
        }  # fmt: skip

    @app.errorhandler(TablecloakError)
    def explained(error: TablecloakError) -> Any:
        message, status = tables.told(error)
        again = g.get("tried", "")
        refused = tables.tried(again)
        page = render_template("error.html", message=message, again=again, refused=refused)
        return page, status

    @app.errorhandler(Exception)
    def unexplained(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            return error
        app.logger.exception("error of the program")
        message = (
            f"This is an error of the program ({type(error).__name__}). The terminal in which "
            "tablecloak app runs shows its details: report them, without data."
        )
        return render_template("error.html", message=message), 500

    return app


class Visitors:
    """The user who started the app, and a checker, by their secrets.

    Parameters
    ----------
    secret : mapping of str to str
        Of each role; an empty one lets nobody in.
    """

    reads_are_free = True

    def __init__(self, secret: Mapping[str, str]) -> None:
        self._secret = secret

    def refuse(self, kind: str) -> Any:
        """Say no more than what the user of this machine needs."""
        from flask import abort

        abort(403, REFUSED.get(kind))

    def admit(self) -> Any:
        """Let in who has a secret, and a checker only to look."""
        from flask import g, redirect, request

        is_reading = request.method in ("GET", "HEAD")
        cookie = f"{COOKIE}-{request.environ['SERVER_PORT']}"
        offer = request.args.get("token", "")
        if is_reading and self._role(offer):
            answer = redirect("/")
            answer.set_cookie(cookie, offer, httponly=True, samesite="Strict")
            return answer
        role = self._role(request.cookies.get(cookie, ""))
        g.may_change = role == "user"
        changes = not is_reading and request.endpoint not in READING
        if not role:
            return self.refuse("token")
        return self.refuse("right") if changes and not g.may_change else None

    def _role(self, offer: str) -> str:
        roles = [
            role for role, secret in self._secret.items() if secret and is_secret(offer, secret)
        ]
        return roles[0] if roles else ""

"""The pages of the local app, for this machine only.

The server listens on 127.0.0.1. Each start has a secret of its own in its address; without it, or
under another host name (DNS rebinding), nothing is served; forms of pages from elsewhere, also from
other servers on this machine, are refused. Pages load nothing from elsewhere and run no scripts.
"""

from __future__ import annotations

import io
import secrets
import tempfile
import threading
import webbrowser
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from tablecloak.app.choices import KEPT, METHODS, Choices
from tablecloak.app.fields import choices_of
from tablecloak.app.options import options_of
from tablecloak.app.session import Session
from tablecloak.errors import InputError, TablecloakError
from tablecloak.examples import firms
from tablecloak.render.heat_map import SENSITIVITY, add_heat_map, sensitivity_squares
from tablecloak.render.page import STYLE, Page
from tablecloak.tables.formats import FrameFormat, column_names, existing, format_of, record_endings
from tablecloak.tables.formats.format import reading
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import RULES

if TYPE_CHECKING:
    from flask import Flask

__all__ = ["create_app", "serve"]

COOKIE = "tablecloak"
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'"
)
MISSING = "The app needs Flask and waitress: install tablecloak with its extra `app`."
SHOWN_RECORDS = 5
MOST_UPLOADED = 2 * 2**30
LONGEST_NAME = 80


def serve(port: int = 0, *, open_browser: bool = True, folder: Path | None = None) -> None:
    """Serve the app on this machine until it is interrupted.

    Parameters
    ----------
    port : int, default=0
        0 takes any that is free.
    open_browser : bool, default=True
    folder : Path, optional
        Where uploads and results are kept; by default a private folder that is removed at the
        end.

    Raises
    ------
    InputError
        If Flask or waitress is not installed, or the port is taken.
    """
    try:
        from waitress import create_server
    except ImportError:
        raise InputError(MISSING) from None
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as temporary:
        token = secrets.token_urlsafe(24)
        app = create_app(folder or Path(temporary), token)
        try:
            server = create_server(app, host="127.0.0.1", port=port, threads=4)
        except OSError as error:
            raise InputError(f"Port {port} cannot be used ({error}). Choose another.") from error
        address = f"http://127.0.0.1:{server.effective_port}/?token={token}"
        print(f"tablecloak is at {address}\nCtrl-C ends.", flush=True)
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        try:
            server.run()
        finally:
            server.close()


def create_app(folder: Path, token: str) -> Flask:
    """Build the app.

    Parameters
    ----------
    folder : Path
        Private folder for uploads, the job file and results.
    token : str
        Secret that the first address must carry.

    Returns
    -------
    flask.Flask
    """
    try:
        from flask import Flask
        from werkzeug.exceptions import HTTPException
    except ImportError:
        raise InputError(MISSING) from None
    app = Flask("tablecloak.app", template_folder=str(Path(__file__).parent / "templates"))
    app.config["MAX_CONTENT_LENGTH"] = MOST_UPLOADED
    app.jinja_env.globals.update(style=STYLE)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o700)
    except OSError as error:
        raise InputError(f"{folder}: no folder can be made there ({error}).") from None
    session = Session(folder)
    _guard(app, token)
    _pages_before(app, session)
    _pages_after(app, session)

    @app.errorhandler(TablecloakError)
    def explained(error: TablecloakError) -> Any:
        return _page(session, "error.html", 400, message=str(error))

    @app.errorhandler(Exception)
    def unexplained(error: Exception) -> Any:
        if isinstance(error, HTTPException):
            return error
        app.logger.exception("error of the program")
        message = f"This is an error of the program ({type(error).__name__})."
        return _page(session, "error.html", 500, message=message)

    return app


def _page(session: Session, template: str, status: int = 200, **values: Any) -> Any:
    from flask import render_template

    return render_template(template, session=session, **values), status


def _guard(app: Flask, token: str) -> None:
    """Serve nobody but the user who started the app."""
    from flask import abort, redirect, request

    @app.before_request
    def only_from_here() -> Any:
        if request.host.rsplit(":", 1)[0] not in ("127.0.0.1", "localhost"):
            abort(403)
        # Pages of other servers on this machine are of the same site, and get the cookie sent.
        origin = request.headers.get("Origin", request.host_url.rstrip("/"))
        if request.method not in ("GET", "HEAD") and origin != request.host_url.rstrip("/"):
            abort(403)
        given = request.cookies.get(COOKIE, "")
        if secrets.compare_digest(given.encode(), token.encode()):
            return None
        offered = request.args.get("token", "")
        if request.method != "GET" or not secrets.compare_digest(offered.encode(), token.encode()):
            abort(403)
        answer = redirect("/")
        answer.set_cookie(COOKIE, token, httponly=True, samesite="Strict")
        return answer

    @app.after_request
    def closed(answer: Any) -> Any:
        answer.headers["Content-Security-Policy"] = POLICY
        answer.headers["X-Content-Type-Options"] = "nosniff"
        answer.headers["Referrer-Policy"] = "same-origin"
        answer.headers["Cache-Control"] = "no-store"
        return answer


def _pages_before(app: Flask, session: Session) -> None:
    """File, choices, and the table before it is protected."""
    from flask import redirect, request

    @app.get("/")
    def start() -> Any:
        return _page(session, "start.html")

    @app.post("/open")
    def open_file() -> Any:
        with session.changing():
            path = _given_file(session.folder)
            column_names(path)
            session.open(path)
        return redirect("/choose")

    @app.get("/choose")
    def choose() -> Any:
        if session.file is None:
            return redirect("/")
        head = _head(session.file)
        numeric = [name for name in head.columns if pd.api.types.is_numeric_dtype(head[name])]
        table = head.to_html(index=False, border=0)
        return _page(
            session,
            "choose.html",
            columns=list(head.columns),
            numeric=numeric,
            head=table,
            rules=choices_of(RULES),
            options={method: options_of(method) for method in METHODS},
            kept=KEPT,
        )

    @app.post("/table")
    def table() -> Any:
        if session.file is None:
            return redirect("/")
        form = request.form.to_dict()
        session.choose(Choices.of_form(session.file, form, column_names(session.file)))
        return redirect("/table")

    @app.get("/table")
    def look() -> Any:
        if session.problem is None:
            return redirect("/choose")
        drawing = _sensitive_map(session.problem)
        return _page(session, "table.html", map=drawing, problem=session.problem)


def _given_file(folder: Path) -> Path:
    """Return the file that a user uploaded, named, or asked to be invented."""
    from flask import request
    from werkzeug.utils import secure_filename

    uploaded, typed = request.files.get("upload"), request.form.get("path", "").strip()
    if request.form.get("example"):
        path = _own_place(folder) / "firms.csv"
        firms().to_csv(path, index=False)
    elif uploaded is not None and uploaded.filename:
        name = secure_filename(uploaded.filename)
        ending = _ending(name)
        path = _own_place(folder) / f"{name.removesuffix(ending)[:LONGEST_NAME] or 'data'}{ending}"
        uploaded.save(path)
    elif typed:
        path = _typed_file(typed)
    else:
        raise InputError("Choose a file, or type the path of one.")
    return path


def _own_place(folder: Path) -> Path:
    """Folder of its own for a file, which no other file can overwrite or be taken for."""
    uploads = folder / "uploads"
    uploads.mkdir(mode=0o700, exist_ok=True)
    return Path(tempfile.mkdtemp(dir=uploads))


def _typed_file(typed: str) -> Path:
    try:
        path = Path(typed).expanduser()
        if path.exists() and not path.is_file():
            # Devices and pipes need not ever end.
            raise InputError(f"{path}: this is no file. Give the path of a CSV or Parquet file.")
        _ending(path.name)
        return existing(path)
    except (OSError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{typed!r} cannot be looked at ({error}). Check the path.") from None


def _ending(name: str) -> str:
    """Return the ending of a name of a file that can be read; a name without one is CSV."""
    endings = record_endings()
    found = next((ending for ending in endings if name.lower().endswith(ending)), "")
    if not found and "." in name.strip("."):
        raise InputError(f"{name}: unknown kind of file. Expected a name in {', '.join(endings)}.")
    return name[len(name) - len(found) :] if found else ".csv"


def _pages_after(app: Flask, session: Session) -> None:
    """Protection and its results."""
    from flask import abort, redirect, send_file

    @app.post("/protect")
    def protect() -> Any:
        session.start()
        return redirect("/progress")

    @app.post("/stop")
    def stop() -> Any:
        session.stop()
        return redirect("/progress")

    @app.get("/progress")
    def progress() -> Any:
        if session.is_running:
            return _page(session, "progress.html")
        if session.error:
            return _page(session, "error.html", 400, message=session.error)
        return redirect("/results")

    @app.get("/results")
    def results() -> Any:
        if session.result is None:
            return redirect("/")
        return _page(session, "results.html", result=session.result)

    @app.get("/report")
    def report() -> Any:
        path = _written(session, session.results / "internal" / "report.html")
        return send_file(io.BytesIO(path.read_bytes()), mimetype="text/html")

    @app.get("/job.toml")
    def job_file() -> Any:
        content = io.BytesIO(existing(session.job_file).read_bytes())
        return send_file(content, as_attachment=True, download_name="job.toml")

    @app.get("/release/<method>.zip")
    def release(method: str) -> Any:
        if method not in METHODS:
            abort(404)
        files = sorted(_written(session, session.results / "release" / method).iterdir())
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in files:
                archive.write(path, path.name)
        buffer.seek(0)
        return send_file(buffer, as_attachment=True, download_name=f"{method}.zip")


def _written(session: Session, path: Path) -> Path:
    """Return a file or folder of the job that was done last."""
    if session.result is None:
        raise InputError("There are no results yet.")
    if not path.exists():
        raise InputError("This release was withheld, or its method was not chosen.")
    return path


def _head(path: Path) -> pd.DataFrame:
    """First records of a file."""
    with reading(Path(path.name)):
        return format_of(path, FrameFormat, otherwise="csv").head(path, SHOWN_RECORDS)


def _sensitive_map(problem: ProtectionProblem) -> str:
    """Draw the table with its sensitive cells."""
    drawing = Page("")
    drawing.legend(SENSITIVITY)
    table = problem.table
    add_heat_map(drawing, table.keys, table.hierarchies, sensitivity_squares(problem))
    return "\n".join(drawing.parts)

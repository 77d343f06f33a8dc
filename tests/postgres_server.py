"""A server of PostgreSQL on the loopback, as a user without rights."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class NoServerError(Exception):
    """PostgreSQL is not installed, or cannot be started."""


@contextmanager
def postgres_server() -> Iterator[str]:
    """Start a server in a folder of its own, and give its address.

    Raises
    ------
    NoServerError
    """
    if not shutil.which("initdb") or not shutil.which("pg_ctl"):
        raise NoServerError("no PostgreSQL on this machine")
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    with tempfile.TemporaryDirectory() as place, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        folder = Path(place)
        folder.chmod(0o777)

        def run(*command: str) -> None:
            subprocess.run(command, check=True, capture_output=True, cwd=place, **user)

        data = str(folder / "data")
        try:
            run("initdb", "-D", data, "-U", "tester", "--auth=trust")
        except (subprocess.CalledProcessError, PermissionError, LookupError):
            raise NoServerError("PostgreSQL cannot be started here") from None
        options = f"-p {port} -k {place} -c listen_addresses=127.0.0.1"
        run("pg_ctl", "-D", data, "-o", options, "-l", str(folder / "log"), "-w", "start")
        try:
            yield f"postgresql://tester@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")

"""What README shows, step by step, and running it as printed.

Copied into an empty folder and run by a Python that has the package installed::

    python readme.py README.md

Lines that begin with ``tablecloak`` in blocks without a language, or of a shell, are run as
commands; ``python`` blocks are one session, in the order of the page; both must end well. Other
lines, such as ``make``, are not run. Needs the standard library alone.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path

SHELLS = {"", "bash", "sh", "shell", "console"}
"""Languages of blocks whose lines are commands."""

BLOCK = re.compile(
    r"^(?P<fence>```+) *(?P<language>\w*)[^\n]*\n(?P<body>.*?)^(?P=fence) *$", re.M | re.S
)

SECONDS = 600
"""Time limit of one step."""


@dataclass(frozen=True)
class Step:
    """One command, or one block of Python.

    Parameters
    ----------
    line : int
        Where it stands, from 1.
    is_python : bool
    text : str
        The block, or the command on one line.
    """

    line: int
    is_python: bool
    text: str

    @property
    def words(self) -> list[str]:
        """Words of a command, without its comment."""
        return shlex.split(self.text, comments=True)


def steps(page: str) -> list[Step]:
    """Return all that is run, in the order of the page."""
    found: list[Step] = []
    for block in BLOCK.finditer(page):
        line = page.count("\n", 0, block.start("body")) + 1
        if block["language"] == "python":
            found.append(Step(line, True, block["body"]))
        elif block["language"] in SHELLS:
            found += [Step(number, False, text) for number, text in commands(block["body"], line)]
    return found


def commands(body: str, line: int) -> list[tuple[int, str]]:
    """Return the commands of a block with the lines on which they begin."""
    found: list[tuple[int, str]] = []
    whole, start = "", line
    for number, text in enumerate(body.splitlines(), start=line):
        start = start if whole else number
        whole += text
        if whole.endswith("\\"):
            whole = whole[:-1]
            continue
        command = whole.strip().removeprefix("$ ")
        if command.split(" ")[0] == "tablecloak":
            found.append((start, command))
        whole = ""
    return found


def extras(page: str) -> set[str]:
    """Return the extras that the page tells readers to install."""
    named = re.findall(r"pip install [^\n]*?tablecloak\[([\w,]+)\]", page)
    # In a clone the package is called by its folder.
    named += re.findall(r"pip install [^\n]*?[\"' ]\.\[([\w,]+)\]", page)
    return {name for group in named for name in group.split(",")}


def run(page: Path) -> None:
    """Run all steps of a page in the present folder."""
    run_steps(steps(page.read_text(encoding="utf-8")), page.name)


def run_steps(shown: list[Step], page: str) -> None:
    """Run steps of a page in the present folder, as one session.

    Raises
    ------
    Exception
        What a Python block raises.
    SystemExit
        If a command fails; says which.
    """
    session: dict[str, object] = {"__name__": "__readme__"}
    for step in shown:
        begun = time.perf_counter()
        if step.is_python:
            # Empty lines in front let a traceback name the line of the page.
            exec(compile("\n" * (step.line - 1) + step.text, page, "exec"), session)
        elif step.words[:2] == ["tablecloak", "app"]:
            look_at_app(step)
        else:
            done = subprocess.run(executable(step), check=False, timeout=SECONDS)
            if done.returncode:
                sys.exit(f"{page}, line {step.line}: {step.text}\nexit code {done.returncode}")
        what = "Python" if step.is_python else step.text
        print(f"ok  {time.perf_counter() - begun:6.1f} s  line {step.line}: {what}", flush=True)


def executable(step: Step) -> list[str]:
    """Return a command with the program that lies beside this Python."""
    end = ".exe" if sys.platform == "win32" else ""
    return [str(Path(sys.executable).parent / f"tablecloak{end}"), *step.words[1:]]


def look_at_app(step: Step) -> None:
    """Start the app, open its first page, and stop it."""
    # Whatever stands for a browser here must not open.
    environment = {**os.environ, "BROWSER": "true"}
    app = subprocess.Popen(executable(step), stdout=subprocess.PIPE, text=True, env=environment)
    try:
        assert app.stdout is not None
        told = app.stdout.readline()
        address = re.search(r"http://127\.0\.0\.1:\S+", told)
        if address is None:
            sys.exit(f"line {step.line}: {step.text}\ntold no address: {told!r}")
        # The first address sets the cookie that the pages ask for.
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        with browser.open(address.group(), timeout=60) as answer:
            assert "<h1>" in answer.read().decode()
    finally:
        app.terminate()
        app.communicate(timeout=60)


if __name__ == "__main__":
    run(Path(sys.argv[1]))

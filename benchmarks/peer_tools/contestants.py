"""Who is asked, and how: one script, run by an interpreter that has the tool."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tablecloak as tc
from bench.claims import Setting
from peer_tools.files import write_all
from peer_tools.judge import judged, pattern_of

HERE = Path(__file__).parent

GRACE = 20
"""Seconds beyond the limit, imports included, after which a tool that keeps none is stopped."""


@dataclass(frozen=True)
class Contestant:
    """One tool with one setting."""

    tool: str
    method: str
    needs_one_table: bool = False

    @property
    def name(self) -> str:
        """What it is called in the report."""
        return f"{self.tool}, {self.method}" if self.method else self.tool

    def run(self, python: str, folder: Path, limit: float) -> dict[str, Any]:
        """Run it in a process of its own.

        Returns
        -------
        dict
            What its script wrote, or nothing but a message; and in any case the seconds of the
            processor of the whole process, imports and files included.
        """
        answer = folder / "answer.json"
        answer.unlink(missing_ok=True)
        most = int(GRACE + limit)

        script = HERE / (self.tool.lower().replace("-", "") + "_run.py")
        # The modular method crashes where files of an earlier table lie in the working folder.
        fresh = tempfile.mkdtemp(dir=folder)
        with (folder / "said.txt").open("wb") as said:
            process = subprocess.Popen(
                [python, str(script), str(folder), self.method, str(limit)],
                stdout=said, stderr=subprocess.STDOUT, cwd=fresh,
            )  # fmt: skip
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (most, most + 5))
            deadline = time.monotonic() + 5 * most + 60
            while True:
                done, status, used = os.wait4(process.pid, os.WNOHANG)
                if done:
                    break
                if time.monotonic() > deadline:
                    process.kill()
                time.sleep(0.02)
        process.returncode = os.waitstatus_to_exitcode(status)
        found: dict[str, Any] = {}
        if answer.exists():
            found = json.loads(answer.read_text())
        else:
            text = (folder / "said.txt").read_text(errors="replace")
            found["message"] = _message(process.returncode, text, most)
        found["process_seconds"] = used.ru_utime + used.ru_stime
        return found


def _message(code: int, text: str, most: int) -> str:
    """What became of a process that left no answer."""
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return f"stopped after {most} s without a pattern"
    if code < 0:
        return f"crashed ({signal.Signals(-code).name})"
    last = [line.strip() for line in text.splitlines() if line.strip()]
    return f"refused: {last[-1][:200]}" if last else f"no answer (exit code {code})"


PEERS = (
    Contestant("pytauargus", "optimal"),
    Contestant("pytauargus", "modular", needs_one_table=True),
    Contestant("pytauargus", "modular, singletons", needs_one_table=True),
    Contestant("G-Confid", "one phase"),
    Contestant("G-Confid", "two phases"),
)


def asked_peer(
    who: Contestant,
    problem: tc.ProtectionProblem,
    setting: Setting,
    folder: Path,
    is_one_table: bool = False,
) -> dict[str, Any]:
    """Run and judge a tool; say so where no Python with it was given."""
    if setting.peers is None:
        return {"message": "not asked: no Python with this tool was given (--peers)"}
    write_all(problem, folder, is_one_table=is_one_table)
    answer = who.run(setting.peers, folder, setting.limit)
    told = ("seconds", "process_seconds", "claim", "message", "version")
    row = {name: answer[name] for name in told if name in answer}
    return row if "message" in answer else row | judged(problem, pattern_of(problem, answer))

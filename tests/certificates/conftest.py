"""What the verifiers say of arrays beside the file of a problem."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from forging import Verdict
from tablecloak.certificates import verifier
from two_verifiers import Second

VERDICTS = {0: "PROVED", 1: "REFUSED", 3: "NOT CLAIMED"}


@pytest.fixture
def verdict(tmp_path, capsys):
    one = Verdict(tmp_path)
    one.capsys = capsys
    return one


@pytest.fixture(scope="session")
def second() -> Iterator[Second | None]:
    """The verifier in JavaScript, where there is Node."""
    if shutil.which("node") is None:
        yield None
        return
    one = Second()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def asks_both(monkeypatch, second):
    """Let the second verifier judge each file that the first one judges; verdicts must be equal."""
    ask_first = verifier.main
    if second is None:
        return

    def main(words: list[str] | None = None) -> int:
        code = ask_first(words)
        paths = [str(Path(word).resolve()) for word in words or []]
        if code in VERDICTS and paths and all(map(Path.exists, map(Path, paths))):
            answer = second.ask(paths)
            assert answer["verdict"] == VERDICTS[code], answer
        return code

    monkeypatch.setattr(verifier, "main", main)

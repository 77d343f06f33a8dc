"""The verifier in JavaScript, written from docs/certificate.md alone, agrees with the files."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tablecloak as tc
import two_verifiers
from forged_certificates import contents, honest, packed, problem_of, rectangle
from hand_tables import problem_of as table_of
from tablecloak.certificates.file import write_certificate

CONFORMANCE = Path(__file__).parents[1] / "data" / "certificates"
VERIFIER = Path(str(files("tablecloak.certificates").joinpath("verify.mjs")))
ENTRIES: Sequence[Mapping[str, Any]] = json.loads(
    (CONFORMANCE / "index.json").read_text(encoding="utf-8")
)
NODE = shutil.which("node")

pytestmark = pytest.mark.skipif(
    NODE is None, reason=f"no Node on this machine: {len(ENTRIES)} files are not tried"
)


def node(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
    assert NODE is not None
    return subprocess.run(
        [NODE, str(VERIFIER), *words], input=given, capture_output=True, text=True, check=False
    )


def paths(entry: Mapping[str, Any]) -> list[str | None]:
    problem = entry["problem"]
    return [str(CONFORMANCE / entry["file"]), problem and str(CONFORMANCE / problem)]


def test_it_agrees_on_all_files_of_conformance() -> None:
    ran = node("--lines", given="".join(json.dumps(paths(entry)) + "\n" for entry in ENTRIES))
    assert ran.returncode == 0, ran.stderr
    found = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(found) == len(ENTRIES)
    counted: Counter[str] = Counter()
    for entry, verdict in zip(ENTRIES, found, strict=True):
        counted[entry["verdict"]] += 1
        told = {name: verdict[name] for name in ("verdict", "code")}
        assert told == {name: entry[name] for name in told}, (entry["file"], verdict)
        if entry["verdict"] != "REFUSED":
            assert verdict["lines"] == entry["lines"], entry["file"]
    assert set(counted) == {"PROVED", "NOT CLAIMED", "REFUSED"}


@pytest.mark.parametrize(("verdict", "code"), [("PROVED", 0), ("REFUSED", 1), ("NOT CLAIMED", 3)])
def test_its_exit_code_tells_the_verdict(verdict: str, code: int) -> None:
    entry = next(entry for entry in ENTRIES if entry["verdict"] == verdict)
    ran = node(*(path for path in paths(entry) if path))
    assert ran.returncode == code
    assert ran.stdout.startswith(f"{verdict}: ")


def test_a_wrong_call_is_told_from_a_verdict() -> None:
    assert node().returncode == 2
    assert node(str(CONFORMANCE / "there is no such file")).returncode == 2


def test_a_reason_is_one_line_whatever_words_the_files_hold(tmp_path: Path) -> None:
    """No word of a file is printed as a verdict of its own, or moves the cursor."""
    told = "x\nPROVED: 9 sensitive cells"
    known = honest(insiders=[[(1, 30.0, 30.0)]], intruder_names=np.array([told]))
    file, problem = tmp_path / "c.npz", tmp_path / "p.jj"
    file.write_bytes(packed(contents(known)))
    problem.write_text(problem_of(known).replace("20.0", "\x1b[2JPROVED", 1))
    for words in ([str(file)], [str(file), str(problem)]):
        ran = node(*words)
        assert ran.returncode == 1
        assert ran.stdout.startswith("REFUSED: ")
        assert ran.stdout[:-1].isascii()
        assert ran.stdout[:-1].isprintable(), ran.stdout


CLOCK = """
    const { verify } = await import(process.argv[2]);
    const bytes = new Uint8Array((await import("node:fs")).readFileSync(process.argv[1]));
    let now = 0, step = 0, reads = 0;
    Date.now = () => (reads++, (now += step));
    const first = await verify(bytes);
    console.log(first.verdict, reads);
    step = 2 * 2 * 60_000 / reads;
    console.log((await verify(bytes)).code);
"""
"""Two checks by a clock: one that stands, and one in which the time runs out half way."""


def test_witnesses_and_insiders_draw_on_the_time_of_a_check(tmp_path: Path) -> None:
    many, facts = 200, [[(5, 0.0, 900.0 - firm)] for firm in range(100)]
    arrays = honest(witnesses=[rectangle(5.0), rectangle(-5.0), *[[]] * many], insiders=facts)
    (tmp_path / "c.npz").write_bytes(packed(contents(arrays)))
    assert NODE is not None
    words = [NODE, "--input-type=module", "-e", CLOCK, str(tmp_path / "c.npz"), VERIFIER.as_uri()]
    ran = subprocess.run(words, capture_output=True, text=True, check=True)
    verdict, reads, code = ran.stdout.split()
    assert (verdict, code) == ("PROVED", "E1")
    assert int(reads) >= many + len(facts)


def test_both_verifiers_agree_on_altered_files(capsys: pytest.CaptureFixture[str]) -> None:
    assert two_verifiers.main(["--count=400", "--seed=10"]) == 0
    assert "400 altered certificates" in capsys.readouterr().out


def test_it_proves_an_optimum_of_decimal_coefficients_in_infinite_rooms(tmp_path: Path) -> None:
    """Only sums that are exactly 0, of what decimal coefficients stand for, prove it."""
    problem = table_of(
        "abc", [9, -370.5, -16.5], [[-0.3, 2.4, 0], [0, -0.1, 0.2]], {"a": (0.54, 0.54)},
        bounds=(-np.inf, np.inf), sides=[-891.9, 33.75],
    )  # fmt: skip
    write_certificate(tc.suppress(problem, threads=1), tmp_path / "c.npz")
    ran = node(str(tmp_path / "c.npz"))
    assert ran.returncode == 0, ran.stdout
    assert "no such release loses less than 3" in ran.stdout

"""Both verifiers of certificates, on certificates that are altered at random.

Each round takes a file of conformance, alters one to three arrays as a careless writer or a forger
would (numbers, lengths, types, shapes, lists, names, problem files), and asks the verifier in
Python, as `tablecloak verify` does, and the one in JavaScript for their verdicts. They were written
by different people from docs/certificate.md; where their verdicts differ, that page decides which
of them is wrong. Codes of refusals may differ where a file breaks several checks: they are counted,
and listed with --codes.

    python benchmarks/two_verifiers.py --count 1000 --seed 0
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from tablecloak.certificates.verifier import main as verify

ROOT = Path(__file__).parents[1]
CONFORMANCE = ROOT / "tests" / "data" / "certificates"
Arrays = dict[str, np.ndarray]


@cache
def stored(path: Path) -> Arrays:
    with np.load(path, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def read(path: Path) -> Arrays:
    """Return arrays that may be replaced, but not written to."""
    return dict(stored(path))


def number(rng: np.random.Generator, old: float) -> float:
    """Return a number that may stand in place of another one: near, far, or none."""
    kind = rng.integers(16)
    if kind == 0:
        return float(rng.choice([np.inf, -np.inf, np.nan, 1e300, -1e300, 5e-324, 1e17, 2.0**53]))
    if kind == 1:
        return float(np.nextafter(old, np.inf if rng.random() < 0.5 else -np.inf))
    if kind == 2:
        return -old
    if kind == 3:
        return 0.0
    if kind == 4:
        return old * (1 + float(rng.choice([1e-9, -1e-9, 1e-10, -1e-10, 2e-9, 1e-6])))
    if kind == 5:
        return old + float(rng.choice([0.1, 0.5, 1e-3, 1 / 3]))
    if kind == 6:
        return old * float(rng.choice([2, 0.5, 10, 0.1, 3]))
    return old + float(rng.choice([1, -1, 2, -2, 5, 10]))


WHOLE = (-1, 0, 1, 2, 3, 7, 99, -(2**53), 2**53, 2**62, -(2**63))


def altered(rng: np.random.Generator, arrays: Arrays, other: Arrays) -> str:
    """Alter one array, and return in words how."""
    name = str(rng.choice(list(arrays)))
    array = arrays[name]
    kind = rng.integers(40)
    if kind == 0:
        del arrays[name]
        return f"{name} is missing"
    if kind == 1 and array.ndim:
        arrays[name] = array[:-1]
        return f"{name} is shorter"
    if kind == 2 and array.ndim and len(array):
        arrays[name] = np.concatenate([array, array[-1:]])
        return f"{name} is longer"
    if kind == 3:
        arrays[name] = (
            array.astype(rng.choice(["<f8", "<i4", "<f4", ">f8"]), copy=False)
            if array.dtype.kind in "fi"
            else array
        )
        return f"{name} has another type"
    if kind == 4:
        arrays[name] = array.reshape(1, *array.shape)
        return f"{name} has another shape"
    if kind == 5 and name in other:
        arrays[name] = other[name]
        return f"{name} is of another file"
    if kind == 6 and array.ndim and len(array) > 1:
        one, two = rng.choice(len(array), 2, replace=False)
        new = array.copy()
        new[[one, two]] = new[[two, one]]
        arrays[name] = new
        return f"{name} has two entries exchanged"
    if kind == 7 and array.ndim:
        arrays[name] = array[rng.permutation(len(array))]
        return f"{name} in another order"
    if kind == 8:
        extra = str(rng.choice(list(other)))
        arrays.setdefault(extra, other[extra])
        return f"{extra} is added"
    if kind == 9 and array.ndim:
        arrays[name] = array[:0]
        return f"{name} is empty"
    new = array.copy()
    if not new.size:
        return f"{name} as it is"
    place: Any = tuple(int(rng.integers(length)) for length in new.shape)
    if new.dtype.kind == "f":
        new[place] = number(rng, float(new[place]))
    elif new.dtype.kind == "i":
        near = int(new[place]) + int(rng.choice([-1, 1]))
        limits = np.iinfo(new.dtype)
        chosen = near if rng.random() < 0.7 else int(rng.choice(WHOLE))
        new[place] = min(max(chosen, limits.min), limits.max)
    elif new.dtype.kind == "b":
        new[place] = not new[place]
    else:
        words = [
            "s",
            "u",
            "m",
            "z",
            "x",
            "",
            "width",
            "upper",
            "two-sided",
            "L1",
            "L2",
            "Linf",
            "mean",
            "sum",
            "slope",
            "loss",
        ]
        if name != "status":
            new = new.astype("<U40")
        new[place] = str(rng.choice(words))
    arrays[name] = new
    return f"{name}[{place}]: {array[place]!r} becomes {new[place]!r}"


def resized(rng: np.random.Generator, arrays: Arrays) -> str:
    """Alter numbers and nothing of the form, so that proofs are computed to their end.

    The right-hand sides follow the values. A bound that nobody can prove makes both verifiers tell
    what they find proved.
    """
    names = [name for name in arrays if arrays[name].dtype.kind == "f" and arrays[name].size]
    told = []
    for _ in range(int(rng.integers(1, 4))):
        name = str(rng.choice(names))
        new = arrays[name].copy()
        place: Any = () if not new.ndim else int(rng.integers(len(new)))
        old = float(new[place])
        factor = float(rng.choice([0.5, 2, 0.9, 1.1, 1 + 1e-7, 0, 1 / 3]))
        step = float(rng.choice([0, 0, 1, -1, 0.25]))
        new[place] = old * factor + step
        arrays[name] = new
        told.append(f"{name}[{place}] {old!r} becomes {float(new[place])!r}")
    starts, sides = arrays["relation_starts"], arrays["right_hand_side"].copy()
    for row in range(len(sides)):
        part = slice(starts[row], starts[row + 1])
        terms = arrays["relation_data"][part] * arrays["values"][arrays["relation_cells"][part]]
        sides[row] = sum(terms.tolist())
    arrays["right_hand_side"] = sides
    if "bound" in arrays and rng.random() < 0.7:
        arrays["bound"] = 2 * arrays["loss"] + 1
        told.append("a bound above the loss")
    return "; ".join(told)


def same(one: str, other: str) -> bool:
    """Return whether two sentences are the same up to 1e-9 of the numbers in them."""
    pattern = r"-?\d+(?:\.\d+)?(?:e[+-]\d+)?"
    if re.sub(pattern, "#", one) != re.sub(pattern, "#", other):
        return False
    numbers = [np.array(re.findall(pattern, text), dtype=float) for text in (one, other)]
    most = max(1.0, *(float(np.max(np.abs(part), initial=0)) for part in numbers))
    return bool(np.all(np.abs(numbers[0] - numbers[1]) <= 1e-9 * most))


def alter_problem(rng: np.random.Generator, text: str) -> str:
    words = re.split(r"(\s+)", text)
    place = int(rng.integers(len(words)))
    word = words[place]
    try:
        words[place] = (
            str(number(rng, float(word))) if rng.random() < 0.7 else str(int(float(word)) + 1)
        )
    except (ValueError, OverflowError):
        words[place] = str(rng.choice(["", "x", "inf", " 1 ", "s", "z", "1e3", "+1", "1_0"]))
    return "".join(words)


def rules() -> list[tuple[re.Pattern[str], str]]:
    """Return the sentences of refusals and their codes, as docs/certificate.md lists them."""
    text = (ROOT / "docs" / "certificate.md").read_text(encoding="utf-8")
    section = text.split("## 14. Codes")[1].split("## 15.")[0]
    found = []
    for code, sentences in re.findall(r"^\| ([A-Z]\d+) \| (.*) \|$", section, re.M):
        for sentence in re.findall(r"`([^`]+)`", sentences):
            pattern = re.sub(r"\\\{.*?\\\}", ".*", re.escape(sentence))
            found.append((re.compile(pattern), code))
    return found


class Second:
    """The verifier in JavaScript, in one process that is asked line by line."""

    def __init__(self) -> None:
        script = str(files("tablecloak.certificates").joinpath("verify.mjs"))
        node = shutil.which("node")
        if node is None:
            raise SystemExit("this needs Node")
        self.process = subprocess.Popen(
            [node, script, "--lines"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, paths: list[str]) -> Mapping[str, Any]:
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([*paths, None][:2]) + "\n")
        self.process.stdin.flush()
        answer: Mapping[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        self.process.communicate()


def first(paths: list[str]) -> tuple[str, list[str]]:
    """Return the verdict of Python, and its sentences."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        code = verify(paths)
    lines = [line.strip() for line in told.getvalue().splitlines()]
    verdict = {0: "PROVED", 1: "REFUSED", 3: "NOT CLAIMED"}.get(code, f"exit {code}")
    head = f"{verdict}: "
    if verdict == "NOT CLAIMED":
        return verdict, lines[1:]
    return verdict, [lines[0].removeprefix(head), *lines[1:]] if lines else []


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--numbers", type=float, default=0.5, help="share that keeps the form (0 to 1)"
    )
    parser.add_argument("--codes", action="store_true", help="list refusals of different codes")
    parser.add_argument("--keep", type=Path, help="folder for files on which they differ")
    chosen = parser.parse_args(arguments)
    rng = np.random.default_rng(chosen.seed)
    index = json.loads((CONFORMANCE / "index.json").read_text(encoding="utf-8"))
    good = [entry for entry in index if entry["group"] != "false"]
    listed = rules()
    second = Second()
    counted: Counter[str] = Counter()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "altered.npz"
        problem = Path(folder) / "altered.jj"
        for round_ in range(chosen.count):
            entry = good[rng.integers(len(good))]
            arrays = read(CONFORMANCE / entry["file"])
            other = read(CONFORMANCE / good[rng.integers(len(good))]["file"])
            if rng.random() < chosen.numbers:
                ideas = [resized(rng, arrays)]
            else:
                times = int(rng.choice([1, 1, 1, 2, 3]))
                ideas = [altered(rng, arrays, other) for _ in range(times)]
            np.savez(path, **arrays) if rng.random() < 0.95 else np.savez_compressed(path, **arrays)
            paths = [str(path)]
            if entry["problem"] and rng.random() < 0.5:
                text = (CONFORMANCE / entry["problem"]).read_text(encoding="utf-8")
                if rng.random() < 0.5:
                    text = alter_problem(rng, text)
                    ideas.append("the problem file is altered")
                problem.write_text(text, encoding="utf-8")
                paths.append(str(problem))
            verdict, lines = first(paths)
            answer = second.ask(paths)
            told = f"{chosen.seed}/{round_} {entry['file']}: {'; '.join(ideas)}"
            second_told = f"{answer['verdict']} {answer['code']} {answer['lines'][:1]}"
            counted[verdict] += 1
            if verdict != answer["verdict"]:
                counted["DIFFERENT VERDICTS"] += 1
                print(f"{told}\n  Python {verdict} {lines[:1]}\n  JavaScript {second_told}")
                if chosen.keep:
                    for file in map(Path, paths):
                        shutil.copy(file, chosen.keep / f"{chosen.seed}-{round_}{file.suffix}")
            elif verdict == "REFUSED":
                codes = {code for pattern, code in listed if pattern.fullmatch(lines[0])}
                if answer["code"] not in codes:
                    counted["refused with different codes"] += 1
                    if chosen.codes:
                        print(f"{told}\n  Python {codes} {lines[0]}\n  JavaScript {second_told}")
                elif answer["code"] in ("B9", "L1") and not same(lines[0], answer["lines"][0]):
                    counted["DIFFERENT NUMBERS"] += 1
                    print(f"{told}\n  Python {lines[0]}\n  JavaScript {second_told}")
                counted[answer["code"] if answer["code"] in codes else "other code"] += 1
            elif len(lines) != len(answer["lines"]) or not all(map(same, lines, answer["lines"])):
                counted["DIFFERENT SENTENCES"] += 1
                print(told)
                print("\n".join(f"  {line}" for line in set(lines) ^ set(answer["lines"])))
    second.close()
    print(f"{chosen.count} altered certificates in {time.monotonic() - started:.0f} s")
    for name, count in counted.most_common():
        print(f"  {count:6d} {name}")
    return 1 if any(name.startswith("DIFFERENT") for name in counted) else 0


if __name__ == "__main__":
    sys.exit(main())

"""Two releases that are safe apart: an intruder who has both, with the register and without."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from joint_attack import exposed_together, seen
from tablecloak.cli.main import app
from tablecloak.publish.audit import known_ends, told_by
from tablecloak.publish.register import Entry, Register

CODES = {"a": list("pqrstu"), "b": list("xy"), "c": list("vw")}
TREES = {name: {"Total": codes} for name, codes in CODES.items()}


def pair(seed: int, below: int = 60) -> list[tc.ProtectionProblem]:
    """Random tables over a and b, and over a and c, with a sensitive total of a in both."""
    rng = np.random.default_rng(seed)
    records = pd.MultiIndex.from_product(CODES.values(), names=CODES).to_frame(index=False)
    records["v"] = rng.integers(1, below, len(records)).astype(float)
    shared = rng.choice(CODES["a"])
    problems = []
    for other in "bc":
        cells = [
            {"a": shared, other: "Total"},
            {"a": rng.choice(CODES["a"]), other: CODES[other][0]},
        ]
        problems.append(tc.tabulate(records, ["a", other], "v").protect(tc.Manual(cells, range=25)))
    return problems


def test_pairs_of_releases_that_are_safe_apart_are_exposed_without_the_register_only(tmp_path):
    apart, together = 0, 0
    release = tmp_path / "release.csv"
    for seed in range(3):
        register = Register(tmp_path / f"register {seed}")
        one, two = pair(seed)
        first = tc.suppress(one, time_limit=10)
        first.release().to_csv(release)
        ends, _ = known_ends(one, told_by(one, first))
        register.enter(Entry(kind="release"), one, ends, [release])
        alone = tc.suppress(two, time_limit=10)
        beside = register.published(two, "")
        assert list(beside) == ["register 1"]
        both = tc.suppress(two, published=beside, time_limit=10)
        frames = [seen(one, first.suppressed), seen(two, alone.suppressed)]
        assert not any(exposed_together([frame], TREES) for frame in frames)
        apart += len(exposed_together(frames, TREES))
        # The earlier release may tell by itself what the new one finds sensitive.
        known = {two.table.label(cell.cell) for cell in both.before.disclosed}
        frames[1] = seen(two, both.suppressed[: two.table.n_cells])
        frames[1].loc[
            [two.table.label(n) in known for n in range(len(frames[1]))], ["down", "up"]
        ] = 0
        together += len(exposed_together(frames, TREES))
    assert apart > 5
    assert together == 0


def nearest(problem: tc.ProtectionProblem, base: int) -> pd.DataFrame:
    """What everybody knows of values that were rounded to the nearest multiples, by hand."""
    true = problem.table.values
    shown = base * np.floor(true / base + 0.5)
    low, high = shown - base // 2, shown + base // 2
    return problem.table.keys.assign(
        value=true, shown=shown, hidden=True, low=np.maximum(low, 0), high=high, down=0, up=0
    )


def test_readers_of_a_rounded_release_know_its_bounds_with_made_only(tmp_path):
    """Values of one table rounded to multiples of 7, entered by the command, and a pattern."""
    file, truth, base = tmp_path / "rounded.csv", tmp_path / "truth.csv", 7
    apart = together = 0
    for seed in range(5):
        one, two = pair(seed, below=12)
        rounded = nearest(one, base)
        rounded[["a", "b", "shown"]].rename(columns={"shown": "value"}).to_csv(file, index=False)
        tc.write_problem(one, truth)
        folder = tmp_path / f"register {seed}"
        enter = ["register", "add", str(folder), str(file), "--problem", str(truth)]
        enter += ["--variable", "v", "--already-out", "--made", f"rounding:{base}"]
        done = CliRunner().invoke(app, enter)
        assert done.exit_code == 0, done.output
        beside = Register(folder).published(two, "")
        told = tc.read_published(file, one, made=f"rounding:{base}")
        assert told.lower.tolist() == beside["register 1"].lower.tolist() == rounded.low.tolist()
        assert told.upper.tolist() == beside["register 1"].upper.tolist() == rounded.high.tolist()
        with pytest.warns(tc.TablecloakWarning, match=r"multiples of 7.*rounding:7"):
            untold = tc.read_published(file, one)
        alone = tc.suppress(two, published=[untold], time_limit=10)
        both = tc.suppress(two, published=beside, time_limit=10)
        known = np.isin(np.arange(two.table.n_cells), [each.cell for each in both.before.disclosed])
        for pattern in (alone, both):
            frame = seen(two, pattern.suppressed[: two.table.n_cells])
            # What the rounded values tell by themselves no later release can protect.
            frame.loc[known, ["down", "up"]] = 0
            assert not exposed_together([frame], TREES)
            exposed = len(exposed_together([rounded.drop(columns="shown"), frame], TREES))
            apart += exposed if pattern is alone else 0
            together += exposed if pattern is both else 0
    assert apart > 2
    assert together == 0

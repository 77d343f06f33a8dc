"""Two releases that are safe apart: an intruder who has both, with the register and without."""

from __future__ import annotations

import numpy as np
import pandas as pd

import tablecloak as tc
from joint_attack import exposed_together, seen
from tablecloak.publish.audit import known_ends, told_by
from tablecloak.publish.register import Entry, Register

CODES = {"a": list("pqrstu"), "b": list("xy"), "c": list("vw")}
TREES = {name: {"Total": codes} for name, codes in CODES.items()}


def pair(seed: int) -> list[tc.ProtectionProblem]:
    """Random tables over a and b, and over a and c, with a sensitive total of a in both."""
    rng = np.random.default_rng(seed)
    records = pd.MultiIndex.from_product(CODES.values(), names=CODES).to_frame(index=False)
    records["v"] = rng.integers(1, 60, len(records)).astype(float)
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

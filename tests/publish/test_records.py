"""Releases of chosen records: the same however they are written, and a part of other releases."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from joint_attack import exposed_together, seen
from tablecloak.publish.audit import known_ends, told_by
from tablecloak.publish.records import restriction
from tablecloak.publish.register import Entry, Register

CODES = {"a": list("pqrstu"), "b": list("xy"), "c": list("uvw")}
TREES = {name: {"Total": codes} for name, codes in CODES.items()}


def records(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    cells = pd.MultiIndex.from_product(CODES.values(), names=CODES).to_frame(index=False)
    return cells.assign(v=rng.integers(1, 60, len(cells)).astype(float))


def table(frame: pd.DataFrame, names: list[str], *sensitive: dict[str, str]):
    return tc.tabulate(frame, names, "v").protect(tc.Manual(list(sensitive), range=25))


def enter(register: Register, problem, only, tmp_path):
    pattern = tc.suppress(problem, time_limit=5)
    release = tmp_path / "release.csv"
    pattern.release().to_csv(release)
    ends, _ = known_ends(problem, told_by(problem, pattern))
    register.enter(Entry(kind="release", only=only), problem, ends, [release])
    return pattern


@pytest.mark.parametrize("codes", [("v",), ("u", "v")])
@pytest.mark.parametrize("first", ["all", "chosen"])
def test_chosen_records_are_the_cells_of_a_table_by_these_codes(tmp_path, codes, first):
    """Whichever of them leaves first, an attack on both recovers no sensitive cell."""
    apart, together = 0, 0
    only = {"c": codes}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        frame = records(seed)
        cells = [{"a": code, "c": rng.choice(CODES["c"])} for code in rng.choice(CODES["a"], 2)]
        every = table(frame, ["a", "c"], *cells)
        chosen = table(
            frame[frame["c"].isin(codes)],
            ["a", "b"],
            {"a": rng.choice(CODES["a"]), "b": "x"},
            {"a": cells[0]["a"], "b": "Total"},
        )
        order = [(every, {}), (chosen, only)]
        if first == "chosen":
            order.reverse()
        register = Register(tmp_path / f"register {seed} {first}")
        one, two = (problem for problem, _ in order)
        patterns = [enter(register, one, order[0][1], tmp_path)]
        alone = tc.suppress(two, time_limit=5)
        beside = register.published(two, "", only=order[1][1])
        both = tc.suppress(two, published=beside, time_limit=10)
        known = {two.table.label(cell.cell) for cell in both.before.disclosed}

        before = seen(one, patterns[0].suppressed)
        apart += len(exposed(before, two, alone.suppressed, known, codes))
        together += len(exposed(before, two, both.suppressed, known, codes))
    assert apart > 0
    assert together == 0


def exposed(before, two, hidden, known, codes):
    """Cells that two releases tell too much of, but for those that the first one tells alone."""
    now = seen(two, hidden[: two.table.n_cells])
    now.loc[[two.table.label(cell) in known for cell in range(len(now))], ["down", "up"]] = 0
    name = "+".join(codes)
    sums = {name: list(codes)} if len(codes) > 1 else {}
    frames = [beside_others(frame, codes, name) for frame in (before, now)]
    return exposed_together(frames, {**TREES, "c": {**TREES["c"], **sums}})


def beside_others(frame, codes, name):
    """The chosen records are a code of c; a table by all codes has the sum of their cells."""
    if "b" in frame:
        return frame.assign(c=name)
    if len(codes) == 1:
        return frame
    sums = frame[frame["c"].isin(codes)].groupby("a", as_index=False)["value"].sum()
    nothing = {"hidden": True, "low": -np.inf, "high": np.inf, "down": 0, "up": 0}
    return pd.concat([frame, sums.assign(c=name, **nothing)])


def test_chosen_records_are_the_same_however_they_are_written(tmp_path):
    assert restriction({"c": "u"}) == restriction({"c": ["u"]})
    assert restriction({"d": "z", "c": ["v", "u"]}) == restriction({"c": ["u", "v"], "d": ["z"]})
    frame = records(1)
    chosen = table(frame[frame["c"] != "w"], ["a", "b"], {"a": "p", "b": "x"})
    register = Register(tmp_path / "r")
    enter(register, chosen, {"c": ("u", "v")}, tmp_path)
    assert [o.shared for o in register.overlaps(chosen, "", only={"c": ("u", "v")})] == [21]
    # All codes are no restriction: all records are the same ones.
    register = Register(tmp_path / "all")
    every = table(frame, ["a", "b"], {"a": "p", "b": "x"})
    enter(register, every, {}, tmp_path)
    (told,) = register.published(every, "", only={"c": ("u", "v", "w")}).values()
    assert told.problem.table.n_cells == 21
    (overlap,) = register.overlaps(every, "", only={"c": ("u", "v", "w")})
    assert (overlap.shared, overlap.revised) == (21, 0)


def test_records_whose_difference_has_no_cell_are_refused(tmp_path):
    """By subtraction, two tables by a and b tell of the records that one has besides."""
    frame = records(1)
    every = table(frame, ["a", "b"], {"a": "p", "b": "x"})
    chosen = {code: table(frame[frame["c"] == code], ["a", "b"]) for code in "uv"}
    register = Register(tmp_path / "r")
    enter(register, every, {}, tmp_path)
    with pytest.raises(tc.InputError, match=r"entry 1 .* all records .* c=u.* another `series`"):
        register.published(chosen["u"], "", only={"c": ("u",)})
    assert register.published(chosen["u"], "another", only={"c": ("u",)}) == {}


def test_disjoint_records_have_nothing_in_common(tmp_path):
    frame = records(1)
    chosen = {code: table(frame[frame["c"] == code], ["a", "b"]) for code in "uv"}
    register = Register(tmp_path / "r")
    enter(register, chosen["u"], {"c": ("u",)}, tmp_path)
    assert register.published(chosen["v"], "", only={"c": ("v",)}) == {}
    enter(register, chosen["v"], {"c": ("v",)}, tmp_path)
    # The sum of both is a table of more records than each of them.
    both = table(frame[frame["c"] != "w"], ["a", "b"])
    with pytest.raises(tc.InputError, match="c=u or v"):
        register.published(both, "", only={"c": ("u", "v")})
    by_code = table(frame, ["a", "c"])
    assert [o.shared for o in register.overlaps(by_code, "")] == [7, 7]


def test_an_old_register_has_the_codes_as_text(tmp_path):
    frame = records(1)
    chosen = table(frame[frame["c"] != "w"], ["a", "b"], {"a": "p", "b": "x"})
    register = Register(tmp_path / "r")
    enter(register, chosen, {}, tmp_path)
    path = tmp_path / "r" / "000001" / "entry.json"
    said = json.loads(path.read_text())
    del said["only"]
    for text in ("firms 2025 c=['v', 'u']", "firms 2025 c=['u', 'v'] d=w x"):
        path.write_text(json.dumps(said | {"series": text}, indent=2) + "\n")
        entry = register.entries[0]
        assert entry.chosen("firms 2025")["c"] == ("u", "v")
        assert entry.chosen(text) == {}
        assert entry.chosen("banks 2025") is None
    assert entry.chosen("firms 2025") == {"c": ("u", "v"), "d": ("w x",)}
    path.write_text(json.dumps(said | {"series": "firms 2025 c=['v', 'u']"}, indent=2) + "\n")
    (overlap,) = register.overlaps(chosen, "firms 2025", only={"c": ("u", "v")})
    assert overlap.shared == 21

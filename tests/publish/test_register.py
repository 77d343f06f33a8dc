"""The register of what has left: nothing gets lost, and what shares cells is found."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.publish.register import Entry, OvertakenError, Register
from tablecloak.tables.changes.earlier_releases import EarlierRelease

KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np, pandas as pd
import tablecloak as tc
from tablecloak.publish.register import Entry, Register

folder, release = Path(sys.argv[1]), Path(sys.argv[2])
frame = pd.DataFrame({"a": ["Total", "x", "y"], "value": [3.0, 1.0, 2.0]})
problem = tc.Table.from_frame(frame, ["a"]).protect(tc.Manual([{"a": "x"}]))
told = np.zeros(3), np.full(3, 9.0)
register = Register(folder)


def enter_until_killed(name):
    for number in range(10_000):
        entry = Entry(kind="release", title=name, series=f"{name} {number}")
        with open(folder.parent / name, "a") as known:
            print(register.enter(entry, problem, told, [release]).receipt, file=known, flush=True)


random.seed(1)
register.enter(Entry(kind="release"), problem, told, [release])
for attempt in range(25):
    children = []
    for half in "ab":
        child = os.fork()
        if not child:
            enter_until_killed(f"{attempt}{half}")
        children.append(child)
    wanted = random.randrange(4)
    while sum(len(f.read_text().split()) for f in folder.parent.glob(f"{attempt}[ab]")) < wanted:
        time.sleep(0.001)
    time.sleep(random.uniform(0, 0.02))
    for child in children:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
"""


@pytest.fixture
def release(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,value\n")
    return path


@pytest.mark.skipif(sys.platform == "win32", reason="processes are forked")
def test_of_two_processes_that_are_killed_together_25_times_no_entry_is_lost(tmp_path, release):
    """Fifty killed at random: what they were told is entered is there, and nothing is half."""
    folder = tmp_path / "register"
    subprocess.run([sys.executable, "-c", KILLED, str(folder), str(release)], check=True)
    register = Register(folder)
    assert register.faults() == []
    receipts = {entry.receipt for entry in register.entries}
    told = [line for path in tmp_path.glob("[0-9]*[ab]") for line in path.read_text().split("\n")]
    known = [line for line in told if len(line.partition(":")[2]) == 64]
    assert len(known) > 25
    assert set(known) <= receipts
    # Entries of which the process was killed before it could say so.
    assert len(receipts) <= len(known) + 51
    # Whoever comes next clears what the dead left behind, and waits for nobody.
    problem, ends = table(x=1)
    register.enter(Entry(kind="release", series="next"), problem, ends, [release])
    assert {path.name for path in folder.iterdir()} == {
        f"{entry.number:06d}" for entry in register.entries
    }


def table(**cells: float):
    """A problem over one dimension, and what is told of it: all but the first cell."""
    frame = pd.DataFrame(
        {"a": ["Total", *cells], "value": [float(sum(cells.values())), *cells.values()]}
    )
    problem = tc.Table.from_frame(frame, ["a"]).protect(tc.Manual([{"a": next(iter(cells))}]))
    a = problem.table.values
    hidden = problem.sensitive
    ends = np.where(hidden, problem.lower_bound, a), np.where(hidden, problem.upper_bound, a)
    return problem, ends


def entered(register, release, problem, ends, **said):
    return register.enter(Entry(kind="release", **said), problem, ends, [release]).number


def numbers(register, problem, **said):
    said = {"series": ""} | said
    return [each.entry.number for each in register.overlaps(problem, **said)]


def test_entries_with_shared_cells_are_found_revised_or_not_and_through_others(tmp_path, release):
    register = Register(tmp_path / "r")
    problem, ends = table(x=1, y=2)
    entered(register, release, problem, ends)
    revised, ends_of_revised = table(x=1, y=3)
    entered(register, release, revised, ends_of_revised)
    entered(register, release, problem, ends, series="another year")
    named = replace(problem, table=replace(problem.table, name="another variable"))
    entered(register, release, named, ends)
    # Over another dimension, with the same total.
    other = replace(problem.table, keys=pd.DataFrame({"b": ["Total", "v", "w"]}), hierarchies={})
    crossed = other.protect(tc.Manual([{"b": "v"}]))
    entered(register, release, crossed, ends)
    found = register.overlaps(problem, "")
    assert [(o.entry.number, o.shared, o.revised, o.further) for o in found] == [
        (1, 3, 0, 0),
        (2, 3, 2, 0),
        (5, 1, 0, 2),
    ]
    assert [entry.revises for entry in register.entries] == [(), (1,), (), (), (2,)]
    unknown = replace(problem, table=replace(problem.table, name="a third variable"))
    assert numbers(register, unknown) == []


def crossed(*names: str) -> tc.ProtectionProblem:
    """The turnover of some firms over dimensions, of which a few cells have few firms."""
    records = tc.examples.firms(60, seed=3)
    return tc.tabulate(records, list(names), "turnover").protect(tc.MinimumFrequency(3))


def test_what_is_left_out_because_it_hides_nothing_that_the_new_table_concerns_tells_nothing(
    tmp_path, release
):
    """The intervals of all cells are those that an intruder with all releases in full computes."""
    register, full = Register(tmp_path / "r"), {}
    rng = np.random.default_rng(1)
    new = crossed("region", "industry")
    for names in [("region",), ("size",), ("region", "size"), ("industry", "size")]:
        problem = crossed(*names)
        hidden = problem.sensitive | ((rng.random(problem.table.n_cells) < 0.2) & ~problem.frozen)
        hidden &= len(names) > 1
        register.enter(Entry(kind="release"), problem, problem.ends(hidden), [release])
        full["-".join(names)] = EarlierRelease(problem, *problem.ends(hidden))
    told = register.published(new, "")
    assert min(each.problem.table.n_relations for each in told.values()) == 0
    n_cells = sum(each.problem.table.n_cells for each in told.values())
    assert n_cells < sum(each.problem.table.n_cells for each in full.values())
    hidden = new.sensitive | (rng.random(new.table.n_cells) < 0.3) & ~new.frozen
    few, every = (
        tc.audit(new, hidden, published=releases, detail="intervals") for releases in (told, full)
    )
    n_new = new.n_sensitive
    assert few.needs.cells[:n_new].tolist() == every.needs.cells[:n_new].tolist()
    assert few.below[:n_new] == pytest.approx(every.below[:n_new])
    assert few.above[:n_new] == pytest.approx(every.above[:n_new])


def test_who_gets_a_release_decides_what_counts(tmp_path, release):
    """Of a ministry the public knows nothing, but it reads what is published."""
    register = Register(tmp_path / "r")
    problem, ends = table(x=1, y=2)
    entered(register, release, problem, ends)
    entered(register, release, *table(x=1, y=2, z=0), receiver="ministry")
    entered(register, release, *table(x=1, y=2, u=0), receiver="bank")
    assert numbers(register, problem) == [1, 2, 3]
    assert numbers(register, problem, receiver="ministry") == [1, 2]
    # It gets all values: nothing holds against it, and what it has counts for nobody else.
    sent = Entry(kind="transmission", receiver="bank")
    register.enter(sent, problem, ends, [release])
    assert numbers(register, problem, receiver="bank") == []
    assert numbers(register, problem) == [1, 2]
    # What somebody received cannot be taken back.
    register.recall(2, "wrong year")
    assert numbers(register, problem) == [1, 2]
    register.recall(2, "never sent", has_left=False)
    assert numbers(register, problem) == [1]
    with pytest.raises(tc.InputError, match="no release 5"):
        register.recall(5, "that is a recall")


def test_files_and_entries_that_are_lost_or_altered_are_noticed(tmp_path, release):
    register = Register(tmp_path / "r")
    for y in (2, 3, 4):
        entered(register, release, *table(x=1, y=y))
    problem, _ = table(x=1, y=2)
    last = register.entries[-1].receipt
    assert register.faults(last) == []
    told = register.folder / "000002" / "told.csv"
    text = told.read_text()
    told.write_text(text.replace("3", "4"))
    assert register.faults() == ["entry 2: told.csv was altered"]
    with pytest.raises(tc.InputError, match=r"told\.csv was altered"):
        register.published(problem, "")
    told.unlink()
    assert register.faults() == ["entry 2: told.csv is lost"]
    told.write_text(text)
    (register.folder / "000003").rename(tmp_path / "away")
    assert register.faults() == []
    assert register.faults(last) == ["entry 3 of the receipt is lost, or was altered"]
    (tmp_path / "away").rename(register.folder / "000003")
    said = register.folder / "000001" / "entry.json"
    said.write_text(said.read_text().replace('"public"', '"nobody"'))
    assert "entry 1 was altered" in register.faults()[0]
    said.unlink()
    with pytest.raises(tc.InputError, match="entry 1 is lost"):
        entered(register, release, *table(x=1, y=5))


def test_a_release_that_others_overtook_is_refused_and_the_same_one_is_entered_once(
    tmp_path, release
):
    register = Register(tmp_path / "r")
    first, later = table(x=1, y=2), table(x=1, y=2, z=0)
    assert entered(register, release, *first) == entered(register, release, *first) == 1
    with pytest.raises(OvertakenError, match="entries 1 came"):
        register.enter(Entry(kind="release"), *later, [release], after=0)
    other = register.enter(Entry(kind="release", series="b"), *later, [release], after=0)
    assert other.number == 2


def test_values_near_the_truth_have_no_proof_beside_others(tmp_path, release):
    register = Register(tmp_path / "r")
    problem, ends = table(x=1, y=2)
    entered(register, release, problem, ends, is_bounded=False)
    with pytest.raises(tc.InputError, match="values near the true ones"):
        register.published(problem, "")

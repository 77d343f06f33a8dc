"""A priori lists go out with primaries, come back with secondaries, and stay as they were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from private import is_private
from random_tables import random_problem
from shops import run, write_shops
from tablecloak.argus import AprioriList, read_apriori, run_batch, write_apriori
from tablecloak.cli.main import app

ARRAYS = ("status", "lower_protection", "upper_protection", "weights")


def plain(problem: tc.ProtectionProblem) -> tc.ProtectionProblem:
    """The same table with nothing said of its cells."""
    return problem.with_changes(
        status="s", lower_protection=0, upper_protection=0, weights=problem.table.values
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["crossed", "nested", "uneven"])
def test_a_problem_comes_back_from_its_list(seed, kind, tmp_path):
    problem = random_problem(seed, kind=kind)
    problem = problem.with_changes(
        sliding_protection=0,
        weights=np.maximum(problem.weights, 0.5) + 1 / 3,
        status=np.where(np.arange(problem.table.n_cells) == 0, "m", problem.status),
    )
    write_apriori(problem, tmp_path / "list.hst")
    back = read_apriori(plain(problem), tmp_path / "list.hst")
    kept = back.sensitive == problem.sensitive
    assert kept.all()
    for name in ARRAYS:
        there, here = getattr(problem, name), getattr(back, name)
        assert np.array_equal(here[problem.sensitive], there[problem.sensitive])
        if "protection" not in name:
            assert np.array_equal(here, there)
    assert is_private(tmp_path / "list.hst")


WRITTEN = (
    b"// statuses of 2025, by hand\r\n\r\n"
    b' a ; x;U \r\n"b";y;pl;4.50;6\r\n\\\\ costs\r\nTotal;;c;1e2\r\nb;x;ml\r\n'
    b"caf\xe9;y;w;7;"
)


def test_a_list_of_tau_argus_is_written_again_byte_for_byte(tmp_path):
    (tmp_path / "there.hst").write_bytes(WRITTEN)
    found = AprioriList.read(tmp_path / "there.hst", 2)
    found.write(tmp_path / "back.hst")
    assert found.separator == ";"
    assert (tmp_path / "back.hst").read_bytes() == WRITTEN


def test_a_pattern_is_written_with_its_secondaries(tmp_path):
    pattern = tc.suppress(random_problem(4), time_limit=1000)
    write_apriori(pattern, tmp_path / "both.hst")
    found = read_apriori(plain(pattern.problem), tmp_path / "both.hst")
    assert np.array_equal(found.sensitive | found.forced, pattern.suppressed)
    assert np.array_equal(found.sensitive, pattern.problem.sensitive)


def test_primaries_found_here_are_those_of_a_batch_that_reads_the_list(tmp_path):
    write_shops(tmp_path)
    ruled = run(tmp_path, "<SAFETYRULE> FREQ(4,20)\n<READTABLE> 0\n").problems[0]
    write_apriori(ruled, tmp_path / "ours.hst", separator=";", costs=False)
    batch = '<SAFETYRULE> FREQ(1,20)\n<READTABLE> 0\n<APRIORI> "ours.hst",1,";",0\n'
    read = run(tmp_path, batch).problems[0]
    assert ruled.n_sensitive > 0
    assert np.array_equal(read.sensitive, ruled.sensitive)
    for name in ("lower_protection", "upper_protection"):
        assert np.array_equal(getattr(read, name), getattr(ruled, name))


RDA = """\
<SEPARATOR> ","
size 1 9
  <RECODEABLE>
region 2
  <RECODEABLE> <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
sales 9
  <NUMERIC>
"""


def recoded(folder, rules: str, more: str = "") -> tc.ProtectionProblem:
    """A table whose regions were cut below North and whose sizes were put into groups."""
    (folder / "m.arb").write_text(
        '<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n'
        f'<SPECIFYTABLE> "size""region"|"sales"||\n<SAFETYRULE> {rules}\n<READMICRODATA>\n'
        f'<RECODE> 1,"region","cut.grc"\n<RECODE> 1,"size","size.grc"\n{more}'
    )
    return run_batch(folder / "m.arb", time_limit=5).problems[0]


def test_codes_of_a_recoded_hierarchy_come_back_from_a_list(tmp_path):
    random = np.random.default_rng(1)
    sizes, regions = random.choice(list("123459"), 40), random.choice(["N1", "N2", "S1", "S2"], 40)
    frame = pd.DataFrame({"size": sizes, "region": regions, "sales": random.integers(1, 100, 40)})
    frame.to_csv(tmp_path / "m.asc", header=False, index=False)
    (tmp_path / "m.rda").write_text(RDA)
    (tmp_path / "region.hrc").write_text("N\n@N1\n@N2\nS\n@S1\n@S2\n")
    (tmp_path / "cut.grc").write_text("<TREERECODE>\nN\n")
    (tmp_path / "size.grc").write_text("S: 1, 2\nL: 3-5\n")
    ruled = recoded(tmp_path, "FREQ(6,20)")
    codes = {code.strip() for code in ruled.table.keys.region}
    assert "N" in codes and "N1" not in codes and "S1" in codes
    assert 0 < ruled.n_sensitive < ruled.table.n_cells
    write_apriori(ruled, tmp_path / "ours.hst", separator=",")
    read = recoded(tmp_path, "FREQ(1,20)", '<APRIORI> "ours.hst",1,",",0\n')
    for name in ("sensitive", "lower_protection", "upper_protection", "weights"):
        assert np.array_equal(getattr(read, name), getattr(ruled, name))


def coded(codes: list[str]) -> tc.ProtectionProblem:
    frame = pd.DataFrame(
        {"kind": ["Total", *codes], "v": [10.0 * len(codes), *[10.0] * len(codes)]}
    )
    tree = tc.Hierarchy("Total", (("Total", tuple(codes)),))
    table = tc.Table.from_frame(frame, {"kind": tree}, "v")
    cells = [{"kind": codes[0]}, {"kind": codes[1]}]
    return table.protect(tc.Manual(cells), weights="value")


@pytest.mark.parametrize(
    ("codes", "separator"),
    [(["a", "b", "c"], ";"), (["a;1", "b", "c"], ","), (["a;1", "b,2", "c"], "|")],
)
def test_the_separator_stands_in_no_code(codes, separator, tmp_path):
    problem = coded(codes)
    write_apriori(problem, tmp_path / "list.hst")
    assert AprioriList.read(tmp_path / "list.hst", 1).separator == separator
    assert (read_apriori(plain(problem), tmp_path / "list.hst").status == problem.status).all()
    if separator != ";":
        with pytest.raises(tc.InputError, match="';' stand in codes of the table"):
            write_apriori(problem, tmp_path / "list.hst", separator=";")


def test_codes_with_blanks_before_them_come_back(tmp_path):
    problem = coded([" 1", "10", " 2"])
    write_apriori(problem, tmp_path / "list.hst")
    assert (read_apriori(plain(problem), tmp_path / "list.hst").status == problem.status).all()


def test_a_sliding_level_has_no_place_in_a_list(tmp_path):
    problem = random_problem(1)
    with pytest.raises(tc.InputError, match="cells have a sliding level"):
        write_apriori(problem.with_changes(sliding_protection=3), tmp_path / "list.hst")
    assert not (tmp_path / "list.hst").exists()


def test_a_first_line_without_an_action_is_refused(tmp_path):
    (tmp_path / "list.hst").write_text("a;b\n")
    with pytest.raises(tc.InputError, match="list.hst: expected 2 codes and an action"):
        AprioriList.read(tmp_path / "list.hst", 2)


def test_the_command_writes_a_list_and_applies_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pattern = tc.suppress(random_problem(4), time_limit=1000)
    tc.write_problem(pattern.problem, "p.csv")
    tc.write_problem(plain(pattern.problem), "plain.csv")
    pattern.problem.table.keys.assign(status=pattern.statuses()).to_csv("found.csv", index=False)
    for words in (
        ["convert", "p.csv", "out.hst", "--pattern", "found.csv"],
        ["convert", "plain.csv", "back.csv", "--apriori", "out.hst"],
    ):
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, done.output
    back = tc.read_problem("back.csv")
    assert np.array_equal(back.sensitive | back.forced, pattern.suppressed)
    assert np.array_equal(back.upper_protection, pattern.problem.upper_protection)
    refused = CliRunner().invoke(app, ["convert", "p.csv", "x.csv", "--pattern", "found.csv"])
    assert refused.exit_code != 0

"""Recodings compose as in tau-ARGUS: one for each variable, from the codes of the data."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.argus import run_batch
from tablecloak.argus.metadata import Variable
from tablecloak.argus.recode import cut_below, cut_to_level, recoded
from tablecloak.graph import parents_of, path_to_root

RDA = """\
<SEPARATOR> ","
size 1 9
  <RECODEABLE>
region 2
  <RECODEABLE> <HIERARCHICAL> <HIERCODELIST> "region.hrc" <HIERLEADSTRING> "@"
kind 1
  <RECODEABLE>
sales 9
  <NUMERIC>
"""


@pytest.fixture
def records(tmp_path) -> pd.DataFrame:
    random = np.random.default_rng(1)
    n = 300
    frame = pd.DataFrame(
        {
            "size": random.choice(list("123459"), n),
            "region": random.choice(["N1", "N2", "S1", "S2"], n),
            "kind": random.choice(list("ab"), n),
            "sales": random.integers(1, 100, n),
        }
    )
    frame.to_csv(tmp_path / "m.asc", header=False, index=False)
    (tmp_path / "m.rda").write_text(RDA)
    (tmp_path / "region.hrc").write_text("N \n@N1\n@N2\nS \n@S1\n@S2\n".replace(" ", ""))
    (tmp_path / "size.grc").write_text("S: 1, 2\nL: 3-5\n")
    (tmp_path / "other.grc").write_text("A: 1-4\n")
    (tmp_path / "cut.grc").write_text("<TREERECODE>\nN\n")
    return frame


def run(folder, *recodes: str, rules: str = "FREQ(3,20)", more: str = ""):
    lines = "".join(f"<RECODE> {recode}\n" for recode in recodes)
    (folder / "m.arb").write_text(
        '<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n'
        f'<SPECIFYTABLE> "size""region"|"sales"||\n<SAFETYRULE> {rules}\n'
        f'<SPECIFYTABLE> "region""kind"|"sales"||\n<SAFETYRULE> {rules}\n'
        f"<READMICRODATA>\n{lines}{more}"
    )
    return run_batch(folder / "m.arb", time_limit=5)


def values(problem) -> dict[tuple[str, str], float]:
    keys = [tuple(code.strip() for code in key) for key in problem.table.keys.to_numpy()]
    return dict(zip(keys, problem.table.values.tolist(), strict=True))


def expected(frame: pd.DataFrame, one: str, two: str) -> dict[tuple[str, str], float]:
    """Sums by two columns with all margins of a flat table."""
    spread = pd.concat([frame, frame.assign(**{one: "Total"})])
    spread = pd.concat([spread, spread.assign(**{two: "Total"})])
    return spread.groupby([one, two]).sales.sum().astype(float).to_dict()


def grouped(frame: pd.DataFrame) -> pd.DataFrame:
    size = {"1": "S", "2": "S", "3": "L", "4": "L", "5": "L", "9": "9"}
    return frame.assign(size=frame["size"].map(size), region=frame.region.str[0])


def test_two_recodings_of_a_table_hold_together_in_any_order(records, tmp_path):
    wanted = expected(grouped(records), "size", "region")
    one, two = '1, size, "size.grc"', "1, region, 1"
    for recodes in ((one, two), (two, one)):
        result = run(tmp_path, *recodes)
        assert values(result.problems[0]) == wanted
        assert result.exit_code == 0


def test_a_recoding_holds_in_every_table_of_its_variable_and_the_log_says_so(records, tmp_path):
    result = run(tmp_path, '1, size, "size.grc"', "1, region, 1")
    assert values(result.problems[1]) == expected(grouped(records), "region", "kind")
    assert any("in table 2 too, as in τ-ARGUS" in line for line in result.log)


def test_the_last_recoding_of_a_variable_counts_and_the_log_names_the_other(records, tmp_path):
    result = run(tmp_path, '1, size, "size.grc"', "1, region, 1", '1, size, "other.grc"')
    size = {**dict.fromkeys("1234", "A"), "5": "5", "9": "9"}
    frame = grouped(records).assign(size=records["size"].map(size))
    assert values(result.problems[0]) == expected(frame, "size", "region")
    (line,) = result.not_applied
    assert line == (
        "line 10, RECODE: not applied: the recoding of size in line 8: this one takes its place, "
        "as in τ-ARGUS"
    )
    assert result.exit_code == 3


def test_a_cut_takes_the_place_of_a_level_from_the_whole_tree(records, tmp_path):
    result = run(tmp_path, "1, region, 1", '1, region, "cut.grc"')
    codes = {key[1] for key in values(result.problems[0])}
    assert codes == {"Total", "N", "S", "S1", "S2"}


def test_rules_look_at_the_recoded_table(records, tmp_path):
    before = run(tmp_path, rules="FREQ(20,20)").problems[0].n_sensitive
    result = run(tmp_path, '1, size, "size.grc"', "1, region, 1", rules="FREQ(20,20)")
    counts = grouped(records).groupby(["size", "region"]).size()
    problem = result.problems[0]
    keys = problem.table.keys[problem.sensitive].apply(lambda column: column.str.strip())
    small = {key for key, count in counts.items() if count < 20}
    assert small <= set(keys.itertuples(index=False, name=None))
    assert before > problem.n_sensitive


def test_new_codes_for_missing_count_for_mis(records, tmp_path):
    (tmp_path / "missing.grc").write_text("M: 9\n<MISSING> M\n")
    for rules, n_safe in (("FREQ(10000,20)", 0), ("FREQ(10000,20)|MIS(1)", 1)):
        problem = run(tmp_path, '1, size, "missing.grc"', rules=rules).problems[0]
        is_missing = (problem.table.keys["size"] == "M").to_numpy()
        assert is_missing.any()
        assert np.all(problem.sensitive[is_missing] == (n_safe == 0))
        assert np.all(problem.sensitive[~is_missing])


def test_a_group_of_codes_that_do_not_occur_is_named(records, tmp_path):
    (tmp_path / "odd.grc").write_text("A: 1, 7\n")
    (line,) = run(tmp_path, '1, size, "odd.grc"').not_applied
    assert "'7', which is no code of the data (odd.grc, line 1)" in line


@pytest.mark.parametrize(
    ("recode", "message"),
    [
        ("1, kind, 1", "has no dimension 'kind'"),
        ("2, kind, 1", "levels from 1 to 9 suit dimensions with a hierarchy"),
        ("1, region, 0", "levels from 1 to 9"),
        ('1, region, "size.grc"', "groups of codes suit dimensions without a hierarchy"),
        ("1, region", r"expected ','"),
        ("1, region, 1, 2", "', 2' was not understood|',"),
        ("3, region, 1", "There is no table '3'"),
        ("x, region, 1", "must be a number"),
    ],
)
def test_recodings_that_do_not_suit_stop_the_batch(records, tmp_path, recode, message):
    with pytest.raises(tc.InputError, match=rf"m.arb, line 8: .*({message})"):
        run(tmp_path, recode)


def test_a_protected_table_is_not_recoded(records, tmp_path):
    with pytest.raises(tc.InputError, match="line 9: A protected table cannot be recoded"):
        run(tmp_path, more="<SUPPRESS> OPT(1,1)\n<RECODE> 1, region, 1\n")


TREE = tc.Hierarchy("Total", (("Total", ("N", "S")), ("N", ("n1", "n2")), ("n1", ("a", "b")),
                              ("S", ("s1",))))  # fmt: skip
CODES = pd.Series(["a", "b", "n2", "s1", "a"])


@pytest.mark.parametrize(
    ("level", "codes"),
    [
        (1, ["N", "N", "N", "S", "N"]),
        (2, ["n1", "n1", "n2", "s1", "n1"]),
        (3, ["a", "b", "n2", "s1", "a"]),
        (0, ["N", "N", "N", "S", "N"]),
    ],
)
def test_a_level_keeps_the_codes_above_it(level, codes):
    tree, changed = cut_to_level(TREE, level, CODES)
    assert changed.tolist() == codes
    assert set(changed) <= set(tree.codes)
    assert tree.total == "Total"


def test_a_branch_is_cut_and_the_others_stay():
    tree, changed = cut_below(TREE, ["N"], CODES)
    assert changed.tolist() == ["N", "N", "N", "s1", "N"]
    assert dict(tree.groups) == {"Total": ("N", "S"), "S": ("s1",)}


def test_of_two_cuts_on_one_branch_the_higher_counts():
    _, changed = cut_below(TREE, ["N", "n1"], CODES)
    assert changed.tolist() == ["N", "N", "N", "s1", "N"]


def test_codes_outside_of_the_tree_stay():
    _, changed = cut_below(TREE, ["N"], pd.Series(["a", "zz"]))
    assert changed.tolist() == ["N", "zz"]
    with pytest.raises(tc.InputError, match="X are not in the hierarchy"):
        cut_below(TREE, ["X"], CODES)


def test_depths_and_parents_are_those_of_the_tree():
    above = parents_of(TREE.groups)
    assert above == {"N": "Total", "S": "Total", "n1": "N", "n2": "N", "a": "n1", "b": "n1",
                     "s1": "S"}  # fmt: skip
    paths = [path_to_root(code, above) for code in ("Total", "N", "n2", "a")]
    assert [len(path) - 1 for path in paths] == [0, 1, 2, 3]


FLAT = tc.Hierarchy.flat(["01", "02", "03", "10", "99"], "Total")


def by_groups(folder, text: str, codes=("01", "02", "03", "10", "99")):
    path = folder / "g.grc"
    path.write_text(text)
    return recoded(path, Variable("size", 1, 2, ("99",)), FLAT, pd.Series(codes))


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("s: 01,02\n", [" s", " s", "03", "10", "99"]),
        ("s: 01-03\n", [" s", " s", " s", "10", "99"]),
        ("s: -02\nb: 10-\n", [" s", " s", "03", " b", " b"]),
        ("s: 01\nb: 02, 03\n", [" s", " b", " b", "10", "99"]),
    ],
)
def test_groups_list_codes_and_ranges(tmp_path, text, codes):
    found = by_groups(tmp_path, text)
    assert found.codes.tolist() == codes
    assert set(found.tree.leaves) == set(codes)


def test_a_group_may_say_which_codes_mean_missing(tmp_path):
    assert by_groups(tmp_path, "s: 01\n").missing == ("99",)
    assert by_groups(tmp_path, "s: 01\n<MISSING> s 10\n").missing == (" s", "10")


def test_what_a_file_of_groups_asks_for_beside_is_named(tmp_path):
    found = by_groups(tmp_path, "s: 01, 55\n<CODELIST> x.cdl\n")
    assert "'55', which is no code of the data (g.grc, line 1)" in found.notes
    assert "labels of codes (g.grc, line 2)" in found.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("s 01\n", "line 1: expected 'new: a, b, c-d', found 's 01'"),
        ("s: 01\nb: 01-02\n", "line 2: '01' is in two groups"),
        ("<OTHER> x\n", "line 1: '<OTHER> x' is not known in a recoding"),
    ],
)
def test_groups_that_cannot_be_read_are_refused(tmp_path, text, message):
    with pytest.raises(tc.InputError, match=message):
        by_groups(tmp_path, text)

"""Files of tau-ARGUS: its own jobs and results where they are there, and our small ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from shops import RDA, cells, run, write_shops
from tablecloak.argus import read_batch, read_metadata, run_batch
from tablecloak.argus.lines import read_rules, read_specification, read_writing
from tablecloak.argus.places import find_file
from tablecloak.cli.main import app

SIMPLE2D = """\
// the official test: tau_testW, Size x Region
<OPENMICRODATA>  "tau_testW.asc"
<OPENMETADATA>   "tau_testW.rda"
<SPECIFYTABLE>   "Size""Region"|"Var2"||
<SAFETYRULE>     P(15,1)|
<READMICRODATA>
<SUPPRESS>       MOD(1,1,1,1,1)
<WRITETABLE>     (1,3,AS+,"Simple2D.txt")
"""


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


@pytest.mark.filterwarnings("ignore:.*say suppressed but show a value")
def test_the_official_job_gives_the_cells_values_and_primaries_of_its_golden_file(
    instances, tmp_path
):
    for name in ("Tau_TestW.rda", "region.cdl", "region2.hrc", "tau_testW.asc.gz"):
        source = instances / f"tau-argus/{name}"
        (tmp_path / name).write_bytes(source.read_bytes())
    (tmp_path / "simple.arb").write_text(SIMPLE2D)
    result = run_batch(tmp_path / "simple.arb", tmp_path / "out", time_limit=5)
    golden = instances / "checktauargus/simple2d/Simple2D.txt"
    columns = {"header": None, "names": ["size", "region", "value", "status"], "dtype": str}
    theirs = pd.read_csv(golden, **columns)
    ours = pd.read_csv(tmp_path / "out" / "internal" / "Simple2D.txt", **columns)
    assert len(ours) == 162
    # The same cells in the same order, the same values to the last digit.
    assert ours[["size", "region", "value"]].equals(theirs[["size", "region", "value"]])
    assert ours.index[ours.status == "3"].tolist() == theirs.index[theirs.status == "3"].tolist()
    assert (ours.status == "3").sum() == 9
    assert (ours.status == "14").equals(theirs.status == "14")
    cost = [pd.to_numeric(f.value[f.status == "11"]).sum() for f in (ours, theirs)]
    assert cost[1] == 2524351
    assert cost[0] <= cost[1]
    assert result.is_safe
    problem = result.tables[0].problem
    assert tc.audit(
        problem, tmp_path / "out/internal/Simple2D.txt", intruders="contributors"
    ).is_safe
    # Their singleton options do not hold against every contributor.
    assert not tc.audit(problem, golden, intruders="contributors").is_safe
    # Two-sided protection without their singleton options needs half of their 12 secondaries.
    assert tc.audit(problem, golden).is_safe
    pattern = tc.suppress(problem)
    assert (theirs.status == "11").sum() == 12
    assert pattern.secondary.sum() == 6
    assert pattern.is_optimal


def test_official_examples_run_as_they_are(instances, tmp_path):
    for name in ("ex1/batch_ex1.arb", "ex2/batch_ex2.arb"):
        result = run_batch(instances / f"checktauargus/{name}", tmp_path, time_limit=5)
        assert result.is_safe
        (path,) = result.files
        assert path.read_text().startswith('"region","gender",')
        assert path.stat().st_mode & 0o077 == 0


def test_a_table_with_decimal_commas_and_one_with_recodes_are_read(instances, tmp_path):
    table = instances / "tau-argus/tableinput/TestTable.arb"
    assert any("decimal commas" in line for line in run_batch(table, tmp_path).log)
    for name in ("Tau_TestW.rda", "region.cdl", "region2.hrc", "tau_testW.asc.gz", "GK.GRC",
                 "IndCode2.grc", "TestRecode.arb"):  # fmt: skip
        (tmp_path / name).write_bytes((instances / f"tau-argus/{name}").read_bytes())
    text = (tmp_path / "TestRecode.arb").read_text().replace("<GOINTERACTIVE>", "")
    text += '<WRITETABLE> (1,6,,"one.jj")\n<WRITETABLE> (2,6,,"two.jj")\n'
    (tmp_path / "job.arb").write_text(text)
    run_batch(tmp_path / "job.arb", tmp_path / "out")
    one, two = (tc.read_jj(tmp_path / "out" / "internal" / f"{name}.jj") for name in ("one", "two"))
    # Sizes 1 to 5 are one group: Total, 1, 6, 7, 8, 9, 99; regions on the first level only below
    # level 2 of theirs, which is the most detailed one here.
    assert one.table.values.max() == pytest.approx(16847646.84)
    assert two.table.values.max() == pytest.approx(16847646.84)


def test_given_statuses_give_the_same_pattern_as_our_own_rule(folder):
    result = run(folder, '<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,,"safe.csv")\n')
    protected = result.tables[0]
    frame = cells()
    problem = protected.problem
    assert problem.n_sensitive == (frame.Stat == "U").sum() > 0
    assert np.allclose(
        problem.upper_protection[problem.sensitive],
        np.maximum(0.2 * problem.table.values[problem.sensitive], 1),
    )
    assert result.is_safe
    rows = pd.read_csv(folder / "safe.csv", header=None, dtype=str)
    assert (rows[2] == "x").sum() == protected.suppressed.sum()
    hidden = {f"{value:.1f}" for value in problem.table.values[protected.suppressed]}
    shown = {f"{value:.1f}" for value in problem.table.values[~protected.suppressed]}
    assert not (hidden - shown) & set(rows[2])


def test_rules_on_a_table_with_its_largest_contributors(folder):
    result = run(
        folder, "<SAFETYRULE> P(10,1)|FREQ(3,30)|\n<READTABLE>\n<SUPPRESS> MOD(1,5,1,1,1)\n"
    )
    problem = result.tables[0].problem
    frame = cells()
    rest = frame.Sales - frame.Top1 - frame.Top2
    expected = (rest < 0.1 * frame.Top1 - 1e-9) | (frame.Firms < 3)
    sensitive = problem.table.keys.assign(s=problem.sensitive)
    joined = sensitive.merge(frame.assign(e=expected)[["Town", "Kind", "e"]])
    assert joined.s.equals(joined.e)
    assert any("sums of primaries are protected as virtual cells" in line for line in result.log)


def test_apriori_lines_change_statuses_costs_and_levels(folder):
    frame = cells()
    safe = frame[(frame.Stat == "S") & (frame.Town != "Total") & (frame.Kind != "Total")]
    one, two, three = (safe.iloc[at] for at in range(3))
    unsafe = frame[frame.Stat == "U"].iloc[0]
    (folder / "last.hst").write_text(
        f"{one.Town};{one.Kind};u\n{two.Town};{two.Kind};p\n{three.Town};{three.Kind};c;123.5\n"
        f"{unsafe.Town};{unsafe.Kind};pl;0.5;2\nN9;a;u\n// a comment\n"
    )
    commands = '<READTABLE> 0\n<APRIORI> "last.hst",1,";",{}\n<SUPPRESS> OPT(1,1)\n'
    with pytest.raises(tc.InputError, match=r"last.hst, line 5: there is no cell N9, a"):
        run(folder, commands.format(0))
    problem = run(folder, commands.format(1)).tables[0].problem
    at = {key: n for n, key in enumerate(problem.table.keys.itertuples(index=False, name=None))}
    assert problem.status[at[one.Town, one.Kind]] == "u"
    assert problem.status[at[two.Town, two.Kind]] == "z"
    assert problem.weights[at[three.Town, three.Kind]] == 123.5
    cell = at[unsafe.Town, unsafe.Kind]
    assert (problem.lower_protection[cell], problem.upper_protection[cell]) == (0.5, 2)


def test_no_pattern_is_written_that_was_found_before_a_cell_became_unsafe(folder):
    frame = cells()
    safe = frame[(frame.Stat == "S") & (frame.Town != "Total") & (frame.Kind != "Total")].iloc[0]
    (folder / "last.hst").write_text(f"{safe.Town};{safe.Kind};u\n")
    commands = '<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<APRIORI> "last.hst",1,";"\n'
    with pytest.raises(tc.InputError, match="The table was not protected"):
        run(folder, commands + '<WRITETABLE> (1,3,,"late.csv")\n')
    assert not (folder / "late.csv").exists()


def test_adjustment_and_rounding_by_batch(folder):
    adjusted = run(folder, '<READTABLE> 0\n<SUPPRESS> CTA(1)\n<WRITETABLE> (1,3,AS+,"./a.csv")\n')
    table = adjusted.tables[0]
    assert tc.audit(table.problem, table.values).is_safe
    rows = pd.read_csv(folder / "a.csv", header=None)
    assert rows.shape[1] == 5
    counts = (
        (folder / "job.arb")
        .read_text()
        .replace('"Sales"', "<freq>")
        .replace("CTA(1)", "RND(1,5,0,1,0,1)")
    )
    (folder / "counts.arb").write_text(counts)
    rounded = run_batch(folder / "counts.arb", time_limit=5).tables[0]
    assert np.all(rounded.values % 5 == 0)
    assert not np.any(rounded.problem.table.relations @ rounded.values)


@pytest.mark.filterwarnings("ignore:.* rows say suppressed but show a value")
def test_all_kinds_of_tables_are_written_and_code_value_and_jj_are_read_again(folder):
    writes = "".join(f'<WRITETABLE> (1,{kind},AS+FL+,"./t{kind}.txt")\n' for kind in (1, 3, 4, 5))
    result = run(
        folder, f'<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n{writes}<WRITETABLE> (1,6,,"./t6.jj")\n'
    )
    protected = result.tables[0]
    problem = protected.problem
    again = tc.read_jj(folder / "t6.jj")
    assert again.status.tolist() == problem.status.tolist()
    matrix = (folder / "t1.txt").read_text().splitlines()
    assert matrix[0].split(",")[:2] == ["", '"Total"']
    assert len(matrix) == 1 + 9 + 1
    intermediate = (folder / "t5.txt").read_text().splitlines()
    letters = [line.split(";")[-3] for line in intermediate]
    assert letters.count("U") == problem.n_sensitive
    assert letters.count("M") == (protected.suppressed & ~problem.sensitive).sum()
    plain = run(folder, '<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,AS+,"cv.csv")\n')
    assert tc.audit(plain.tables[0].problem, folder / "internal" / "cv.csv").is_safe


def test_linked_tables_are_protected_as_one(tmp_path):
    firms = tc.examples.firms(400)
    lines = [f"{r.region:2},{r.industry:6},{r.size:6},{r.turnover}" for r in firms.itertuples()]
    (tmp_path / "firms.asc").write_text("\n".join(lines) + "\n")
    (tmp_path / "firms.rda").write_text(
        '<SEPARATOR> ","\nregion 2\n<RECODEABLE>\nindustry 6\n<RECODEABLE>\n'
        "size 6\n<RECODEABLE>\nturnover 9\n<NUMERIC>\n"
    )
    (tmp_path / "job.arb").write_text(
        '<OPENMICRODATA> "firms.asc"\n<OPENMETADATA> "firms.rda"\n'
        '<SPECIFYTABLE> "region""industry"|"turnover"||\n<SAFETYRULE> P(10,1)|FREQ(3,20)\n'
        '<SPECIFYTABLE> "industry""size"|"turnover"||\n<SAFETYRULE> P(10,1)|FREQ(3,20)\n'
        "<READMICRODATA>\n<SUPPRESS> MOD(0,1)\n"
        '<WRITETABLE> (1,3,,"one.csv")\n<WRITETABLE> (2,3,,"two.csv")\n'
    )
    result = run_batch(tmp_path / "job.arb", time_limit=10)
    assert result.is_safe
    one, two = result.tables
    # The shared margin of industry is hidden in both or in neither.
    shared = []
    for table in (one, two):
        keys = table.problem.table.keys.set_axis(["a", "b"], axis=1)
        names = list(table.problem.table.keys.columns)
        other = "b" if names.index("industry") == 0 else "a"
        margin = keys[other] == "Total"
        codes = keys.loc[margin, "a" if other == "b" else "b"]
        shared.append(dict(zip(codes, table.suppressed[margin.to_numpy()], strict=True)))
    assert shared[0] == shared[1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("<READTABEL> 0\n", r"line 4: <READTABEL> is not known.*READTABLE"),
        ("READTABLE 0\n", r"line 4: expected <COMMAND>"),
        ("<SAFETYRULE> P10\n", r"line 4: 'P10' is no rule"),
        ("<SUPPRESS> OPT(1,1)\n", r"line 4: Read the data first"),
        ("<READTABLE> 0\n<SUPPRESS> OPT(7,1)\n", r"line 5: There is no table '7'"),
        ("<READTABLE> 0\n<SUPPRESS> FOO(1)\n", r"line 5: SUPPRESS: the method 'FOO'"),
        ('<READTABLE> 0\n<WRITETABLE> (1,3,,"x.csv")\n', r"line 5: The table was not protected"),
        (
            '<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,9,,"x")\n',
            r"type 9 are not written",
        ),
        ("<RECODE> 1,Town,1\n", r"line 4: Only microdata"),
    ],
)
def test_wrong_batches_name_line_and_remedy(folder, change, message):
    with pytest.raises(tc.InputError, match=message):
        run(folder, change)
    assert not (folder / "x.csv").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<STATUS>", "<STATSU>", "line 22: <STATSU> is not known"),
        ("Kind\n", "Town\n", "'town' is described twice"),
        ("TOWN.hrc", "none.hrc", "does not exist"),
        ("Kind\n", "Kind\n<STATUS>\n", "'Kind' is a dimension and has <STATUS> too"),
        ('LEADSTRING> "@"', 'LEADSTRING> ""', "lead string of the hierarchy is empty"),
    ],
)
def test_wrong_metadata_names_line_and_remedy(folder, old, new, message):
    (folder / "shops.rda").write_text(RDA.replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        run(folder, "<READTABLE> 0\n")


def test_fixed_positions_missing_codes_and_short_lines(tmp_path):
    (tmp_path / "m.rda").write_text(
        "a 1 2 99\n<RECODEABLE>\nb 3 1\n<RECODEABLE>\nv 4 3\n<NUMERIC>\n"
    )
    metadata = read_metadata(tmp_path / "m.rda")
    assert [(v.name, v.start, v.width) for v in metadata.variables] == [
        ("a", 1, 2), ("b", 3, 1), ("v", 4, 3),
    ]  # fmt: skip
    assert metadata.variables[0].missing == ("99",)
    (tmp_path / "m.rda").write_text("a one two\n")
    with pytest.raises(tc.InputError, match="line 1: variable 'a' needs its first position"):
        read_metadata(tmp_path / "m.rda")


def test_parts_of_the_batch_language(tmp_path):
    path = tmp_path / "a.arb"
    path.write_text(
        '<specifytable> "A""B C"|"v"|"s"|"c",0.5 // note\n<SAFETYRULE> NK(1,75)|P(10,2)|ZERO(5)|\n'
        '<WRITETABLE> (1, 3, AS+FL-, "a, b.csv")\n'
    )
    one, two, three = read_batch(path)
    found = read_specification(one.arguments())
    assert (found.dimensions, found.response, found.shadow) == (["A", "B C"], "v", "s")
    assert (found.cost, found.power) == ("c", 0.5)
    assert [(r.name, r.numbers) for r in read_rules(two.arguments())] == [
        ("NK", [1, 75]), ("P", [10, 2]), ("ZERO", [5]),
    ]  # fmt: skip
    writing = read_writing(three.arguments())
    assert (writing.table, writing.kind, writing.file) == (1, 3, "a, b.csv")
    assert writing.options == {"AS": True, "FL": False}


def test_files_are_found_in_any_case_and_from_windows(tmp_path):
    (tmp_path / "Region.HRC").write_text("A\n")
    assert find_file("REGION.hrc", tmp_path).name == "Region.HRC"
    assert find_file("C:\\data\\region.hrc", tmp_path).name == "Region.HRC"
    with pytest.raises(tc.InputError, match="does not exist"):
        find_file("other.hrc", tmp_path)


def test_the_command_prints_its_log(folder):
    run(folder, '<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,,"safe.csv")\n')
    command = ["argus", str(folder / "job.arb"), "--out", str(folder / "out"), "--time-limit", "5"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert "line 5, SUPPRESS: OPT is done as one problem" in done.output
    assert (folder / "out" / "safe.csv").exists()

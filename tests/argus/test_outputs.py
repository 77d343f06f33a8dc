"""Tables as tau-ARGUS writes them, and what their options ask for."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from shops import RDA, cells, run, write_shops
from tablecloak.argus import run_batch
from tablecloak.argus.lines import OPTIONS

pytestmark = pytest.mark.usefixtures("solved_once")

READ = "<READTABLE> 0\n"
SUPPRESS = "<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n"


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


def written(folder, kind: int, options: str = "", method: str = "OPT(1,1)"):
    result = run(
        folder, f'{READ}<SUPPRESS> {method}\n<WRITETABLE> (1,{kind},{options},"./t.txt")\n'
    )
    return result, (folder / "t.txt").read_text().splitlines()


@pytest.mark.parametrize("options", ["SO+", "SO+AS+", "AS-SO+"])
def test_status_only_shows_no_value(folder, options):
    result, lines = written(folder, 3, options)
    statuses = result.tables[0].statuses()
    rows = [line.split(",") for line in lines]
    assert {len(row) for row in rows} == {3}
    assert sorted(row[2] for row in rows) == sorted(map(str, statuses))
    assert (folder / "t.txt").stat().st_mode & 0o077 == 0
    assert any("it must stay inside" in line for line in result.log)


def test_dust_of_sums_is_no_adjustment_and_adds_no_column(tmp_path):
    random = np.random.default_rng(5)
    n = 400
    frame = pd.DataFrame(
        {
            "a": random.choice(list("pqrs"), n),
            "b": random.choice(list("xyz"), n),
            "c": random.choice(list("uvw"), n),
            "v": np.round(random.lognormal(6, 2, n), 3),
        }
    )
    frame.to_csv(tmp_path / "m.asc", header=False, index=False)
    names = "".join(f"{name} 1\n<RECODEABLE>\n" for name in "abc")
    (tmp_path / "m.rda").write_text(f'<SEPARATOR> ","\n{names}v 12\n<NUMERIC> <DECIMALS> 3\n')
    (tmp_path / "m.arb").write_text(
        '<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n'
        '<SPECIFYTABLE> "a""b"|"v"||\n<SAFETYRULE> P(10,1)\n'
        '<SPECIFYTABLE> "b""c"|"v"||\n<SAFETYRULE> P(10,1)\n'
        "<READMICRODATA>\n<SUPPRESS> MOD(0,1)\n"
        '<WRITETABLE> (1,3,AS+,"./one.txt")\n<WRITETABLE> (2,3,AS+,"./two.txt")\n'
    )
    result = run_batch(tmp_path / "m.arb", time_limit=5)
    one, two = (table.problem.table for table in result.tables)
    shared = [
        table.values[(table.keys.drop(columns="b") == "Total").all(axis=1)] for table in (one, two)
    ]
    # Sums of decimal numbers are exact, in whatever order they are added.
    assert np.array_equal(*shared)
    for name in ("one", "two"):
        lines = (tmp_path / f"{name}.txt").read_text().splitlines()
        assert {line.count(",") for line in lines} == {3}


def test_adjusted_and_rounded_tables_show_new_value_then_original(folder):
    result, lines = written(folder, 3, "AS+FL+", "CTA(1)")
    assert lines[0] == '"Town","Kind","Sales_CTA","Sales_Orig","Status"'
    table = result.tables[0]
    new, original = (
        [float(line.split(",")[at]) for line in lines[1:]] for at in (2, 3)
    )  # fmt: skip
    assert sorted(new) == sorted(np.round(table.values, 1).tolist())
    assert sorted(original) == sorted(table.problem.table.values.tolist())
    text = (folder / "job.arb").read_text().replace('"Sales"', "<freq>")
    (folder / "c.arb").write_text(text.replace("CTA(1)", "RND(1,5,0,1,0,2,1)"))
    run_batch(folder / "c.arb", time_limit=5)
    lines = (folder / "t.txt").read_text().splitlines()
    assert lines[0] == '"Town","Kind","Freq_Round","Freq_Orig"'
    assert {line.count(",") for line in lines} == {3}


def test_pivot_tables_have_the_names_on_the_first_line(folder):
    _, lines = written(folder, 2)
    assert lines[0] == '"Town","Kind","Sales"'
    assert len(lines) == 1 + 45


def test_a_matrix_of_three_dimensions_announces_its_layers_as_tau_argus_does(tmp_path):
    codes = {"a": list("pq"), "b": list("xyz"), "c": list("uv")}
    rows = list(itertools.product(*codes.values()))
    lines = [f"{a},{b},{c},{10 + at}" for at, (a, b, c) in enumerate(rows) for _ in range(4)]
    (tmp_path / "m.asc").write_text("\n".join(lines) + "\n")
    names = "".join(f"{name} 1\n<RECODEABLE>\n" for name in "abc")
    (tmp_path / "m.rda").write_text(f'<SEPARATOR> ","\n{names}v 3\n<NUMERIC>\n')
    batch = (
        '<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n'
        '<SPECIFYTABLE> "a""b""c"|"v"||\n<SAFETYRULE> FREQ(3,20)\n<READMICRODATA>\n'
        '<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,1,{},"t.csv")\n'
    )
    (tmp_path / "m.arb").write_text(batch.format(""))
    run_batch(tmp_path / "m.arb", time_limit=5)
    found = (tmp_path / "t.csv").read_text().splitlines()
    assert found[:7] == [
        'Var 1,"Total"',
        ',"Total","u","v"',
        f'"Total",{4 * 186},{4 * 90},{4 * 96}',
        f'"x",{4 * (10 + 11 + 16 + 17)},{4 * (10 + 16)},{4 * (11 + 17)}',
        f'"y",{4 * (12 + 13 + 18 + 19)},{4 * (12 + 18)},{4 * (13 + 19)}',
        f'"z",{4 * (14 + 15 + 20 + 21)},{4 * (14 + 20)},{4 * (15 + 21)}',
        "",
    ]
    assert [line for line in found if line.startswith("Var")] == [
        'Var 1,"Total"', 'Var 1,"p"', 'Var 1,"q"',
    ]  # fmt: skip
    (tmp_path / "m.arb").write_text(batch.format("QU-"))
    run_batch(tmp_path / "m.arb", time_limit=5)
    assert (tmp_path / "t.csv").read_text().splitlines()[:2] == ["Var 1,Total", ",Total,u,v"]


# -- intermediate tables ------------------------------------------------------------------


@pytest.fixture
def with_an_empty_cell(folder):
    """The same table, in which N1 x a is empty everywhere."""
    frame = cells().set_index(["Town", "Kind"])
    gone = frame.loc[("N1", "a")]
    for town, kind in itertools.product(("N1", "North", "Total"), ("a", "Total")):
        frame.loc[(town, kind), "Sales"] -= gone.Sales
        frame.loc[(town, kind), "Firms"] -= gone.Firms
    frame = frame.drop(("N1", "a")).reset_index()
    lines = [f"{r.Town};{r.Kind};{r.Sales:.1f};{r.Firms};{r.Stat}" for r in frame.itertuples()]
    without = RDA.replace("Top1\n  <MAXSCORE>\nTop2\n  <MAXSCORE>\n", "")
    (folder / "shops.rda").write_text(without)
    (folder / "shops.tab").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.parametrize(
    ("rules", "n_tops"),
    [
        ("FREQ(3,20)", 0),
        ("P(10,1)|FREQ(3,20)", 2),
        ("NK(1,75)", 1),
        ("NK(2,75)|P(10,1)", 2),
    ],
)
def test_intermediate_tables_have_as_many_largest_as_the_rules_need(folder, rules, n_tops):
    run(folder, f'<SAFETYRULE> {rules}\n{READ}<WRITETABLE> (1,5,,"./t.tab")\n')
    lines = (folder / "t.tab").read_text().splitlines()
    # Codes, value, frequency, shadow, cost, the largest, status, levels.
    assert {line.count(";") + 1 for line in lines} == {2 + 4 + n_tops + 3}
    assert (folder / "t.rda").read_text().count("<MAXSCORE>") == n_tops


def test_intermediate_tables_list_empty_cells_unless_se_is_on(with_an_empty_cell):
    folder = with_an_empty_cell
    for options, n_cells in (("", 45), ("SE+", 44), ("SE-", 45)):
        run(folder, f'<SAFETYRULE> FREQ(3,20)\n{READ}<WRITETABLE> (1,5,{options},"./t.tab")\n')
        lines = (folder / "t.tab").read_text().splitlines()
        assert len(lines) == n_cells
        assert sum(";E;" in line for line in lines) == n_cells - 44


@pytest.mark.parametrize("rules", ["", "<SAFETYRULE> P(10,1)|FREQ(3,30)\n"])
def test_an_intermediate_table_is_read_again_with_the_same_cells_and_statuses(folder, rules):
    first = run(folder, f'{rules}{READ}<WRITETABLE> (1,5,,"again.tab")\n').problems[0]
    assert (folder / "internal" / "again_Town.hrc").exists()
    (folder / "again.arb").write_text(
        '<OPENTABLEDATA> "again.tab"\n<OPENMETADATA> "again.rda"\n'
        '<SPECIFYTABLE> "Town""Kind"|"Sales"||\n<READTABLE> 0\n'
    )
    second = run_batch(folder / "again.arb").problems[0]
    order = second.table.keys.merge(first.table.keys.reset_index())["index"].to_numpy()
    assert len(order) == 45
    for name in ("status", "lower_protection", "upper_protection"):
        ours, theirs = getattr(second, name), getattr(first, name)[order]
        assert np.all(ours == theirs) if name == "status" else np.allclose(ours, theirs)
    assert np.array_equal(second.table.values, first.table.values[order])
    assert second.table.hierarchies["Town"].groups == first.table.hierarchies["Town"].groups


def test_what_must_stay_inside_lies_apart_unless_the_batch_names_a_folder(folder):
    writes = '<WRITETABLE> (1,3,,"safe.txt")\n<WRITETABLE> (1,3,AS+,"code.txt")\n'
    writes += (
        '<WRITETABLE> (1,4,,"t.sbs")\n<WRITETABLE> (1,5,,"t.tab")\n<WRITETABLE> (1,6,,"t.jj")\n'
    )
    result = run(folder, f'{SUPPRESS}{writes}<WRITETABLE> (1,6,,"C:\\argus\\named.jj")\n')
    beside = {path.name for path in result.files if path.parent == folder}
    assert beside == {"safe.txt", "t.sbs", "named.jj"}
    inside = {path.name for path in result.files if path.parent == folder / "internal"}
    assert inside >= {"code.txt", "t.sbs", "t.tab", "t.rda", "t.jj"}
    assert any(line.endswith("named.jj: tells which cells are sensitive, or their true values; it "
                             "must stay inside") for line in result.log)  # fmt: skip
    assert any("t.sbs: " in line and "authority that receives it" in line for line in result.log)
    # The SBS file beside the others has no value of a hidden cell.
    hidden = [line for line in (folder / "t.sbs").read_text().splitlines() if ",x,," in line]
    assert len(hidden) == int(result.tables[0].suppressed.sum())


def test_files_of_the_batch_are_not_written_over(folder):
    for name, message in (("shops.tab", "is read by this batch"), ("t.txt", "written twice")):
        commands = f'{SUPPRESS}<WRITETABLE> (1,3,,"t.txt")\n<WRITETABLE> (1,3,,"{name}")\n'
        with pytest.raises(tc.InputError, match=message):
            run(folder, commands)
        assert not (folder / "t.txt").exists()


# -- options ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [1, 2, 3, 4, 5, 6])
def test_every_option_changes_a_file_or_is_named_as_not_needed(with_an_empty_cell, kind):
    folder = with_an_empty_cell
    signs = {option: "-" if option == "QU" else "+" for option in OPTIONS if option != "HI"}
    writes = [f'<WRITETABLE> (1,{kind},{o}{sign},"./{o}.txt")\n' for o, sign in signs.items()]
    rules = "<SAFETYRULE> FREQ(3,20)\n"
    plain = f'{rules}{SUPPRESS}<WRITETABLE> (1,{kind},,"./plain.txt")\n'
    result = run(folder, plain + "".join(writes))
    before = (folder / "plain.txt").read_bytes()
    for option in signs:
        changed = (folder / f"{option}.txt").read_bytes() != before
        named = any(f"the option {option}," in line for line in result.log)
        # A pivot table has its names anyway, and SBS leaves empty cells out anyway.
        always = (kind, option) in ((2, "FL"), (4, "SE"))
        assert [changed, named, always].count(True) == 1, option
    assert result.exit_code == 0


def test_holdings_that_are_not_known_stop_the_batch(folder):
    with pytest.raises(tc.InputError, match="line 6: HI asks for holdings"):
        run(folder, f'{SUPPRESS}<WRITETABLE> (1,5,HI+,"t.txt")\n')


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("XX+", "'XX.' is no option such as"),
        ("AS", "'AS' is no option such as"),
        ("AS+FL", "'FL' is no option"),
        ("AS+AS-", "the option AS is given twice"),
        (r"AS*", r"'AS.' is no option"),
    ],
)
def test_unknown_options_stop_the_batch(folder, options, message):
    with pytest.raises(tc.InputError, match=rf"line 6: WRITETABLE: {message}"):
        run(folder, f'{SUPPRESS}<WRITETABLE> (1,3,{options},"t.txt")\n')
    assert not (folder / "t.txt").exists()


@pytest.mark.parametrize(("method", "kind"), [("CTA(1)", 4), ("CTA(1)", 5), ("CTA(1)", 6)])
def test_adjusted_tables_are_not_written_where_tau_argus_does_not(folder, method, kind):
    with pytest.raises(tc.InputError, match="is not written as type"):
        run(folder, f'{READ}<SUPPRESS> {method}\n<WRITETABLE> (1,{kind},,"t.txt")\n')

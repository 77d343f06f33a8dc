"""Safety rules of batches: applied on every way into a table, or the batch stops."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from shops import RDA, cells, run, write_shops
from tablecloak.argus import run_batch

RULES = "<SAFETYRULE> P(10,1)|FREQ(4,30)|\n"
PUBLISH = '<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,,"safe.csv")\n'


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


def unsafe_cells(frame: pd.DataFrame) -> set[tuple[str, str]]:
    rest = frame.Sales - frame.Top1 - frame.Top2
    unsafe = frame[(rest < 0.1 * frame.Top1 - 1e-9) | (frame.Firms < 4)]
    return set(zip(unsafe.Town, unsafe.Kind, strict=True))


def sensitive_cells(problem: tc.ProtectionProblem) -> set[tuple[str, ...]]:
    keys = problem.table.keys[problem.sensitive]
    return set(keys.itertuples(index=False, name=None))


@pytest.mark.parametrize("mode", ["", "0", "1", "1T", "1F", "2"])
def test_rules_hold_on_every_way_to_read_a_table(folder, mode):
    problem = run(folder, f"{RULES}<READTABLE> {mode}\n").problems[0]
    # The totals were made of the same records, so that the largest of a total are the same.
    assert sensitive_cells(problem) == unsafe_cells(cells()) != set()


@pytest.mark.parametrize("mode", ["1", "1T"])
def test_totals_made_anew_are_published_only_if_the_rules_allow_it(folder, mode):
    run(folder, f"{RULES}<READTABLE> {mode}\n{PUBLISH}")
    rows = pd.read_csv(folder / "safe.csv", header=None, dtype=str)
    hidden = set(rows[rows[2] == "x"][[0, 1]].itertuples(index=False, name=None))
    assert unsafe_cells(cells()) <= hidden


def test_totals_made_anew_count_and_rank_the_contributors_of_their_parts(folder):
    given = run(folder, f"{RULES}<READTABLE> 0\n").problems[0].table
    made = run(folder, f"{RULES}<READTABLE> 1\n").problems[0].table
    order = made.keys.merge(given.keys.reset_index())["index"].to_numpy()
    assert np.array_equal(made.values, given.values[order])
    assert np.array_equal(made.contributions.count, given.contributions.count[order])
    assert np.array_equal(made.contributions.largest, given.contributions.largest[order])


def test_largest_contributions_of_a_total_are_those_of_its_parts_on_random_tables(tmp_path):
    for seed in range(8):
        write_shops(tmp_path, seed)
        problem = run(tmp_path, f"{RULES}<READTABLE> 1\n").problems[0]
        assert sensitive_cells(problem) == unsafe_cells(cells(seed))


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("FRE(3,20)", r"job.arb, line 4: there is no rule 'FRE'. Did you mean 'FREQ'"),
        ("PQ(20,1)", r"line 4: there is no rule 'PQ'"),
        ("P(10,1)|FRE(3,20)", r"line 4: there is no rule 'FRE'"),
        ("FREQ(3)", r"line 4: FREQ takes 2 numbers, found 1"),
        ("FREQ(3.5,20)", r"line 4: number 1 of FREQ must be whole"),
        ("FREQ(3,20,1)", r"line 4: FREQ takes 2 numbers, found 3"),
        ("P(10,1.5)", r"line 4: number 2 of P must be whole"),
        ("P(-10,1)", r"line 4: number 1 of P must be a number from 0"),
        ("P(10,1) FREQ(3,20)", r"line 4: expected '\|'"),
        ("P(10,1", r"line 4: expected '\)'"),
        ("MIS(2)", r"line 4: MIS takes 0 or 1"),
        ("MAN(20)|MAN(30)", r"line 4: there are too many rules MAN"),
        ("REQ(10,10,3,20)", r"line 4: The rule REQ\(10,10,3,20\) needs records with <REQUEST>"),
        ("P(10,1)|P(10,1)|P(5,1)", r"line 4: The rule P\(5,1\) needs records with <HOLDING>"),
        ("WGT(1)|FREQ(3,20)", r"line 4: The rule WGT\(1\) needs records with <WEIGHT>"),
        ("NK(3,75)", r"line 4: The rule NK\(3,75\) needs the 3 largest.*describes 2 variables"),
    ],
)
def test_a_rule_that_cannot_be_applied_stops_the_batch_and_nothing_is_written(
    folder, rule, message
):
    with pytest.raises(tc.InputError, match=message):
        run(folder, f"<SAFETYRULE> {rule}\n<READTABLE> 0\n{PUBLISH}")
    assert not (folder / "safe.csv").exists()


WITHOUT_FREQUENCY = RDA.replace("Firms\n  <FREQUENCY>", "Firms\n  <NUMERIC>")


@pytest.mark.parametrize(
    ("rule", "mode"),
    [("P(10,1)", "0"), ("NK(1,60)", "1"), ("NK(2,80)", "0"), ("P(20,1)|NK(1,70)", "1")],
)
def test_rules_on_the_largest_contributions_need_no_frequency(folder, rule, mode):
    """Rest, largest and sum of the largest of a cell do not depend on how many have the rest."""
    read = f"<SAFETYRULE> {rule}\n<READTABLE> {mode}\n"
    known = run(folder, read).problems[0]
    (folder / "shops.rda").write_text(WITHOUT_FREQUENCY)
    result = run(folder, f'{read}<SUPPRESS> MOD(1,1)\n<WRITETABLE> (1,5,1,"t.tab")\n')
    assert sensitive_cells(result.problems[0]) == sensitive_cells(known) != set()
    assert "<FREQUENCY>" not in (folder / "internal" / "t.rda").read_text()
    again = '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "Town""Kind"|"Sales"\n'
    (folder / "again.arb").write_text(again + f"<SAFETYRULE> {rule}\n<READTABLE> 0\n")
    assert sensitive_cells(run_batch(folder / "again.arb").problems[0]) == sensitive_cells(known)
    with pytest.raises(tc.InputError, match="number of contributors is not known"):
        run(folder, f"{read}<SUPPRESS> MOD(1,1,1)\n")


def test_rules_that_count_stop_the_batch_without_a_frequency_variable(folder):
    (folder / "shops.rda").write_text(WITHOUT_FREQUENCY)
    message = r"line 4: The rule FREQ\(4,30\) needs the number of contributors.*<FREQUENCY>.*Add it"
    with pytest.raises(tc.InputError, match=message):
        run(folder, f"{RULES}<READTABLE> 0\n{PUBLISH}")


@pytest.mark.parametrize(
    ("column", "entry", "message"),
    [
        (3, "", "has no number of contributors"),
        (3, "0", "has a value but no contributor"),
        (3, "2.5", "has an odd number"),
        (4, "", "lacks one of its largest contributions"),
        (4, "0.1", "has largest contributions that are not in order of size"),
        (4, "99999999", "has contributions above its value"),
    ],
)
def test_a_cell_whose_contributors_cannot_be_read_stops_the_batch(folder, column, entry, message):
    lines = (folder / "shops.tab").read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if int(line.split(";")[3]) > 3)
    parts = lines[at].split(";")
    parts[column] = entry
    lines[at] = ";".join(parts)
    (folder / "shops.tab").write_text("\n".join(lines) + "\n")
    with pytest.raises(tc.InputError, match=rf"line 4: The cell .* {message}"):
        run(folder, f"{RULES}<READTABLE> 0\n{PUBLISH}")


def test_frequency_tables_know_their_contributors_and_refuse_rules_on_amounts(folder):
    (folder / "job.arb").write_text(
        '<OPENTABLEDATA> "shops.tab"\n<OPENMETADATA> "shops.rda"\n'
        '<SPECIFYTABLE> "Town""Kind"|<freq>||\n<SAFETYRULE> FREQ(3,30)\n<READTABLE> 1\n'
    )
    frame = cells()
    found = sensitive_cells(run_batch(folder / "job.arb").problems[0])
    small = frame[frame.Firms < 3]
    assert found == set(zip(small.Town, small.Kind, strict=True)) != set()
    text = (folder / "job.arb").read_text()
    (folder / "job.arb").write_text(text.replace("FREQ(3,30)", "P(10,1)"))
    with pytest.raises(tc.InputError, match=r"line 4: The rule P\(10,1\) looks at amounts"):
        run_batch(folder / "job.arb")


def test_the_file_can_call_cells_unsafe_that_the_rules_find_safe_and_the_log_says_so(folder):
    result = run(folder, "<SAFETYRULE> FREQ(2,30)\n<READTABLE> 0\n")
    (line,) = result.not_applied
    assert line.startswith("line 5, READTABLE: not applied: the status of")
    assert result.exit_code == 3


def test_what_the_file_calls_unsafe_stays_unsafe_where_totals_are_made_anew(folder):
    lines = (folder / "shops.tab").read_text().splitlines()
    total = next(i for i, line in enumerate(lines) if line.startswith("North;Total"))
    lines[total] = lines[total][:-1] + "U"
    (folder / "shops.tab").write_text("\n".join(lines) + "\n")
    for mode, code in (("1", 3), ("1T", 0)):
        result = run(folder, f"<READTABLE> {mode}\n{PUBLISH}")
        assert ("North", "Total") in sensitive_cells(result.tables[0].problem)
        assert result.exit_code == code


# -- records ------------------------------------------------------------------------------

MICRO_RDA = """\
<SEPARATOR> ","
region 2
  <RECODEABLE>
kind 1
  <RECODEABLE>
sales 9
  <NUMERIC> <DECIMALS> 1
w 3
  <WEIGHT>
asks 1
  <REQUEST> "1" "2"
"""


def micro(folder, rules: str, more: str = "", rda: str = MICRO_RDA, **columns):
    random = np.random.default_rng(7)
    n = 60
    frame = pd.DataFrame(
        {
            "region": random.choice(["N1", "N2", "S1"], n),
            "kind": random.choice(list("abc"), n),
            "sales": np.round(random.lognormal(3, 1.2, n), 1),
            "w": random.integers(1, 4, n),
            "asks": random.choice(["0", "1", "2"], n, p=[0.8, 0.1, 0.1]),
        }
    ).assign(**columns)
    frame.to_csv(folder / "m.asc", header=False, index=False)
    (folder / "m.rda").write_text(rda)
    (folder / "m.arb").write_text(
        '<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n'
        f'<SPECIFYTABLE> "region""kind"|"sales"||\n{rules}<READMICRODATA>\n{more}'
    )
    return frame, run_batch(folder / "m.arb", time_limit=5)


def by_cell(frame: pd.DataFrame) -> dict[tuple[str, str], pd.DataFrame]:
    """Records of each cell, margins too."""
    return {
        (region, kind): part
        for region in ["Total", *frame.region.unique()]
        for kind in ["Total", *frame.kind.unique()]
        if len(
            part := frame[
                ((region == "Total") | (frame.region == region))
                & ((kind == "Total") | (frame.kind == kind))
            ]
        )
    }


def test_weights_are_used_with_wgt_1_only(tmp_path):
    for on in (0, 1):
        frame, result = micro(tmp_path, f"<SAFETYRULE> FREQ(12,20)|WGT({on})\n")
        parts = by_cell(frame)
        size = {key: part.w.sum() if on else len(part) for key, part in parts.items()}
        small = {key for key, count in size.items() if count < 12}
        assert sensitive_cells(result.problems[0]) == small
        total = result.problems[0].table.values.max()
        assert total == pytest.approx((frame.sales * (frame.w if on else 1)).sum())


@pytest.mark.parametrize(
    ("rule", "tag"), [("REQ(10,0,3,20)", "REQUEST"), ("FREQ(3,20)|WGT(1)", "WEIGHT")]
)
def test_rules_without_their_variable_stop_the_batch(tmp_path, rule, tag):
    rda = MICRO_RDA.replace('<REQUEST> "1" "2"', "<RECODEABLE>").replace("<WEIGHT>", "<NUMERIC>")
    with pytest.raises(tc.InputError, match=rf"m.arb, line 4: The rule .* variable with <{tag}>"):
        micro(tmp_path, f"<SAFETYRULE> {rule}\n", rda=rda)


@pytest.mark.parametrize(("one", "two"), [(10, 50), (50, 10), (30, 0)])
def test_requests_are_granted_by_their_own_percentage_also_by_0(tmp_path, one, two):
    frame, result = micro(tmp_path, f"<SAFETYRULE> REQ({one},{two},3,20)\n")
    expected = set()
    for key, part in by_cell(frame).items():
        asking = {code: part.sales[part.asks == code].max() for code in ("1", "2")}
        limits = {"1": one, "2": two}
        large = any(asking[c] > limits[c] / 100 * part.sales.sum() for c in ("1", "2"))
        if large or (len(part) < 3 and (part.asks != "0").any()):
            expected.add(key)
    assert sensitive_cells(result.problems[0]) == expected != set()


def test_records_without_a_rule_stop_the_batch(tmp_path):
    with pytest.raises(tc.InputError, match="line 4: Table 1 has no SAFETYRULE"):
        micro(tmp_path, "")
    for rules in ("", "NK(0,0)|P(0,1)", "MAN(20)"):
        with pytest.raises(tc.InputError, match="Nothing says which cells of table 1 are sensit"):
            micro(tmp_path, f"<SAFETYRULE> {rules}\n", PUBLISH)
        assert not (tmp_path / "safe.csv").exists()


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (f"{RULES}{RULES}<READTABLE> 0\n", "line 5: Table 1 has rules already"),
        (f"<READTABLE> 0\n{RULES}", "line 5: The data were read already"),
        ("<READTABLE> 0\n<READTABLE> 1\n", "line 5: The data were read already"),
        ('<READTABLE>\n<SPECIFYTABLE> "Town"|"Sales"\n', "line 5: The data were read already"),
        ("<READTABLE> 3\n", "line 4: READTABLE takes 0, 1, 1T, 1F or 2"),
        ("<READTABLE> 0 1\n", "line 4: READTABLE takes"),
        ("<READTABLE> 0,1\n", "line 4: ',1' was not understood"),
        ("<READMICRODATA>\n", "line 4: Open microdata"),
    ],
)
def test_commands_that_would_undo_or_lose_another_stop_the_batch(folder, commands, message):
    with pytest.raises(tc.InputError, match=message):
        run(folder, commands)

"""The last check: whatever a batch did, nothing that its rules make unsafe is published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
import tablecloak.argus.methods as methods
import tablecloak.argus.preparation as preparation
from shops import cells, run, write_shops
from tablecloak.argus import read_metadata, run_batch
from tablecloak.argus.gate import Evidence, _unsafe, check, check_together
from tablecloak.argus.lines import Arguments, BatchRule, Specification, read_rules
from tablecloak.argus.outputs import BatchTable
from tablecloak.argus.preparation import of_records
from tablecloak.argus.rules import sensitivity_rules
from tablecloak.argus.tables import from_records

pytestmark = pytest.mark.usefixtures("solved_once")

RULES = "<SAFETYRULE> P(10,1)|FREQ(4,30)|\n"
PUBLISH = '<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,,"safe.csv")\n'
REFUSED = r"job.arb, line \d+: Nothing was written: .* must be protected would be published"


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


@pytest.mark.parametrize("mode", ["0", "1", "1T", "2"])
def test_rules_that_got_lost_on_the_way_are_noticed(folder, monkeypatch, mode):
    monkeypatch.setattr(preparation, "sensitivity_rules", lambda rules: [])
    with pytest.raises(tc.VerificationError, match=REFUSED):
        run(folder, f"{RULES}<READTABLE> {mode}\n{PUBLISH}")
    assert not (folder / "safe.csv").exists()


def test_a_given_status_that_got_lost_is_noticed(folder, monkeypatch):
    monkeypatch.setattr(preparation, "given_statuses", lambda job, problem, *rest: problem)
    with pytest.raises(tc.VerificationError, match=REFUSED):
        run(folder, f"<READTABLE> 0\n{PUBLISH}")


def test_a_method_that_publishes_a_sensitive_cell_is_noticed(folder, monkeypatch):
    true = methods.suppress

    def careless(problem, **options):
        pattern = true(problem, **options)
        hidden = pattern.suppressed.copy()
        hidden[np.flatnonzero(problem.sensitive)[0]] = False
        return replace(pattern, suppressed=hidden)

    monkeypatch.setattr(methods, "suppress", careless)
    with pytest.raises(tc.VerificationError):
        run(folder, f"{RULES}<READTABLE> 0\n{PUBLISH}")
    assert not (folder / "safe.csv").exists()


def test_a_table_that_is_not_proved_is_not_published_but_inner_files_are(folder, monkeypatch):
    true = methods.audit

    class Unsure:
        is_safe = False

        def summary(self) -> str:
            return "undecided"

    monkeypatch.setattr(methods, "audit", lambda *args, **options: Unsure())
    adjust = f"{RULES}<READTABLE> 0\n<SUPPRESS> CTA(1)\n"
    with pytest.raises(tc.VerificationError, match="table 1 is not proved to be safe"):
        run(folder, f'{adjust}<WRITETABLE> (1,3,,"safe.csv")\n')
    inner = run(folder, f'{adjust}<WRITETABLE> (1,3,AS+,"inner.csv")\n')
    assert inner.exit_code == 1
    assert true is not methods.audit


def test_adjusted_values_that_moved_too_little_are_noticed(folder, monkeypatch):
    true = methods.adjust

    def timid(problem, **options):
        found = true(problem, **options)
        return replace(found, values=problem.table.values.copy())

    monkeypatch.setattr(methods, "adjust", timid)
    with pytest.raises(tc.VerificationError):
        run(folder, f'{RULES}<READTABLE> 0\n<SUPPRESS> CTA(1)\n<WRITETABLE> (1,3,,"safe.csv")\n')


def test_apriori_lines_that_publish_an_unsafe_cell_are_named_and_never_exit_0(folder):
    frame = cells()
    cell = frame[(frame.Firms < 4) & (frame.Town != "Total") & (frame.Kind != "Total")].iloc[0]
    (folder / "last.hst").write_text(f"{cell.Town};{cell.Kind};s\n")
    apriori = '<APRIORI> "last.hst",1,";",0\n'
    result = run(folder, f"{RULES}<READTABLE> 0\n{apriori}{PUBLISH}")
    (line,) = result.not_applied
    assert line.startswith("line 8, WRITETABLE: not applied: the rules on 1 cell that APRIORI")
    assert f"{cell.Town}, {cell.Kind}" in line
    assert result.exit_code == 3


def test_two_patterns_of_a_table_are_not_both_published(folder):
    frame = cells()
    safe = frame[(frame.Firms >= 6) & (frame.Town != "Total") & (frame.Kind != "Total")].iloc[0]
    (folder / "last.hst").write_text(f"{safe.Town};{safe.Kind};u\n")
    again = '<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,3,,"late.csv")\n'
    commands = f'{RULES}<READTABLE> 0\n{PUBLISH}<APRIORI> "last.hst",1,";",0\n{again}'
    with pytest.raises(tc.VerificationError, match="hidden in one published table and shown in"):
        run(folder, commands)
    assert not (folder / "safe.csv").exists()
    same = f'{RULES}<READTABLE> 0\n{PUBLISH}<WRITETABLE> (1,1,,"matrix.csv")\n'
    assert run(folder, same).exit_code == 0


def test_tables_that_share_a_margin_are_published_only_as_one_pattern(tmp_path):
    lines = ["p,x,5"] * 2 + ["p,y,7"] * 9 + ["q,x,4"] * 8 + ["q,y,6"] * 7 + ["r,x,3"] * 2
    lines += ["r,y,8"] * 9 + ["s,x,1"] * 2
    (tmp_path / "m.asc").write_text("\n".join(lines) + "\n")
    (tmp_path / "m.rda").write_text(
        '<SEPARATOR> ","\na 1\n<RECODEABLE>\nb 1\n<RECODEABLE>\nv 2\n<NUMERIC>\n'
    )
    batch = (
        '<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n'
        '<SPECIFYTABLE> "a""b"|"v"\n<SAFETYRULE> FREQ(3,20)\n'
        '<SPECIFYTABLE> "a"|"v"\n<SAFETYRULE> FREQ(1,20)\n<READMICRODATA>\n{}'
        '<WRITETABLE> (1,3,,"one.csv")\n<WRITETABLE> (2,3,,"two.csv")\n'
    )
    (tmp_path / "m.arb").write_text(batch.format("<SUPPRESS> OPT(1,1)\n<SUPPRESS> OPT(2,1)\n"))
    with pytest.raises(tc.VerificationError, match="line 11: Nothing was written: .*a=s"):
        run_batch(tmp_path / "m.arb", time_limit=10)
    (tmp_path / "m.arb").write_text(batch.format("<SUPPRESS> MOD(0,1)\n"))
    assert run_batch(tmp_path / "m.arb", time_limit=10).exit_code == 0


def random_records(random: np.random.Generator):

    n = int(random.integers(20, 80))
    value = np.round(random.lognormal(2, 1.3, n) * random.choice([1, 1, 1, 0], n), 1)
    if random.random() < 0.3:
        value *= random.choice([1, 1, 1, -1], n)
    return pd.DataFrame(
        {
            "a": random.choice(["A1", "A2", "B1"], n),
            "b": random.choice(list("xyz"), n),
            "v": value,
            "w": random.integers(1, 4, n).astype(float),
            "h": np.sort(random.integers(0, n // 3, n)).astype(str),
            "r": random.choice(["0", "1", "2"], n, p=[0.8, 0.1, 0.1]),
        }
    )


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore::tablecloak.TablecloakWarning")
def test_both_evaluations_of_the_rules_agree_on_random_records(tmp_path, seed):
    random = np.random.default_rng(seed)
    frame = random_records(random)
    (tmp_path / "m.rda").write_text(
        '<SEPARATOR> ","\na 2\n<RECODEABLE>\nb 1\n<RECODEABLE>\nv 9\n<NUMERIC>\nw 9\n<WEIGHT>\n'
        'h 9\n<HOLDING>\nr 1\n<REQUEST> "1" "2"\n'
    )
    metadata = read_metadata(tmp_path / "m.rda")
    on_holdings = random.random() < 0.5
    low, high = int(random.integers(1, 20)), int(random.integers(30, 95))
    rules = [
        BatchRule("P", [float(low), float(random.integers(1, 3))]),
        BatchRule("P", [float(low), float(high), 1.0]),
        BatchRule("NK", [float(random.integers(1, 4)), float(high)]),
        BatchRule("FREQ", [float(random.integers(1, 6)), 20.0]),
        BatchRule("REQ", [float(high), float(random.integers(0, 60)), 3.0, 20.0]),
        BatchRule("ZERO", [1.0]),
        BatchRule("WGT", [0.0 if on_holdings else float(random.integers(0, 2))]),
    ]
    if on_holdings:
        rules += [BatchRule("P", [float(high), 1.0]), BatchRule("FREQ", [3.0, 20.0])]
        rules += [BatchRule("NK", [0.0, 0.0]), BatchRule("NK", [1.0, float(high)])]
    rules = [rule for rule in rules if rule.name == "WGT" or random.random() < 0.5]
    if not any(rule.name not in ("WGT", "NK") for rule in rules):
        rules.append(BatchRule("FREQ", [4.0, 20.0]))
    wanted = Specification(["a", "b"], "v")
    codes = {name: set(frame[name]) for name in "ab"}
    trees = {name: metadata.hierarchy(metadata.variable(name), codes[name]) for name in "ab"}
    table = from_records(frame, wanted, rules, metadata, trees)
    problem = table.protect(*sensitivity_rules(rules))
    evidence = of_records(frame, wanted, rules, metadata, trees, False, {})
    shown = BatchTable(problem, np.zeros(table.n_cells, dtype=bool), table.values, 1, [])
    ours = set(table.keys[problem.sensitive].itertuples(index=False, name=None))
    assert _unsafe(evidence, rules, shown) == ours


# -- the check itself, on contributions by hand -------------------------------------------

SIZES = {"a": [80, 15, 5], "b": [40, 30, 20, 10], "c": [60, 40]}
"""Contributions of three cells below a total of 300."""


def evidence(sizes=SIZES, **given) -> Evidence:
    units = pd.DataFrame(
        [(code, size, 1.0, 0, f"{code}{at}") for code, own in sizes.items()
         for at, size in enumerate(own)],
        columns=[0, "size", "weight", "request", "holding"],
    )  # fmt: skip
    cells = pd.DataFrame(
        [(code, len(own), len(own), sum(own), sum(own)) for code, own in sizes.items()],
        columns=[0, "count", "weighted", "total", "value"],
    ).astype({"value": float, "total": float})
    tree = tc.Hierarchy.flat(sorted(sizes), "Total")
    return Evidence(["code"], {"code": tree}, units, cells, False, **given)


def protected(hidden: str = "", *, unsafe: str = "", method="suppressed", moved=(), reach=0.0,
              levels=(4.0, 4.0)) -> BatchTable:  # fmt: skip
    sums = {code: float(sum(own)) for code, own in SIZES.items()}
    frame = pd.DataFrame({"code": [*sums, "Total"], "v": [*sums.values(), 300.0]})
    table = tc.Table.from_frame(frame, {"code": tc.Hierarchy.flat(list(sums), "Total")}, "v")
    codes = table.keys["code"].tolist()
    one = np.array([code in unsafe.split() for code in codes])
    n = table.n_cells
    problem = tc.ProtectionProblem(
        table, np.where(one, "u", "s"), levels[0] * one, levels[1] * one, np.zeros(n),
        np.zeros(n), np.full(n, 999.0), np.ones(n),
    )  # fmt: skip
    values = table.values.copy()
    for code, by in dict(moved).items():
        values[codes.index(code)] += by
    shown = np.array([code in hidden.split() for code in codes])
    return BatchTable(problem, shown, values, 0, [codes], method, reach)


def rules(text: str):
    return read_rules(Arguments("job.arb, line 1", text))


def unsafe_by(text: str) -> set[str]:
    """Cells that a rule makes unsafe, told by which cannot be published."""
    try:
        check(protected(), evidence(), rules(text), {}, is_public=True)
    except tc.VerificationError as error:
        codes = protected().problem.table.keys["code"]
        return {codes[cell] for cell in error.cells}
    return set()


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        # What is left without the two largest: 5, 30, 0 of the largest 80, 40, 60.
        ("P(5)", "c"),
        ("P(10)", "a c"),
        ("P(80)", "a b c"),
        # A coalition of two knows two besides the largest.
        ("P(5,2)", "a c"),
        # Relative to what everybody knows up to 20 per cent.
        ("P(5,20,1)", "a c"),
        ("NK(1,70)", "a"),
        ("NK(1,59)", "a c"),
        ("NK(2,90)", "a c"),
        ("NK(2,69)", "a b c"),
        ("FREQ(3,10)", "c"),
        ("FREQ(4,10)", "a c"),
        ("FREQ(0,10)|P(0)|NK(0,70)", ""),
        ("ZERO(10)", ""),
    ],
)
def test_rules_are_evaluated_anew_from_their_definitions(text, cells):
    assert unsafe_by(text) - {"Total"} == set(cells.split())


def test_totals_are_made_of_the_contributions_of_all_parts():
    assert "Total" not in unsafe_by("P(100)|NK(1,30)|FREQ(9,10)")
    assert "Total" in unsafe_by("FREQ(10,10)")
    # 80 of 300.
    assert "Total" in unsafe_by("NK(1,26)")


def test_what_is_unsafe_may_be_published_only_hidden_and_marked():
    given = (evidence(), rules("FREQ(3,10)"), {})
    with pytest.raises(tc.VerificationError, match="1 cell that must be protected .*code=c"):
        check(protected(unsafe="c"), *given, is_public=True)
    with pytest.raises(tc.VerificationError, match="must be protected"):
        check(protected("c a"), *given, is_public=True)
    assert check(protected("c a", unsafe="c"), *given, is_public=True) == []
    # An inner file shows it, but marked.
    assert check(protected(unsafe="c"), *given, is_public=False) == []
    with pytest.raises(tc.VerificationError):
        check(protected(), *given, is_public=False)


@pytest.mark.parametrize(("letter", "let_go"), [("s", ["c"]), ("p", ["c"])])
def test_cells_that_a_line_declares_safe_are_named(letter, let_go):
    found = check(protected(), evidence(), rules("FREQ(3,10)"), {("c",): letter}, is_public=True)
    assert found == let_go


def test_cells_that_a_line_or_the_data_call_unsafe_need_no_rule():
    for given, asked in ((evidence(), {("b",): "u"}), (evidence(unsafe={("b",)}), {})):
        with pytest.raises(tc.VerificationError, match="code=b"):
            check(protected(), given, [], asked, is_public=True)


def test_a_cell_that_must_be_hidden_is_hidden():
    with pytest.raises(tc.VerificationError, match="code=b"):
        check(protected(), evidence(), [], {("b",): "m"}, is_public=True)
    assert check(protected("b c"), evidence(), [], {("b",): "m"}, is_public=True) == []


def test_codes_for_missing_make_a_cell_safe():
    given = evidence(safe_codes={"code": ("c",)})
    assert check(protected(), given, rules("FREQ(3,10)"), {}, is_public=True) == []


def test_records_that_do_not_add_up_to_the_table_stop_everything():
    other = evidence({**SIZES, "b": [40, 30, 20]})
    with pytest.raises(tc.VerificationError, match="code=b.* does not add up"):
        check(protected(), other, rules("FREQ(3,10)"), {}, is_public=True)


@pytest.mark.parametrize(
    ("levels", "by", "is_fit"),
    [((4, 4), 4, True), ((4, 4), 3, False), ((4, 4), -4, True), ((4, 4), 0, False),
     ((0, 4), -9, False), ((0, 4), 4, True), ((4, 0), 9, False)],
)  # fmt: skip
def test_an_adjusted_cell_lies_its_level_away_on_a_side_that_has_one(levels, by, is_fit):
    one = protected(unsafe="c", method="adjusted", moved={"c": by, "a": -by}, levels=levels)
    given = (evidence(), rules("FREQ(3,10)"), {})
    if is_fit:
        check(one, *given, is_public=True)
    else:
        with pytest.raises(tc.VerificationError, match="code=c"):
            check(one, *given, is_public=True)


@pytest.mark.parametrize(("reach", "is_fit"), [(10.0, True), (5.0, True), (4.0, False)])
def test_a_rounded_cell_is_known_to_less_than_its_reach(reach, is_fit):
    one = protected(unsafe="c", method="rounded", reach=reach)
    given = (evidence(), rules("FREQ(3,10)"), {})
    if is_fit:
        check(one, *given, is_public=True)
    else:
        with pytest.raises(tc.VerificationError, match="code=c.* take a larger base in RND"):
            check(one, *given, is_public=True)


def test_one_cell_is_not_hidden_here_and_shown_there():
    check_together(protected("a b"), [protected("a b")])
    with pytest.raises(tc.VerificationError, match="1 cell hidden in one .*code=b"):
        check_together(protected("a b"), [protected("a")])
    with pytest.raises(tc.VerificationError, match="suppressed.*adjusted.*Publish one"):
        check_together(protected("a b"), [protected(method="adjusted")])


LAYOUT = """<SEPARATOR> ";"
<SAFE> S
<UNSAFE> U
<PROTECT> P
Ind
<RECODEABLE>
<TOTCODE> "T"
{}
<RECODEABLE>
<TOTCODE> "T"
Val
<NUMERIC>
Stat
<STATUS>
LPL
<NUMERIC> <LOWERPL>
UPL
<NUMERIC> <UPPERPL>
"""
LAST = ["D;{0};2500;P;0;0", "D;{1};2500;P;0;0", "D;T;5000;P;0;0", "T;{0};3105;P;0;0"]
LAST += ["T;{1};3995;P;0;0", "T;T;7100;P;0;0"]
HALVES = ["{0};{1};5;S;0;0", "{0};{2};995;P;0;0"]


def shared_totals(folder, options: str):
    """Run a batch of tables of which each gives one total of B and C but for five units.

    Both totals and that of A are hidden. Each table lets the total of A rise by one of them, but
    only up to what its own cell of five units can fall.
    """
    large = ["{0};{1};500;S;0;0", "{0};{2};500;P;0;0"]
    commands = ""
    for name, column, codes, flip in (("one", "Reg", "12", 1), ("two", "Siz", "XY", -1)):
        lines = [f"A;{codes[0]};100;U;30;30", f"A;{codes[1]};0;P;0;0", "A;T;100;U;30;30"]
        for code, parts in zip("BC", (large, HALVES)[::flip], strict=True):
            lines += [part.format(code, *codes) for part in parts]
            lines += [f"{code};T;1000;U;1;1"]
        lines += [line.format(*codes) for line in LAST]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        (folder / f"{name}.rda").write_text(LAYOUT.format(column))
        commands += f'<OPENTABLEDATA> "{name}.csv"\n<OPENMETADATA> "{name}.rda"\n'
        commands += f'<SPECIFYTABLE> "Ind""{column}"|"Val"||\n<SAFETYRULE>\n'
    commands += "<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<SUPPRESS> OPT(2,1)\n"
    for number, name in ((1, "p"), (2, "q")):
        commands += f'<WRITETABLE> ({number},3,{options},"{name}.txt")\n'
    (folder / "joint.arb").write_text(commands)
    return run_batch(folder / "joint.arb", folder / "out", time_limit=10)


@pytest.mark.parametrize("options", ["", "AS+"])
def test_what_two_tables_tell_together_is_not_written(tmp_path, options):
    with pytest.raises(tc.VerificationError, match=r"can be computed too closely .*Ind=A.*MOD\(0"):
        shared_totals(tmp_path, options)
    assert not (tmp_path / "out").exists()


def test_a_table_is_not_published_in_two_ways(folder):
    both = f'{PUBLISH}<SUPPRESS> CTA(1)\n<WRITETABLE> (1,3,,"late.csv")\n'
    with pytest.raises(tc.VerificationError, match="adjusted.*suppressed.*Publish one of them"):
        run(folder, f"{RULES}<READTABLE> 0\n{both}")

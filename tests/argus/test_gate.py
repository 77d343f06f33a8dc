"""The last check: whatever a batch did, nothing that its rules make unsafe is published."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import tablecloak as tc
import tablecloak.argus.methods.adjustment as adjustment_method
import tablecloak.argus.methods.pattern as pattern_method
import tablecloak.argus.preparation as preparation
from shops import cells, run, write_shops
from tablecloak.argus import read_metadata, run_batch
from tablecloak.argus.evidence import of_records
from tablecloak.argus.gate import _unsafe
from tablecloak.argus.lines import Rule, Specification
from tablecloak.argus.outputs import Protected
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
    true = pattern_method.suppress

    def careless(problem, **options):
        pattern = true(problem, **options)
        hidden = pattern.suppressed.copy()
        hidden[np.flatnonzero(problem.sensitive)[0]] = False
        return replace(pattern, suppressed=hidden)

    monkeypatch.setattr(pattern_method, "suppress", careless)
    with pytest.raises(tc.VerificationError):
        run(folder, f"{RULES}<READTABLE> 0\n{PUBLISH}")
    assert not (folder / "safe.csv").exists()


def test_a_table_that_is_not_proved_is_not_published_but_inner_files_are(folder, monkeypatch):
    true = pattern_method.audit

    class Unsure:
        is_safe = False

        def summary(self) -> str:
            return "undecided"

    monkeypatch.setattr(pattern_method, "audit", lambda *args, **options: Unsure())
    with pytest.raises(tc.VerificationError, match="table 1 is not proved to be safe"):
        run(folder, f"{RULES}<READTABLE> 0\n{PUBLISH}")
    inner = run(folder, f'{RULES}<READTABLE> 0\n<SUPPRESS> OPT(1,1)\n<WRITETABLE> (1,6,,"t.jj")\n')
    assert inner.exit_code == 1
    assert true is not pattern_method.audit


def test_adjusted_values_that_moved_too_little_are_noticed(folder, monkeypatch):
    true = adjustment_method.adjust

    def timid(problem, **options):
        found = true(problem, **options)
        return replace(found, values=problem.table.values.copy())

    monkeypatch.setattr(adjustment_method, "adjust", timid)
    with pytest.raises(tc.VerificationError):
        run(folder, f'{RULES}<READTABLE> 0\n<SUPPRESS> CTA(1)\n<WRITETABLE> (1,3,,"safe.csv")\n')


def test_apriori_lines_that_publish_an_unsafe_cell_are_named_and_never_exit_0(folder):
    frame = cells()
    cell = frame[(frame.Firms < 4) & (frame.Town != "Total") & (frame.Kind != "Total")].iloc[0]
    (folder / "last.hst").write_text(f"{cell.Town};{cell.Kind};s\n")
    apriori = '<APRIORI> "last.hst",1,";",0\n'
    result = run(folder, f"{RULES}<READTABLE> 0\n{apriori}{PUBLISH}")
    (line,) = result.not_applied
    assert line.startswith("line 8, WRITETABLE: not applied: the rules on 1 cells that APRIORI")
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
    import pandas as pd

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


@pytest.mark.parametrize("seed", range(40))
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
        Rule("P", [float(low), float(random.integers(1, 3))]),
        Rule("P", [float(low), float(high), 1.0]),
        Rule("NK", [float(random.integers(1, 4)), float(high)]),
        Rule("FREQ", [float(random.integers(1, 6)), 20.0]),
        Rule("REQ", [float(high), float(random.integers(0, 60)), 3.0, 20.0]),
        Rule("ZERO", [1.0]),
        Rule("WGT", [0.0 if on_holdings else float(random.integers(0, 2))]),
    ]
    if on_holdings:
        rules += [Rule("P", [float(high), 1.0]), Rule("FREQ", [3.0, 20.0])]
        rules += [Rule("NK", [0.0, 0.0]), Rule("NK", [1.0, float(high)])]
    rules = [rule for rule in rules if rule.name == "WGT" or random.random() < 0.5]
    if not any(rule.name not in ("WGT", "NK") for rule in rules):
        rules.append(Rule("FREQ", [4.0, 20.0]))
    wanted = Specification(["a", "b"], "v")
    codes = {name: set(frame[name]) for name in "ab"}
    trees = {name: metadata.hierarchy(metadata.variable(name), codes[name]) for name in "ab"}
    table = from_records(frame, wanted, rules, metadata, trees)
    problem = table.protect(*sensitivity_rules(rules))
    evidence = of_records(frame, wanted, rules, metadata, trees, False, {})
    shown = Protected(problem, np.zeros(table.n_cells, dtype=bool), table.values, 1, [])
    ours = set(table.keys[problem.sensitive].itertuples(index=False, name=None))
    assert _unsafe(evidence, rules, shown) == ours

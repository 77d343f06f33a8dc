"""SUPPRESS: every number is used, named as not applied, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from shops import run, write_shops
from tablecloak.argus import run_batch
from tablecloak.argus.metadata import read_metadata, read_microdata
from tablecloak.argus.methods import further_advice
from tablecloak.suppression.attack.against_insiders import AgainstInsiders, OpenPairs, WhyOpen

READ = "<SAFETYRULE> FREQ(3,20)\n<READTABLE> 0\n"


@pytest.fixture
def folder(tmp_path):
    write_shops(tmp_path)
    return tmp_path


def test_what_everybody_knows_by_gh_narrows_the_bounds(folder):
    plain = run(folder, f"{READ}<SUPPRESS> GH(1)\n").tables[0]
    wide = run(folder, f"{READ}<SUPPRESS> GH(1,60,0,0)\n").tables[0]
    assert wide.suppressed.sum() >= plain.suppressed.sum()


def test_gh_protects_what_prior_knowledge_leaves_and_names_the_rest_and_the_line_that_helps(folder):
    """As tau-ARGUS, which lowers its ratio and goes on: "cells could not be fully protected"."""
    write = '<WRITETABLE> (1,3,,"safe.csv")\n'
    narrow = run(folder, f"{READ}<SUPPRESS> GH(1,3,0,0)\n{write}")
    full, table = narrow.problems[0], narrow.tables[0]
    assert narrow.is_safe and narrow.exit_code == 1
    assert np.all(table.suppressed[full.sensitive])
    # A level of a fifth of a value is beyond 3 per cent of it, for every sensitive cell.
    (line,) = narrow.not_reached
    assert f"the full levels of {full.n_sensitive} of {full.n_sensitive} sensitive cells" in line
    assert (folder / "safe.csv").exists()
    room = 0.03 * np.abs(full.table.values)
    bounded = full.with_changes(
        lower_bound=full.table.values - room,
        upper_bound=full.table.values + room,
        lower_protection=np.minimum(full.lower_protection, room * 0.999),
        upper_protection=np.minimum(full.upper_protection, room * 0.999),
    )
    assert tc.audit(bounded, table.suppressed).is_safe
    advised = run(folder, f"{READ}<SUPPRESS> {line.split('<SUPPRESS> ')[1]}\n{write}")
    assert advised.exit_code == 0 and not advised.not_reached


def test_gh_hides_cells_without_any_room_and_says_so(folder):
    """Who knows every value exactly beforehand learns nothing, and nothing can be protected."""
    result = run(folder, f"{READ}<SUPPRESS> GH(1,0,0,0)\n")
    assert np.all(result.tables[0].suppressed[result.problems[0].sensitive])
    assert result.exit_code == 1


@pytest.mark.parametrize(
    ("method", "words"),
    [
        ("MOD(1,1,0,0,0,5000)", ["the largest cost"]),
        ("MOD(1,1,0,0,0,,0.9)", ["LOWERMARG"]),
        ("MOD(1,1,0,0,0,,0.9,1.1)", ["LOWERMARG", "UPPERMARG"]),
        ("GH(1,100,1,0)", ["the size of the model"]),
        ("MOD(1,1,0,0,0)", []),
        ("OPT(1,3)", []),
        ("NET(1)", []),
    ],
)
def test_numbers_that_cannot_change_what_is_safe_are_named_with_their_line(folder, method, words):
    result = run(folder, f"{READ}<SUPPRESS> {method}\n")
    needless = [line for line in result.log if line.startswith("line 6, SUPPRESS: not needed: ")]
    assert all(word in line for line, word in zip(needless, words, strict=True))
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("MOD(1,3,3)", "MOD: single must be a number from 0 to 1, found '3'"),
        ("MOD(1,1,0.5)", "MOD: single must be a whole number"),
        ("MOD(1,1,,1)", "MOD: single is missing"),
        ("MOD(1,1,1,1,1,1,1,1,1)", "MOD takes at most 8 numbers"),
        ("OPT(1,1,1)", "OPT takes at most 2 numbers; ',1.' is left"),
        ("OPT(1,1) 5", "'5' was not understood"),
        ("OPT(1.5)", "the number of a table must be a whole number"),
        ("OPT()", "the number of a table is missing"),
        ("OPT 1", "the method 'OPT 1' is not known"),
        ("NET(1,3,3)", "NET takes at most 1 numbers"),
        ("CTA(1,3)", "CTA takes at most 1 numbers"),
        ("GH(1,3,3)", "GH: size must be a number from 0 to 1"),
        ("GH(1,-1)", "GH: bounds must be a number from 0"),
        ("CKM(1)", "cell keys .* are not supported"),
        ("RND(1)", "RND needs a base"),
        ("RND(1,0)", "RND: base must be a number from 1"),
        ("RND(1,5,0,1,0,3)", "RND: stop must be a number from 1 to 2"),
    ],
)
def test_numbers_that_no_method_takes_stop_the_batch(folder, method, message):
    with pytest.raises(tc.InputError, match=rf"job.arb, line 6: .*{message}"):
        run(folder, f"{READ}<SUPPRESS> {method}\n")


def rounded(folder, numbers: str, rules: str = "FREQ(4,20)"):
    commands = f"<SAFETYRULE> {rules}\n<READTABLE> 0\n<SUPPRESS> RND{numbers}\n"
    (folder / "job.arb").write_text(
        '<OPENTABLEDATA> "shops.tab"\n<OPENMETADATA> "shops.rda"\n'
        f'<SPECIFYTABLE> "Town""Kind"|<freq>\n{commands}<WRITETABLE> (1,3,,"r.csv")\n'
    )
    return run_batch(folder / "job.arb", time_limit=10)


def test_a_base_below_the_smallest_count_is_refused_as_by_tau_argus(folder):
    with pytest.raises(tc.InputError, match="line 6: The base 3 is too small .* Take 4, the next"):
        rounded(folder, "(1,3)")


def test_rounding_names_what_it_does_in_another_way(folder):
    result = rounded(folder, "(1,10,1,1,1,1,1)")
    assert any("not needed: partitions" in line for line in result.log)
    assert [line.split(": ")[2] for line in result.not_applied] == ["stop at the first rounding"]
    assert np.all(result.tables[0].values % 10 == 0)


STATUSES = '<SEPARATOR> ";"\na\n<RECODEABLE>\nv\n<NUMERIC>\ns\n<STATUS>\n'


def of_cells(folder, rows: str, commands: str, rda: str = STATUSES):
    """Run commands on a table of one dimension that is given with its cells."""
    (folder / "t.tab").write_text(rows.replace(" ", "\n"))
    (folder / "t.rda").write_text(rda)
    (folder / "t.arb").write_text(
        '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "a"|"v"\n<SAFETYRULE>\n'
        f'<READTABLE> 0\n{commands}\n<WRITETABLE> (1,3,,"out.txt")\n'
    )
    return run_batch(folder / "t.arb", time_limit=10)


def test_the_base_that_is_named_instead_protects_all_cells(tmp_path):
    # 30 lies in the middle of 24 and 36: less than its level of 6 is left on one side of either.
    rows = "Total;170;S a1;30;U a2;60;S a3;80;S"
    with pytest.raises(tc.InputError, match="The base 1 is too small") as small:
        of_cells(tmp_path, rows, "<SUPPRESS> RND(1,1)")
    with pytest.raises(tc.InputError, match=r"base 12 does not protect 1 cell,.*\(a=a1\)") as near:
        of_cells(tmp_path, rows, "<SUPPRESS> RND(1,12)")
    bases = {int(str(error.value).split("Take ")[1].split(",")[0]) for error in (small, near)}
    assert len(bases) == 1 and min(bases) > 12
    done = of_cells(tmp_path, rows, f"<SUPPRESS> RND(1,{bases.pop()})")
    assert done.exit_code == 0 and len(done.files) == 1


def test_where_no_base_helps_that_is_said_with_its_reason(tmp_path):
    with pytest.raises(tc.InputError, match="No base up to .* whole numbers?.*such as MOD"):
        of_cells(tmp_path, "Total;30.5;S a1;10;U a2;20.5;S", "<SUPPRESS> RND(1,1)")


def test_cells_that_everybody_knows_exactly_are_said_to_be_known(tmp_path):
    levels = STATUSES + "l\n<NUMERIC> <LOWERPL>\nu\n<NUMERIC> <UPPERPL>\n"
    rows = "Total;100;S;0;0 a1;0;U;0;5 a2;40;S;0;0 a3;60;S;0;0"
    [line] = of_cells(tmp_path, rows, "<SUPPRESS> GH(1,75,0,0)", levels).not_reached
    assert "All of them can be computed exactly" in line and "as far as" not in line
    rows = "Total;100;S;0;0 a1;0;U;0;5 a2;40;U;35;35 a3;60;S;0;0"
    [line] = of_cells(tmp_path, rows, "<SUPPRESS> GH(1,75,0,0)", levels).not_reached
    assert "Of them (a=a1) can be computed exactly" in line and "as far as" in line


@pytest.mark.parametrize(("n_late", "more"), [(0, False), (1, True)])
def test_more_time_is_advised_only_where_it_can_help(n_late, more):
    problem = tc.examples.cox_rounded()
    pairs = OpenPairs.of(["Miller", "Smith"], [0, 1][: 1 + n_late], [0, 1][: 1 + n_late],
                         {("Miller", 0): WhyOpen.HOPELESS})  # fmt: skip
    told = AgainstInsiders(problem, {}, problem.sensitive, problem.sensitive, 1, 0, pairs)
    said = further_advice(told, 10)
    assert f"({problem.table.label(0)}) from Miller" in said and "Smith" not in said
    assert ("--time-limit 20" in said) == more


def test_where_frozen_cells_prevent_protection_the_batch_says_which_lines_to_remove(tmp_path):
    rows = "Total;100;P a1;40;U a2;60;P"
    with pytest.raises(tc.ModelError, match=r"line 6: .*a=a2.* \(p\)") as error:
        of_cells(tmp_path, rows, "<SUPPRESS> OPT(1,1)")
    assert "unfreeze=" not in str(error.value)


RECORDS = """\
r 1 2
<RECODEABLE>
<HIERARCHICAL>
<HIERCODELIST> "r.hrc"
<HIERLEADSTRING> "@"
s 3 1
<RECODEABLE>
v 4 2
<NUMERIC>
w 6 2
<NUMERIC>
h 8 2
<HOLDING>
k 10 1
<WEIGHT>
"""


def of_records(folder, *, rda: str = RECORDS, table: str = '"r""s"|"v"', rules="FREQ(3,20)",
               more: str = ""):  # fmt: skip
    """Run a batch over records of two towns in a region, and two sizes."""
    codes = [f"{town}{size}" for town in ("N1", "N2") for size in "ab"]
    lines = [f"{code}{10 + at}{20 + at} {at % 3}1" for code in codes for at in range(5)]
    (folder / "m.asc").write_text("\n".join(lines) + "\n")
    (folder / "m.rda").write_text(rda)
    (folder / "job.arb").write_text(
        f'<OPENMICRODATA> "m.asc"\n<OPENMETADATA> "m.rda"\n<SPECIFYTABLE> {table}\n'
        f"<SAFETYRULE> {rules}\n{more}<READMICRODATA>\n<SUPPRESS> MOD(0,1)\n"
    )
    return run_batch(folder / "job.arb", time_limit=5)


def test_errors_name_the_line_to_be_mended(tmp_path):
    with pytest.raises(tc.InputError, match=r"line 3: .*m.rda, line 4: .*r.hrc.*not exist"):
        of_records(tmp_path)
    (tmp_path / "r.hrc").write_text("N\n#N1\n#N2\n")
    with pytest.raises(tc.InputError, match="line 3: .*no variable 'vv'"):
        of_records(tmp_path, table='"r""s"|"vv"')
    with pytest.raises(
        tc.InputError, match=r"m.rda, line 5: .* is '@', but .*r.hrc begin with '#'"
    ):
        of_records(tmp_path)
    (tmp_path / "r.hrc").write_text("N\n@N1\n@N2\n")
    assert of_records(tmp_path).exit_code == 0


def test_what_a_batch_cannot_join_or_weigh_is_said_in_its_words(tmp_path):
    (tmp_path / "r.hrc").write_text("N\n@N1\n@N2\n")
    second = '<SPECIFYTABLE> "r""s"|"w"\n<SAFETYRULE> FREQ(3,20)\n'
    with pytest.raises(tc.InputError, match="line 8: Table 0 joins .* of one response.* v and w"):
        of_records(tmp_path, more=second)
    holdings = "NK(0,0)|NK(0,0)|NK(1,75)|WGT(1)"
    with pytest.raises(tc.InputError, match=r"line 4: .*NK.1,75.*Take WGT.0., or drop the hold"):
        of_records(tmp_path, rules=holdings)


def test_a_line_with_a_field_too_many_is_named_with_its_fields(tmp_path):
    (tmp_path / "m.asc").write_text("a;1\n;b;2\nc;3\n")
    metadata = tmp_path / "m.rda"
    metadata.write_text('<SEPARATOR> ";"\nr 1\n<RECODEABLE>\nv 2\n<NUMERIC>\n')
    with pytest.raises(tc.InputError, match="line 2: 3 fields, but m.rda describes 2 variables"):
        read_microdata(read_metadata(metadata), tmp_path / "m.asc", ["r", "v"])
    (tmp_path / "m.asc").write_text("a;1\n;2\n")
    with pytest.raises(tc.InputError, match=r"line 2: it has no 'r' \(field 1\)"):
        read_microdata(read_metadata(metadata), tmp_path / "m.asc", ["r", "v"])
    # What each line has beyond the description is no mistake of one line.
    (tmp_path / "m.asc").write_text("a;1;x\nb;2;y\n")
    assert len(read_microdata(read_metadata(metadata), tmp_path / "m.asc", ["r", "v"])[0]) == 2


def test_a_later_batch_finds_what_an_earlier_one_wrote_inside_its_out(tmp_path, folder):
    inside = tmp_path / "out" / "internal"
    inside.mkdir(parents=True)
    for path in list(folder.glob("*.*")):
        path.rename(inside / path.name)
    head = '<OPENTABLEDATA> "shops.tab"\n<OPENMETADATA> "shops.rda"\n'
    (folder / "job.arb").write_text(f'{head}<SPECIFYTABLE> "Town""Kind"|"Sales"\n{READ}')
    assert len(run_batch(folder / "job.arb", tmp_path / "out").problems) == 1
    with pytest.raises(tc.InputError, match="shops.tab: .*not exist, nor in .*internal"):
        run_batch(folder / "job.arb")

"""SUPPRESS: every number is used, named as not applied, or refused."""

from __future__ import annotations

import numpy as np
import pytest

import tablecloak as tc
from shops import run, write_shops
from tablecloak.argus import run_batch

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
    with pytest.raises(tc.InputError, match="line 6: The base 3 is too small .* Take 4 or more"):
        rounded(folder, "(1,3)")


def test_rounding_names_what_it_does_in_another_way(folder):
    result = rounded(folder, "(1,10,1,1,1,1,1)")
    assert any("not needed: partitions" in line for line in result.log)
    assert [line.split(": ")[2] for line in result.not_applied] == ["stop at the first rounding"]
    assert np.all(result.tables[0].values % 10 == 0)

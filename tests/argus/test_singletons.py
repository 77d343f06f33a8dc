"""Sums of primaries in a row are protected as virtual cells, as MOD and GH ask for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.argus import run_batch
from tablecloak.argus.methods import with_virtual_cells


def table(counts: list[int]) -> tc.ProtectionProblem:
    """One row of cells below a total, by their numbers of contributors."""
    values = [10.0 * (at + 1) for at in range(len(counts))]
    frame = pd.DataFrame(
        {
            "a": ["Total", *(f"a{at}" for at in range(len(counts)))],
            "value": [sum(values), *values],
            "n": [sum(counts), *counts],
        }
    )
    found = tc.Table.from_frame(frame, ["a"], "value", frequency="n")
    return found.protect(tc.MinimumFrequency(4, 20))


@pytest.mark.parametrize(
    ("counts", "options", "n_new"),
    [
        ([1, 1, 9, 9], {"single": True}, 1),
        ([1, 1, 9, 9], {"multiple": True}, 0),
        ([1, 3, 9, 9], {"multiple": True}, 1),
        ([1, 3, 9, 9], {"single": True}, 0),
        ([1, 1, 1, 9], {"single": True, "multiple": True}, 0),
        ([1, 1, 1, 9], {"minimum": 4}, 1),
        ([2, 2, 9, 9], {"minimum": 4}, 0),
        ([3, 9, 9, 9], {"minimum": 4, "single": True, "multiple": True}, 0),
    ],
)
def test_which_sums_become_virtual_cells(counts, options, n_new):
    problem = table(counts)
    given = {"single": False, "multiple": False, "minimum": 0, **options}
    found = with_virtual_cells(problem, decimals=1, **given).problem
    assert found.table.n_cells - problem.table.n_cells == n_new
    for at in range(problem.table.n_cells, found.table.n_cells):
        parts = problem.sensitive
        assert found.table.values[at] == problem.table.values[parts].sum()
        assert found.status[at] == "u"
        assert (found.lower_protection[at], found.upper_protection[at]) == (0, 0.1)


def test_a_sum_that_only_hides_its_parts_is_disclosed_without_virtual_cells():
    problem = table([1, 1, 9, 9])
    plain = tc.suppress(problem, time_limit=5)
    assert plain.suppressed.sum() == 2
    more = with_virtual_cells(problem, single=True, multiple=False, minimum=0, decimals=1).problem
    found = tc.suppress(more, time_limit=5).suppressed[: problem.table.n_cells]
    # A third cell: the two contributors cannot compute each other by subtraction.
    assert found.sum() == 3
    assert np.all(found[problem.sensitive])


TABLE = "Total;52;13;S\na1;10;1;U\na2;12;1;U\na3;14;5;S\na4;16;6;S\n"
RDA = '<SEPARATOR> ";"\na\n<RECODEABLE>\nv\n<NUMERIC>\nn\n<FREQUENCY>\ns\n<STATUS>\n'


@pytest.mark.parametrize(
    ("method", "n_hidden"),
    [
        ("MOD(1,1,0,0,0)", 2),
        ("MOD(1,1,1,0,0)", 3),
        ("MOD(1,1,0,1,0)", 2),
        ("GH(1,200,0,1)", 3),
        ("GH(1,200,0,0)", 2),
        ("OPT(1,1)", 2),
    ],
)
def test_batches_on_tables_protect_single_contributors_as_asked(tmp_path, method, n_hidden):
    (tmp_path / "t.tab").write_text(TABLE)
    (tmp_path / "t.rda").write_text(RDA)
    batch = (
        '<OPENTABLEDATA> "t.tab"\n<OPENMETADATA> "t.rda"\n<SPECIFYTABLE> "a"|"v"\n'
        f"<READTABLE> 0\n<SUPPRESS> {method}\n"
    )
    (tmp_path / "t.arb").write_text(batch)
    result = run_batch(tmp_path / "t.arb", time_limit=5)
    assert result.tables[0].suppressed.sum() == n_hidden
    assert result.exit_code == 0
    if n_hidden == 3:
        (tmp_path / "t.rda").write_text(RDA.replace("<FREQUENCY>", "<NUMERIC>"))
        with pytest.raises(tc.InputError, match="line 5: Single contributors are to be protected"):
            run_batch(tmp_path / "t.arb", time_limit=5)

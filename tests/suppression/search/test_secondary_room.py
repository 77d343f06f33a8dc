"""Secondary cells that must have room: attacked one by one, by programs that know no search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from naive_attacks import exposed, intervals_of
from random_tables import random_problem
from tablecloak.cli.main import app
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.sums import Groups

ROOM = Groups(secondary_room=20)


def narrow(problem: tc.ProtectionProblem, pattern: SuppressionPattern) -> int:
    """How many hidden cells cannot move by 20 % of their value, or by their levels."""
    n, values = problem.table.n_cells, np.abs(problem.table.values)
    hidden = pattern.suppressed[:n]
    second = hidden & ~problem.sensitive & (values > 0)
    room = np.where(second, 0.2 * values, 0.0)
    asked = problem.with_changes(
        status=np.where(second, "u", problem.status),
        lower_protection=np.maximum(
            problem.lower_protection, np.minimum(room, problem.table.values - problem.lower_bound)
        ),
        upper_protection=np.maximum(
            problem.upper_protection, np.minimum(room, problem.upper_bound - problem.table.values)
        ),
    )
    return len(exposed(asked, *intervals_of(asked, hidden)))


def test_every_hidden_cell_has_room_and_no_pattern_is_called_optimal_too_early():
    before = 0
    for seed in range(4):
        problem = random_problem(seed)
        plain = tc.suppress(problem, method="exact", time_limit=5)
        pattern = tc.suppress(problem, method="exact", groups=ROOM, time_limit=5)
        before += narrow(problem, plain)
        assert narrow(problem, pattern) == 0
        # What the second search hides, another pattern might publish.
        assert plain.is_optimal
        assert pattern.bound <= plain.loss <= pattern.loss + 1e-9
    assert before > 0


def test_the_room_of_secondary_cells_is_in_the_certificate(tmp_path):
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "table.jj")
    table, proof, out = (str(tmp_path / name) for name in ("table.jj", "proof.npz", "out.csv"))
    words = ["suppress", table, "-o", out, "--certificate", proof, "--secondary-room", "20"]
    assert CliRunner().invoke(app, words).exit_code == 0
    proved = CliRunner().invoke(app, ["verify", proof, table])
    assert proved.exit_code == 0, proved.output
    assert "7 hidden cells of the problem file have further levels" in proved.output


def test_a_room_that_is_no_percentage_is_refused():
    with pytest.raises(tc.InputError, match="percentage from 0 to 100"):
        Groups(secondary_room=120)
    with pytest.raises(tc.InputError, match="must be rules"):
        replace(ROOM, secondary_room=0)

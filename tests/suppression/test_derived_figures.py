"""Totals and derived figures are protected together; an intruder of the tests reads the digits."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import tablecloak as tc
from ratio_systems import System, altered, exposed, interval, optimum, random_system
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate
from tablecloak.solve.exact import NullSpace
from tablecloak.suppression.system.figure_paths import FiguresOfTotals
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.suppression.system.system import System as CellSystem
from tablecloak.tables.keys import are_derived

SEEDS = range(5)


@cache
def system_of(seed: int) -> System:
    return random_system(seed)


@cache
def apart(seed: int) -> np.ndarray:
    """Cells hidden by somebody who does not think of the figures."""
    return tc.suppress(system_of(seed).bare, method="sequential", time_limit=0.3).suppressed


@cache
def together(seed: int) -> tc.SuppressionPattern:
    return tc.suppress(system_of(seed).problem, method="sequential", time_limit=0.3)


def exposed_in(system: System, hidden: np.ndarray) -> list[int]:
    return exposed(system.bare, hidden[: system.bare.table.n_cells], system.told(hidden))


def test_tables_protected_without_their_figures_are_attacked_and_with_them_are_not():
    n_apart = n_figures = 0
    for seed in SEEDS:
        system = system_of(seed)
        n_apart += len(exposed(system.bare, apart(seed), system.printed))
        assert exposed_in(system, together(seed).suppressed) == []
        n_figures += len(system.printed)
    assert n_apart >= 7
    assert n_figures >= 50


@pytest.mark.parametrize("seed", [0, 1, 3, 4, 25])
def test_the_best_choice_of_totals_and_figures_is_that_of_enumeration(seed):
    """In the system of seed 25 a growth rate lies halfway between two printed ones."""
    system = random_system(seed, (3,), 1)
    pattern = tc.suppress(system.problem, method="exact", time_limit=20)
    assert pattern.is_optimal
    assert pattern.loss == pytest.approx(optimum(system))
    assert exposed_in(system, pattern.suppressed) == []


def test_an_audit_finds_what_the_digits_tell_and_how_far():
    n_attacked = 0
    for seed in SEEDS:
        system, shown = system_of(seed), ~apart(seed)
        hidden = np.append(~shown, system.problem.forced[len(shown) :])
        audit = tc.audit(system.problem, hidden, detail="intervals")
        assert audit.is_safe == (not exposed(system.bare, ~shown, system.printed))
        values = system.problem.table.values[audit.needs.cells]
        for row, cell in enumerate(audit.needs.cells.tolist()):
            low, high = interval(system.bare, ~shown, system.printed, cell)
            assert values[row] - audit.below[row] == pytest.approx(low, rel=1e-5, abs=1e-4)
            assert values[row] + audit.above[row] == pytest.approx(high, rel=1e-5, abs=1e-4)
        n_attacked += not audit.is_safe
    assert n_attacked >= 3


def test_figures_of_published_cells_are_published():
    n_shown = 0
    for seed in (0, 1, 3):
        system = random_system(seed, (3,), 1)
        hidden = tc.suppress(system.problem, method="exact", time_limit=20).suppressed
        shown = ~hidden[are_derived(system.problem.table.keys)]
        for figure, is_shown in zip(system.printed, shown, strict=True):
            if not hidden[figure.numerator] and not hidden[figure.denominator]:
                assert is_shown
                n_shown += 1
    assert n_shown >= 4


def test_a_frozen_figure_is_published_and_totals_are_hidden_for_it():
    system = random_system(3)
    figure = system.figures[0]
    frozen = tc.with_derived(
        system.bare, [type(figure)("x / y", decimals=figure.decimals, frozen=True)]
    )
    pattern = tc.suppress(frozen, method="sequential", time_limit=0.5)
    assert not np.any(pattern.suppressed & are_derived(frozen.table.keys))
    n = system.bare.table.n_cells
    assert exposed(system.bare, pattern.suppressed[:n], system.printed) == []


def test_a_ratio_with_many_digits_gives_a_hidden_cell_beside_a_published_one_away():
    """r = x / y with y published: x is known to d/2 y, whatever the table hides."""
    system = random_system(0)
    n = system.bare.table.n_cells
    figures = [tc.Ratio("x / y", decimals=4)]
    problem = tc.with_derived(system.bare, figures)
    hidden = problem.forced | (problem.table.keys["variable"] == "x").to_numpy()
    audit = tc.audit(problem, hidden, detail="intervals")
    assert not audit.is_safe
    below = system.bare.table.values[n // 2 :]
    assert np.all(audit.above + audit.below <= 1e-4 * below.max() * (1 + 1e-6))


def files_of(pattern: tc.SuppressionPattern, folder: Path) -> tuple[Path, Path]:
    certificate, problem = folder / "certificate.npz", folder / "problem.jj"
    write_certificate(pattern, certificate)
    tc.write_jj(pattern.problem, problem)
    return certificate, problem


def is_believed(certificate: Path, problem: Path) -> bool:
    return verifier.main([str(certificate), str(problem)]) == 0


def test_certificates_of_figures_are_believed_and_altered_ones_are_not_unless_true(tmp_path):
    n_refused = n_altered = 0
    for seed in range(3):
        system = system_of(seed)
        certificate, problem = files_of(together(seed), tmp_path)
        assert is_believed(certificate, problem)
        arrays = dict(np.load(certificate))
        random = np.random.default_rng(seed)
        for _ in range(25):
            forged = altered(arrays, system, random)
            np.savez(tmp_path / "altered.npz", **forged)
            n_altered += 1
            if not is_believed(tmp_path / "altered.npz", problem):
                n_refused += 1
                continue
            assert exposed_in(system, forged["suppressed"].astype(bool)) == []
    assert n_altered == 75
    assert n_refused >= 50


def test_every_figure_follows_a_deviation_of_the_totals():
    """Ratios, and means, whose denominators are numbers: their rows hold exactly afterwards."""
    records = tc.examples.businesses()
    problem = tc.tabulate(records, ["region", "industry"], "turnover", contributor="business")
    system = random_system(2)
    means = tc.with_derived(problem.protect(tc.PPercent(10)), [tc.Average("turnover")])
    for beside, n_figures in ((system.problem, len(system.printed)), (means, problem.n_cells)):
        needs = needs_of(beside, Requirement.TWO_SIDED)
        whole = CellSystem.of(beside, needs, ~beside.frozen)
        totals = FiguresOfTotals.of(whole)
        moves = NullSpace(*_entries(totals.part), np.zeros(len(totals.totals), dtype=bool)).near(
            np.random.default_rng(1).integers(-2, 3, len(totals.totals)).astype(float)
        )
        cells, moved = totals.completed(
            np.flatnonzero(moves), moves[moves != 0], np.zeros(whole.n_unknown), symmetric=False
        )
        assert len({int(cell) for cell in cells[whole.rooms[cells]]}) <= 2 * n_figures
        deviation = np.zeros(whole.n_unknown)
        deviation[cells] = moved
        assert np.any(deviation[whole.rooms])
        assert np.max(np.abs(whole.matrix @ deviation)) <= 1e-6 * np.max(np.abs(deviation))


def _entries(part: CellSystem):
    entries = part.matrix.tocoo()
    return (*(each.astype(np.int64) for each in entries.coords), entries.data)

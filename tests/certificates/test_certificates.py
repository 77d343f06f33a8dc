"""Certificates: true ones pass, altered ones are refused, and releases hold no secret."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import tablecloak as tc
from tablecloak.budget import Budget
from tablecloak.certificates.file import write_certificate
from tablecloak.phases import Phase
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.proof.witness import WitnessPool
from tablecloak.suppression.search.exact import look_at_root, search_whole_tree
from tablecloak.suppression.search.portfolio import try_strategies
from tablecloak.suppression.system.needs import needs_of
from tablecloak.suppression.system.system import System


@pytest.fixture(scope="module")
def pattern() -> tc.SuppressionPattern:
    return tc.suppress(tc.examples.cox_rounded())


def test_verification_measures_no_error_for_whole_numbers(pattern):
    measured = pattern.verify()
    assert measured.checked == 7
    assert measured.relations == 0
    assert measured.bounds == 0


def test_each_single_altered_number_of_a_witness_is_refused(pattern):
    certificate = pattern.certificate
    for position in range(certificate.deviations.nnz):
        deviations = certificate.deviations.copy()
        deviations.data[position] += 1.0
        with pytest.raises(tc.VerificationError):
            replace(certificate, deviations=deviations).verify()


def test_certificate_of_a_pattern_with_one_published_cell_more_is_refused(pattern):
    for cell in np.flatnonzero(pattern.suppressed):
        suppressed = pattern.suppressed.copy()
        suppressed[cell] = False
        with pytest.raises(tc.VerificationError):
            replace(pattern.certificate, suppressed=suppressed).verify()


def test_witness_entries_that_cancel_are_refused(pattern):
    """Each is within its bound and reaches a level; together they move nothing."""
    certificate, n = pattern.certificate, pattern.problem.table.n_cells
    cells = np.flatnonzero(pattern.problem.sensitive)
    far = pattern.problem.upper_protection[cells]
    deviations = csr_array(
        (np.stack([far, -far], axis=1).reshape(-1), np.repeat(cells, 2), [0, 2 * len(cells)]),
        shape=(1, n),
    )
    assert deviations.nnz == 2 * len(cells)
    first = np.zeros(len(cells), dtype=np.int64)
    with pytest.raises(tc.VerificationError):
        replace(
            certificate, deviations=deviations, upper_witness=first, lower_witness=first
        ).verify()


def test_witness_entries_outside_a_bound_are_refused_in_whatever_parts_they_come(pattern):
    """Parts of a move stay within a bound that the whole move breaks."""
    problem = pattern.problem
    moved = abs(pattern.certificate.deviations).max(axis=0).toarray().reshape(-1)
    cell = int(np.argmax(moved))
    narrow = problem.lower_bound.copy(), problem.upper_bound.copy()
    narrow[0][cell] = problem.table.values[cell] - 0.6 * moved[cell]
    narrow[1][cell] = problem.table.values[cell] + 0.6 * moved[cell]
    narrower = problem.with_changes(lower_bound=narrow[0], upper_bound=narrow[1])
    whole = pattern.certificate.deviations
    halves = csr_array(
        (np.repeat(whole.data / 2, 2), np.repeat(whole.indices, 2), 2 * whole.indptr),
        shape=whole.shape,
    )
    assert halves.nnz == 2 * whole.nnz
    replace(pattern.certificate, deviations=halves.copy()).verify()
    with pytest.raises(tc.VerificationError):
        replace(pattern.certificate, problem=narrower, deviations=halves.copy()).verify()


def test_certificate_with_missing_witnesses_is_refused(pattern):
    certificate = pattern.certificate
    truth = np.full_like(certificate.upper_witness, -1)
    with pytest.raises(tc.VerificationError, match="not proved to be protected"):
        replace(certificate, upper_witness=truth).verify()
    with pytest.raises(tc.VerificationError, match="does not hold"):
        replace(certificate, upper_witness=truth + 10_000).verify()


def test_bound_that_is_claimed_too_high_is_refused(pattern):
    with pytest.raises(tc.VerificationError, match="is claimed, but only 3076 is proved"):
        replace(pattern, bound=3077.0).verify()


@pytest.fixture
def tree_alone(monkeypatch):
    """Branch and bound as the only proof: rows mostly settle a small table before it."""
    phases = (Phase(try_strategies), Phase(look_at_root), Phase(search_whole_tree))
    monkeypatch.setattr("tablecloak.suppression.search.methods.exact.EXACT_SMALL", phases)


@pytest.mark.usefixtures("tree_alone")
def test_bound_is_not_proved_without_the_leaves_of_its_tree():
    pattern = tc.suppress(tc.examples.cox_rounded(), method="exact")
    pattern.verify()
    tree = pattern.bound_certificate.tree
    assert len(tree.nodes) > 1
    cut = replace(tree, nodes=tree.nodes[:-1])
    proof = replace(pattern.bound_certificate, tree=cut)
    with pytest.raises(tc.VerificationError, match="is claimed, but only"):
        replace(pattern, bound_certificate=proof).verify()


def test_every_secondary_of_the_optimum_is_needed(pattern):
    for cell in np.flatnonzero(pattern.secondary):
        suppressed = pattern.suppressed.copy()
        suppressed[cell] = False
        found = tc.audit(pattern.problem, suppressed)
        assert not found.is_safe
        assert found.count(tc.Verdict.ATTACKABLE) > 0
        assert found.count(tc.Verdict.UNDECIDED) == 0


def test_release_tells_nothing_of_hidden_values(pattern):
    released = pattern.release()
    hidden = released[released["status"] == "suppressed"]
    assert len(hidden) == 12
    assert hidden.drop(columns=["status"]).iloc[:, -1].isna().all()
    assert "primary" not in released.to_csv()


def test_sliding_levels_ask_for_width():
    problem = tc.examples.cox_rounded()
    width = np.where(problem.sensitive, 3 * problem.upper_protection, 0)
    wider = problem.with_changes(sliding_protection=width)
    pattern = tc.suppress(wider)
    found = tc.audit(wider, pattern, detail="intervals")
    reached = found.above + found.below
    assert np.all(reached >= 3 * problem.upper_protection[problem.sensitive] - 1e-6)


def test_interruption_keeps_the_best_proved_pattern():
    calls = []

    def interrupt(stage: str, *_: object) -> None:
        calls.append(stage)
        if stage == "branch and bound":
            raise KeyboardInterrupt

    pattern = tc.suppress(tc.examples.cox_rounded(), progress=interrupt)
    pattern.verify()
    assert "branch and bound" in calls


@pytest.mark.parametrize("threads", [1, 2])
def test_interruption_of_the_improvement_ends_the_search(threads):
    stages = []

    def interrupt(stage: str, *_: object) -> None:
        stages.append(stage)
        if stage == "exchanging":
            raise KeyboardInterrupt

    pattern = tc.suppress(tc.examples.cox_rounded(), threads=threads, progress=interrupt)
    pattern.verify()
    assert stages[-1] == "exchanging"
    assert pattern.bound_certificate is None
    assert "no bound" in pattern.summary()


def test_interruption_before_any_proof_is_an_error_and_no_pattern():
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(tc.SolverError, match="before any pattern was proved"):
        tc.suppress(tc.examples.cox_rounded(), progress=interrupt)


@pytest.mark.parametrize("method", ["sequential", "exact"])
def test_same_seed_gives_the_same_pattern_for_any_number_of_threads(method):
    problem = tc.examples.cox_rounded()
    one, other = (tc.suppress(problem, method=method, seed=5, threads=count) for count in (1, 3))
    assert np.array_equal(one.suppressed, other.suppressed)
    assert one.bound == other.bound


VERIFIER = Path(tc.__file__).parent / "certificates" / "verifier.py"


def run_verifier(*arguments: Path) -> tuple[int, str]:
    """Run the stand-alone verifier as a stranger who has that one file."""
    assert "tablecloak" not in [line.split()[1] for line in VERIFIER.read_text().splitlines()
                                if line.startswith(("import ", "from "))]  # fmt: skip
    command = [sys.executable, "-I", str(VERIFIER), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def insider_certificate():
    """A pattern that is safe against every contributor, so that the file holds insiders."""
    random = np.random.default_rng(4)
    frame = pd.DataFrame(
        [
            (f"r{r}", f"c{c}", f"f{r}{c}{k}", float(random.integers(20, 90)))
            for r in range(4)
            for c in range(4)
            for k in range(1 if r == c else 3)
        ],
        columns=["r", "c", "firm", "v"],
    )
    table = tc.tabulate(frame, ["r", "c"], "v", contributor="firm")
    problem = table.protect(tc.MinimumFrequency(2, range=150))
    found = tc.audit(problem, ~problem.frozen, intruders=["contributors", "pairs", "zeros"])
    assert found.is_safe
    return found.certificate()


def different_insiders(certificate: ProtectionCertificate) -> int:
    """Number of insiders who know different things."""
    known = [claim.knowledge for claim in certificate.insiders]
    return len({(k.cells.tobytes(), k.lower.tobytes(), k.upper.tobytes()) for k in known})


def test_stand_alone_verifier_accepts_true_certificates(pattern, insider_certificate, tmp_path):
    write_certificate(pattern.certificate, tmp_path / "c.npz")
    tc.write_jj(pattern.problem, tmp_path / "p.jj")
    answer = run_verifier(tmp_path / "c.npz", tmp_path / "p.jj")
    assert answer[0] == 0
    assert answer[1].startswith("PROVED: 7 sensitive cells, two-sided: ")
    write_certificate(insider_certificate, tmp_path / "i.npz")
    code, text = run_verifier(tmp_path / "i.npz")
    assert code == 0
    assert f"{different_insiders(insider_certificate)} different insiders" in text
    assert different_insiders(insider_certificate) > 4


def test_stand_alone_verifier_refuses_another_problem(pattern, tmp_path):
    write_certificate(pattern.certificate, tmp_path / "c.npz")
    values = pattern.problem.upper_protection + pattern.problem.sensitive
    other = pattern.problem.with_changes(upper_protection=values)
    tc.write_jj(other, tmp_path / "p.jj")
    assert run_verifier(tmp_path / "c.npz", tmp_path / "p.jj")[0] == 1


CHANGES = ["witness_data", "upper_witness", "lower_witness", "suppressed", "values", "lower_bound",
           "upper_bound", "upper_protection", "lower_protection", "status", "intruder_lower",
           "claim_upper", "right_hand_side"]  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_stand_alone_verifier_refuses_altered_numbers(insider_certificate, tmp_path, name):
    """Each change is one that no longer supports the claim; most single ones are refused."""
    path = tmp_path / "c.npz"
    write_certificate(insider_certificate, path)
    with np.load(path) as file:
        data = {key: file[key].copy() for key in file.files}
    entries, sensitive = data[name], np.flatnonzero(data["status"] == "u")
    at = {"upper_bound": sensitive[0], "lower_bound": sensitive[0], "suppressed": sensitive[0],
          "upper_protection": sensitive[0], "lower_protection": sensitive[0],
          "values": 0, "status": 0}.get(name, 0)  # fmt: skip
    if name == "status":
        entries[at] = "z"
    elif name == "suppressed":
        entries[at] = False
    elif name in ("upper_witness", "lower_witness", "claim_upper"):
        assert np.any(entries >= 0)
        entries[:] = -1
    elif name == "upper_bound" or name == "lower_bound":
        entries[at] = data["values"][at]
    elif name in ("upper_protection", "lower_protection"):
        entries[at] *= 1e6
    else:
        entries[at] += 1000.0
    np.savez(path, **data)
    code, text = run_verifier(path)
    assert code == 1
    assert text.startswith("REFUSED: ")


def test_unsafe_patterns_get_no_certificate_file(pattern, tmp_path):
    found = tc.audit(pattern.problem, pattern.problem.sensitive)
    with pytest.raises(tc.VerificationError):
        write_certificate(found.certificate(), tmp_path / "c.npz")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("tree_alone")
def test_bound_is_proved_as_well_when_rows_are_dropped_on_the_way(monkeypatch):
    problem = tc.examples.cox_rounded()
    whole = tc.suppress(problem, method="exact")
    monkeypatch.setattr("tablecloak.solve.branch.PURGED_ROWS", 5)
    sparing = tc.suppress(problem, method="exact")
    assert sparing.is_optimal
    assert sparing.bound == whole.bound == 3076
    sparing.verify()
    assert len(sparing.bound_certificate.rows) < len(whole.bound_certificate.rows)


def test_one_need_looked_up_alone_is_as_open_as_among_all():
    problem = tc.examples.cox_rounded()
    system = System.of(problem, needs_of(problem, "two-sided"), ~problem.frozen)
    pool, attack = WitnessPool(system), Attack(system)
    seen = set()
    for cell in system.needs.cells:
        pool.add(attack.extreme(int(cell), 1, enough=30.0).deviation, Budget.of())
        for index in range(len(system.needs.cells)):
            assert pool.is_open(index) == pool.open[index]
            assert (pool.lacks(index, 1), pool.lacks(index, -1)) == tuple(
                side[index] for side in pool.open_sides()
            )
            seen.add((pool.lacks(index, 1), pool.lacks(index, -1)))
    assert len(seen) > 1

"""Requirements and distances that the verifier does not know: their claims are never proved."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.certificates.claim import UnknownClaimError
from tablecloak.certificates.file import write_certificate
from tablecloak.cli.main import app
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.suppression.system.requirement import REQUIREMENTS, Requirement


class Lower(Requirement):
    """Far enough below the true value, and no more."""

    name: ClassVar[str] = "lower"

    def distances(self, problem: Any, cells: Any) -> Any:
        return np.zeros(len(cells)), problem.lower_protection[cells], np.zeros(len(cells))


class CityBlock(L1):
    """The sum of weighted changes, under another name."""

    name: ClassVar[str] = "city-block"


class Steep(L1):
    """Measured in another way than it is searched, and than its base class is proved."""

    name: ClassVar[str] = "steep"

    def loss(self, weights: Any, changes: Any) -> float:
        return 1 + 2 * super().loss(weights, changes)


@pytest.fixture
def cox(tmp_path):
    path = tmp_path / "cox.jj"
    tc.write_problem(tc.examples.cox_rounded(), path)
    return path


def verdict(proof, *original) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["verify", str(proof), *map(str, original)])
    return done.exit_code, done.output


@pytest.mark.parametrize("command", ["suppress", "intervals"])
def test_a_requirement_without_a_check_is_named_and_never_proved(command, cox, tmp_path):
    proof = tmp_path / "proof.npz"
    words = [command, str(cox), "-o", str(tmp_path / "out.csv"), "--certificate", str(proof)]
    with REQUIREMENTS.including(Lower):
        done = CliRunner().invoke(app, [*words, "--require", "lower"])
        assert done.exit_code == 0, done.output
    for original in ([], [cox]):
        code, text = verdict(proof, *original)
        assert code == 1
        assert text.startswith("REFUSED: unknown requirement ")
        assert "lower" in text
        assert "the claim of protection is not proved, nor one of a bound" in text


def test_the_bound_of_a_requirement_without_a_check_is_proved_for_the_levels_that_it_asks_for():
    problem = tc.examples.cox_rounded()
    with REQUIREMENTS.including(Lower):
        pattern = tc.suppress(problem, require="lower")
        assert pattern.is_optimal
        assert pattern.verify().checked == 7
        with pytest.raises(tc.VerificationError, match="is claimed, but only"):
            replace(pattern, bound=pattern.bound + 1).verify()
        for claim in pattern.certificates:
            with pytest.raises(UnknownClaimError, match="unknown requirement 'lower'"):
                claim.verify(problem)


def test_a_distance_without_a_check_is_named_and_never_proved(cox, tmp_path):
    proof = tmp_path / "proof.npz"
    words = ["adjust", str(cox), "-o", str(tmp_path / "out.csv"), "--certificate", str(proof)]
    with DISTANCES.including(CityBlock):
        done = CliRunner().invoke(app, [*words, "--distance", "city-block"])
        assert done.exit_code == 0, done.output
        adjusted = tc.adjust(tc.examples.cox_rounded(), distance="city-block")
    for original in ([], [cox]):
        code, text = verdict(proof, *original)
        assert code == 1
        assert text.startswith("REFUSED: unknown measure ")
        assert "city-block" in text
        assert "the claims of a loss and of a bound on it are not proved" in text
    with DISTANCES.including(CityBlock):
        # What does not depend on the distance is proved, claim by claim.
        known = {claim.kind: claim for claim in adjusted.certificates}
        assert list(known) == ["protection", "additivity", "loss", "bound"]
        for kind in ("protection", "additivity"):
            assert known[kind].verify(adjusted.problem)[0].startswith("PROVED: ")
        for kind in ("loss", "bound"):
            with pytest.raises(UnknownClaimError, match="unknown measure 'city-block'"):
                known[kind].verify(adjusted.problem)


def test_a_false_claim_is_not_written_beside_one_without_a_check(tmp_path):
    with DISTANCES.including(CityBlock):
        adjusted = tc.adjust(tc.examples.cox_rounded(), distance="city-block")
        true = adjusted.problem.table.values
        false = replace(adjusted, values=true.copy(), bound_certificate=None)
        with pytest.raises(tc.VerificationError, match="too near to the truth"):
            write_certificate(false, tmp_path / "proof.npz")
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_proved_of_a_loss_that_is_measured_in_another_way_than_it_is_named_after():
    with DISTANCES.including(Steep):
        adjusted = tc.adjust(tc.examples.cox_rounded(), distance="steep")
        assert adjusted.bound == 0
        adjusted.verify()
    with DISTANCES.including(CityBlock):
        assert tc.adjust(tc.examples.cox_rounded(), distance="city-block").is_optimal


JOB = """
[data]
file = "sales.csv"
value = "sales"
[dimensions.town]
[dimensions.kind]
[[rules]]
rule = "minimum-frequency"
minimum = 2
range = 20
[suppression]
require = "lower"
time_limit = 5
[adjustment]
distance = "city-block"
time_limit = 5
[output]
report = false
"""


def test_a_job_with_guests_keeps_certificates_that_are_never_proved(tmp_path):
    frame = pd.DataFrame(
        {"town": [*"aabbcc"], "kind": [*"xyxyxy"], "sales": [7, 60, 80, 9, 55, 65]}
    )
    frame.to_csv(tmp_path / "sales.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    with REQUIREMENTS.including(Lower), DISTANCES.including(CityBlock):
        tc.run_job(tmp_path / "job.toml", tmp_path / "out")
    for release, unknown in (("suppression", "requirement"), ("adjustment", "measure")):
        code, text = verdict(tmp_path / "out" / "internal" / f"{release}_certificate.npz")
        assert code == 1
        assert text.startswith(f"REFUSED: unknown {unknown} ")

"""Every benchmark of the project runs once on its smallest instance, without timing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.claims import claims_in
from bench.measure import smoke

ROOT = Path(__file__).parents[2]
CLAIMS = claims_in(ROOT / "benchmarks" / "claims")


@pytest.mark.filterwarnings("ignore::tablecloak.microdata.TellingColumnWarning")
@pytest.mark.parametrize("name", CLAIMS)
def test_every_method_of_a_claim_answers_on_the_smallest_instance(name):
    claim = CLAIMS[name]
    found = smoke(claim)
    assert list(found) == [method.name for method in claim.methods]
    json.dumps(found)
    told = set().union(*found.values())
    assert told & {column.figure for column in claim.columns}


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_has_instances_an_explanation_and_readers(name):
    claim = CLAIMS[name]
    assert all((ROOT / path).exists() for path in claim.said_in) and claim.said_in
    names = [instance.name for instance in claim.instances(None)]
    assert names and len(names) == len(set(names))
    assert claim.text.endswith(".") and claim.clock in ("processor", "wall")

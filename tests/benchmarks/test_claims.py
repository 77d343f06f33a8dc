"""A claim is one file; whoever adds one has to touch nothing else."""

from __future__ import annotations

import pytest

import tablecloak as tc
from bench.claims import chosen, claims_in

TOY = """
from shared_by_claims import DOUBLED
from bench.claims import Claim, Column, Instance, Method

CLAIM = Claim(
    name="toy", title="Toy", text="A toy.", said_in=(),
    methods=(Method("double", lambda number, setting: {"twice": DOUBLED * number}),),
    instances=lambda folder: [Instance("three", lambda: 3)],
    smallest=Instance("one", lambda: 1), columns=(Column("twice", "twice", ",d"),),
)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "shared_by_claims.py").write_text("DOUBLED = 2\n")
    (tmp_path / "claims").mkdir()
    (tmp_path / "claims" / "toy.py").write_text(TOY)
    return tmp_path / "claims"


def test_a_claim_is_found_by_its_file_and_may_use_modules_beside_the_folder(folder):
    claim = claims_in(folder)["toy"]
    assert claim.methods[0].run(5, None) == {"twice": 10}
    assert claim.limits == (60.0,) and claim.clock == "processor"


def test_a_file_without_a_claim_and_a_name_taken_twice_are_named(folder):
    (folder / "again.py").write_text(TOY)
    with pytest.raises(tc.InputError, match=r"toy\.py: the claim 'toy' stands in another file"):
        claims_in(folder)
    (folder / "again.py").write_text("CLAIM = 3\n")
    with pytest.raises(tc.InputError, match=r"again\.py: holds no constant `CLAIM`"):
        claims_in(folder)


def test_a_missing_folder_says_where_to_call_from(tmp_path):
    with pytest.raises(tc.InputError, match="from the root of the repository"):
        claims_in(tmp_path / "nowhere")


def test_a_misspelt_name_is_answered_by_the_likely_one():
    assert chosen("method", [], {"value": 1, "unit": 2}) == [1, 2]
    assert chosen("method", ["unit"], {"value": 1, "unit": 2}) == [2]
    with pytest.raises(tc.InputError, match="There is no method 'vlue'.*value"):
        chosen("method", ["vlue"], {"value": 1, "unit": 2})

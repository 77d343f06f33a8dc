"""The lines that tests/mutations.py breaks are still there, and so are the tests that notice."""

from __future__ import annotations

import pytest

from mutations import MUTATIONS, ROOT


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda each: each.file)
def test_a_line_that_is_broken_occurs_exactly_once(mutation):
    text = mutation.path.read_text(encoding="utf-8")
    assert mutation.broken(text) != text
    for test in mutation.tests:
        assert (ROOT / test.partition("::")[0]).exists()


def test_twenty_lines_are_broken_in_eight_rooms():
    assert len(MUTATIONS) >= 20
    rooms = {mutation.file.partition("/")[0] for mutation in MUTATIONS}
    assert rooms >= {
        "tables", "solve", "suppression", "cta", "certificates", "microdata", "publish", "argus",
    }  # fmt: skip


def test_a_line_that_has_gone_is_named():
    with pytest.raises(ValueError, match=r"has 0 times, not once: .*give the mutation"):
        MUTATIONS[0].broken("")

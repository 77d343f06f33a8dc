"""The recipes of docs/architecture.md work as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tablecloak.cta.search.distance import DISTANCES
from tablecloak.microdata.methods.method import METHODS
from tablecloak.solve.solver import SOLVERS
from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.rules.rule import RULES

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^### (To add .*?): .*?^```python\n(.*?)^```", PAGE, re.M | re.S))
REGISTRIES = [RULES, DISTANCES, INTRUDERS, FORMATS, SOLVERS, METHODS]


def test_there_are_six_recipes():
    assert len(RECIPES) == len(REGISTRIES) == 6


@pytest.mark.parametrize("title, registry", zip(RECIPES, REGISTRIES, strict=True))
def test_a_recipe_registers_one_thing_that_works(title, registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = set(registry.names)
    try:
        exec(compile(RECIPES[title], title, "exec", dont_inherit=True), {"__name__": "__main__"})
        assert len(set(registry.names) - before) == 1
    finally:
        for name in set(registry.names) - before:
            registry.forget(name)
    assert set(registry.names) == before

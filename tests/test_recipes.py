"""The recipes of docs/architecture.md work as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tablecloak.cta.search.distance import DISTANCES
from tablecloak.microdata.methods.method import METHODS
from tablecloak.protection import PROTECTIONS
from tablecloak.solve.solver import SOLVERS
from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.rules.rule import RULES

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^### (To add .*?): .*?^```python\n(.*?)^```", PAGE, re.M | re.S))
REGISTRIES = [PROTECTIONS, RULES, DISTANCES, INTRUDERS, FORMATS, SOLVERS, METHODS]
CLASSES = ["To add a change of a problem", "To add an attribute of a cell"]
"""What is no sibling of a registry, but a class on top of one that exists."""

SIBLINGS = [title for title in RECIPES if title not in CLASSES]


def test_there_are_nine_recipes():
    assert len(RECIPES) == len(REGISTRIES) + len(CLASSES) == 9


@pytest.mark.parametrize("title", CLASSES)
def test_a_recipe_for_a_class_works(title):
    exec(compile(RECIPES[title], title, "exec", dont_inherit=True), {"__name__": "__main__"})


@pytest.mark.parametrize("title, registry", zip(SIBLINGS, REGISTRIES, strict=True))
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

"""The recipes of docs/architecture.md work as they stand."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import tablecloak as tc
from tablecloak.cli.main import app
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.microdata.methods.method import METHODS
from tablecloak.protection import PROTECTIONS
from tablecloak.registry import Registry
from tablecloak.solve.solver import SOLVERS
from tablecloak.suppression.attack.intruder import INTRUDERS
from tablecloak.tables.formats.format import FORMATS
from tablecloak.tables.rules.rule import RULES

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
RECIPES = dict(re.findall(r"^### (To add [^\n:]*): .*?^```python\n(.*?)^```", PAGE, re.M | re.S))
REGISTRIES = [PROTECTIONS, RULES, DISTANCES, INTRUDERS, FORMATS, SOLVERS, METHODS]
CLASSES = ["To add a change of a problem", "To add an attribute of a cell"]
"""What is no sibling of a registry, but a class on top of one that exists."""

SIBLINGS = [title for title in RECIPES if title not in CLASSES]


def test_there_are_nine_recipes():
    assert len(RECIPES) == len(REGISTRIES) + len(CLASSES) == 9


def test_contributing_names_each_recipe_in_the_order_of_architecture():
    titles = re.findall(r"^### To add ([^\n:]*)", PAGE, re.M)
    told = " ".join((ROOT / "CONTRIBUTING.md").read_text("utf-8").split())
    assert f"most often added: {', '.join(titles)}. " in told


@pytest.mark.parametrize("title", RECIPES)
def test_a_recipe_ends_with_what_else_a_commit_touches(title):
    recipe = re.split(r"^##+ ", PAGE.split(f"### {title}: ")[1], maxsplit=1, flags=re.M)[0]
    always, proof = recipe.rstrip().split("\n\n")[-2:]
    assert always.startswith("*Also touch, always:* ")
    assert proof.startswith("*Also touch, to be proved:* ")


@pytest.mark.parametrize("title", CLASSES)
def test_a_recipe_for_a_class_works(title):
    exec(compile(RECIPES[title], title, "exec", dont_inherit=True), {"__name__": "__main__"})


@contextmanager
def followed(title: str, registry: Registry[Any]) -> Iterator[list[str]]:
    """Run a recipe, and yield the names that it registers, which are forgotten afterwards."""
    before = set(registry.names)
    try:
        exec(compile(RECIPES[title], title, "exec", dont_inherit=True), {"__name__": "__main__"})
        yield sorted(set(registry.names) - before)
    finally:
        for name in set(registry.names) - before:
            registry.forget(name)
    assert set(registry.names) == before


@pytest.mark.parametrize("title, registry", zip(SIBLINGS, REGISTRIES, strict=True))
def test_a_recipe_registers_one_thing_that_works(title, registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with followed(title, registry) as names:
        assert len(names) == 1


def test_the_command_of_the_way_in_its_recipe_writes_what_may_be_published(tmp_path):
    given, written = tmp_path / "cox.jj", tmp_path / "published.csv"
    tc.write_jj(tc.examples.cox_rounded(), given)
    with followed("To add a way to protect", PROTECTIONS) as names:
        words = [*names, str(given), "--share", "0.95", "-o", str(written)]
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "large only: " in done.output
    released = pd.read_csv(written)
    assert released.iloc[:, -2].isna().sum() == (released.status == "suppressed").sum() > 0

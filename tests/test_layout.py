"""The house keeps its shape: short functions, no circles."""

from __future__ import annotations

import ast
import os
from collections import defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import tablecloak
from tablecloak.protection import PROTECTIONS

ROOT = Path(tablecloak.__file__).parent

MOST_FUNCTION_LINES = 25
"""Lines without docstring that nine of ten functions keep to."""


@pytest.fixture(scope="module")
def trees() -> dict[str, ast.Module]:
    paths = sorted(ROOT.rglob("*.py"))
    assert len(paths) > 100
    return {str(path.relative_to(ROOT)): ast.parse(path.read_text("utf-8")) for path in paths}


def length(node: ast.AST) -> int:
    """Lines of a definition without its docstring."""
    body = node.body
    first = body[0]
    is_docstring = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    docstring = first.end_lineno - first.lineno + 1 if is_docstring else 0
    return node.end_lineno - node.lineno + 1 - docstring


def test_nine_of_ten_functions_are_short(trees):
    lengths = [
        length(node)
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert len(lengths) > 1000
    assert np.percentile(lengths, 90) <= MOST_FUNCTION_LINES


def name_of(path: str) -> str:
    return ".".join(("tablecloak", *Path(path).with_suffix("").parts)).removesuffix(".__init__")


def test_modules_and_folders_import_downwards_only_not_even_late_or_for_types(trees):
    files = {name_of(path): path for path in trees}
    rooms = defaultdict(nx.DiGraph)
    for path, tree in trees.items():
        for module in imports(tree, set(files)) - {"tablecloak", name_of(path)}:
            # What the paths of two modules share is a folder; in it their next parts are
            # neighbours, files or folders.
            one, other = Path(path).parts, Path(files[module]).parts
            shared = len(Path(os.path.commonpath([path, files[module]])).parts)
            rooms["/".join(one[:shared])].add_edge(one[shared], other[shared])
    assert len(rooms) > 20
    assert sum(room.number_of_edges() for room in rooms.values()) > 500
    knots = {
        name: knot
        for name, room in rooms.items()
        for knot in nx.strongly_connected_components(room)
        if len(knot) > 1
    }
    assert not knots


def imports(tree: ast.Module, modules: set[str]) -> set[str]:
    """Modules of ours that a module imports anywhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules else node.module)
    return found & modules


def test_only_the_budget_reads_the_clock(trees):
    readers = {
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in ("monotonic", "perf_counter")
    }
    assert readers == {"budget.py"}


def test_nothing_but_the_entry_catches_or_raises_an_interrupt(trees):
    users = {
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and node.id == "KeyboardInterrupt"
    }
    assert users == {"budget.py", "cli/entry.py"}


def test_only_the_executors_start_threads_for_work(trees):
    starters = {
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Name | ast.alias)
        and getattr(node, "id", getattr(node, "name", "")).split(".")[-1]
        in ("ThreadPoolExecutor", "ProcessPoolExecutor")
    }
    assert all(name.startswith("executors") for name in starters)


def test_graphs_are_searched_in_one_place(trees):
    # It makes the indices of 32 bits that older releases of scipy ask for.
    searchers = {
        name
        for name, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom) and "csgraph" in ast.unparse(node)
    }
    assert searchers == {"tables/graphs.py"}


def test_no_release_is_told_by_its_class_outside_of_the_folder_that_makes_it(trees):
    homes = {
        kind.__name__: kind.__module__.split(".")[1] for way in PROTECTIONS for kind in way.releases
    }
    assert len(homes) > 6
    strangers = [
        (name, asked)
        for name, tree in trees.items()
        for node in ast.walk(tree)
        for asked in classes_asked_for(node) & set(homes)
        if Path(name).parts[0] != homes[asked]
    ]
    assert strangers == []


def classes_asked_for(node: ast.AST) -> set[str]:
    """Names of classes in a call of isinstance, or in a case of a match."""
    is_call = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
    asked = node.args[1] if is_call else node.cls if isinstance(node, ast.MatchClass) else None
    return (
        set()
        if asked is None
        else {getattr(part, "id", getattr(part, "attr", "")) for part in ast.walk(asked)}
    )

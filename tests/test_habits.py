"""Habits of the tests themselves: none can pass without having checked anything."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

FILES = sorted(Path(__file__).parent.rglob("test_*.py"))


def functions_of(path: Path) -> Iterator[ast.FunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield node


@cache
def all_tests() -> list[tuple[Path, ast.FunctionDef]]:
    """All tests, each with its file."""
    return [(path, test) for path in FILES for test in functions_of(path)]


def own_statements(node: ast.AST) -> Iterator[ast.AST]:
    """What a test does itself, without functions that it defines."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(
            child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef
        ):
            yield child
            yield from own_statements(child)


def is_call(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and ast.unparse(node.func) in names


def test_no_test_ends_before_its_end_or_skips_itself():
    """Random cases that prove nothing are passed over in a loop, and the others are counted."""
    ending = [
        f"{path.name}, line {node.lineno}: {test.name}"
        for path, test in all_tests()
        for node in own_statements(test)
        if isinstance(node, ast.Return) or is_call(node, "pytest.skip", "assume")
    ]
    assert not ending, "\n".join(ending)


def test_a_test_that_passes_over_random_cases_counts_the_others():
    """Where a loop goes on without a check, an assertion behind it compares what was counted."""
    uncounted = []
    for path, test in all_tests():
        loops = [node for node in own_statements(test) if isinstance(node, ast.For)]
        skipping = [
            loop
            for loop in loops
            if any(isinstance(node, ast.Continue) for node in own_statements(loop))
        ]
        if skipping:
            last = max(loop.end_lineno or 0 for loop in skipping)
            after = [
                node
                for node in own_statements(test)
                if isinstance(node, ast.Assert) and node.lineno > last
            ]
            if not after:
                uncounted.append(f"{path.name}: {test.name} may pass over every case")
    assert not uncounted, "\n".join(uncounted)

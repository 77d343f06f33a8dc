"""Names that a module uses, by where they come from.

`from time import monotonic as now` and `import time as t` hide the clock from a search for
`time.monotonic`. Here both are resolved to that name.
"""

from __future__ import annotations

import ast


def imported(tree: ast.AST) -> dict[str, str]:
    """Return the full name behind each name that a module imports anywhere, late ones too."""
    origins = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                # `import a.b` makes `a` a name, `import a.b as c` makes `c` one.
                top = alias.name.split(".")[0]
                origins[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                origins[alias.asname or alias.name] = f"{module}.{alias.name}"
    return origins


def used(tree: ast.AST) -> set[str]:
    """Return the full names of all that a module imports or uses, and of the builtins it uses."""
    origins = imported(tree)
    names = set(origins.values())
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Name | ast.Attribute):
            names.add(full_name(node, origins))
    return {name.removeprefix("builtins.") for name in names if name}


def full_name(node: ast.AST, origins: dict[str, str]) -> str:
    """Return the full name behind `a` or `a.b.c`; nothing if it begins otherwise."""
    if isinstance(node, ast.Name):
        return origins.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        start = full_name(node.value, origins)
        return f"{start}.{node.attr}" if start else ""
    return ""

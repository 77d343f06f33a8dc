"""The house keeps its shape: short functions, no circles."""

from __future__ import annotations

import ast
import os
from collections import Counter, defaultdict
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import tablecloak
from imported_names import used
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


@pytest.fixture(scope="module")
def names(trees) -> dict[str, set[str]]:
    """Names that each module uses, by where they come from."""
    return {path: used(tree) for path, tree in trees.items()}


def users(names: dict[str, set[str]], *wanted: str) -> set[str]:
    """Modules that use any of some names, or of what is in them."""
    return {
        path
        for path, mine in names.items()
        if any(name == each or name.startswith(f"{each}.") for name in mine for each in wanted)
    }


@pytest.mark.parametrize(
    "source",
    [
        "import time\nend = time.monotonic()",
        "import time as t\nend = t.monotonic()",
        "from time import monotonic\nend = monotonic()",
        "from time import monotonic as now\nend = now()",
        "def late():\n    from time import monotonic\n    return monotonic()",
        "import time\nclock = time.monotonic",
    ],
)
def test_a_name_is_found_however_it_is_imported(source):
    assert "time.monotonic" in used(ast.parse(source))


CLOCKS = [
    f"time.{name}{unit}"
    for name in ("monotonic", "perf_counter", "process_time", "thread_time", "time")
    for unit in ("", "_ns")
]


def test_only_the_budget_reads_the_clock(names):
    # The date of an entry in a log is no clock: `datetime.now` may be read anywhere.
    assert users(names, *CLOCKS, "time.sleep") == {"budget.py"}


def test_nothing_but_the_entry_catches_or_raises_an_interrupt(names):
    assert users(names, "KeyboardInterrupt") == {"budget.py", "cli/entry.py"}


STARTERS = (
    "threading.Thread",
    "threading.Timer",
    "_thread",
    "concurrent.futures.ThreadPoolExecutor",
    "concurrent.futures.ProcessPoolExecutor",
    "concurrent.futures.thread",
    "concurrent.futures.process",
    "multiprocessing",
    "joblib",
    "distributed",
    "subprocess",
    "asyncio.to_thread",
    "asyncio.create_subprocess_exec",
    "asyncio.create_subprocess_shell",
    "os.fork",
    "os.system",
    "os.popen",
    "http.server.ThreadingHTTPServer",
    "socketserver.ThreadingMixIn",
    "waitress",
)
"""What starts threads or processes."""

SERVERS = {"web/listening.py"}
"""The guarded server of HTTP: waitress starts the threads that read requests and send answers. What
is asked for runs elsewhere, through `executors`."""


def test_only_the_executors_start_threads_and_processes(names):
    starters = users(names, *STARTERS)
    assert {path for path in starters if not path.startswith("executors/")} == SERVERS


SOLVERS = ("highspy", "scipy.optimize.milp", "scipy.optimize.linprog", "pulp", "pyscipopt")

INDEPENDENT = {
    # Attacks a release straight from the definition: no solver of ours, and none of our checks of
    # its answers, may take part in what contradicts them.
    "contracts/release.py",
    # Makes tables that keep all levels, against which bounds of a distance are tried.
    "contracts/distance.py",
    # A second opinion on a release, from its files alone.
    "microdata/anonymity/verification.py",
}
"""Checks that are independent of our solvers on purpose."""


def test_programs_are_solved_behind_one_boundary(names):
    outside = {path for path in users(names, *SOLVERS) if not path.startswith("solve/")}
    assert outside == INDEPENDENT


def test_graphs_are_searched_in_one_place(names):
    # It makes the indices of 32 bits that older releases of scipy ask for.
    assert users(names, "scipy.sparse.csgraph") == {"graph.py"}


WINGS = {"microdata", "safe", "argus", "cellkey", "reconciliation"}
"""Folders that the core does without; they import the core."""

ROOF = {"cli", "app", "service"}


def test_the_core_imports_no_wing(trees):
    modules = {name_of(path): path for path in trees}
    reaching = {
        path
        for path, tree in trees.items()
        if Path(path).parts[0] not in WINGS | ROOF
        and any(modules[name].split("/")[0] in WINGS for name in imports(tree, set(modules)))
    }
    assert reaching == set()


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


PRONOUNS = {"at": 213, "each": 199, "found": 334, "known": 169, "own": 113, "told": 44}
"""Words that are no names of things, and how often they still name something."""


def test_pronouns_and_participles_name_no_more_things_than_they_do(trees):
    """`incumbent`, `violated_rows`, `attacked` tell more. The numbers may fall, and never rise."""
    bound = Counter(
        name
        for tree in trees.values()
        for node in ast.walk(tree)
        for name in (getattr(node, "arg", None), getattr(node, "id", None))
        if isinstance(node, ast.arg) or isinstance(getattr(node, "ctx", None), ast.Store)
        if name in PRONOUNS
    )
    assert {word: count for word, count in bound.items() if count > PRONOUNS[word]} == {}

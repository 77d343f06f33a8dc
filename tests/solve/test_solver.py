"""The choice of a solver travels with the work, and messages name what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mock_solver import MockSolver
from tablecloak.errors import InputError
from tablecloak.executors import ThreadExecutor
from tablecloak.solve.solver import (
    SOLVERS,
    Capability,
    chosen_solver,
    installed_solver,
    on_chosen_solver,
    using_solver,
)


def name_of_chosen(task: object = None) -> str:
    return chosen_solver().name


def test_highs_is_the_default():
    assert name_of_chosen() == "highs"


def test_a_choice_ends_where_it_began():
    with using_solver("cbc"):
        assert name_of_chosen() == "cbc"
        with using_solver(None):
            assert name_of_chosen() == "cbc"
        with using_solver(MockSolver()):
            assert name_of_chosen() == "mock"
        assert name_of_chosen() == "cbc"
    assert name_of_chosen() == "highs"


def test_a_choice_holds_in_the_threads_of_an_executor():
    with using_solver("cbc"):
        results = dict(ThreadExecutor(3).run(name_of_chosen, range(9)))
    assert set(results.values()) == {"cbc"}
    assert set(dict(ThreadExecutor(3).run(name_of_chosen, range(9))).values()) == {"highs"}


def test_an_error_ends_a_choice():
    with pytest.raises(ZeroDivisionError), using_solver("cbc"):
        raise ZeroDivisionError
    assert name_of_chosen() == "highs"


def test_a_function_with_a_solver_works_with_it():
    @on_chosen_solver
    def run(first: int, *, solver: str | None = None) -> str:
        return f"{first} {name_of_chosen()}"

    assert run(1) == "1 highs"
    assert run(2, solver="cbc") == "2 cbc"
    with using_solver("cbc"):
        assert run(3) == "3 cbc"
        assert run(4, solver="highs") == "4 highs"


def solvers_table() -> str:
    """All solvers and their capabilities as a Markdown table."""
    lines = ["| solver | can | |", "|---|---|---|"]
    for sibling in SOLVERS:
        able = [
            each.name.lower().replace("_", " ")
            for each in Capability
            if each in sibling.capabilities
        ]
        can = ", ".join(able) or "linear programs"
        lines.append(f"| `{sibling.name}` | {can} | {SOLVERS.summary(sibling.name)} |")
    return "\n".join(lines)


def test_the_docs_list_all_solvers():
    page = Path(__file__).parents[2] / "docs" / "solvers.md"
    assert solvers_table() in page.read_text("utf-8")


def test_a_misspelt_solver_is_suggested():
    with pytest.raises(InputError, match="There is no solver 'higs'. Did you mean 'highs'?"):
        installed_solver("higs")


@pytest.mark.parametrize("name", ["gurobi", "cplex", "copt"])
def test_a_solver_that_is_not_installed_names_its_package(name, monkeypatch):
    monkeypatch.setattr(SOLVERS[name], "missing", lambda: "the Python package x")
    with pytest.raises(InputError, match=f"{name!r} is not installed: the Python package .* highs"):
        installed_solver(name)


def test_what_a_solver_cannot_do_names_those_that_can():
    with pytest.raises(InputError, match="'cbc' cannot minimise convex quadratic .*: highs"):
        installed_solver("cbc").require(Capability.QUADRATIC)
    installed_solver("highs").require(Capability.QUADRATIC)


def test_whether_solvers_are_installed_is_found_out_without_importing_them():
    import subprocess
    import sys

    code = (
        "import sys\n"
        "from tablecloak.solve.solver import SOLVERS\n"
        "asked = [each.missing() for each in SOLVERS]\n"
        "print(sorted({'highspy', 'pulp'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

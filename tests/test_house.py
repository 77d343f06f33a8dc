"""Every kind of thing is declared once: a class registered at run time is known everywhere.

One section for each kind. A toy sibling is added by `Registry.including`, found in the job schema,
in ``--help``, in the form of the app and in the table of the docs, and run.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

import ibis
import numpy as np
import pandas as pd
import pytest
from pydantic import Field, ValidationError
from scipy.optimize import linprog
from typer.testing import CliRunner

import tablecloak as tc
from bench.solvers import contestants
from doc_tables import formats_table
from tablecloak.app.workbench import Workbench
from tablecloak.argus.lines import BatchRule
from tablecloak.argus.rules import sensitivity_rules
from tablecloak.budget import Budget
from tablecloak.cli.main import app
from tablecloak.cta.risk.risk import GUESSERS, Guesser
from tablecloak.cta.search.distance import DISTANCES
from tablecloak.cta.search.distances.l1 import L1
from tablecloak.cta.statistics.statistic import STATISTICS, PreservedRow, Statistic
from tablecloak.executors import EXECUTORS, Executor, executor_named
from tablecloak.jobs.job_file import read_job
from tablecloak.jobs.schema import Job
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.parameters import percent
from tablecloak.protection import PROTECTIONS, Attackers, Material, Protection
from tablecloak.publish.leaks import find_leaks
from tablecloak.service.call import CALLS
from tablecloak.service.openapi import description
from tablecloak.service.request import asked
from tablecloak.solve.conformance import conforms
from tablecloak.solve.program import Program
from tablecloak.solve.solver import SOLVERS, Claim, Request, Solver, SolveStatus
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.search.method import SEARCH_METHODS, SearchMethod
from tablecloak.suppression.search.sequential import protect_one_by_one
from tablecloak.suppression.search.state import SearchState
from tablecloak.suppression.search.strategy import Strategy
from tablecloak.suppression.system.requirement import REQUIREMENTS, Requirement
from tablecloak.tables.formats import FORMATS, FrameFormat
from tablecloak.tables.leaving import Leaving
from tablecloak.tables.published import released_rows
from tablecloak.tables.rules.rule import RULES, Rule
from tablecloak.tables.tabulation.engines import ENGINES, Engine
from tablecloak.tables.weights import WEIGHT_RULES, WeightRule
from windows import window

# -- sensitivity rules --------------------------------------------------------------------


@dataclass(frozen=True)
class SmallValue(Rule):
    """Small value: unsafe if a cell is above 0, but below a limit."""

    name: ClassVar[str] = "small-value"
    limit: Annotated[float, Field(gt=0, description="Value from which a cell is safe.")]
    range: Annotated[float, percent("Protection level.", ge=0)] = 50.0

    argus: ClassVar[str] = "SMALL"

    def unsafe(self, table: tc.Table) -> Any:
        return (table.values > 0) & (table.values < self.limit)

    @classmethod
    def from_argus(cls, numbers: Any, level: str) -> SmallValue:
        return cls(*numbers)


JOB = """
[data]
file = "sales.csv"
value = "sales"
[dimensions.town]
[dimensions.kind]
[[rules]]
rule = "small-value"
limit = 20
[suppression]
time_limit = 5
[output]
report = false
"""


@pytest.fixture
def sales(tmp_path):
    frame = pd.DataFrame(
        {"town": list("aabbcc"), "kind": list("xyxyxy"), "sales": [7, 60, 80, 90, 55, 65]}
    )
    frame.to_csv(tmp_path / "sales.csv", index=False)
    (tmp_path / "job.toml").write_text(JOB)
    return tmp_path


def test_a_rule_registered_at_run_time_is_known_to_jobs_and_docs(sales):
    assert "small-value" not in json.dumps(Job.model_json_schema())
    with RULES.including(SmallValue):
        assert "small-value" in json.dumps(Job.model_json_schema())
        line = "| `small-value` | `limit`, `range` = 50.0 | Small value: unsafe if a cell is above"
        assert line in RULES.table()
        result = tc.run_job(sales / "job.toml", sales / "out")
        assert result.is_safe
        assert result.problem.reasons[result.problem.sensitive].tolist() == ["small-value"]
        assert result.problem.upper_protection.max() == 3.5
        assert (sales / "out" / "release" / "suppression" / "table.csv").exists()
    with pytest.raises(tc.InputError, match="line 8: unknown rule 'small-value'"):
        read_job(sales / "job.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"small-value"',
            '"smal-value"',
            "line 8: unknown rule 'smal-value'. Did you mean 'small-",
        ),
        ("limit = 20", "", "line 7: rules.limit is missing"),
        ("limit = 20", "limit = 0", "line 9: rules.limit must be a number above 0. Found 0."),
        ("limit = 20", "limt = 20", "line 9: unknown key 'limt' .* Did you mean 'limit'"),
    ],
)
def test_faults_of_a_rule_registered_at_run_time_name_the_line_and_the_remedy(
    sales, old, new, message
):
    (sales / "job.toml").write_text(JOB.replace(old, new))
    with RULES.including(SmallValue), pytest.raises(tc.InputError, match=message):
        read_job(sales / "job.toml")


def test_a_rule_registered_at_run_time_is_on_the_form_of_the_app(sales):
    client = window(sales / "app")
    form = {"value": "sales", "dimension:town": "1", "dimension:kind": "1", "small-value": "1"}
    form |= {"small-value:limit": "20", "suppression": "1", "time_limit": "5"}
    with RULES.including(SmallValue):
        client.post("/open", data={"path": str(sales / "sales.csv")})
        shown = client.get("/choose").text
        assert 'name="small-value:limit"' in shown
        assert "Value from which a cell is safe." in shown
        assert client.post("/choose", data=form).status_code == 302
        assert "1 sensitive" in client.get("/look").text
        job = tomllib.loads(client.get("/job.toml").text)
        assert job["rules"] == [{"rule": "small-value", "limit": 20}]


def test_a_rule_registered_at_run_time_stands_for_one_of_a_batch():
    rules = [BatchRule("FREQ", [3, 20]), BatchRule("SMALL", [20, 10])]
    frequency = tc.MinimumFrequency(3, 20, level="contributor")
    with RULES.including(SmallValue):
        assert sensitivity_rules(rules) == [frequency, SmallValue(20, 10)]
    assert sensitivity_rules(rules) == [frequency]


def test_a_rule_is_added_by_one_new_file(tmp_path):
    package = Path(tc.__file__).parent
    shutil.copytree(package, tmp_path / "tablecloak", ignore=shutil.ignore_patterns("__pycache__"))
    path = tmp_path / "tablecloak" / "tables" / "rules" / "odd_value.py"
    path.write_text(ODD_VALUE)
    code = "from tablecloak.tables.rules.rule import RULES; print(RULES.names)"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "'odd-value'" in found.stdout


ODD_VALUE = """
from dataclasses import dataclass
from typing import ClassVar

from tablecloak.tables.rules.rule import RULES, Rule


@RULES.register
@dataclass(frozen=True)
class OddValue(Rule):
    "Odd value: unsafe if it is odd."

    name: ClassVar[str] = "odd-value"

    def unsafe(self, table):
        return table.values % 2 == 1
"""

# -- weight rules -------------------------------------------------------------------------


class Tenth(WeightRule):
    """A tenth of the value."""

    name: ClassVar[str] = "tenth"

    def of(self, problem: Any) -> Any:
        return problem.table.values / 10


def test_a_weight_rule_registered_at_run_time_is_known_everywhere(sales):
    text = JOB.replace('"small-value"\nlimit = 20', '"minimum-frequency"\nminimum = 2')
    (sales / "job.toml").write_text(text.replace("time_limit = 5", 'weights = "tenth"'))
    with WEIGHT_RULES.including(Tenth):
        assert "tenth" in json.dumps(Job.model_json_schema())
        assert "| `tenth` |  | A tenth of the value. |" in WEIGHT_RULES.table()
        pattern = tc.run_job(sales / "job.toml").pattern
        table = pattern.problem.table
        assert pattern.problem.weights.tolist() == (table.values / 10).tolist()
        assert tc.WeightRule("tenth") == tc.WeightRule.TENTH
    with pytest.raises(tc.InputError, match=r"line 11: suppression.weights is 'tenth'; expected"):
        read_job(sales / "job.toml")


# -- formats, engines, executors ----------------------------------------------------------


class Semicolons(FrameFormat):
    """Text with semicolons."""

    name: ClassVar[str] = "semicolons"
    suffixes = (".ssv",)
    is_typed = False

    def read(self, path: Path, text_columns: Sequence[str] = ()) -> pd.DataFrame:
        return pd.read_csv(path, sep=";", dtype=dict.fromkeys(text_columns, str))

    def write(self, frame: pd.DataFrame, path: Path) -> None:
        frame.to_csv(path, sep=";", index=False)


SHOPS = pd.DataFrame(
    {
        "region": [*"NNNNSSSSS"],
        "branch": [*"xxyyxxyyy"],
        "turnover": [5210, 40, 310, 290, 330, 350, 4480, 20, 370],
    }
)

JOB_OF_SHOPS = """
[data]
file = "shops.ssv"
value = "turnover"
[dimensions.region]
[dimensions.branch]
[[rules]]
rule = "p-percent"
p = 10
[suppression]
time_limit = 5
[output]
formats = ["semicolons"]
"""


def shown(*words: str) -> str:
    """What a command prints, in one line."""
    done = CliRunner().invoke(app, list(words), env={"COLUMNS": "300"})
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_a_format_registered_at_run_time_is_offered_everywhere(tmp_path):
    problem = tc.examples.cox_rounded()
    tc.write_jj(problem, tmp_path / "cox.jj")
    words = ["convert", str(tmp_path / "cox.jj"), str(tmp_path / "cox.ssv")]
    with FORMATS.including(Semicolons):
        assert "semicolons" in str(Job.model_json_schema()["$defs"]["OutputSpec"])
        assert ".ssv" in shown("convert", "--help")
        assert ".ssv" in shown("suppress", "--help")
        assert "| `semicolons` | `.ssv` |" in formats_table()
        shown(*words)
        back = tc.read_problem(tmp_path / "cox.ssv")
        assert np.array_equal(back.table.values, problem.table.values)
        assert (back.table.relations != problem.table.relations).nnz == 0
    assert CliRunner().invoke(app, words).exit_code == 2


def test_a_format_registered_at_run_time_holds_the_data_and_the_release_of_a_job(tmp_path):
    with FORMATS.including(Semicolons):
        Semicolons().write(SHOPS, tmp_path / "shops.ssv")
        (tmp_path / "job.toml").write_text(JOB_OF_SHOPS)
        result = tc.run_job(tmp_path / "job.toml", tmp_path / "out")
        assert result.is_safe
        path = tmp_path / "out" / "release" / "suppression" / "table.ssv"
        assert path.read_text().startswith("region;branch;turnover;status")
        assert tc.audit(result.problem, path).is_safe
        # The search for hidden values opens it like any other file.
        pattern = result.pattern
        hidden = pattern.problem.table.values[pattern.suppressed & ~pattern.problem.table.rests]
        assert not find_leaks([path], hidden.tolist())


class InMemory(Engine):
    """Reads files whole, with pandas."""

    name: ClassVar[str] = "in-memory"
    forms = ("in-memory",)

    def open(self, path: Path, file_format: FrameFormat, text_columns: Sequence[str]) -> Any:
        return ibis.memtable(file_format.read(path, text_columns)), True


def test_an_engine_registered_at_run_time_is_an_option_and_tabulates(tmp_path):
    SHOPS.to_csv(tmp_path / "shops.csv", index=False)
    arguments = tmp_path / "shops.csv", ["region", "branch"], "turnover"
    with ENGINES.including(InMemory):
        assert "in-memory: Reads files whole, with pandas" in shown("protect", "--help")
        assert "Reads files whole, with pandas." in ENGINES.table()
        found = tc.tabulate(*arguments, engine="in-memory")
    pd.testing.assert_frame_equal(found.to_frame(), tc.tabulate(*arguments).to_frame())
    with pytest.raises(tc.InputError, match="no engine 'in-memory'"):
        tc.tabulate(*arguments, engine="in-memory")


class Backwards(Executor):
    """The last task first."""

    name: ClassVar[str] = "backwards"
    forms = ("backwards",)

    def run(self, function: Any, tasks: Sequence[Any]) -> Iterator[tuple[int, Any]]:
        for number in reversed(range(len(tasks))):
            yield number, function(tasks[number])


def test_an_executor_registered_at_run_time_is_an_option_and_runs():
    with EXECUTORS.including(Backwards):
        assert "backwards: The last task first" in shown("compare", "--help")
        assert "The last task first." in EXECUTORS.table()
        executor = executor_named("backwards")
        assert list(executor.run(abs, [-5, 7])) == [(1, 7), (0, 5)]
    with pytest.raises(tc.InputError, match="no executor 'backwards'"):
        executor_named("backwards")


# -- solvers ------------------------------------------------------------------------------


class Linprog(Solver):
    """The linear programs of SciPy: neither multipliers nor whole numbers nor hot starts."""

    name: ClassVar[str] = "linprog"

    def run(self, program: Program, request: Request) -> Claim:
        equal = program.row_lower == program.row_upper
        matrix = program.matrix.toarray()
        low = ~equal & np.isfinite(program.row_lower)
        high = ~equal & np.isfinite(program.row_upper)
        done = linprog(
            program.cost,
            A_ub=np.vstack([matrix[high], -matrix[low]]),
            b_ub=np.concatenate([program.row_upper[high], -program.row_lower[low]]),
            A_eq=matrix[equal],
            b_eq=program.row_lower[equal],
            bounds=np.column_stack([program.lower, program.upper]),
            options={"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9},
        )
        states = {0: SolveStatus.OPTIMAL, 2: SolveStatus.INFEASIBLE, 3: SolveStatus.UNBOUNDED}
        return Claim(states.get(done.status, SolveStatus.UNKNOWN), done.x)


def test_a_solver_registered_at_run_time_is_an_option_and_runs(tmp_path):
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "cox.jj")
    run = CliRunner().invoke
    words = [str(tmp_path / "cox.jj"), "--solver", "linprog", "-o", str(tmp_path / "out.csv")]
    with SOLVERS.including(Linprog):
        conforms(Linprog())
        assert "The linear programs of SciPy" in SOLVERS.table()
        assert "linprog" in contestants()
        for command in ("suppress", "adjust", "audit", "intervals", "round"):
            shown = run(app, [command, "--help"], env={"COLUMNS": "200"}).output
            assert "linprog" in " ".join(shown.split()), command
        done = run(app, ["suppress", *words, "--method", "exact", "--verbose"])
        assert done.exit_code == 0, done.output
        assert "loss 3076" in done.output.replace(",", "")
        done = run(app, ["adjust", *words])
        assert done.exit_code == 0, done.output
    done = run(app, ["suppress", *words])
    assert done.exit_code == 2
    assert "There is no solver 'linprog'" in done.output


# -- distances and statistics -------------------------------------------------------------


class CityBlock(L1):
    """The sum of weighted changes, under another name."""

    name: ClassVar[str] = "city-block"


@dataclass(frozen=True)
class Halves(Statistic):
    """The total of the first half of the cells stays."""

    name: ClassVar[str] = "halves"

    def rows(self, problem: tc.ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        first = np.arange(problem.table.n_cells) < problem.table.n_cells // 2
        return [PreservedRow("halves", first.astype(np.float64), 0.0)]


def test_a_distance_registered_at_run_time_is_an_option_and_runs(tmp_path):
    problem = tc.examples.cox_rounded()
    tc.write_jj(problem, tmp_path / "cox.jj")
    run = CliRunner().invoke
    words = ["adjust", str(tmp_path / "cox.jj"), "-o", str(tmp_path / "out.csv")]
    with DISTANCES.including(CityBlock):
        assert "The sum of weighted changes, under another name." in DISTANCES.table()
        assert PROTECTIONS["adjustment"](distance="city-block").distance == "city-block"
        shown = run(app, ["adjust", "--help"], env={"COLUMNS": "200"}).output
        assert "city-block" in " ".join(shown.split())
        adjusted = tc.adjust(problem, distance="city-block")
        assert adjusted.loss == tc.adjust(problem).loss
        assert adjusted.is_optimal
        adjusted.verify()
        done = run(app, [*words, "--distance", "city-block"])
        assert done.exit_code == 0, done.output
        with pytest.raises(tc.InputError, match="distances L1 and city-block only"):
            tc.adjust(problem, distance="L2", integer=True)
    with pytest.raises(ValidationError):
        PROTECTIONS["adjustment"](distance="city-block")
    assert run(app, [*words, "--distance", "city-block"]).exit_code == 2


def test_a_statistic_registered_at_run_time_is_an_option_and_runs(tmp_path):
    problem = tc.examples.cox_rounded()
    tc.write_jj(problem, tmp_path / "cox.jj")
    run = CliRunner().invoke
    words = ["adjust", str(tmp_path / "cox.jj"), "-o", str(tmp_path / "out.csv")]
    with STATISTICS.including(Halves):
        assert "The total of the first half of the cells stays." in STATISTICS.table()
        assert PROTECTIONS["adjustment"](preserve=["halves:all"]).preserve == ["halves:all"]
        shown = run(app, ["adjust", "--help"], env={"COLUMNS": "200"}).output
        assert "halves" in " ".join(shown.split())
        adjusted = tc.adjust(problem, preserve=["halves"])
        first = np.arange(problem.table.n_cells) < problem.table.n_cells // 2
        assert adjusted.changes[first].sum() == 0
        done = run(app, [*words, "--preserve", "halves"])
        assert done.exit_code == 0, done.output
    with pytest.raises(tc.InputError, match="`preserve` names 'halves'"):
        tc.adjust(problem, preserve=["halves"])
    assert run(app, [*words, "--preserve", "halves"]).exit_code == 2


class KnowsNothing(Guesser):
    """Knows of no level at all."""

    name: ClassVar[str] = "nothing"

    def distances(self, adjustment: Any, assumed_level: float) -> Any:
        return np.zeros(len(adjustment.values)), np.zeros(len(adjustment.values))


def test_a_guesser_registered_at_run_time_is_an_option_and_attacks():
    adjusted = tc.adjust(tc.examples.cox(), weights="unit")
    with GUESSERS.including(KnowsNothing):
        assert "Knows of no level at all." in GUESSERS.table()
        assert "nothing:" in helped("compare")
        risk = tc.attack_adjustment(adjusted, knows="nothing")
        assert np.allclose(risk.guesses, risk.published)
    with pytest.raises(tc.InputError, match="`knows` is 'nothing'"):
        tc.attack_adjustment(adjusted, knows="nothing")


# -- search methods, intruders, requirements ----------------------------------------------


@dataclass(frozen=True)
class Plain(SearchMethod):
    """The first strategy of the heuristic, and nothing else."""

    name: ClassVar[str] = "plain"
    areas: Annotated[int, Field(ge=1, description="Neighbourhoods to try.")] = 1

    def search(self, problem: Any, requirement: Requirement, budget: Budget) -> SearchState:
        state = SearchState.of(problem, requirement, self.name)
        strategy = Strategy(sizes=(300,) * self.areas)
        built = protect_one_by_one(problem, state.system, strategy, budget)
        return replace(state, best=built, first_seconds=0.0)


class Neighbour(Intruder):
    """Knows the largest suppressed cell."""

    name: ClassVar[str] = "neighbour"

    def knowledge(self, problem: Any, suppressed: Any) -> list[Knowledge]:
        largest = np.where(suppressed, problem.table.values, -1).argmax()
        value = problem.table.values[[largest]]
        return [Knowledge("knows the largest", np.array([largest]), value, value)]


class Lower(Requirement):
    """Far enough below the true value, and no more."""

    name: ClassVar[str] = "lower"

    def distances(self, problem: Any, cells: Any) -> Any:
        return np.zeros(len(cells)), problem.lower_protection[cells], np.zeros(len(cells))


@pytest.fixture
def cox(tmp_path):
    """Problem, words of the command line, and a job over small cells of another table."""
    tc.write_jj(tc.examples.cox_rounded(), tmp_path / "cox.jj")
    frame = pd.DataFrame(
        {"town": [*"aabbcc"], "kind": [*"xyxyxy"], "sales": [7, 60, 80, 9, 55, 65]}
    )
    frame.to_csv(tmp_path / "sales.csv", index=False)
    text = JOB.replace('"small-value"\nlimit = 20', '"minimum-frequency"\nminimum = 2\nrange = 20')
    return tmp_path, text


def helped(command: str) -> str:
    shown = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    return " ".join(shown.output.split())


def ran(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code in (0, 1), done.output
    return done.output


def job_of(folder: Path, text: str) -> Any:
    (folder / "job.toml").write_text(text)
    return tc.run_job(folder / "job.toml")


def test_a_search_method_registered_at_run_time_is_known_everywhere_and_runs(cox):
    folder, text = cox
    text = text.replace("time_limit = 5", 'method = "plain"')
    with SEARCH_METHODS.including(Plain):
        assert "plain" in json.dumps(Job.model_json_schema())
        assert "plain" in helped("suppress")
        line = "| `plain` | `areas` = 1 | The first strategy of the heuristic, and nothing else. |"
        assert line in SEARCH_METHODS.table()
        file, out = str(folder / "cox.jj"), str(folder / "out.csv")
        assert "suppression (plain," in ran(
            "suppress", file, "-o", out, "--method", "plain", "--verbose"
        )
        assert tc.suppress(tc.examples.cox_rounded(), method=Plain(areas=2)).verify().checked == 7
        assert job_of(folder, text).pattern.method == "plain"
    with pytest.raises(tc.InputError, match="`method` is 'plain'"):
        tc.suppress(tc.examples.cox_rounded(), method="plain")


def test_an_intruder_registered_at_run_time_is_known_everywhere_and_attacks(cox):
    folder, text = cox
    with INTRUDERS.including(Neighbour):
        assert "neighbour" in json.dumps(Job.model_json_schema())
        assert "neighbour" in helped("suppress")
        assert "neighbour" in helped("audit")
        assert "| `neighbour` |  | Knows the largest suppressed cell. |" in INTRUDERS.table()
        file, out = str(folder / "cox.jj"), str(folder / "out.csv")
        ran("suppress", file, "-o", out, "--protect-against", "neighbour")
        assert "neighbour: 1 tried, 0 successful" in ran(
            "audit", file, out, "--intruder", "neighbour"
        )
        result = job_of(folder, text + '[audit]\nintruders = ["neighbour"]\n')
        assert result.audit("suppression").intruders == {"neighbour": 1}
    with pytest.raises(tc.InputError, match="`intruders` names 'neighbour'"):
        tc.audit(tc.examples.cox_rounded(), np.ones(50, dtype=bool), intruders="neighbour")


def test_a_requirement_registered_at_run_time_is_known_everywhere_and_asked_for(cox):
    folder, text = cox
    text = text.replace("time_limit = 5", 'require = "lower"')
    with REQUIREMENTS.including(Lower):
        assert "lower" in json.dumps(Job.model_json_schema())
        assert " lower" in helped("suppress")
        line = "| `lower` |  | Far enough below the true value, and no more. |"
        assert line in REQUIREMENTS.table()
        file, out = str(folder / "cox.jj"), str(folder / "out.csv")
        assert ", lower)" in ran("suppress", file, "-o", out, "--require", "lower", "--verbose")
        assert "audit (lower): 7 of 7" in ran("audit", file, out, "--require", "lower")
        assert tc.Requirement.parse("lower") is tc.Requirement.parse(Lower.name)
        assert job_of(folder, text).pattern.requirement.name == "lower"
    with pytest.raises(tc.InputError, match="`require` is 'lower'. Known are"):
        tc.suppress(tc.examples.cox_rounded(), require="lower")


# -- microdata methods --------------------------------------------------------------------


@dataclass(frozen=True)
class RoundedRelease:
    frame: pd.DataFrame

    def summary(self) -> str:
        return f"rounding: {len(self.frame)} values"


@dataclass(frozen=True)
class Rounding(Method):
    """Round a column of numbers to multiples of a base."""

    name: ClassVar[str] = "round-values"
    column: Annotated[str, Field(description="Column of numbers.")]
    base: Annotated[float, Field(ge=1, description="What values are multiples of.")] = 10

    def uses(self, known: Any) -> Columns:
        return Columns(changed=[self.column], numbers=[self.column])

    def apply(self, frame: pd.DataFrame, random: Any) -> RoundedRelease:
        rounded = (frame[self.column] / self.base).round() * self.base
        return RoundedRelease(frame.assign(**{self.column: rounded}))


def test_a_microdata_method_registered_at_run_time_is_a_command_and_runs(tmp_path):
    pd.DataFrame({"who": list("abc"), "wage": [34, 11, 18]}).to_csv(
        tmp_path / "in.csv", index=False
    )
    name = ["records", "round-values"]
    words = [*name, str(tmp_path / "in.csv"), "-o", str(tmp_path / "out.csv")]
    words += ["--keep-order", "--column", "wage", "--base"]
    run = CliRunner().invoke
    with METHODS.including(Rounding):
        assert METHODS.build("round-values", column="wage") == Rounding("wage", 10)
        assert "Round a column of numbers to multiples of a base." in METHODS.table()
        assert "round-values Round a column of numbers" in shown("records", "--help")
        assert "--base" in shown(*name, "--help")
        assert "What values are multiples of." in shown(*name, "--help")
        done = run(app, [*words, "20"])
        assert done.exit_code == 0, done.output
        assert "rounding: 3 values" in done.output
        assert pd.read_csv(tmp_path / "out.csv").wage.tolist() == [40, 20, 20]
        assert run(app, [*words, "0.5"]).exit_code == 2
    assert run(app, [*words, "20"]).exit_code == 2


# -- ways to protect ----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Blanked:
    """A table of which only large values are published."""

    problem: tc.ProtectionProblem
    blank: np.ndarray
    bound: float = 0.0
    seconds: float = 0.0
    notes: tuple[str, ...] = ()
    gap = float("nan")
    is_optimal = False

    @property
    def loss(self) -> float:
        return float(self.problem.table.values[self.blank].sum())

    def summary(self) -> str:
        return f"blanked: {self.blank.sum()} cells"

    def release(self) -> pd.DataFrame:
        return released_rows(self.problem.table, self.blank)


class Blanking(Protection):
    """Publish large values only, whatever that costs."""

    name: ClassVar[str] = "blanking"
    releases: ClassVar[tuple[type, ...]] = (Blanked,)
    makers: ClassVar[str] = "tables of `Blanking`"
    target: ClassVar[str] = "blanked"
    is_on_bench: ClassVar[bool] = True

    largest: Annotated[
        float, Field(gt=0, description="Share of the total up to which values go.")
    ] = 0.9
    time_limit: float = 60.0

    def prepare(self, material: Material) -> Any:
        def search(*, progress: Any = None) -> Blanked:
            problem, values = material.problem, material.problem.table.values
            is_small = values < self.largest * values.max()
            return Blanked(problem, is_small & ~problem.frozen)

        return search

    def audited(self, release: Blanked, material: Material, attackers: Attackers) -> Any:
        return tc.audit(release.problem, release)

    @classmethod
    def hidden(cls, release: Blanked) -> Any:
        return release.blank

    @classmethod
    def leaving(cls, release: Blanked) -> Leaving:
        return Leaving.of_pattern(release.problem, release.blank)

    @classmethod
    def describe(cls, page: Any, problem: Any, product: Any) -> None:
        page.text("Whatever was small is blank.")

    @classmethod
    def methods(cls, time_limit: float) -> Any:
        return {"blanking": lambda problem: cls().run(Material.of(problem))}

    @classmethod
    def ends(cls, release: Blanked) -> Any:
        values, highest = release.problem.table.values, release.problem.upper_bound
        return np.where(release.blank, 0, values), np.where(release.blank, highest, values)

    @classmethod
    def protects(cls, problem: Any, release: Any, lower: Any, upper: Any) -> bool:
        return tc.audit(problem, release).is_safe


@pytest.fixture
def blanking(sales):
    text = JOB.replace('"small-value"\nlimit = 20', '"minimum-frequency"\nminimum = 2\nrange = 20')
    text = text.replace("[suppression]\ntime_limit = 5", "[blanking]\nlargest = 0.95")
    (sales / "job.toml").write_text(text.replace("report = false", ""))
    with PROTECTIONS.including(Blanking):
        yield sales
    with pytest.raises(tc.InputError, match="unknown key 'blanking'"):
        read_job(sales / "job.toml")


def test_a_way_to_protect_registered_at_run_time_runs_from_a_job_to_an_audited_release(blanking):
    assert "Share of the total up to which" in json.dumps(Job.model_json_schema())
    result = tc.run_job(blanking / "job.toml", blanking / "out")
    assert result.is_safe
    product = result.products["blanking"]
    assert product.audit.is_safe and product.way is Blanking
    out = blanking / "out"
    assert pd.read_csv(out / "release/blanking/table.csv")["sales"].notna().sum() == 1
    text = (out / "internal" / "report.html").read_text("utf-8")
    assert "<h2>Blanking</h2>" in text
    assert "Whatever was small is blank." in text
    shown = ran("protect", str(blanking / "job.toml"), "--out", str(out))
    assert "blanked: 11 cells" in shown
    assert (
        "Blanking: An attack by an external intruder found every sensitive cell protected." in shown
    )
    with pytest.raises(tc.InputError, match="Did you mean 'largest'"):
        path = blanking / "wrong.toml"
        path.write_text((blanking / "job.toml").read_text().replace("largest", "largst"))
        read_job(path)


def test_a_way_to_protect_registered_at_run_time_is_a_command_and_compared(blanking):
    problem = tc.examples.cox_rounded()
    tc.write_jj(problem, blanking / "cox.jj")
    words = ["blanking", str(blanking / "cox.jj"), "-o", str(blanking / "out.csv")]
    assert "blanking Publish large values only" in shown("--help")
    assert "Share of the total up to which values go." in shown("blanking", "--help")
    assert " cells" in ran(*words)
    assert pd.read_csv(blanking / "out.csv").shape[0] == 50
    compared = tc.compare(problem, time_limit=5)
    assert compared.table.loc["blanking", "kind"] == "blanking"
    assert compared.table.loc["blanking", "safe"]
    release = compared.releases["blanking"]
    assert tc.audit(problem, release).is_safe
    assert tc.explain(problem, release, 0, alternative=False).summary()


def test_a_way_to_protect_registered_at_run_time_is_on_the_form_and_on_the_bench(blanking):
    client = window(blanking / "app")
    form = {"value": "sales", "dimension:town": "1", "dimension:kind": "1", "time_limit": "5"}
    form |= {"minimum-frequency": "1", "minimum-frequency:minimum": "2", "blanking": "1"}
    client.post("/open", data={"path": str(blanking / "sales.csv")})
    text = client.get("/choose").text
    assert 'name="blanking:largest"' in text
    assert "Publish large values only, whatever that costs." in text
    assert client.post("/choose", data=form | {"blanking:largest": "0.8"}).status_code == 302
    job = tomllib.loads(client.get("/job.toml").text)
    assert job["blanking"] == {"time_limit": 5, "largest": 0.8}
    bench = Workbench(tc.examples.cox_rounded())
    bench.start("blanking", 5)
    bench.task.wait(600)
    assert bench.solved["blanking"].audit.is_safe


def test_a_way_to_protect_registered_at_run_time_is_a_section_of_the_service(blanking):
    told = description("http://here")["components"]["schemas"]
    assert "largest" in told["protect.request"]["properties"]["blanking"]["properties"]
    assert "blanking" in told["protect.answer"]["properties"]
    given = {"blanking": {}, **tomllib.loads((blanking / "job.toml").read_text())}
    given.pop("output")
    given["files"] = {"sales.csv": (blanking / "sales.csv").read_text()}
    folder = blanking / "asked"
    folder.mkdir()
    call, question = asked(CALLS["protect"], given, folder)
    answer = call.answer(question)
    assert answer["is_safe"]
    assert answer["blanking"]["summary"] == "blanked: 11 cells"


def test_the_docs_list_the_ways_to_protect_with_their_parameters(blanking):
    assert "| `blanking` | `largest` = 0.9, `time_limit` = 60.0 | Publish large" in (
        PROTECTIONS.table()
    )

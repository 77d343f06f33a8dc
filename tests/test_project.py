"""The habits of the project hold together: versions, addresses, workflows, templates."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import tablecloak as tc

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
HOME = "https://github.com/tablecloak/tablecloak"


def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def workflow(path: Path) -> dict[str, Any]:
    """A workflow; YAML takes the key `on` for the truth value."""
    found = yaml.safe_load(path.read_text("utf-8"))
    return {"on" if key is True else key: value for key, value in found.items()}


def steps(path: Path) -> list[dict[str, Any]]:
    return [step for job in workflow(path)["jobs"].values() for step in job["steps"]]


def all_runs() -> list[str]:
    return [step["run"] for path in WORKFLOWS for step in steps(path) if "run" in step]


def test_there_are_workflows_for_tests_docs_the_wheel_and_broken_files():
    assert {path.stem for path in WORKFLOWS} == {"tests", "docs", "wheel", "fuzz"}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_says_when_it_runs_ends_in_time_and_may_change_nothing(path):
    found = workflow(path)
    assert found["on"]
    assert found["permissions"] == {"contents": "read"}
    for name, job in found["jobs"].items():
        assert job["runs-on"], name
        assert 0 < job["timeout-minutes"] <= 300, name
        assert set(job.get("permissions", {})) <= {"id-token", "attestations"}, name
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step), step


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_jobs_wait_for_jobs_that_exist_and_ask_for_systems_and_versions_that_are_listed(path):
    jobs = workflow(path)["jobs"]
    for job in jobs.values():
        needed = job.get("needs", [])
        assert set([needed] if isinstance(needed, str) else needed) <= jobs.keys()
        matrix = job.get("strategy", {}).get("matrix", {})
        asked = set(re.findall(r"matrix\.(\w+)", yaml.safe_dump(job)))
        assert asked == matrix.keys()


def test_actions_have_one_version_each_and_come_from_two_known_owners():
    used = {step["uses"] for path in WORKFLOWS for step in steps(path) if "uses" in step}
    names = [name.partition("@")[0] for name in used]
    assert len(names) == len(set(names))
    assert {name.partition("/")[0] for name in names} == {"actions", "pypa"}
    assert all(re.fullmatch(r"[\w/-]+@(v\d+|release/v1)", name) for name in used)


def test_every_python_that_is_claimed_is_tested_and_the_oldest_is_the_one_required():
    claimed = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.M)
    tested = workflow(ROOT / ".github/workflows/tests.yml")["jobs"]["linux"]
    assert tested["strategy"]["matrix"]["python"] == claimed
    assert PROJECT["project"]["requires-python"] == f">={claimed[0]}"


def test_the_oldest_libraries_run_on_the_oldest_python_and_the_newest_on_the_newest():
    jobs = workflow(ROOT / ".github/workflows/tests.yml")["jobs"]
    pythons = jobs["linux"]["strategy"]["matrix"]["python"]
    for name, python in (("oldest", pythons[0]), ("newest", pythons[-1])):
        setup, run = jobs[name]["steps"][1], jobs[name]["steps"][-1]
        assert setup["with"]["python-version"] == python
        assert run["run"] == f"make test-{name} PYTHON=python"


def test_every_library_has_an_oldest_version():
    extras = PROJECT["project"]["optional-dependencies"].values()
    named = [*PROJECT["project"]["dependencies"], *(each for extra in extras for each in extra)]
    libraries = [each for each in named if not each.startswith("tablecloak[")]
    assert len(libraries) > 30
    assert [each for each in libraries if ">=" not in each] == []


def test_workflows_call_targets_of_the_makefile_and_files_that_exist():
    targets = set(re.findall(r"^([\w-]+):", read("Makefile"), re.M))
    runs = "\n".join(all_runs())
    called = re.findall(r"\bmake ([\w-]+)", runs)
    assert called
    assert set(called) <= targets
    for name in re.findall(r"\btests/[\w/.]+", runs):
        assert (ROOT / name).exists(), name


def test_workflows_install_extras_that_exist():
    named = {
        name
        for run in all_runs()
        for group in re.findall(r'"\.\[([\w,]+)\]"', run)
        for name in group.split(",")
    }
    assert named
    assert named <= PROJECT["project"]["optional-dependencies"].keys()


def test_the_makefile_declares_every_target_that_is_no_file():
    text = read("Makefile")
    phony = set(re.search(r"^\.PHONY: (.*)$", text, re.M).group(1).split())
    assert phony == set(re.findall(r"^([a-z-]+):", text, re.M))


def test_the_version_is_the_same_wherever_it_is_written():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == tc.__version__
    assert {"cff-version", "message", "title", "authors"} <= citation.keys()
    assert citation["license"] == PROJECT["project"]["license"]


@pytest.mark.parametrize(
    "name",
    [
        "CITATION.cff", "SECURITY.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "docs/releasing.md",
        ".github/ISSUE_TEMPLATE/config.yml",
    ],
)  # fmt: skip
def test_the_project_has_one_address_and_no_mailbox(name):
    text = read(name)
    assert all(url.startswith(HOME) for url in re.findall(r"https://github\.com/[^\s)\">]+", text))
    assert not re.search(r"[\w.]+@[\w-]+\.\w+", text)


def test_all_addresses_of_the_package_lie_at_its_home():
    urls = PROJECT["project"]["urls"]
    assert {"Documentation", "Source", "Issues", "Changelog"} <= urls.keys()
    assert all(url.startswith(HOME) for url in urls.values())


@pytest.mark.parametrize("name", ["CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_pages_for_contributors_link_to_files_that_exist(name):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", read(name)):
        assert ((ROOT / name).parent / target).exists(), target


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")))
def test_a_form_for_issues_names_each_question_once(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"]
    assert form["description"]
    questions = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(questions) == len(set(questions)) > 0
    assert all(part["attributes"].get("label") for part in form["body"] if "id" in part)


def test_hooks_call_the_programs_that_make_test_calls():
    (repository,) = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert repository["repo"] == "local"
    programs = {hook["entry"].split()[0].removeprefix(".venv/bin/") for hook in repository["hooks"]}
    test = re.search(r"^test:.*\n((?:\t.*\n)+)", read("Makefile"), re.M).group(1)
    called = set(re.findall(r"\$\(BIN\)/([\w-]+)", test))
    assert programs == {"ruff", "mypy"}
    assert programs < called


def test_typed_is_marked_so_that_others_can_check_against_us():
    assert (ROOT / "src" / "tablecloak" / "py.typed").exists()
    assert "Typing :: Typed" in PROJECT["project"]["classifiers"]

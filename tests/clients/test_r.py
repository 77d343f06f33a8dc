"""The R package: what it would send is answered as its own tests expect; its pages fit its code.

Where R is installed, its package is installed and asks the program a real question. All of
`clients/r/tests` runs in .github/workflows/tests.yml; both sides read requests.json.
"""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pandas as pd
import pytest
from typer.testing import CliRunner

from tablecloak.cli.main import app
from tablecloak.service.call import CALLS

PACKAGE = Path(__file__).parents[2] / "clients" / "r"
SHARED = json.loads((PACKAGE / "tests" / "requests.json").read_text("utf-8"))
CODE = {path.name: path.read_text("utf-8") for path in sorted((PACKAGE / "R").iterdir())}
EXPORTS = re.findall(r"^export\((\w+)\)$", (PACKAGE / "NAMESPACE").read_text("utf-8"), re.M)


@pytest.fixture(scope="module")
def manual() -> ModuleType:
    """The program that writes the pages of the manual."""
    spec = importlib.util.spec_from_file_location("write_man", PACKAGE / "tools" / "write_man.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_function_that_the_package_exports_has_its_page(manual):
    pages = "".join(manual.pages().values())
    assert sorted(EXPORTS) == sorted(re.findall(r"\\alias\{(\w+)\}", pages))
    assert sorted(SHARED["arguments"]) == sorted(manual.functions())
    assert len(EXPORTS) >= 5 + 15


@pytest.mark.parametrize("name", SHARED["arguments"])
def test_a_function_has_the_arguments_of_rtauargus_in_their_order(manual, name):
    signature = manual.functions()[name]
    assert manual.arguments_of(signature) == SHARED["arguments"][name]


def first_list(code: str) -> list[str]:
    """What stands between the commas of the first list( ) of some R."""
    parts, depth = [""], 0
    for letter in code.partition("list(")[2]:
        depth += (letter in "([{") - (letter in ")]}")
        if depth < 0:
            break
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


@pytest.mark.parametrize("name", [name for name in SHARED["arguments"] if name in CALLS])
def test_every_argument_is_sent_to_a_call_that_has_it_or_is_named_as_unused(name):
    known = {each.name for each in CALLS.parameters(name)}
    listed = re.search(r"^unused <- c\((.*?)\)$", CODE["ask.R"], re.M | re.S)
    local = {*re.findall(r'"(\w+)"', listed[1]), "file_name", "..."} - {"verbose"}
    assert {each for each in SHARED["arguments"][name] if each not in local} <= known
    body = re.search(rf"^{name} <- function.*?^\}}$", CODE["calls.R"], re.M | re.S)[0]
    sent = {each.split("=")[0].strip() for each in first_list(body.partition(f'ask("{name}"')[2])}
    assert set(SHARED["arguments"][name]) - local <= sent
    # In its requests R sends all of these, and what the user added.
    for request in (each["request"] for each in SHARED["calls"] if each["call"] == name):
        assert sent <= set(request) <= sent | {"time_limit", "tolerance"}


@pytest.mark.parametrize("number", range(len(SHARED["calls"])))
def test_a_request_of_r_is_answered_as_its_tests_expect(number, tmp_path, monkeypatch):
    each = SHARED["calls"][number]
    monkeypatch.chdir(tmp_path)
    Path("request.json").write_text(json.dumps(each["request"]), "utf-8")
    # The words of `ask` in R/ask.R.
    words = ["call", each["call"], "request.json", "-o", "answer.json"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    answer = json.loads(Path("answer.json").read_text("utf-8"))
    for key, expected in each["answer"].items():
        found = answer[key]
        if isinstance(expected, dict):
            found = {name: found[name] for name in expected}
        assert found == expected, key


def test_all_calls_of_the_package_are_among_the_requests():
    assert {each["call"] for each in SHARED["calls"]} == set(SHARED["arguments"]) - {"run_arb"}
    assert '"call", call, sent, "-o", got' in CODE["ask.R"]


def test_a_batch_is_run_by_the_words_of_r_and_its_files_are_found_in_what_is_printed(tmp_path):
    batch = SHARED["batch"]
    for name, text in batch["files"].items():
        (tmp_path / name).write_text(text, "utf-8")
    words = [word.replace("FOLDER", str(tmp_path)) for word in batch["command"]]
    assert 'c("argus", arb_filename, "--out", dirname(arb_filename))' in CODE["calls.R"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    pattern = re.search(r'grep\("(.*?)", done', CODE["calls.R"])[1].replace("\\\\", "\\")
    written = [Path(line.strip()) for line in done.output.splitlines() if re.search(pattern, line)]
    assert 'basename(dirname(written)) != "internal"' in CODE["calls.R"]
    written = [path for path in written if path.parent.name != "internal"]
    assert [path.name for path in written] == batch["written"]
    letters = pd.read_csv(written[0], header=None)[4].value_counts().to_dict()
    assert letters == batch["statuses"]


def test_the_program_ends_with_the_codes_that_r_reads(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    request = SHARED["calls"][0]["request"] | {"totcod": "Total"}
    Path("request.json").write_text(json.dumps(request), "utf-8")
    done = CliRunner().invoke(app, ["call", "tab_rtauargus", "request.json", "-o", "answer.json"])
    assert done.exit_code == 2
    assert "totcod: unknown key. Did you mean 'totcode'?" in done.output
    assert not Path("answer.json").exists()


def test_pages_of_the_manual_are_those_that_the_calls_and_functions_give(manual):
    for name, page in manual.pages().items():
        shown = (PACKAGE / "man" / f"{name}.Rd").read_text("utf-8")
        assert shown == page, "run python clients/r/tools/write_man.py"


def test_r_has_the_keys_that_the_schema_of_a_job_declares_as_paths(manual):
    shown = (PACKAGE / "inst" / "job.json").read_text("utf-8")
    assert shown == manual.declared(), "run python clients/r/tools/write_man.py"
    paths = json.loads(shown)["paths"]
    assert ["register", "folder"] in paths and ["published", "*", "problem"] in paths


def test_pages_of_functions_on_data_frames_have_examples(manual):
    assert [name for name, page in manual.commented().items() if "\\examples{" not in page] == []
    assert "\\examples{" in manual.pages()["tab_rtauargus"]


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.R")), ids=lambda path: path.name)
def test_brackets_and_quotes_of_r_are_closed(path):
    code = re.sub(
        r"#.*", "", re.sub(r'"(?:\\.|[^"\\])*"|\'[^\']*\'', '""', path.read_text("utf-8"))
    )
    open_: list[str] = []
    for letter in code:
        if letter in "([{":
            open_.append(letter)
        elif letter in ")]}":
            assert open_.pop() + letter in ("()", "[]", "{}")
    assert not open_
    assert "\t" not in code


def has_r() -> bool:
    """Whether R and what the package needs are installed."""
    if shutil.which("Rscript") is None:
        return False
    asked = ["Rscript", "-e", "stopifnot(requireNamespace('jsonlite', quietly = TRUE))"]
    return subprocess.run(asked, capture_output=True, check=False).returncode == 0


QUESTION = """
library(tablecloak)
options(tablecloak.program = Sys.getenv("TABLECLOAK_PROGRAM"))
table <- data.frame(
  region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
  TOT = c(10, 20, 30, 40, 50, 90, 50, 70, 120), N_OBS = c(1, 9, 10, 9, 9, 18, 10, 18, 28)
)
table$is_secret_prim <- table$N_OBS < 3
found <- tab_rtauargus(
  table, c("region", "size"), value = "TOT", freq = "N_OBS", secret_var = "is_secret_prim",
  totcode = c(region = "Total", size = "Total"), verbose = FALSE
)
cat(tablecloak:::session$server$port, sum(found$Status != "V"), "\\n")
"""


@pytest.mark.slow
@pytest.mark.skipif(not has_r(), reason="no R with jsonlite on this machine")
def test_r_asks_the_program_and_gets_a_protected_table(tmp_path):
    library = tmp_path / "library"
    library.mkdir()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    environment = os.environ | {
        "R_LIBS": str(library),
        "TMPDIR": str(temporary),
        "TABLECLOAK_PROGRAM": str(Path(sys.executable).with_name("tablecloak")),
    }
    install = ["R", "CMD", "INSTALL", f"--library={library}", str(PACKAGE)]
    subprocess.run(install, env=environment, check=True, capture_output=True)
    (tmp_path / "question.R").write_text(QUESTION)
    asked = ["Rscript", str(tmp_path / "question.R")]
    done = subprocess.run(asked, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    # What the server held of the question is gone when R is.
    assert not list(temporary.iterdir())
    # One sensitive cell; three more make a rectangle around it.
    port, hidden = done.stdout.split()[-2:]
    assert hidden == "4"
    # The server of the session ends with it.
    with pytest.raises(ConnectionRefusedError):
        for _ in range(100):
            socket.create_connection(("127.0.0.1", int(port)), timeout=5).close()
            time.sleep(0.2)
    given = ["Rscript", "requests.R"]
    folder = PACKAGE / "tests"
    subprocess.run(given, env=environment, cwd=folder, check=True, capture_output=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment |= {"PATH": path}
    for name in ("tables.R", "objects.R", "server.R"):
        given = ["Rscript", name]
        subprocess.run(given, env=environment, cwd=folder, check=True, capture_output=True)

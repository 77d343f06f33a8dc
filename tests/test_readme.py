"""README shows what exists; tests/wheel_check.py runs it as printed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from typer.main import get_command

import readme
import tablecloak as tc
import wheel_check
from tablecloak.cli.main import app
from tablecloak.extras import EXTRA_OF

ROOT = Path(__file__).resolve().parents[1]
STEPS = readme.steps((ROOT / "README.md").read_text("utf-8"))
COMMANDS = [step for step in STEPS if not step.is_python]
PROGRAMS = [step for step in STEPS if step.is_python]


def test_readme_shows_commands_and_programs():
    assert COMMANDS
    assert PROGRAMS


@pytest.mark.parametrize("step", COMMANDS, ids=lambda step: step.text)
def test_a_command_of_readme_has_options_that_exist(step):
    group = get_command(app)
    words = step.words[1:]
    with group.make_context("tablecloak", words, resilient_parsing=False) as context:
        name, command, rest = group.resolve_command(context, words)
        while hasattr(command, "commands"):
            name, command, rest = command.resolve_command(context, rest)
        with command.make_context(name, rest, parent=context) as parsed:
            assert parsed.params is not None


@pytest.mark.parametrize(
    "text",
    [*(step.text for step in PROGRAMS), wheel_check.BARE],
    ids=lambda text: text[:20].strip(),
)
def test_a_program_of_readme_or_of_the_check_of_the_wheel_uses_public_names(text):
    tree = ast.parse(text)
    used = {
        node.attr
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "tc"
    }
    assert used - {"__file__"} <= set(tc.__all__)


PAGE = """\
```
make demo
tablecloak example firms   # data
```

```python
first = 1
```

Some text with `tablecloak none`.

```console
$ tablecloak protect job.toml \\
    --out results/
All releases are proved safe.
```

```toml
tablecloak = "not a command"
```

```python
assert first == 1
```

`pip install tablecloak`, or `pip install "tablecloak[app,solvers]"`; in a clone `pip install ".[plots]"`.
"""  # noqa: E501


def test_commands_and_programs_are_found_in_order_with_their_lines():
    found = readme.steps(PAGE)
    assert [(step.line, step.is_python) for step in found] == [
        (3, False),
        (7, True),
        (13, False),
        (23, True),
    ]
    assert found[0].words == ["tablecloak", "example", "firms"]
    assert found[2].words == ["tablecloak", "protect", "job.toml", "--out", "results/"]


def test_extras_are_read_from_what_the_page_tells_to_install():
    assert readme.extras(PAGE) == {"app", "solvers", "plots"}
    assert readme.extras("`pip install tablecloak`") == set()
    assert set(EXTRA_OF.values()) >= readme.extras(PAGE)


def test_programs_share_one_session_and_a_fault_names_the_line_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```python\na = 1\n```\n\n```python\n\nassert a == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        readme.run(page)
    assert caught.traceback[-1].lineno + 1 == 7
    assert Path(caught.traceback[-1].path).name == "page.md"


def test_a_command_that_fails_ends_the_run_and_is_named(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```\ntablecloak nothing\n```\n")
    with pytest.raises(SystemExit, match=r"page\.md, line 4: tablecloak nothing"):
        readme.run(page)

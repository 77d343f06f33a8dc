"""docs/safe.md works as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "safe.md"


def test_the_example_runs_as_printed():
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(found) == 1
    exec(compile(found[0], str(PAGE), "exec"), {"__name__": "page"})

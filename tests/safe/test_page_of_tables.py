"""docs/safe.md works as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "safe.md"


def test_the_examples_run_as_printed():
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert len(found) == 2
    exec(compile("".join(found), str(PAGE), "exec"), {"__name__": "page"})

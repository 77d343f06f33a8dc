"""What lies in tests/data is needed, is described, and is complete without anything beside it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from instances import SHIPPED, Instances

FILES = sorted(path for path in SHIPPED.rglob("*") if path.is_file() and path.suffix != ".md")


def name(path: Path) -> str:
    return path.relative_to(SHIPPED).as_posix()


def test_every_shipped_file_is_read_by_a_test_and_described_in_the_notice():
    tests = "".join(
        path.read_text() for path in SHIPPED.parent.rglob("test_*.py") if path != Path(__file__)
    )
    notice = (SHIPPED / "NOTICE.md").read_text()
    unread, undescribed = [], []
    for path in FILES:
        index = path.parent / "index.json"
        is_listed = index.exists() and f'"{path.name}"' in index.read_text("utf-8")
        if (index if is_listed else path).name.split(".")[0] not in tests:
            unread.append(name(path))
        if not {f"`{name(path)}`", f"`{path.parent.name}/`"} & set(re.findall("`.*?`", notice)):
            undescribed.append(name(path))
    assert len(FILES) > 100
    assert (unread, undescribed) == ([], [])


def test_a_shipped_file_is_found_before_one_beside_the_clone(tmp_path):
    for folder, text in (("here", "a"), ("beside", "b")):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x.csv").write_text(text)
    (tmp_path / "beside/y.csv").write_text("c")
    instances = Instances(tmp_path / "here", tmp_path / "beside")
    assert (instances / "x.csv").read_text() == "a"
    assert (instances / "y.csv").read_text() == "c"


def test_a_file_that_is_nowhere_is_named(tmp_path):
    with pytest.raises(pytest.skip.Exception, match=r"^z\.csv may not be shipped"):
        Instances(tmp_path) / "z.csv"

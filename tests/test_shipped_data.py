"""What lies in tests/data is needed, is described, and is complete without anything beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from instances import SHIPPED, Instances

FILES = sorted(path for path in SHIPPED.rglob("*") if path.is_file() and path.suffix != ".md")


def name(path: Path) -> str:
    return path.relative_to(SHIPPED).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_every_shipped_file_is_read_by_a_test_and_described_in_the_notice(path):
    tests = [each for each in SHIPPED.parent.rglob("test_*.py") if each != Path(__file__)]
    index = path.parent / "index.json"
    listed = index.exists() and f'"{path.name}"' in index.read_text("utf-8")
    stem = (index if listed else path).name.split(".")[0]
    assert any(stem in each.read_text() for each in tests)
    notice = (SHIPPED / "NOTICE.md").read_text()
    assert f"`{name(path)}`" in notice or f"`{path.parent.name}/`" in notice


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

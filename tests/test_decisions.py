"""Each reference to a decision meets an entry, and each entry says what was asked and chosen."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]

ENTRIES = {
    title: body
    for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))
    for title, body in re.findall(r"^### (.+)\n((?:.+\n)+)", page.read_text("utf-8"), re.M)
}

LINES = ["Question", "Choice", "Figure", "Rejected"]


def references() -> list[tuple[Path, str]]:
    """Titles that the sources name, however their lines are broken."""
    named = []
    for folder, ending in (("src", "py"), ("tests", "py"), ("benchmarks", "py"), ("docs", "md")):
        for path in sorted((ROOT / folder).rglob(f"*.{ending}")):
            if path == Path(__file__):
                continue
            text = re.sub(r"\s*\n\s*(?:# )?", " ", path.read_text("utf-8"))
            named += [(path, title) for title in re.findall(r'docs/decisions,\s+"([^"]+)"', text)]
    return named


def test_each_reference_meets_an_entry():
    named = references()
    assert len(named) > 50
    assert not [(path.name, title) for path, title in named if title not in ENTRIES]


def test_no_reference_leads_to_the_page_that_was_divided():
    pages = [*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]
    assert not [page.name for page in pages if "decisions.md" in page.read_text("utf-8")]


def test_titles_are_unique():
    pages = sorted((ROOT / "docs" / "decisions").glob("*.md"))
    titles = Counter(
        title
        for page in pages
        for title in re.findall(r"^### (.+)$", page.read_text("utf-8"), re.M)
    )
    assert len(titles) > 90
    assert max(titles.values()) == 1


def test_files_and_folders_that_the_pages_name_exist():
    parts = [ROOT / folder for folder in ("src", "tests", "benchmarks", "docs")]
    there = [f"/{path.relative_to(ROOT).as_posix()}" for part in parts for path in part.rglob("*")]
    named = {
        (page.name, path)
        for page in sorted((ROOT / "docs" / "decisions").glob("*.md"))
        for path in re.findall(r"`([\w./-]+(?:\.(?:py|md)|/))`", page.read_text("utf-8"))
    }
    assert len(named) > 10
    assert not [
        each for each in named if not any(at.endswith(f"/{each[1].rstrip('/')}") for at in there)
    ]


def test_each_entry_has_its_four_lines():
    for title, body in ENTRIES.items():
        assert re.findall(r"^- \*\*(\w+)\.\*\* \S", body, re.M) == LINES, title

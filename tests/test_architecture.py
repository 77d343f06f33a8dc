"""What docs/architecture.md says of folders and modules is so."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "tablecloak"
IMAGES = ROOT / "docs" / "images"
PAGE = (ROOT / "docs" / "architecture.md").read_text("utf-8")
DRAWN = runpy.run_path(str(IMAGES / "draw_ways.py"))
BOXES = [(name, box) for name, (_, boxes) in DRAWN["WAYS"].items() for box in boxes]


@pytest.mark.parametrize("name", DRAWN["WAYS"])
def test_a_picture_of_a_way_is_the_one_that_its_program_draws_and_stands_on_the_page(name):
    picture = IMAGES / f"way-{name}.svg"
    assert picture.read_text("utf-8") == DRAWN["drawing"](name)
    assert f"(images/{picture.name})" in PAGE


@pytest.mark.parametrize("name, box", BOXES, ids=lambda part: getattr(part, "place", part))
def test_a_station_of_a_way_exists_and_defines_its_public_function(name, box):
    place = PACKAGE / box.place
    assert place.is_dir() if box.place.endswith("/") else place.is_file()
    if box.call:
        files = sorted(place.glob("*.py")) if place.is_dir() else [place]
        defined = rf"^ *(?:def|class) {box.call.split('.')[-1]}\b"
        assert any(re.search(defined, file.read_text("utf-8"), re.M) for file in files)


def test_files_and_folders_that_the_page_names_exist():
    prose = re.sub(r"^```.*?^```", "", PAGE, flags=re.M | re.S)
    # Folders of results of a job, not of the sources.
    named = set(re.findall(r"`([\w./-]+(?:\.py|/))`", prose)) - {"release/", "internal/"}
    assert len(named) > 20
    assert not [path for path in named if not any((at / path).exists() for at in (PACKAGE, ROOT))]

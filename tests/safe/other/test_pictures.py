"""A picture leaves by the judgement of its own output, as it was drawn of what was judged."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.safe import Project


@pytest.fixture
def people(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "person": range(300),
            "age": random.integers(18, 90, 300),
            "income": np.round(random.lognormal(8, 1, 300)),
        }
    )


def test_two_pictures_of_the_same_name_leave_each_by_its_own_judgement(people, tmp_path):
    project = Project(data=people, contributor="person")
    project.hist(people, "age")
    project.hist(people, "income")
    one, two = (output.files[0] for output in project.outputs.values())
    assert (one.name, two.name) == ("histogram.png", "histogram-2.png")
    assert (tmp_path / one).read_bytes() != (tmp_path / two).read_bytes()


def test_a_picture_that_was_replaced_after_it_was_judged_does_not_leave(people, tmp_path):
    project = Project(data=people, contributor="person")
    project.hist(people, "age", filename="ages.png")
    (tmp_path / "ages.png").write_text("largest income: 123456")
    with pytest.raises(tc.InputError, match="was changed after it was drawn"):
        project.finalise(tmp_path / "bundle")
    assert not (tmp_path / "bundle").exists()

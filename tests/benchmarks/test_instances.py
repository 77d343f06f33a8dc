"""Families of instances have the sizes and severities that their names say."""

from __future__ import annotations

import pytest

import tablecloak as tc
from bench.instances import generated, instances, linked


def test_families_have_the_sizes_and_severities_they_say():
    problem = generated((5, 6), 0.2)
    assert problem.table.n_cells == 42
    assert problem.n_sensitive == 6
    assert generated((5, 6), 0.2).table.values.tolist() == problem.table.values.tolist()
    assert set(linked(300).table.keys.columns) == {"region", "industry", "size"}
    assert set(instances(quick=True)) < set(instances())
    with pytest.raises(tc.InputError, match="does not exist"):
        instances("/nowhere")


def test_a_folder_of_problem_files_adds_instances_smallest_first(tmp_path):
    for name, shape in (("large", (5, 5)), ("small", (2, 2))):
        tc.write_jj(generated(shape, 0.3), tmp_path / f"{name}.jj")
    (tmp_path / "notes.txt").write_text("no problem")
    found = instances(tmp_path, quick=True)
    assert list(found)[-2:] == ["small", "large"]
    assert found["small"]().table.n_cells == 9
    with pytest.raises(tc.InputError, match="no file ends in .jj"):
        (tmp_path / "empty").mkdir()
        instances(tmp_path / "empty")

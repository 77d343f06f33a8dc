"""Counts perturbed by cell keys, asked from another language."""

from __future__ import annotations

import numpy as np

from rtauargus import ask
from tablecloak.cellkey import design_count_table
from tablecloak.cellkey.files import write_perturbations


def test_perturbed_counts_are_answered_with_the_true_ones_and_no_bound(tmp_path):
    write_perturbations(design_count_table(2, 1.0), tmp_path / "ptable.csv")
    persons = {"sex": ["m", "f"] * 30, "record_key": np.linspace(0.01, 0.99, 60).tolist()}
    answer = ask(
        "cellkey",
        data={"file": "persons.csv"},
        dimensions={"sex": {}},
        perturbation={"kind": "counts", "ptable": "ptable.csv"},
        files={"persons.csv": persons, "ptable.csv": (tmp_path / "ptable.csv").read_text()},
    )
    assert answer["bound"] is None and not answer["is_optimal"]
    assert len(answer["release"]["sex"]) == len(answer["cells"]["sex"]) == 3
    # Noise promises nothing, whatever an attack finds.
    assert answer["promise"] == ""
    assert answer["is_safe"] is None

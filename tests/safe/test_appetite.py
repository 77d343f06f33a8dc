"""Limits of a data centre: read from the file of ACRO, and refused where they make no sense."""

from __future__ import annotations

import pandas as pd
import pytest

from tablecloak.errors import InputError
from tablecloak.safe import Appetite, Project

ACRO_DEFAULTS = """
safe_threshold: 10
safe_dof_threshold: 10
safe_nk_n: 2
safe_nk_k: 0.9
safe_pratio_p: 0.1
check_missing_values: False
survival_safe_threshold: 10
zeros_are_disclosive: True
"""
"""The file ``default.yaml`` of ACRO 1.0, without its comments."""


def test_the_defaults_are_those_of_acro(tmp_path):
    path = tmp_path / "default.yaml"
    path.write_text(ACRO_DEFAULTS, encoding="utf-8")
    assert Appetite.read(path) == Appetite() == Project().appetite
    assert Project(path).appetite == Project({"safe_threshold": 10}).appetite


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("safe_treshold: 5", "no limit 'safe_treshold'. Did you mean 'safe_threshold'"),
        ("safe_threshold: 0", "safe_threshold = 0: .*greater than or equal to 1"),
        ("safe_nk_k: 1.5", "safe_nk_k = 1.5"),
        ("- 5", "must hold keys and values, such as 'safe_threshold: 10'"),
        ("a: [", "is not YAML"),
    ],
)
def test_a_file_of_limits_that_makes_no_sense_says_where(tmp_path, text, message):
    path = tmp_path / "limits.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=rf"limits.yaml.*{message}"):
        Project(str(path))


def test_limits_stay_as_they_are_while_outputs_are_judged_by_them():
    limits = Appetite(safe_threshold=5)
    with pytest.raises(ValueError, match="frozen"):
        limits.safe_threshold = 1


def test_codes_of_a_list_that_the_data_centre_names_are_no_amounts(tmp_path):
    own = tmp_path / "shops.hrc"
    own.write_text("7\n@7305\n@7481\n", encoding="utf-8")
    codes = ["01.11", "2822", "7305", "7481"]
    firms = pd.DataFrame({"activity": codes * 30, "export": [0, 1, 1] * 40})

    def is_doubted(*lists: str) -> bool:
        project = Project({"code_lists": lists})
        project.crosstab(firms.activity, firms.export)
        (output,) = project.outputs.values()
        return "labels" in {reason.rule for reason in output.outcome.reasons}

    assert not is_doubted("nace-2.1", str(own))
    assert is_doubted("nace-2.1")  # 7305 and 7481 may be somebody's amounts
    with pytest.raises(InputError, match="'nace-9' is neither a file nor one of"):
        is_doubted("nace-9")

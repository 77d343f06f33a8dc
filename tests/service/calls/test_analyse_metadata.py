"""The plan of a publication, in the columns of rtauargus."""

from __future__ import annotations

import pandas as pd
import pytest

import tablecloak as tc
from instances import Instances
from rtauargus import FOUR, ask
from tablecloak.service.answers import columns_of

# fmt: off
METADATA = pd.DataFrame(
    [(name, "france", None, "TOT", None, *FOUR[name]) for name in FOUR],
    columns=["table_name", "field", "hrc_field", "indicator", "hrc_indicator",
             "spanning_1", "spanning_2"],
).assign(hrc_spanning_1=["hrc_naf", "hrc_naf", "hrc_nuts", "hrc_nuts"], hrc_spanning_2=None)
# fmt: on


def test_the_example_of_its_vignette_has_the_same_four_tables_in_the_same_two_clusters():
    path = Instances() / "rtauargus/metadata_pizza_lettuce.csv.gz"
    answer = ask("analyse_metadata", df_metadata=columns_of(pd.read_csv(path)), verbose=True)
    found = pd.DataFrame(answer["result"]).fillna("")
    where = "france_entreprises_2023"
    assert sorted(zip(found.cluster, found.table_name, found.indicator, strict=True)) == [
        (f"{where}.hrc_lettuce", "T10.T12.T8", "LETTUCE"),
        (f"{where}.hrc_lettuce", "T11.T7.T9", "LETTUCE"),
        (f"{where}.to_pizza", "T1.T2", "to_pizza"),
        (f"{where}.to_pizza", "T3.T4.T5.T6", "to_pizza"),
    ]
    spans = {
        name: set(row)
        for name, *row in found[
            ["table_name", "spanning_1", "spanning_2", "spanning_3"]
        ].itertuples(index=False)
    }
    assert spans["T10.T12.T8"] == {"HRC_NAF", "cj", "HRC_LETTUCE^h"}
    assert spans["T1.T2"] == {"HRC_NUTS", "size", ""}
    assert len(answer["published"]["table"]) == 12


def test_the_four_tables_of_insee_are_one_cluster():
    found = pd.DataFrame(ask("analyse_metadata", df_metadata=columns_of(METADATA))["result"])
    assert set(found.cluster) == {"france.TOT"}
    assert sorted(found.table_name) == sorted(FOUR)


def test_equations_come_as_a_table():
    lines = METADATA.assign(indicator=["all", "men", "women", "other"], hrc_spanning_1=None)
    equations = {"eq_name": ["e"], "eq_indicator": ["all = men + women"], "unit": ["EUR"]}
    answer = ask("analyse_metadata", df_metadata=columns_of(lines), df_eq_indicator=equations)
    clusters = pd.DataFrame(answer["result"]).groupby("cluster").size().tolist()
    assert sorted(clusters) == [1, 3]


def test_a_column_that_is_missing_is_named():
    with pytest.raises(tc.InputError, match="table_name"):
        ask("analyse_metadata", df_metadata=columns_of(METADATA.drop(columns="table_name")))

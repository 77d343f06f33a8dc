"""Files for another authority, checked against the data structure definition that it gives."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from tablecloak.publish.data_structure import DataStructure

LISTS = {"CL_AREA": ["_T", "N", "S"], "CL_SEX": ["_T", "F", "M"], "CL_CONF": ["F", "D", "C"]}
DIMENSIONS = {"REGION": "CL_AREA", "SEX": "CL_SEX"}
ADDRESS = "urn:sdmx:org.sdmx.infomodel.codelist.Codelist=X:{}(1.0)"

AS_XML = """<m:Structure xmlns:m="urn:m" xmlns:s="urn:s"><s:Codelists>
<s:Codelist id="CL_AREA"><s:Code id="_T"/><s:Code id="N"/><s:Code id="S"/></s:Codelist>
<s:Codelist id="CL_SEX"><s:Code id="_T"/><s:Code id="F"/><s:Code id="M"/></s:Codelist>
<s:Codelist id="CL_CONF"><s:Code id="F"/><s:Code id="D"/><s:Code id="C"/></s:Codelist>
</s:Codelists><s:DataStructure id="D"><s:DimensionList>
<s:Dimension id="REGION"><s:Enumeration><Ref id="CL_AREA"/></s:Enumeration></s:Dimension>
<s:Dimension id="SEX"><s:Enumeration><Ref id="CL_SEX"/></s:Enumeration></s:Dimension>
<s:TimeDimension id="TIME_PERIOD"/></s:DimensionList><s:AttributeList>
<s:Attribute id="CONF_STATUS" usage="mandatory"><s:Enumeration>
urn:sdmx:org.sdmx.infomodel.codelist.Codelist=X:CL_CONF(1.0)</s:Enumeration></s:Attribute>
<s:Attribute id="OBS_STATUS" assignmentStatus="Conditional"/>
</s:AttributeList></s:DataStructure></m:Structure>"""
"""References as in version 2.1 for the dimensions, and as in version 3.0 for the attribute."""


def described(name: str, codes: str) -> dict[str, object]:
    return {"id": name, "localRepresentation": {"enumeration": ADDRESS.format(codes)}}


AS_JSON = {
    "data": {
        "codelists": [
            {"id": name, "codes": [{"id": code} for code in codes]} for name, codes in LISTS.items()
        ],
        "dataStructures": [
            {
                "dataStructureComponents": {
                    "dimensionList": {
                        "dimensions": [described(*pair) for pair in DIMENSIONS.items()],
                        "timeDimensions": [{"id": "TIME_PERIOD"}],
                    },
                    "attributeList": {
                        "attributes": [
                            {**described("CONF_STATUS", "CL_CONF"), "usage": "mandatory"},
                            {"id": "OBS_STATUS"},
                        ]
                    },
                }
            }
        ],
    }
}


@pytest.fixture
def structure(tmp_path):
    path = tmp_path / "structure.xml"
    path.write_text(AS_XML)
    return path


def sent(tmp_path, **options: object) -> pd.DataFrame:
    """A table by region alone, of which nothing is hidden."""
    records = pd.DataFrame({"region": list("NNSS"), "v": [1.0, 2, 3, 4]})
    problem = tc.tabulate(records, ["region"], "v").protect(tc.Manual([]))
    constants = {"TIME_PERIOD": "2026"}
    part = tc.Transmission(problem, np.zeros(3, dtype=bool), constants=constants)
    tc.write_transmission(part, tmp_path / "sent.csv", **options)
    return pd.read_csv(tmp_path / "sent.csv", dtype=str)


def test_xml_and_json_say_the_same(tmp_path, structure):
    (tmp_path / "structure.json").write_text(json.dumps(AS_JSON))
    one, other = DataStructure.read(structure), DataStructure.read(tmp_path / "structure.json")
    assert one.components == other.components
    assert one.codes == {"REGION": LISTS["CL_AREA"], "SEX": LISTS["CL_SEX"], "TIME_PERIOD": ()}


def test_totals_and_dimensions_that_a_table_lacks_get_the_code_of_the_total(tmp_path, structure):
    frame = sent(tmp_path, structure=structure)
    assert frame["REGION"].tolist() == ["_T", "N", "S"]
    assert set(frame["SEX"]) == {"_T"}
    # A column of ours that the structure lacks is empty, and left out.
    assert "CONF_REDIST" not in frame
    template = tmp_path / "template.csv"
    template.write_text("REGION,TIME_PERIOD\n_T,2026\nS,2026\n")
    assert sent(tmp_path, template=template)["OBS_VALUE"].tolist() == ["10", "7"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('Code id="S"', 'Code id="W"', "'REGION' has no code 'S'"),
        ('id="OBS_STATUS"', 'id="OTHER"', "'OBS_STATUS' is no dimension and no attribute"),
        ('id="OBS_STATUS" assignmentStatus="Conditional"', 'id="A" usage="mandatory"', "'OBS_ST"),
        ('<s:TimeDimension id="', '<s:Dimension id="FREQ"/><s:TimeDimension id="', "column 'FREQ'"),
        ('Code id="F"/><s:Code id="D"', 'Code id="D"', "'CONF_STATUS' has no code 'F'"),
        ("DataStructure", "Other", "defines 0 data structures"),
        ("</m:Structure>", "", "no structure message"),
        ("<m:Structure", "<!DOCTYPE a><m:Structure", "entities of its own"),
    ],
)
def test_what_does_not_fit_is_refused(tmp_path, structure, old, new, message):
    assert old in AS_XML
    structure.write_text(AS_XML.replace(old, new))
    with pytest.raises(tc.InputError, match=message):
        sent(tmp_path, structure=structure)
    assert not (tmp_path / "sent.csv").exists()

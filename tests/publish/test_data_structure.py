"""Files for another authority, checked against the data structure definition that it gives."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import tablecloak as tc
from instances import Instances
from tablecloak.publish.data_structure import DataStructure

LISTS = {"CL_AREA": ["_T", "N", "S"], "CL_SEX": ["_T", "F", "M"], "CL_CONF": ["F", "D", "C"]}
CONCEPT = "urn:sdmx:org.sdmx.infomodel.conceptscheme.Concept=X:CS(1.0).{}"
ADDRESS = "urn:sdmx:org.sdmx.infomodel.codelist.Codelist=X:{}(1.0)"

AS_XML = """<m:Structure xmlns:m="urn:m" xmlns:s="urn:s"><s:Codelists>
<s:Codelist id="CL_AREA"><s:Code id="_T"/><s:Code id="N"/><s:Code id="S"/></s:Codelist>
<s:Codelist id="CL_SEX"><s:Code id="_T"/><s:Code id="F"/><s:Code id="M"/></s:Codelist>
<s:Codelist id="CL_CONF"><s:Code id="F"/><s:Code id="D"/><s:Code id="C"/></s:Codelist>
</s:Codelists><s:Concepts>
<s:Concept id="GENDER"><s:Enumeration><Ref id="CL_SEX"/></s:Enumeration></s:Concept>
</s:Concepts><s:DataStructure id="D"><s:DimensionList>
<s:Dimension><s:ConceptIdentity><Ref id="REGION"/></s:ConceptIdentity>
<s:Enumeration><Ref id="CL_AREA"/></s:Enumeration></s:Dimension>
<s:Dimension id="SEX"><s:ConceptIdentity><Ref id="GENDER"/></s:ConceptIdentity></s:Dimension>
<s:TimeDimension id="TIME_PERIOD"><s:ConceptIdentity><Ref id="T"/></s:ConceptIdentity>
</s:TimeDimension></s:DimensionList><s:AttributeList>
<s:Attribute id="CONF_STATUS" usage="mandatory"><s:ConceptIdentity>
urn:sdmx:org.sdmx.infomodel.conceptscheme.Concept=X:CS(1.0).C</s:ConceptIdentity><s:Enumeration>
urn:sdmx:org.sdmx.infomodel.codelist.Codelist=X:CL_CONF(1.0)</s:Enumeration></s:Attribute>
<s:Attribute id="OBS_STATUS" assignmentStatus="Conditional">
<s:ConceptIdentity><Ref id="O"/></s:ConceptIdentity></s:Attribute>
</s:AttributeList></s:DataStructure></m:Structure>"""
"""References as in version 2.1 for the dimensions, and as in version 3.0 for an attribute.

A component without an identity of its own has that of its concept, and without a code list that of
its concept.
"""


FREQ = '<s:Dimension id="FREQ"><s:ConceptIdentity><Ref id="F"/></s:ConceptIdentity></s:Dimension>'
SECOND = f'<s:DataStructure id="E">{FREQ}</s:DataStructure>'


def described(name: str, codes: str) -> dict[str, object]:
    return {"id": name, "localRepresentation": {"enumeration": ADDRESS.format(codes)}}


AS_JSON = {
    "data": {
        "codelists": [
            {"id": name, "codes": [{"id": code} for code in codes]} for name, codes in LISTS.items()
        ],
        "conceptSchemes": [
            {
                "concepts": [
                    {
                        "id": "GENDER",
                        "coreRepresentation": {"enumeration": ADDRESS.format("CL_SEX")},
                    }
                ]
            }
        ],
        "dataStructures": [
            {
                "dataStructureComponents": {
                    "dimensionList": {
                        "dimensions": [
                            described("REGION", "CL_AREA"),
                            {"id": "SEX", "conceptIdentity": CONCEPT.format("GENDER")},
                        ],
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
        ("<s:TimeDimension", f"{FREQ}<s:TimeDimension", "column 'FREQ'"),
        ('Code id="F"/><s:Code id="D"', 'Code id="D"', "'CONF_STATUS' has no code 'F'"),
        ("DataStructure", "Other", "defines 0 data structures"),
        ("</m:Structure>", f"{SECOND}</m:Structure>", r"defines 2 data structures \(D, E\)"),
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


def test_of_several_data_structures_one_is_named(tmp_path, structure):
    alone = DataStructure.read(structure)
    structure.write_text(AS_XML.replace("</m:Structure>", f"{SECOND}</m:Structure>"))
    assert DataStructure.read(structure, "D").components == alone.components
    with pytest.raises(tc.InputError, match="expected one called 'F'"):
        DataStructure.read(structure, "F")


SENT = {"TIME_PERIOD": "2025", "FREQ": "A", "ADJUSTMENT": "N", "REF_AREA": "DE",
        "COUNTERPART_AREA": "W2", "REF_SECTOR": "S1", "COUNTERPART_SECTOR": "S1",
        "ACCOUNTING_ENTRY": "B", "STO": "B1G", "INSTR_ASSET": "_Z", "EXPENDITURE": "_Z",
        "UNIT_MEASURE": "XDC", "PRICES": "V", "TRANSFORMATION": "N", "TIME_FORMAT": "602",
        "DECIMALS": "0", "UNIT_MULT": "6"}  # fmt: skip


def value_added(tmp_path, lacking: str = "", flag: str = "A") -> pd.DataFrame:
    """Value added by activity, as the national accounts of Eurostat ask for it."""
    records = pd.DataFrame({"ACTIVITY": list("AABBCCCF"), "v": [1.0, 2, 30, 4, 5, 6, 7, 8]})
    problem = tc.tabulate(records, ["ACTIVITY"], "v").protect(tc.MinimumFrequency(2))
    constants = {name: code for name, code in SENT.items() if name != lacking}
    flags = {"minimum-frequency": flag}
    part = tc.Transmission(problem, problem.sensitive, constants=constants, flags=flags)
    path = Instances() / "sdmx/na_main.xml"
    tc.write_transmission(part, tmp_path / "sent.csv", structure=path)
    return pd.read_csv(tmp_path / "sent.csv", dtype=str)


def test_a_file_for_the_national_accounts_of_eurostat_fits_their_structure(tmp_path):
    """`na_main.xml` is what the registry of SDMX gives, with fewer codes."""
    with pytest.raises(
        tc.InputError, match="'CONF_STATUS' has no code 'A'.*another one by `flags`"
    ):
        value_added(tmp_path)
    with pytest.raises(tc.InputError, match="nothing stands in column 'TIME_FORMAT'"):
        value_added(tmp_path, "TIME_FORMAT", "C")
    frame = value_added(tmp_path, flag="C").set_index("ACTIVITY")
    assert frame["OBS_VALUE"].to_dict() == {"_T": "63", "A": "3", "B": "34", "C": "18", "F": "8"}
    assert frame["CONF_STATUS"].to_dict() == {"_T": "F", "A": "F", "B": "F", "C": "F", "F": "C"}

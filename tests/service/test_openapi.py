"""The description is derived, complete, and JSON."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from pydantic import Field

from serving import CELLS, TABLE
from tablecloak.protection import PROTECTIONS
from tablecloak.service.call import CALLS, Call
from tablecloak.service.openapi import description
from tablecloak.service.request import asked, keys_of
from tablecloak.service.server import create_app
from tablecloak.service.work import Work
from tablecloak.tables.rules.rule import RULES


@dataclass(frozen=True, kw_only=True)
class Double(Call):
    """Double a number."""

    name: ClassVar[str] = "double"
    number: Annotated[float, Field(gt=0, description="What is doubled.")]

    def answer(self, question: Any) -> dict[str, Any]:
        return {"doubled": 2 * self.number}


def test_it_is_json_whose_references_all_lead_somewhere():
    text = json.dumps(description("http://127.0.0.1:1"), allow_nan=False)
    found = json.loads(text)
    assert found["openapi"] == "3.1.0"
    assert "#/$defs" not in text
    names = set(re.findall(r'"#/components/schemas/([^"]+)"', text))
    assert len(names) > 10
    assert names <= set(found["components"]["schemas"])


def test_every_call_is_there_with_all_keys_that_it_takes():
    found = description("")
    for kind in CALLS:
        assert found["paths"][f"/v1/{kind.name}"]["post"]["summary"] == CALLS.summary(kind.name)
        schema = found["components"]["schemas"][f"{kind.name}.request"]
        assert set(schema["properties"]) == set(keys_of(kind))
        assert schema["additionalProperties"] is False


def test_a_new_call_is_described_and_answered_without_any_other_line(tmp_path):
    with CALLS.including(Double):
        schema = description("")["components"]["schemas"]["double.request"]
        app = create_app(Work(tmp_path, 1), "t", "127.0.0.1", 1000)
        user, headers = app.test_client(), {"Authorization": "Bearer t", "Host": "127.0.0.1"}
        answer = user.post("/v1/double?wait=60", json={"number": 4}, headers=headers)
        fault = user.post("/v1/double", json={"number": 0}, headers=headers)
    assert schema["required"] == ["number"]
    assert schema["properties"]["number"]["exclusiveMinimum"] == 0
    assert answer.json["answer"] == {"doubled": 8.0}
    assert "must be a number above 0" in fault.json["error"]["message"]


def test_every_rule_is_described_with_its_parameters():
    text = json.dumps(description("")["components"]["schemas"]["suppress.request"])
    assert len(RULES.names) > 3
    for name in RULES.names:
        assert f'"{name}"' in text


def test_every_address_of_the_server_is_described(tmp_path):
    app = create_app(Work(tmp_path, 1), "t", "127.0.0.1", 1000)
    described = description("")["paths"]
    for rule in app.url_map.iter_rules():
        path = re.sub(r"<(\w+)>", r"{\1}", rule.rule)
        if path not in ("/openapi.json", "/v1/{name}"):
            assert {m.lower() for m in rule.methods - {"HEAD", "OPTIONS"}} <= set(described[path])
    assert "/v1/jobs/{job}/stop" in described


def test_an_answer_has_the_keys_that_are_described(tmp_path):
    schemas = description("")["components"]["schemas"]
    for name, body in {
        "round": TABLE,
        "adjust": TABLE,
        "protect": TABLE | {way.name: {} for way in PROTECTIONS if not way.is_alone},
        "audit": {**TABLE, "release": {key: CELLS[key] for key in ("region", "size", "value")}},
        "write_hrc2": {"corr_table": {"a": ["x", "y"]}},
    }.items():
        folder = tmp_path / name
        folder.mkdir()
        call, question = asked(CALLS[name], body, folder)
        described = schemas[f"{name}.answer"]
        assert set(call.answer(question)) == set(described["properties"]), name
        job = schemas[f"{name}.job"]["properties"]["answer"]
        assert job == {"$ref": f"#/components/schemas/{name}.answer"}
    assert set(schemas["AuditedRelease"]["properties"]) > {"loss", "release", "cells", "is_safe"}

"""The data structure definition of SDMX: which columns and codes another authority accepts.

References
----------
.. [1] SDMX 2.1 and 3.0, Section 3A: structure messages in XML; SDMX-JSON, structure messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.storage import existing_file

MEASURE = "OBS_VALUE"
"""Column of the values."""

CODELIST = re.compile(r"Codelist=[^:]+:([^(]+)")
"""Name of a code list in its address."""


@dataclass(frozen=True)
class Component:
    """A dimension or an attribute.

    Parameters
    ----------
    name : str
        Its column.
    codes : collection of str
        Those of its code list; empty if it has none in the file.
    is_mandatory : bool
        Whether each row must have an entry.
    is_dimension : bool
    """

    name: str
    codes: Collection[str]
    is_mandatory: bool
    is_dimension: bool


@dataclass(frozen=True)
class DataStructure:
    """Which columns a file must and may have, and which codes.

    Parameters
    ----------
    source : str
        Where it comes from, for messages.
    components : tuple of Component
    """

    source: str
    components: tuple[Component, ...]

    @classmethod
    def read(cls, path: str | Path) -> DataStructure:
        """Read a structure message of SDMX-ML 2.1 or 3.0, or of SDMX-JSON.

        Raises
        ------
        InputError
            If it cannot be read, or does not define exactly one data structure.
        """
        text = existing_file(path).read_text(encoding="utf-8-sig")
        try:
            found, lists = (_in_json if text.lstrip().startswith("{") else _in_xml)(text)
        except (ElementTree.ParseError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}: is no structure message of SDMX-ML or SDMX-JSON ({error})."
            ) from None
        if len(found) != 1:
            raise InputError(
                f"{path}: defines {len(found)} data structures; expected one, with its code lists."
            )
        components = tuple(
            Component(name, lists.get(codes, ()), is_mandatory, is_dimension)
            for name, codes, is_mandatory, is_dimension in found[0]
        )
        return cls(str(path), components)

    @property
    def codes(self) -> dict[str, Collection[str]]:
        """Codes of each dimension."""
        return {part.name: part.codes for part in self.components if part.is_dimension}

    def checked(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the columns of a file that the structure has; other columns must be empty.

        Raises
        ------
        InputError
            If a column or an entry is missing, or a column or a code is not known; names the first.
        """
        names = [MEASURE, *(part.name for part in self.components)]
        for name in frame.columns:
            if name not in names and (frame[name] != "").any():
                raise InputError(
                    f"{self.source}: {name!r} is no dimension and no attribute."
                    f"{suggestion(str(name), names)}"
                )
        for part in self.components:
            if part.name not in frame.columns:
                if part.is_mandatory:
                    raise InputError(
                        f"{self.source}: nothing stands in column {part.name!r}, which it requires."
                        f"{suggestion(part.name, map(str, frame.columns))} Name it in `names` or "
                        f"`constants`."
                    )
                continue
            entries = frame[part.name].astype(str)
            odd = (entries == "") & part.is_mandatory
            if part.codes:
                odd |= ~entries.isin(["", *part.codes])
            if odd.any():
                row = int(np.flatnonzero(odd)[0])
                near = suggestion(entries.iloc[row], part.codes) if part.codes else ""
                raise InputError(
                    f"{self.source}: {part.name!r} has no code {entries.iloc[row]!r}.{near} "
                    f"Translate it by `codes`."
                )
        return frame[[name for name in frame.columns if name in names]]


Found = tuple[list[list[tuple[str, str, bool, bool]]], dict[str, list[str]]]
"""For each structure: name, code list, whether it is mandatory and a dimension; the code lists."""


def _in_xml(text: str) -> Found:
    if "<!DOCTYPE" in text:
        raise ValueError("it declares entities of its own")
    root = ElementTree.fromstring(text)

    def below(element: ElementTree.Element, *names: str) -> Iterator[ElementTree.Element]:
        # Versions of SDMX differ in their name spaces alone.
        return (each for each in element.iter() if each.tag.rpartition("}")[2] in names)

    def listed_by(element: ElementTree.Element) -> str:
        for place in below(element, "Enumeration"):
            for reference in below(place, "Ref"):
                return reference.attrib["id"]
            match = CODELIST.search("".join(place.itertext()))
            return match[1] if match else ""
        return ""

    structures = [
        [
            (part.attrib["id"], listed_by(part), True, True)
            for part in below(structure, "Dimension", "TimeDimension")
            if "id" in part.attrib
        ]
        + [
            (part.attrib["id"], listed_by(part), _is_mandatory(part.attrib), False)
            for part in below(structure, "Attribute")
            if "id" in part.attrib
        ]
        for structure in below(root, "DataStructure")
        if any(below(structure, "DimensionList"))
    ]
    lists = {
        each.attrib["id"]: [code.attrib["id"] for code in below(each, "Code")]
        for each in below(root, "Codelist")
    }
    return structures, lists


def _in_json(text: str) -> Found:
    message = json.loads(text)
    data = message.get("data", message)
    structures = []
    for structure in data.get("dataStructures", []):
        given = structure["dataStructureComponents"]
        dimensions, attributes = given["dimensionList"], given.get("attributeList", {})
        parts = [
            *((part, True) for part in dimensions.get("dimensions", [])),
            *((part, True) for part in dimensions.get("timeDimensions", [])),
            *([(dimensions["timeDimension"], True)] if "timeDimension" in dimensions else []),
            *((part, False) for part in attributes.get("attributes", [])),
        ]
        structures.append([
            (part["id"], _listed_in_json(part), is_dimension or _is_mandatory(part), is_dimension)
            for part, is_dimension in parts
        ])  # fmt: skip
    lists = {
        each["id"]: [code["id"] for code in each.get("codes", [])]
        for each in data.get("codelists", [])
    }
    return structures, lists


def _listed_in_json(part: Mapping[str, Any]) -> str:
    address = part.get("localRepresentation", {}).get("enumeration", "")
    match = CODELIST.search(address)
    return match[1] if match else ""


def _is_mandatory(part: Mapping[str, Any]) -> bool:
    """Whether an attribute must be given: version 2.1 calls that otherwise than 3.0."""
    said = part.get("usage", part.get("assignmentStatus", ""))
    return str(said).lower() == "mandatory"

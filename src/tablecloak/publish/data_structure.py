"""The data structure definition of SDMX: which columns and codes another authority accepts.

References
----------
.. [1] SDMX 2.1 and 3.0, Section 3A: structure messages in XML; SDMX-JSON, structure messages.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pandas as pd

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.storage import existing_file
from tablecloak.tables.code_lists import elements, structure_message

MEASURE = "OBS_VALUE"
"""Column of the values."""

EXTENSION = "CodelistExtension"
"""Element by which a code list takes codes from another one."""

CODELIST = re.compile(r"Codelist=[^:]+:([^(]+)")
"""Name of a code list in its address."""

CONCEPT = re.compile(r"Concept=[^:]+:[^(]+\([^)]*\)\.(.+)")
"""Name of a concept in its address."""


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
    def read(cls, path: str | Path, name: str = "") -> DataStructure:
        """Read a structure message of SDMX-ML 2.1 or 3.0, or of SDMX-JSON.

        Parameters
        ----------
        path : str or path
        name : str, default=""
            Id of the data structure; needed where there are several.

        Raises
        ------
        InputError
            If it cannot be read, or does not define one data structure of this name.
        """
        text = existing_file(path).read_text(encoding="utf-8-sig")
        try:
            structures = (_in_json if text.lstrip().startswith("{") else _in_xml)(text)
        except (ElementTree.ParseError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise InputError(
                f"{path}: is no structure message of SDMX-ML or SDMX-JSON ({error})."
            ) from None
        wanted = [components for other, components in structures if name in ("", other)]
        if len(wanted) != 1:
            called = f" called {name!r}" if name else ""
            which = f" ({listed([other for other, _ in structures])})" if structures else ""
            raise InputError(
                f"{path}: defines {len(structures)} data structures{which}; expected one{called}, "
                f"with its code lists. Name by `structure_id` the one that the authority asks for."
            )
        return cls(str(path), wanted[0])

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
                attribute = "Give another one by `flags` or `constants`."
                raise InputError(
                    f"{self.source}: {part.name!r} has no code {entries.iloc[row]!r}.{near} "
                    f"{'Translate it by `codes`.' if part.is_dimension else attribute}"
                )
        return frame[[name for name in frame.columns if name in names]]


def _in_xml(text: str) -> list[tuple[str, tuple[Component, ...]]]:
    """Return name and components of each data structure of SDMX-ML; versions differ little."""
    root = structure_message(text)
    lists = {
        codelist.attrib["id"]: [code.attrib["id"] for code in elements(codelist, "Code")]
        for codelist in elements(root, "Codelist")
        # One that extends another has codes that the file need not hold.
        if "id" in codelist.attrib and not any(True for _ in elements(codelist, EXTENSION))
    }
    usual = {
        concept.attrib["id"]: _referred(concept, "Enumeration", CODELIST)
        for concept in elements(root, "Concept")
        if "id" in concept.attrib
    }
    kinds = {"Dimension": True, "MeasureDimension": True, "TimeDimension": True, "Attribute": False}
    structures = []
    for structure in elements(root, "DataStructure"):
        components = []
        for kind, is_dimension in kinds.items():
            for part in elements(structure, kind):
                concept = _referred(part, "ConceptIdentity", CONCEPT)
                # References to components have the same names, and no concept.
                if concept:
                    codelist = _referred(part, "Enumeration", CODELIST) or usual.get(concept, "")
                    given = {"id": concept, **part.attrib}
                    components.append(_component(given, lists, codelist, is_dimension))
        if components:
            structures.append((structure.attrib.get("id", ""), tuple(components)))
    return structures


def _referred(part: ElementTree.Element, kind: str, address: re.Pattern[str]) -> str:
    """Return the name that a reference in version 2.1, or an address, gives; empty if none does."""
    for place in elements(part, kind):
        for reference in elements(place, "Ref"):
            return reference.attrib["id"]
        return _named_in("".join(place.itertext()), address)
    return ""


def _in_json(text: str) -> list[tuple[str, tuple[Component, ...]]]:
    """Return name and components of each data structure of SDMX-JSON."""
    message = json.loads(text)
    data = message.get("data", message)
    lists = {
        codelist["id"]: [code["id"] for code in codelist.get("codes", [])]
        for codelist in data.get("codelists", [])
    }
    usual = {
        concept["id"]: _named_in(
            concept.get("coreRepresentation", {}).get("enumeration", ""), CODELIST
        )
        for scheme in data.get("conceptSchemes", [])
        for concept in scheme.get("concepts", [])
    }
    structures = []
    for structure in data.get("dataStructures", []):
        given = structure.get("dataStructureComponents")
        if given is None:
            continue
        dimensions, attributes = given["dimensionList"], given.get("attributeList", {})
        time = [dimensions["timeDimension"]] if "timeDimension" in dimensions else []
        time += dimensions.get("timeDimensions", [])
        parts = [(part, True) for part in [*dimensions.get("dimensions", []), *time]]
        parts += [(part, False) for part in attributes.get("attributes", [])]
        components = tuple(
            _component(part, lists, _listed_by(part, usual), is_dimension)
            for part, is_dimension in parts
        )
        structures.append((str(structure.get("id", "")), components))
    return structures


def _listed_by(part: Mapping[str, Any], usual: Mapping[str, str]) -> str:
    """Return the name of the code list of a component of SDMX-JSON, or that of its concept."""
    local = _named_in(part.get("localRepresentation", {}).get("enumeration", ""), CODELIST)
    return local or usual.get(_named_in(str(part.get("conceptIdentity", "")), CONCEPT), "")


def _named_in(text: str, address: re.Pattern[str]) -> str:
    match = address.search(text)
    return match[1].strip() if match else ""


def _component(
    part: Mapping[str, Any], lists: Mapping[str, list[str]], codelist: str, is_dimension: bool
) -> Component:
    # Version 2.1 and 3.0 have different words for it.
    usage = str(part.get("usage", part.get("assignmentStatus", ""))).lower()
    is_mandatory = is_dimension or usage == "mandatory"
    return Component(part["id"], lists.get(codelist, ()), is_mandatory, is_dimension)

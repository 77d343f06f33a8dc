"""Code lists of SDMX: hierarchies with labels, in and out.

References
----------
.. [1] SDMX-ML 2.1 and 3.0, structure messages: ``Codelist`` with ``Code``, ``Name``, ``Parent``.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from pathlib import Path

from tablecloak.errors import InputError, suggestion
from tablecloak.packed import unpacked
from tablecloak.storage import write_text
from tablecloak.tables.hierarchy import Hierarchy

BASE = "http://www.sdmx.org/resources/sdmxml/schemas/v2_1/"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_code_list(path: str | Path, name: str = "", total: str = "Total") -> Hierarchy:
    """Read a code list of an SDMX-ML structure message.

    Parameters
    ----------
    path : str or Path
    name : str, default=""
        Identifier of the list, such as ``"CL_AREA"``; by default the only one of the file.
    total : str, default="Total"
        Code of the total. Codes without a parent lie below it; if it is in the list, it is the
        topmost code.

    Returns
    -------
    Hierarchy
        With English labels, or the first ones where there are none.

    Raises
    ------
    InputError
        If it is no such file, has no or several lists, or a code has an unknown parent.
    """
    try:
        root = structure_message(unpacked(path))
    except (ET.ParseError, ValueError) as error:
        raise InputError(f"{path}: cannot be read as SDMX-ML ({error}).") from None
    lists = {element.get("id", ""): element for element in elements(root, "Codelist")}
    if not lists:
        raise InputError(f"{path}: holds no code list. Give a structure message of SDMX-ML.")
    if name not in lists and (name or len(lists) > 1):
        raise InputError(f"{path}: has no code list {name!r}.{suggestion(name, lists)}")
    chosen = lists[name] if name else next(iter(lists.values()))
    parents, labels = {}, {}
    for code in elements(chosen, "Code"):
        parents[code.get("id", "")] = _parent(code)
        labels[code.get("id", "")] = _label(code)
    children: dict[str, list[str]] = {total: []}
    for below, above in parents.items():
        if above and above not in parents:
            raise InputError(f"{path}: code {below!r} has the unknown parent {above!r}. Add it.")
        if below != total:
            children.setdefault(above or total, []).append(below)
    return Hierarchy(total, tuple((a, tuple(b)) for a, b in children.items()), labels)


def write_code_lists(hierarchies: Mapping[str, Hierarchy], path: str | Path) -> None:
    """Write the hierarchies of dimensions as code lists in SDMX-ML 2.1.

    Parameters
    ----------
    hierarchies : mapping of str to Hierarchy
        By dimension; a list is called ``CL_`` and its name.
    path : str or Path

    Raises
    ------
    InputError
        If a code has several parents, which a code list cannot hold.
    """
    message = ET.Element(f"{{{BASE}message}}Structure")
    structures = ET.SubElement(message, f"{{{BASE}message}}Structures")
    lists = ET.SubElement(structures, f"{{{BASE}structure}}Codelists")
    for dimension, tree in hierarchies.items():
        name = "CL_" + re.sub(r"\W", "_", dimension.upper())
        chosen = _element(lists, "Codelist", name, dimension, agencyID="TABLECLOAK", version="1.0")
        parents: dict[str, str] = {}
        for above, below in tree.groups:
            for code in below:
                if parents.setdefault(code, above) != above:
                    raise InputError(f"Code {code!r} has several parents, a code list has one.")
        for code in tree.codes:
            entry = _element(chosen, "Code", code, tree.labels.get(code) or code)
            if code in parents:
                parent = ET.SubElement(entry, f"{{{BASE}structure}}Parent")
                ET.SubElement(parent, "Ref", id=parents[code])
    ET.indent(message)
    write_text(Path(path), ET.tostring(message, encoding="unicode", xml_declaration=True) + "\n")


def _element(above: ET.Element, tag: str, name: str, label: str, **others: str) -> ET.Element:
    made = ET.SubElement(above, f"{{{BASE}structure}}{tag}", {"id": name, **others})
    ET.SubElement(made, f"{{{BASE}common}}Name", {LANGUAGE: "en"}).text = label
    return made


class _WithoutEntities(ET.TreeBuilder):
    """Builds no message that declares entities: a few can unpack to more than any memory."""

    def doctype(self, *_: object) -> None:
        raise ValueError("it declares entities of its own")


def structure_message(text: str | bytes) -> ET.Element:
    """Return the root of a message of SDMX-ML.

    Raises
    ------
    ParseError
        If it is no XML.
    ValueError
        If it declares entities.
    """
    return ET.fromstring(text, parser=ET.XMLParser(target=_WithoutEntities()))


def elements(above: ET.Element, tag: str) -> Iterator[ET.Element]:
    """Elements of any version of SDMX-ML, whose names differ in their addresses."""
    return above.iterfind(f".//{{*}}{tag}")


def _parent(code: ET.Element) -> str:
    """Return the parent of a code: a reference in 2.1, text in 3.0, an attribute in 2.0."""
    parent = next(elements(code, "Parent"), None)
    if parent is None:
        return code.get("parentCode", "")
    reference = next(parent.iterfind("{*}Ref"), None)
    return (parent.text or "").strip() if reference is None else reference.get("id", "")


def _label(code: ET.Element) -> str:
    names = code.findall("{*}Name")
    names.sort(key=lambda name: name.get(LANGUAGE, "en") != "en")
    return (names[0].text or "").strip() if names else ""

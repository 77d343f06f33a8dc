"""Tables of the docs, made of what is registered; tests compare the pages with them."""

from __future__ import annotations

from collections.abc import Sequence

from tablecloak.protection import PROTECTIONS
from tablecloak.registered import named_in
from tablecloak.tables.formats.format import FORMATS


def sections_table() -> str:
    """Return the sections of all ways in a job file as a Markdown table, for the docs."""
    lines = ["| section | key | meaning (default) |", "|---|---|---|"]
    for way in PROTECTIONS:
        lines.append(f"| `[{way.name}]` | | {PROTECTIONS.summary(way.name)} |")
        if way.kinds is not None:
            key, registry = way.kinds
            lines.append(f"| | `{key}` | {_either(registry.names)}, and its parameters |")
            continue
        for parameter in PROTECTIONS.parameters(way.name):
            text = parameter.help.removesuffix(".")
            named = named_in(parameter.field)
            one_of = f": {_either(named.names)}" if named is not None else ""
            default = "" if parameter.default in (None, []) else f" ({_written(parameter.default)})"
            lines.append(f"| | `{parameter.name}` | {text}{one_of}{default} |")
    return "\n".join(lines)


def _either(names: Sequence[str]) -> str:
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last


def _written(value: object) -> str:
    """Return a default as it stands in a job file."""
    return (
        str(value).lower()
        if isinstance(value, bool)
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )


def formats_table() -> str:
    """Return all formats as a Markdown table, for the docs."""
    lines = ["| format | names end in | holds | |", "|---|---|---|---|"]
    for each in FORMATS:
        endings = ", ".join(f"`{suffix}`" for suffix in each.suffixes)
        summary = FORMATS.summary(each.name)
        lines.append(f"| `{each.name}` | {endings} | {each.holds} | {summary} |")
    return "\n".join(lines) + "\n"

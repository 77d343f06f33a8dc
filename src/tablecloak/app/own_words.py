"""Messages in the words of the pages: their fields, instead of keys of a job and of commands."""

from __future__ import annotations

import re
from pathlib import Path

from tablecloak.protection import PROTECTIONS

FIELDS = {
    "decimals": "Digits to publish",
    "floor": "Smallest protection level",
    "time_limit": "Seconds for each",
}
"""Keys whose fields have other names than theirs, and these."""

ASIDE = re.compile(r" \(`tablecloak [^`]*`[^)]*\)")
"""A command in brackets, which tells more."""

COMMAND = re.compile(
    r",? (?:or )?`(?:--|\w+=)[^`]*` of `[^`]*`|,? or \d+ in the field '[^']*' of the app"
)
"""What else than a job has a setting."""

SETTING = re.compile(
    r"(?:`(\w+)(?: = ([^`]+))?`|to `\w+`(?: and `\w+`)*, or) in \[(\w+)\](?: of a job)?"
)
"""A key of a section of a job, with its value; or a section alone, where the key is said before."""

KEY = re.compile(r"^(\w+)\.(\w+)(?=:| must )")
"""A section and its key, of which a message says what is wrong."""


def field_name(key: str) -> str:
    """Return what the pages call the field of a key."""
    return FIELDS.get(key, key.replace("_", " "))


def in_own_words(message: str, *, has_fields: bool) -> str:
    """Return a message without words of the command line.

    Parameters
    ----------
    message : str
    has_fields : bool
        Whether the table was made by a form, which then has a field for each key. Other tables are
        opened as jobs, whose keys are named.
    """
    message = COMMAND.sub("", ASIDE.sub("", message))
    message = message.replace("in the internal folder", "on the internal report")
    if has_fields:
        message = SETTING.sub(_field, message)
        for key, name in FIELDS.items():
            message = message.replace(f"`{key}`", f"“{name}”")
    return re.sub(r"(?<!in )\[(\w+)\]", _noun, message)


def of_form(message: str, file: Path) -> str:
    """Return a message about a job file that a form wrote: it names the field, and no file."""
    message = re.sub(rf"^{re.escape(str(file))}(, line \d+)?: ", "", message)
    return KEY.sub(_place, message)


def _place(key: re.Match[str]) -> str:
    section, name = key.groups()
    of_way = f" of {PROTECTIONS[section].noun}" if section in PROTECTIONS else ""
    return f"“{field_name(name)}”{of_way}"


def _field(setting: re.Match[str]) -> str:
    key, value, section = setting.groups()
    if key is None:
        return "on the page Choose"
    of_way = f" of {PROTECTIONS[section].noun}" if section in PROTECTIONS else ""
    field = f"the field “{field_name(key)}”{of_way} on the page Choose"
    return f"{value} in {field}" if value else field


def _noun(section: re.Match[str]) -> str:
    name = section.group(1)
    return PROTECTIONS[name].noun if name in PROTECTIONS else section.group()

"""The choices of a form, as a job file and as a Python program."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import tablecloak
from tablecloak.app.fields import choices_of, fields_of, number, options_of
from tablecloak.data_file import DataFile
from tablecloak.errors import InputError
from tablecloak.extras import required
from tablecloak.jobs.beginning import MOST_CODES
from tablecloak.protection import PROTECTIONS, Protection, usual_way
from tablecloak.tables.formats import read_columns
from tablecloak.tables.rules.rule import RULES

ROLES = {
    "value": "value",
    "contributor": "contributor",
    "holding": "column:holding",
    "weight": "weight",
    "shadow": "column:shadow",
    "request": "column:request",
    "waiver": "column:waiver",
    "waiver_p": "column:waiver_p",
}
"""Roles that columns can have in a job, and the name of the form's input for each."""


def ways() -> list[type[Protection]]:
    """Return the ways to protect that the form offers: those of tables."""
    return [way for way in PROTECTIONS if not way.is_alone]


@dataclass
class Choices:
    """The choices of a user.

    Parameters
    ----------
    file : DataFile
        Microdata: one row for each record.
    title : str
        Empty if not given.
    decimals : float, optional
    floor : float, optional
        Smallest protection level, in the unit of the value.
    columns : dict of str to str
        Columns of the file by their roles, such as ``value``; see `ROLES`.
    dimensions : dict of str to list of str
        For each dimension the columns of its levels, coarsest first; the last is the column of the
        dimension itself.
    rules : list of dict
        Rules as in a job file.
    methods : dict of str to dict
        For the section of each way to protect that was chosen, its keys that differ from their
        defaults.
    time_limit : float
        Seconds for each method.
    """

    file: DataFile
    title: str = ""
    decimals: float | None = None
    floor: float | None = None
    columns: dict[str, str] = field(default_factory=dict)
    dimensions: dict[str, list[str]] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    methods: dict[str, dict[str, Any]] = field(default_factory=lambda: {usual_way().name: {}})
    time_limit: float = 30.0

    @classmethod
    def of_form(cls, file: DataFile, form: Mapping[str, str], columns: Sequence[str]) -> Choices:
        """Return the choices of a form.

        Parameters
        ----------
        file : DataFile
        form : mapping of str to str
            Inputs by their names in the template ``choose.html``.
        columns : sequence of str
            Columns of the file.

        Raises
        ------
        InputError
            If an input is not a number, or no dimension, rule or method is chosen.
        """
        dimensions = {}
        for name in columns:
            if form.get(f"dimension:{name}"):
                above = [part.strip() for part in form.get(f"levels:{name}", "").split(",")]
                dimensions[name] = [*(part for part in above if part), name]
        if not dimensions:
            raise InputError("Choose at least one dimension.")
        rules = [
            {"rule": rule.name} | rule.read(form)
            for rule in choices_of(RULES)
            if form.get(rule.name)
        ]
        if not rules:
            raise InputError("Choose at least one rule that tells which cells are sensitive.")
        methods = {way.name: _options(way.name, form) for way in ways() if form.get(way.name)}
        if not methods:
            raise InputError("Choose at least one method.")
        return cls(
            file=file,
            title=form.get("title", ""),
            columns={role: form[name] for role, name in ROLES.items() if form.get(name)},
            decimals=number(form, "decimals") if form.get("decimals") else None,
            floor=number(form, "floor") if form.get("floor") else None,
            dimensions=dimensions,
            rules=rules,
            methods=methods,
            time_limit=number(form, "time_limit"),
        )

    def check_codes(self) -> None:
        """Refuse a dimension with so many codes that it was proposed as none.

        Raises
        ------
        InputError
            Says how many codes it has, and how many cells the table may get.
        """
        named = [levels[-1] for levels in self.dimensions.values()]
        records = read_columns(self.file, named, as_text=True)
        codes = records.nunique()
        if codes.max() <= MOST_CODES:
            return
        # A record is in one cell of each margin.
        cells = min(math.prod((codes + 1).tolist()), len(records) * 2 ** len(named))
        raise InputError(
            f"Column {codes.idxmax()!r} has {codes.max():,} codes, so that the table may have up "
            f"to {cells:,} cells: such a table takes long to protect, and most of its cells have "
            f"few records. Choose a coarser column, or tick that dimensions may have any number "
            f"of codes."
        )

    def job(self) -> str:
        """Return the job file (TOML)."""
        tomli_w = required("tomli_w", "Job files written by the app")

        data: dict[str, Any] = {"file": str(self.file)} | self.file.signs | self.columns
        if self.decimals is not None:
            data["decimals"] = self.decimals
        content: dict[str, Any] = {"title": self.title} if self.title else {}
        content["data"] = data
        content["dimensions"] = {
            name: {"levels": levels} if len(levels) > 1 else {}
            for name, levels in self.dimensions.items()
        }
        content["rules"] = self.rules
        if self.floor is not None:
            content["protection"] = {"floor": self.floor}
        for method, options in self.methods.items():
            content[method] = {"time_limit": self.time_limit} | options
        content["output"] = {"formats": ["csv", "excel"]}
        text: str = tomli_w.dumps(content)
        return text

    def python(self) -> str:
        """Return the Python program that does the same as the job file."""
        dimensions = {
            name: levels if len(levels) > 1 else None for name, levels in self.dimensions.items()
        }
        imports, rules = zip(*map(_in_python, self.rules), strict=True)
        lines = [*dict.fromkeys(["import tablecloak as tc", *filter(None, imports)])]
        lines += ["", "table = tc.tabulate("]
        lines += [f"    {self.file.program},", f"    dimensions={dimensions!r},"]
        lines += [f"    {name}={given!r}," for name, given in self.columns.items()]
        lines += [] if self.decimals is None else [f"    decimals={self.decimals},"]
        floor = [] if self.floor is None else [f"floor={self.floor!r}"]
        lines += [")", f"problem = table.protect({', '.join([*rules, *floor])})"]
        for method, options in self.methods.items():
            way = PROTECTIONS[method]
            given = way.program(options, list(self.columns)) | {"time_limit": self.time_limit}
            lines += _call(way, given)
        return "\n".join(lines) + "\n"


def _options(method: str, form: Mapping[str, str]) -> dict[str, Any]:
    """Return the keys of a method that differ from their defaults."""
    found = {}
    for option in options_of(method):
        given = option.read(form)
        if option.is_open:
            given = (given or option.example) if form.get(option.key) else []
        # A job that names insiders but no `hold` is strict, so the form's choice of `hold` is
        # then written even if it is the default.
        is_told = option.key == "hold" and "protect_against" in found
        if given != option.default or is_told:
            found[option.key] = given
    for each in fields_of(method):
        given = each.read(form)
        if given is not None and given != each.parameter.default:
            found[each.parameter.name] = given
    return found


def _call(way: type[Protection], given: Mapping[str, Any]) -> list[str]:
    """Return the lines that protect in one way, by its function or, without one, by itself."""
    if way.function:
        return [
            f"{way.target} = tc.{way.function}(problem, {_arguments(given)})",
            f"{way.target}.verify()",
        ]
    given = {key: value for key, value in given.items() if key in way.model_fields}
    return [
        f"from {way.__module__} import {way.__name__}",
        "from tablecloak.protection import Material",
        f"{way.target} = {way.__name__}({_arguments(given)}).run(Material.of(problem))",
    ]


def _in_python(rule: dict[str, Any]) -> tuple[str, str]:
    """Return the import that a rule needs, if any, and the call that makes it."""
    kind = RULES[rule["rule"]]
    given = _arguments({key: value for key, value in rule.items() if key != "rule"})
    return imported(kind, f"{kind.__name__}({given})")


def imported(kind: type, call: str) -> tuple[str, str]:
    """Return the import that the call of a class needs, if any, and the call as it then stands."""
    if getattr(tablecloak, kind.__name__, None) is kind:
        return "", f"tc.{call}"
    return f"from {kind.__module__} import {kind.__name__}", call


def _arguments(given: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in given.items())

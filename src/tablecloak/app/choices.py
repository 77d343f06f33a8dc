"""From a filled-in form to a job file, and to the same in Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tablecloak.errors import InputError

__all__ = ["Choices"]


@dataclass
class Choices:
    """What a user chose.

    Parameters
    ----------
    file : Path
        Microdata: one row for each record.
    title, value, contributor, weight, decimals : str
        Empty if not given.
    dimensions : dict of str to list of str
        For each dimension the columns of its levels, coarsest first; the last is its own.
    rules : list of dict
        As in a job file.
    methods : list of {"suppression", "adjustment"}
    preserve : list of str
        Statistics that an adjustment preserves.
    time_limit : float
        Seconds for each method.
    """

    file: Path
    title: str = ""
    value: str = ""
    contributor: str = ""
    weight: str = ""
    decimals: str = ""
    dimensions: dict[str, list[str]] = field(default_factory=dict)
    rules: list[dict[str, Any]] = field(default_factory=list)
    methods: list[str] = field(default_factory=lambda: ["suppression"])
    preserve: list[str] = field(default_factory=list)
    time_limit: float = 30.0

    @classmethod
    def of_form(cls, file: Path, form: Mapping[str, str], columns: Sequence[str]) -> Choices:
        """Read a form.

        Parameters
        ----------
        file : Path
        form : mapping of str to str
            Names as in the template ``choose.html``.
        columns : sequence of str
            Of the file.

        Raises
        ------
        InputError
            If a number is none, or nothing is chosen where something must be.
        """
        dimensions = {}
        for name in columns:
            if form.get(f"dimension:{name}"):
                above = [part.strip() for part in form.get(f"levels:{name}", "").split(",")]
                dimensions[name] = [*(part for part in above if part), name]
        if not dimensions:
            raise InputError("Choose at least one dimension.")
        rules = [
            {"rule": rule} | {key: _number(form, f"{rule}:{key}") for key in keys}
            for rule, keys in RULES.items()
            if form.get(rule)
        ]
        if not rules:
            raise InputError("Choose at least one rule that tells which cells are sensitive.")
        methods = [name for name in ("suppression", "adjustment") if form.get(name)]
        if not methods:
            raise InputError("Choose at least one method.")
        return cls(
            file=file,
            title=form.get("title", ""),
            value=form.get("value", ""),
            contributor=form.get("contributor", ""),
            weight=form.get("weight", ""),
            decimals=_whole(form, "decimals"),
            dimensions=dimensions,
            rules=rules,
            methods=methods,
            preserve=["mean:all", "regression"] if form.get("preserve") else [],
            time_limit=_number(form, "time_limit"),
        )

    def job(self) -> str:
        """Return the job file (TOML)."""
        import tomli_w

        data: dict[str, Any] = {"file": str(self.file)}
        data |= {
            name: getattr(self, name)
            for name in ("value", "contributor", "weight")
            if getattr(self, name)
        }
        if self.decimals:
            data["decimals"] = int(self.decimals)
        content: dict[str, Any] = {"title": self.title} if self.title else {}
        content["data"] = data
        content["dimensions"] = {
            name: {"levels": levels} if len(levels) > 1 else {}
            for name, levels in self.dimensions.items()
        }
        content["rules"] = self.rules
        if "suppression" in self.methods:
            content["suppression"] = {"time_limit": self.time_limit}
        if "adjustment" in self.methods:
            kept = {"preserve": self.preserve} if self.preserve else {}
            content["adjustment"] = {"time_limit": self.time_limit} | kept
        content["output"] = {"formats": ["csv", "excel"]}
        return tomli_w.dumps(content)

    def python(self) -> str:
        """Return the same as a Python program."""
        dimensions = {
            name: levels if len(levels) > 1 else None for name, levels in self.dimensions.items()
        }
        lines = ["import tablecloak as tc", "", "table = tc.tabulate("]
        lines += [f"    {str(self.file)!r},", f"    dimensions={dimensions!r},"]
        lines += [
            f"    {name}={getattr(self, name)!r},"
            for name in ("value", "contributor", "weight")
            if getattr(self, name)
        ]
        lines += [f"    decimals={int(self.decimals)},"] if self.decimals else []
        built = ", ".join(
            f"{PYTHON[rule['rule']]}({', '.join(f'{v:g}' for k, v in rule.items() if k != 'rule')})"
            for rule in self.rules
        )
        lines += [")", f"problem = table.protect({built})"]
        limit = f"time_limit={self.time_limit:g}"
        if "suppression" in self.methods:
            lines += [f"pattern = tc.suppress(problem, {limit})", "pattern.verify()"]
        if "adjustment" in self.methods:
            kept = f", preserve={self.preserve!r}" if self.preserve else ""
            lines += [f"adjusted = tc.adjust(problem{kept}, {limit})", "adjusted.verify()"]
        return "\n".join(lines) + "\n"


RULES = {
    "p-percent": ("p",),
    "minimum-frequency": ("minimum",),
    "dominance": ("n", "k"),
}
"""Rules that the form offers, and their numbers."""

PYTHON = {"p-percent": "tc.PPercent", "minimum-frequency": "tc.MinimumFrequency",
          "dominance": "tc.Dominance"}  # fmt: skip


def _number(form: Mapping[str, str], name: str) -> float:
    text = form.get(name, "").strip()
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"{name}: {text!r} is not a number.") from None
    if not math.isfinite(number):
        raise InputError(f"{name}: {text!r} is not a finite number.")
    return int(number) if number == int(number) else number


def _whole(form: Mapping[str, str], name: str) -> str:
    """Return a whole number as text; empty if none is given."""
    text = form.get(name, "").strip()
    if text and not text.removeprefix("-").isdecimal():
        raise InputError(f"{name}: {text!r} is not a whole number.")
    return text

"""``[transmission]`` of a job: what another authority is sent. Secret."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from tablecloak.arrays import Flags
from tablecloak.publish.transmission import Sent, Transmission, rows_to_send, write_transmission
from tablecloak.registered import Section
from tablecloak.tables.confidentiality import Confidentiality
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.rules.rule import Rule


class FlaggedCells(Section, BaseModel):
    """One entry of ``cells``: codes, and the flag of all cells that have them."""

    codes: dict[str, str] = Field(min_length=1)
    flag: Confidentiality


class TransmissionSpec(Section, BaseModel):
    """``[transmission]``: all values with flags, for another authority; see `Transmission`."""

    template: Path | None = None
    names: dict[str, str] = {}
    codes: dict[str, dict[str, str]] = {}
    constants: dict[str, str] = {}
    redistribution: str = ""
    secondary: Literal["D", "S"] = "D"
    embargo: str = ""
    flags: dict[str, Confidentiality] = {}
    cells: list[FlaggedCells] = []
    partial: bool = False

    def check(self, problem: ProtectionProblem, rules: Sequence[Rule]) -> None:
        """Check names, codes and template before a search that may take long.

        Raises
        ------
        InputError
            What `write_transmission` raises.
        """
        hidden = problem.sensitive | problem.forced
        table = self._table(problem, hidden, rules)
        rows_to_send([table], self.template, complete=not self.partial)

    def write(
        self, problem: ProtectionProblem, suppressed: Flags, rules: Sequence[Rule], path: Path
    ) -> Sent:
        """Write the file."""
        table = self._table(problem, suppressed, rules)
        return write_transmission(table, path, template=self.template, complete=not self.partial)

    def _table(
        self, problem: ProtectionProblem, suppressed: Flags, rules: Sequence[Rule]
    ) -> Transmission:
        return Transmission(
            problem,
            suppressed,
            rules=rules,
            names=self.names,
            codes=self.codes,
            constants=self.constants,
            redistribution=self.redistribution,
            secondary=self.secondary,
            embargo=self.embargo,
            flags={reason: flag.value for reason, flag in self.flags.items()},
            cells=[(each.codes, each.flag.value) for each in self.cells],
        )

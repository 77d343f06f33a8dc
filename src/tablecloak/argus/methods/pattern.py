"""Cell suppression: all methods of tau-ARGUS become one problem, solved for all cells at once."""

from __future__ import annotations

import math
from typing import ClassVar

from tablecloak.argus.method import METHODS, ProtectionMethod, Task
from tablecloak.argus.outputs import Protected
from tablecloak.argus.rules import numbers_of
from tablecloak.argus.singletons import with_virtual_cells
from tablecloak.errors import InputError
from tablecloak.publish.audit import audit
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.changes.change import Change


class _Pattern(ProtectionMethod):
    """Suppress cells, and audit the pattern."""

    def protect(self, task: Task) -> Protected:
        """Suppress cells; single contributors are protected if the line asks for it."""
        change, against = Change.within(task.problem, task.problem), list[str]()
        if task.wanted.has("single", "multiple", "together"):
            change, against = self._with_singletons(task)
        problem = change.problem
        pattern = suppress(
            problem,
            protect_against=against,
            time_limit=task.seconds,
            progress=task.batch.progress,
        )
        found = audit(
            problem, pattern, intruders=against or "external", time_limit=max(task.seconds, 60.0)
        )
        task.say(f"{self.name} is done as one problem, {pattern.summary()}")
        task.say(found.summary())
        hidden = change.flags(pattern.suppressed)
        values = problem.table.values
        return Protected(problem, hidden, values, 0, [], "suppressed", 0.0, found.is_safe)

    def _with_singletons(self, task: Task) -> tuple[Change, list[str]]:
        """Return the change to virtual cells, and the intruders to protect against."""
        known, wanted = task.problem.table.contributions, task.wanted
        if known is None:
            raise InputError(
                "Single contributors are to be protected, but the number of contributors is not "
                "known. Add <FREQUENCY>, or set these arguments to 0."
            )
        least = max(
            [n[0] for job in task.jobs for n in numbers_of(job.all_rules, "FREQ")], default=0
        )
        change = with_virtual_cells(
            task.problem,
            single=wanted.has("single"),
            multiple=wanted.has("multiple") or self.protects_multiple,
            minimum=int(least) if wanted.has("together") else 0,
            decimals=min(job.decimals for job in task.jobs),
        )
        extra = change.problem.table.n_cells - task.problem.table.n_cells
        task.say(f"{extra} sums of primaries are protected as virtual cells")
        if known.names is None or not wanted.has("single", "multiple"):
            return change, []
        task.say(
            "single contributors count as intruders who know their own contributions, which "
            "protects more than virtual cells"
        )
        return change, ["contributors"]

    protects_multiple: ClassVar[bool] = False
    """Whether sums of several primaries in a row are always protected."""


@METHODS.register
class Hypercube(_Pattern):
    """The hypercube method."""

    name: ClassVar[str] = "GH"
    protects_multiple: ClassVar[bool] = True
    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = (
        ("bounds", 0, 1e6), ("size", 0, 1), ("single", 0, 1),
    )  # fmt: skip


@METHODS.register
class Modular(_Pattern):
    """The modular method: subtables one after the other in tau-ARGUS."""

    name: ClassVar[str] = "MOD"
    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = (
        ("minutes", 0, 1e6), ("single", 0, 1), ("multiple", 0, 1), ("together", 0, 1),
        ("scale", 1e-9, math.inf), ("lower", 0, math.inf), ("upper", 0, math.inf),
    )  # fmt: skip


@METHODS.register
class Optimal(_Pattern):
    """The optimal method."""

    name: ClassVar[str] = "OPT"
    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = (("minutes", 0, 1e6),)


@METHODS.register
class Network(_Pattern):
    """The network method."""

    name: ClassVar[str] = "NET"

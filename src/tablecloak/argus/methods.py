"""The methods of SUPPRESS: one class each, with its numbers and what it does here."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tablecloak.argus.lines import Arguments, Command, SuppressionLine
from tablecloak.argus.outputs import BatchTable
from tablecloak.argus.reach import lowered_cells, within_bounds, within_percent, within_reach
from tablecloak.argus.rules import numbers_of
from tablecloak.argus.singletons import with_virtual_cells
from tablecloak.argus.state import BatchState, TableJob
from tablecloak.arrays import Integers
from tablecloak.cta.adjust import adjust
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.errors import InputError, ModelError, listed, suggestion
from tablecloak.publish.audit import audit
from tablecloak.registry import Registry
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.changes.change import Change
from tablecloak.tables.problem import ProtectionProblem
from tablecloak.tables.weights import WeightRule

ANY_NUMBER = {"bounds", "scale", "lower", "upper"}
"""Arguments of methods that need not be whole."""


@dataclass(frozen=True, eq=False)
class Task:
    """What a method is to protect.

    Parameters
    ----------
    batch : BatchState
    command : Command
        The line.
    wanted : SuppressionLine
        What it says.
    jobs : list of TableJob
        The tables.
    problem : ProtectionProblem
        All of them as one.
    seconds : float
    """

    batch: BatchState
    command: Command
    wanted: SuppressionLine
    jobs: list[TableJob]
    problem: ProtectionProblem
    seconds: float

    def say(self, text: str) -> None:
        """Log what is done."""
        self.batch.say(self.command, text)


class ProtectionMethod(ABC):
    """What one method does."""

    name: ClassVar[str]

    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = ()
    """Its numbers after that of the table: name, least and largest value."""

    minutes: ClassVar[float] = 1.0
    """How long it takes at most, if the batch does not say."""

    @abstractmethod
    def protect(self, task: Task) -> BatchTable:
        """Return the tables as they are published, with all cells of the problem."""


METHODS: Registry[ProtectionMethod] = Registry("method")
"""All methods by name."""


def read_suppression(arguments: Arguments) -> SuppressionLine:
    """Read ``METHOD(table, number, ...)``."""
    method = arguments.word("a method").upper()
    if method == "CKM":
        raise arguments.fail(
            "SUPPRESS: cell keys (CKM) are not supported; take another method, such as MOD or RND"
        )
    if method not in METHODS:
        raise InputError(
            f"{arguments.where}: SUPPRESS: the method {method!r} is not known."
            f"{suggestion(method, METHODS.names)}"
        )
    declared = METHODS[method].arguments
    arguments.take("(")
    table = arguments.whole("the number of a table", 0)
    numbers: dict[str, float] = {}
    for name, low, high in declared:
        if not arguments.maybe(","):
            break
        if name in ("scale", "lower", "upper") and (
            arguments.next_is(",") or arguments.next_is(")")
        ):
            continue
        what = f"{method}: {name}"
        number = arguments.number(what, low, high)
        if name not in ANY_NUMBER and not number.is_integer():
            raise arguments.fail(f"{what} must be a whole number, found {number:g}")
        numbers[name] = number
    if arguments.next_is(","):
        most = 1 + len(declared)
        raise arguments.fail(f"{method} takes at most {most} numbers; {arguments.left!r} is left")
    arguments.take(")")
    arguments.end()
    return SuppressionLine(method, table, numbers)


class _Pattern(ProtectionMethod):
    """Suppress cells, and check the proof of the pattern."""

    def protect(self, task: Task) -> BatchTable:
        """Suppress cells; single contributors are protected if the line asks for it."""
        change, against = Change.within(task.problem, task.problem), list[str]()
        if task.wanted.has("single", "multiple", "together"):
            change, against = self._with_singletons(task)
        pattern = self._pattern(task, change.problem, against)
        checked = pattern.verify().checked
        task.say(f"{self.name} is done as one problem, {pattern.summary()}")
        task.say(f"the protection of {checked} sensitive cells is proved, checked without a solver")
        if pattern.insiders is not None and (open_ := pattern.insiders.statements()):
            task.batch.miss(
                task.command,
                f"the protection against some single contributors. {' '.join(open_)} Everybody "
                f"else is kept out. More may be proved with --time-limit {2 * task.seconds:g}",
            )
        hidden = change.flags(pattern.suppressed)
        values = task.problem.table.values
        return BatchTable(pattern.problem, hidden, values, 0, [], "suppressed")

    def _pattern(
        self, task: Task, problem: ProtectionProblem, against: list[str]
    ) -> SuppressionPattern:
        """Return a proved pattern."""
        return suppress(
            problem,
            protect_against=against,
            hold="possible",
            time_limit=task.seconds,
            progress=task.batch.progress,
        )

    def _with_singletons(self, task: Task) -> tuple[Change, list[str]]:
        """Return the change to virtual cells, and the intruders to protect against."""
        known, wanted = task.problem.table.contributions, task.wanted
        if known is None or not all(job.has_counts for job in task.jobs):
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

    def protect(self, task: Task) -> BatchTable:
        """Protect as far as what everybody knows leaves room, and name what is not reached.

        tau-ARGUS lowers its protection ratio for such cells, and goes on.
        """
        if "bounds" not in task.wanted.numbers:
            return super().protect(task)
        percent = task.wanted.numbers["bounds"]
        task.say(f"everybody knows each value up to {percent:g} %")
        narrow = within_percent(task.problem, percent)
        done = super().protect(replace(task, problem=narrow))
        missed = lowered_cells(task.problem, done.problem)
        if len(missed):
            task.batch.miss(task.command, self._advice(task, missed))
        return done

    def _pattern(
        self, task: Task, problem: ProtectionProblem, against: list[str]
    ) -> SuppressionPattern:
        """Return a pattern that is proved for the levels that are within reach."""
        reachable = within_bounds(problem)
        while True:
            try:
                return super()._pattern(task, reachable, against)
            except ModelError as error:
                lower = within_reach(reachable, error.cells)
                if lower is None:
                    raise
                reachable = lower

    def _advice(self, task: Task, missed: Integers) -> str:
        """Name cells, and the line of the batch that asks for less."""
        problem, numbers = task.problem, task.wanted.numbers
        size = np.abs(problem.table.values[missed])
        level = np.maximum(problem.lower_protection, problem.upper_protection)[missed]
        table, line = task.wanted.table, f"MOD({task.wanted.table})"
        if np.all(size > 0):
            percent = math.ceil(100 * float(np.max(level / size)) * (1 - 1e-9))
            if percent > numbers["bounds"]:
                more = "".join(
                    f",{numbers[name]:g}" for name in ("size", "single") if name in numbers
                )
                line = f"GH({table},{percent}{more})"
        names = listed(problem.table.labels(missed))
        return (
            f"the full levels of {len(missed)} of {problem.n_sensitive} sensitive cells, since "
            f"everybody knows these values up to {numbers['bounds']:g} %: {names}. They are "
            f"hidden, and protected as far as that leaves room. For the full levels write "
            f"<SUPPRESS> {line}"
        )


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


@METHODS.register
class Adjusting(ProtectionMethod):
    """Move sensitive cells to safe values and the rest as little as possible."""

    name: ClassVar[str] = "CTA"

    def protect(self, task: Task) -> BatchTable:
        """Adjust, and audit the adjusted values."""
        problem = task.problem
        adjusted = adjust(problem, time_limit=task.seconds, progress=task.batch.progress)
        task.say(adjusted.summary())
        is_proved = audit(problem, adjusted.values).is_safe
        none = np.zeros(problem.table.n_cells, dtype=bool)
        return BatchTable(problem, none, adjusted.values, 0, [], "adjusted", 0.0, is_proved)


@METHODS.register
class RoundingMethod(ProtectionMethod):
    """Round all cells to multiples of a base so that the table stays additive."""

    name: ClassVar[str] = "RND"
    minutes: ClassVar[float] = 10.0
    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = (
        ("base", 1, 1e9), ("steps", 0, 100), ("minutes", 1, 1e6), ("partitions", 0, 1),
        ("stop", 1, 2), ("unit", 0, 1),
    )  # fmt: skip

    def protect(self, task: Task) -> BatchTable:
        """Round to the base, if it is large enough for what must be protected."""
        numbers, problem = task.wanted.numbers, task.problem
        if "base" not in numbers:
            raise InputError("RND needs a base, as in RND(1,5).")
        base, steps = int(numbers["base"]), int(numbers.get("steps", 0))
        least = self._least_base(task)
        if base < least:
            raise InputError(
                f"The base {base} is too small for the protection levels. Take {least:g} or more."
            )
        rounded = controlled_rounding(
            problem,
            base=base,
            max_steps=steps + 1,
            weights=WeightRule.UNIT if numbers.get("unit", 1) else WeightRule.FILE,
            time_limit=task.seconds,
        )
        task.say(rounded.summary())
        none = np.zeros(problem.table.n_cells, dtype=bool)
        values = rounded.values.astype(np.float64)
        return BatchTable(problem, none, values, 0, [], "rounded", float(rounded.steps * base))

    def _least_base(self, task: Task) -> float:
        if task.jobs[0].is_count:
            return max(
                [n[0] for j in task.jobs for n in numbers_of(j.all_rules, "FREQ")], default=1
            )
        levels = task.problem.lower_protection + task.problem.upper_protection
        return float(np.max(levels, initial=0))

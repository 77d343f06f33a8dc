"""The methods of SUPPRESS: one class each, with its numbers and what it does here."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.argus.gate import is_hidden
from tablecloak.argus.lines import Arguments, Command, SuppressionLine
from tablecloak.argus.outputs import BatchTable
from tablecloak.argus.rules import numbers_of
from tablecloak.argus.state import BatchState, TableJob
from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.cta.adjust import adjust
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.cta.rounding.rounded_table import RoundedTable
from tablecloak.errors import (
    InputError,
    ModelError,
    TablecloakError,
    counted,
    listed,
    require_known,
)
from tablecloak.publish.audit import audit
from tablecloak.registry import Registry
from tablecloak.suppression.attack.against_insiders import AgainstInsiders, WhyOpen
from tablecloak.suppression.attack.audit import audit_pattern
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.suppression.search.unfreezing import UNFREEZE
from tablecloak.suppression.suppress import suppress
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.sums import with_further_cells
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
    require_known(
        method, METHODS.names, f"{arguments.where}: SUPPRESS: the method {method!r} is not known."
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
        extra = change.problem.table.n_cells - task.problem.table.n_cells
        sums = f" that counts {extra} virtual cells" if extra else ""
        task.say(f"{self.name} is done as one problem{sums}, {pattern.summary()}")
        task.say(
            f"the protection of {checked} sensitive cells{' with virtual ones' * (extra > 0)} is "
            f"proved, checked without a solver"
        )
        if pattern.insiders is not None and (open_ := pattern.insiders.statements()):
            task.batch.miss(
                task.command,
                f"the protection against some single contributors. {' '.join(open_)} Everybody "
                f"else is kept out. {further_advice(pattern.insiders, task.seconds)}",
            )
        hidden = change.flags(pattern.suppressed)
        values = task.problem.table.values
        return BatchTable(pattern.problem, hidden, values, 0, [], "suppressed")

    def _pattern(
        self, task: Task, problem: ProtectionProblem, against: list[str]
    ) -> SuppressionPattern:
        """Return a proved pattern."""
        try:
            return suppress(
                problem,
                protect_against=against,
                hold="possible",
                time_limit=task.seconds,
                progress=task.batch.progress,
            )
        except ModelError as error:
            remedy = (
                "Remove some of the lines that protect them (p) from the a priori list, or of "
                "their statuses in the table."
            )
            raise ModelError(str(error).replace(UNFREEZE, remedy), cells=error.cells) from error

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


def further_advice(against: AgainstInsiders, seconds: float) -> str:
    """Name what no pattern hides and from whom; advise more time only where it can help."""
    hopeless = [pair for pair in against.open if pair.why == WhyOpen.HOPELESS]
    said = []
    if hopeless:
        label = against.problem.table.label
        pairs = listed([f"({label(pair.cell)}) from {pair.insider}" for pair in hopeless])
        said.append(
            f"What no pattern hides, more time does not hide either: {pairs}. Recode, or accept "
            f"that these contributors know these cells"
        )
    if against.unjudged or len(against.open) > len(hopeless):
        said.append(f"More may be proved with --time-limit {2 * seconds:g}")
    return ". ".join(said)


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
            exact = exactly_known(narrow, done.suppressed, missed)
            task.batch.miss(task.command, self._advice(task, missed, exact))
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

    def _advice(self, task: Task, missed: Integers, exact: Integers) -> str:
        """Name cells, those known exactly, and the line of the batch that asks for less."""
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
        left = "They are hidden, and protected as far as that leaves room."
        if len(exact):
            which = "All of them" if len(exact) == len(missed) else "Of them"
            which += "" if len(exact) == len(missed) else f" {listed(problem.table.labels(exact))}"
            left = f"{which} can be computed exactly, although hidden."
            if len(exact) < len(missed):
                left += " The others are protected as far as that leaves room."
        return (
            f"the full levels of {len(missed)} of {problem.n_sensitive} sensitive cells, since "
            f"everybody knows these values up to {numbers['bounds']:g} %: {names}. {left} For the "
            f"full levels write <SUPPRESS> {line}"
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
        base, budget = int(numbers["base"]), Budget.begun(task.seconds)
        if base < self._least_base(task):
            raise InputError(
                f"The base {base} is too small for the protection levels. "
                f"{self._larger_base(task, base, budget)}"
            )
        rounded = self._rounded(task, base, budget)
        done = self._table(problem, rounded)
        open_ = np.flatnonzero(problem.sensitive & ~is_hidden(done))
        if len(open_):
            raise InputError(
                f"The base {base} does not protect {counted(len(open_), 'cell')}, whose rounded "
                f"values leave less room than their levels: {listed(problem.table.labels(open_))}. "
                f"{self._larger_base(task, base, budget)}"
            )
        task.say(rounded.summary())
        return done

    @staticmethod
    def _rounded(task: Task, base: int, budget: Budget) -> RoundedTable:
        numbers = task.wanted.numbers
        return controlled_rounding(
            task.problem,
            base=base,
            max_steps=int(numbers.get("steps", 0)) + 1,
            weights=WeightRule.UNIT if numbers.get("unit", 1) else WeightRule.FILE,
            time_limit=budget.left,
        )

    @staticmethod
    def _table(problem: ProtectionProblem, rounded: RoundedTable) -> BatchTable:
        none = np.zeros(problem.table.n_cells, dtype=bool)
        values, reach = rounded.values.astype(np.float64), float(rounded.steps * rounded.base)
        return BatchTable(problem, none, values, 0, [], "rounded", reach)

    def _larger_base(self, task: Task, base: int, budget: Budget) -> str:
        """Return the next base that protects all cells, tried out; or that none was found."""
        first, why = max(base + 1, self._least_base(task)), ""
        for larger in range(first, first + MOST_BASES):
            if budget.is_over:
                break
            try:
                done = self._table(task.problem, self._rounded(task, larger, budget))
            except TablecloakError as error:
                why = f": {error}"
                continue
            if not np.any(task.problem.sensitive & ~is_hidden(done)):
                return f"Take {larger}, the next base with which all cells are protected."
        return (
            f"No base up to {larger} was found that protects all cells{why.rstrip('.')}. Take a "
            f"much larger base, or another method such as MOD."
        )

    def _least_base(self, task: Task) -> int:
        if task.jobs[0].is_count:
            least = [n[0] for j in task.jobs for n in numbers_of(j.all_rules, "FREQ")]
            return math.ceil(max(least, default=1))
        levels = task.problem.lower_protection + task.problem.upper_protection
        return math.ceil(float(np.max(levels, initial=0)) * (1 - 1e-9))


MOST_BASES = 50
"""Bases that are tried for one that protects all cells."""

ROUNDING = 1e-6
"""Share of the reach of a cell that is given up, since the ends of intervals are rounded."""


def within_percent(problem: ProtectionProblem, percent: float) -> ProtectionProblem:
    """Return the problem in which everybody knows each value up to a share of it."""
    room, values = percent / 100 * np.abs(problem.table.values), problem.table.values
    return problem.with_changes(
        lower_bound=np.maximum(problem.lower_bound, values - room),
        upper_bound=np.minimum(problem.upper_bound, values + room),
    )


def within_bounds(problem: ProtectionProblem) -> ProtectionProblem:
    """Return the problem with no level beyond the external bounds of its cell."""
    values, low, high = problem.table.values, problem.lower_bound, problem.upper_bound
    if problem.table.is_count:
        low, high = np.ceil(low), np.floor(high)
    return _capped(problem, values - low, high - values)


def within_reach(problem: ProtectionProblem, cells: Sequence[int]) -> ProtectionProblem | None:
    """Return the problem with levels that some cells reach if every cell is suppressed.

    Parameters
    ----------
    problem : ProtectionProblem
    cells : sequence of int
        Cells that no pattern protects. Those of which no level becomes smaller, since another
        intruder than the external one is in the way, keep none.

    Returns
    -------
    ProtectionProblem or None
        None if these cells have no levels already, so that something else is in the way.
    """
    status = np.where(problem.sensitive, CellStatus.FORCED.value, problem.status)
    status[list(cells)] = CellStatus.SENSITIVE.value
    alone = problem.with_changes(status=status)
    audited = audit_pattern(alone, ~problem.frozen, detail="intervals")
    attacked, n = np.flatnonzero(alone.sensitive), problem.table.n_cells
    down, up = np.full(n, np.inf), np.full(n, np.inf)
    down[attacked], up[attacked] = audited.below * (1 - ROUNDING), audited.above * (1 - ROUNDING)
    lowered = _capped(problem, down, up)
    kept = np.setdiff1d(attacked, lowered_cells(problem, lowered))
    down[kept] = up[kept] = 0.0
    lowered = _capped(problem, down, up)
    return lowered if len(lowered_cells(problem, lowered)) else None


def exactly_known(problem: ProtectionProblem, hidden: Flags, cells: Integers) -> Integers:
    """Return those of some hidden cells whose values everybody can compute exactly."""
    status = np.where(problem.sensitive, CellStatus.FORCED.value, problem.status)
    status[cells] = CellStatus.SENSITIVE.value
    alone = within_bounds(problem.with_changes(status=status))
    exact = np.isin(np.arange(problem.table.n_cells), cells) & ~alone.sensitive
    if np.any(alone.sensitive):
        audited = audit_pattern(alone, hidden, detail="intervals")
        size = np.maximum(np.abs(problem.table.values[alone.sensitive]), 1.0)
        exact[alone.sensitive] = audited.below + audited.above <= ROUNDING * size
    return np.flatnonzero(exact)


def _capped(problem: ProtectionProblem, down: Floats, up: Floats) -> ProtectionProblem:
    """Return the problem with no level beyond given distances below and above each value.

    Cells without any room must be suppressed all the same.
    """
    status = np.where(problem.sensitive & (down + up <= 0), CellStatus.FORCED.value, problem.status)
    return problem.with_changes(
        status=status,
        lower_protection=np.minimum(problem.lower_protection, down),
        upper_protection=np.minimum(problem.upper_protection, up),
        sliding_protection=np.minimum(problem.sliding_protection, down + up),
    )


def lowered_cells(asked: ProtectionProblem, given: ProtectionProblem) -> Integers:
    """Return the sensitive cells whose levels are lower in a problem that has more cells behind."""
    lower = ~given.sensitive[: asked.table.n_cells]
    for name in ("lower_protection", "upper_protection", "sliding_protection"):
        level = getattr(asked, name)
        lower |= level - getattr(given, name)[: len(level)] > ROUNDING * level
    return np.flatnonzero(asked.sensitive & lower)


SHARE = 0.0001
"""Upper protection level of a virtual cell, as a share of its value; as in tau-ARGUS."""


def with_virtual_cells(
    problem: ProtectionProblem,
    *,
    single: bool,
    multiple: bool,
    minimum: int,
    decimals: int,
) -> Change:
    """Add a cell for the sum of the primaries of a row wherever that sum would tell too much.

    Parameters
    ----------
    problem : ProtectionProblem
        With the number of contributors of each cell.
    single : bool
        For two primaries with one contributor each.
    multiple : bool
        For two primaries of which one has one contributor.
    minimum : int
        For two or more primaries with fewer contributors together; 0 for none.
    decimals : int
        Of the published values: the smallest level is one unit of the last digit.

    Returns
    -------
    Change
        To a problem whose first cells are those of the given one.
    """
    contributions = problem.table.contributions
    assert contributions is not None
    rows: list[Integers] = []
    relations = problem.table.relations
    for row in range(problem.table.n_relations):
        inside = slice(relations.indptr[row], relations.indptr[row + 1])
        parts = relations.indices[inside][relations.data[inside] > 0]
        parts = parts[problem.sensitive[parts]].astype(np.int64)
        count = contributions.count[parts]
        alone = int(np.sum(count == 1))
        is_meant = len(parts) == 2 and (
            (single and alone == 2) or (multiple and alone == 1)
        )  # fmt: skip
        if is_meant or (len(parts) > 1 and 0 < int(count.sum()) < minimum):
            rows.append(parts)
    rows = list({tuple(parts.tolist()): parts for parts in rows}.values())
    return _extended(problem, rows, decimals) if rows else Change.within(problem, problem)


def _extended(problem: ProtectionProblem, rows: list[Integers], decimals: int) -> Change:
    """Return the change to a problem with one sensitive cell and one relation for each set."""
    table, size = problem.table, [len(row) for row in rows]
    entries = (np.ones(sum(size)), np.concatenate(rows), np.cumsum([0, *size]))
    sums = csr_array(entries, shape=(len(rows), table.n_cells))
    names = [f"virtual {number}" for number in range(1, len(rows) + 1)]
    keys = pd.DataFrame(dict.fromkeys(table.keys.columns, names))
    upper = np.maximum(SHARE * np.abs(sums @ table.values), 10.0**-decimals)
    change = with_further_cells(
        problem, keys, sums, upper_protection=upper, reasons="virtual",
        capacity_down=np.inf, capacity_up=np.inf,
    )  # fmt: skip
    # Virtual cells have no place in a hierarchy, and no holdings are known of them.
    bare = replace(change.problem.table, hierarchies={}, holdings=None)
    return replace(change, problem=change.problem.with_changes(table=bare))

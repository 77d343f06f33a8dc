"""What earlier releases disclose by themselves, whatever the new one hides."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.errors import listed
from tablecloak.suppression.attack.audit import Audit, attacked
from tablecloak.suppression.attack.finding import DisclosureProof, Verdict
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.system.needs import LEAST_PRECISION
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.additivity import own_precision
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.changes.earlier_releases import Published
from tablecloak.tables.keys import are_earlier
from tablecloak.tables.problem import ProtectionProblem

KEPT = 1 - 1e-6
"""Share of what earlier releases leave of a level that is asked for, so that rounding does not make
it impossible."""

GONE = 1e-9
"""Width of what is left of a value, as a share of it, up to which it counts as known exactly."""

SHOWN_RELATIONS = 3
"""Most relations that are written out to tell how a cell is disclosed."""

BEFORE_SHARE = 0.2
"""Share of the time for the attack on the earlier releases alone. Chosen by trial; not measured."""


@dataclass(frozen=True, eq=False)
class Disclosed:
    """A sensitive cell of which earlier releases tell more than its levels allow. Secret.

    Parameters
    ----------
    cell : int
        Cell of the problem with the earlier releases.
    label : str
        Its codes.
    lower, upper : float
        What follows for its value even if the new release hides all that it may hide.
    how : str
        The relations from which that follows; empty where only whole numbers tell it.
    """

    cell: int
    label: str
    lower: float
    upper: float
    how: str

    def __str__(self) -> str:
        why = f", from {self.how}" if self.how else ""
        return f"({self.label}) lies between {self.lower:,.12g} and {self.upper:,.12g}{why}"


@dataclass(frozen=True, eq=False)
class Before:
    """Earlier releases that were taken into account, and what they disclose already. Secret.

    Parameters
    ----------
    names : tuple of str
        Names of the earlier releases.
    disclosed : tuple of Disclosed
        Cells that they disclose by themselves: nothing more than they leave is asked of these.
    """

    names: tuple[str, ...]
    disclosed: tuple[Disclosed, ...] = ()

    def summary(self) -> str:
        """Say in a few words which releases were taken into account. Names no cell."""
        told = f"; {len(self.disclosed)} sensitive cells were disclosed by these before"
        return f"together with {listed(list(self.names))}" + told * bool(self.disclosed)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each cell that was disclosed before. Secret."""
        rows = [(each.label, each.lower, each.upper, each.how) for each in self.disclosed]
        return pd.DataFrame(rows, columns=["cell", "lower", "upper", "how"])


@dataclass(frozen=True, eq=False)
class BesidePublished:
    """The change to the problem of a new table together with earlier releases, as it is asked for.

    Of sensitive cells that the earlier releases disclose alone, whatever the new one hides, no more
    is asked than these leave: the new release then adds nothing to what is known of them.

    Parameters
    ----------
    published : Published
    requirement : Requirement
    """

    published: Published
    requirement: Requirement

    def change(self, problem: ProtectionProblem, budget: Budget) -> Change:
        """Return the change to a problem with the cells of the earlier releases, the last ones.

        Its remarks hold what these disclose, as `before`.

        Raises
        ------
        InputError
            If the tables do not fit together.
        """
        change, names = self.published.beside(problem), self.published.names
        joint = _resolved(change.problem, change.given.table.n_cells)
        change = replace(change, problem=joint)
        question = _question(joint, self.requirement)
        audit = attacked(question, ~joint.frozen, budget.share(BEFORE_SHARE))
        open_ = np.array([verdict is not Verdict.PROTECTED for verdict in audit.verdicts], bool)
        open_ |= np.isin(audit.needs.cells, [finding.cell for finding in audit.findings])
        cells = audit.needs.cells[open_]
        if not len(cells):
            return replace(change, remarks={"before": Before(names)})
        exact = _intervals(joint, cells, self.requirement, budget)
        # In whole numbers fewer values are possible than between these ends.
        whole = np.isin(cells, [finding.cell for finding in audit.findings])
        # Only what is proved to be gone is given up; the rest is asked for as before.
        proved = ~exact.needs.met(exact.limit_above, exact.limit_below) | whole
        near = GONE * np.maximum(1.0, np.abs(joint.table.values[cells]))
        below, above = (
            np.where(whole | (limit <= near), 0.0, limit)[proved] * KEPT
            for limit in (exact.limit_below, exact.limit_above)
        )
        disclosed = _disclosed(joint, cells, exact, proved)
        cells = cells[proved]
        return replace(
            change,
            problem=_lowered(joint, cells, below, above),
            remarks={"before": Before(names, disclosed)},
        )


def _question(problem: ProtectionProblem, requirement: Requirement) -> Question:
    """Return the question of a problem whose levels may exceed its external bounds."""
    values, sensitive = problem.table.values, problem.sensitive
    low, high = values - problem.lower_bound, problem.upper_bound - values
    rooms = {"lower_protection": low, "upper_protection": high, "sliding_protection": low + high}
    levels: dict[str, Any] = {
        name: np.where(sensitive, _distinct(values, np.minimum(getattr(problem, name), room)), 0.0)
        for name, room in rooms.items()
    }
    return Question.of(problem.with_changes(**levels), requirement, "external")


def _intervals(
    problem: ProtectionProblem,
    cells: Integers,
    requirement: Requirement,
    budget: Budget,
) -> Audit:
    """Return exact intervals of some cells if everything is hidden that may be hidden."""
    status = np.where(problem.sensitive, "m", problem.status)
    status[cells] = "u"
    question = _question(problem.with_changes(status=status), requirement)
    return attacked(question, ~problem.frozen, budget.share(BEFORE_SHARE), is_exact=True)


def _disclosed(
    problem: ProtectionProblem, cells: Integers, audit: Audit, proved: Flags
) -> tuple[Disclosed, ...]:
    proofs: dict[int, DisclosureProof] = {}
    for proof in audit.proofs:
        proofs.setdefault(proof.cell, proof)
    values = problem.table.values
    return tuple(
        Disclosed(
            cell=cell,
            label=problem.table.label(cell),
            lower=float(max(values[cell] - audit.limit_below[row], problem.lower_bound[cell])),
            upper=float(min(values[cell] + audit.limit_above[row], problem.upper_bound[cell])),
            how=_how(problem, _relations_of(problem, cell, proofs.get(cell))),
        )
        for row, cell in enumerate(cells.tolist())
        if proved[row]
    )


def _relations_of(
    problem: ProtectionProblem, cell: int, proof: DisclosureProof | None
) -> list[int]:
    """Return the relations from which a cell is computed.

    Cells that are left over alone in a relation are computed one after the other; a cell that does
    not follow so is bounded by the relations with multipliers in its proof.
    """
    relations = problem.table.relations
    row_of = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
    unknown, by = ~problem.frozen, np.full(problem.table.n_cells, -1)
    while True:
        open_ = unknown[relations.indices]
        alone = np.bincount(row_of[open_], minlength=relations.shape[0]) == 1
        at = np.flatnonzero(open_ & alone[row_of])
        if not len(at):
            break
        by[relations.indices[at]] = row_of[at]
        unknown[relations.indices[at]] = False
    used: list[int] = []
    stack = [cell]
    while stack:
        row = int(by[stack.pop()])
        if row >= 0 and row not in used:
            used.append(row)
            stack += relations[[row], :].indices.tolist()
    return used if used or proof is None else [int(row) for row in proof.relations]


def _how(problem: ProtectionProblem, used: list[int]) -> str:
    """Write out the relations from which a cell is computed."""
    table = problem.table
    # That a value is still what it was then need not be written out.
    earlier = are_earlier(table.keys)
    told = [
        row
        for row in used
        if len(found := table.relations[[row], :].indices) > 2 or len(set(earlier[found])) < 2
    ]
    if used and not told:
        return "its value in an earlier release"
    shown = [table.describe_relation(row) for row in told[:SHOWN_RELATIONS]]
    more = f" and {len(told) - SHOWN_RELATIONS} more relations" * (len(told) > SHOWN_RELATIONS)
    return "; ".join(shown) + more


def _lowered(
    problem: ProtectionProblem, cells: Integers, below: Floats, above: Floats
) -> ProtectionProblem:
    """Return the problem with levels of some cells that ask for no more than is left.

    A cell of which nothing is left stays hidden, and nothing is asked of it.
    """
    lower, upper = problem.lower_protection.copy(), problem.upper_protection.copy()
    width = problem.sliding_protection.copy()
    values = problem.table.values[cells]
    lower[cells] = _distinct(values, np.minimum(lower[cells], below))
    upper[cells] = _distinct(values, np.minimum(upper[cells], above))
    width[cells] = np.minimum(width[cells], below + above)
    status = problem.status.copy()
    gone = below + above <= GONE * np.maximum(1.0, np.abs(values))
    status[cells[gone]] = CellStatus.FORCED.value
    return problem.with_changes(
        status=status, lower_protection=lower, upper_protection=upper, sliding_protection=width
    )


def _resolved(problem: ProtectionProblem, n_cells: int) -> ProtectionProblem:
    """Return the problem without levels of earlier releases that are too small to be told from 0.

    Parameters
    ----------
    problem : ProtectionProblem
    n_cells : int
        Cells of the new table, the first ones; their levels stay as they were asked for.
    """
    earlier = np.arange(problem.table.n_cells) >= n_cells
    values = problem.table.values
    levels: dict[str, Any] = {
        name: np.where(earlier, _distinct(values, getattr(problem, name)), getattr(problem, name))
        for name in ("lower_protection", "upper_protection", "sliding_protection")
    }
    return problem.with_changes(**levels)


def _distinct(values: Floats, level: Floats) -> Floats:
    """Return levels, 0 where they are below the precision of their values.

    What an earlier release leaves may be a sliver of the level that was asked for. A distance that
    the digits of a value cannot express protects nothing, and no witness could prove it.
    """
    return np.where(own_precision(values) > LEAST_PRECISION * level, 0.0, level)

"""The proofs of a pattern against insiders, kept up to date while cells are published again.

An audit leaves for every insider the witnesses that it cannot rule out. Publishing a cell harms
only witnesses that move it. Only the needs that these proved are proved again: first those of the
external intruder, then those of insiders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.budget import Budget
from tablecloak.suppression.attack.against_insiders import AgainstInsiders
from tablecloak.suppression.attack.attack import Attack
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.attack.moves_program import Extreme
from tablecloak.suppression.attack.part import FewCells, Members, Part
from tablecloak.suppression.attack.prove import prove
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.attack.whole_numbers import prove_in_whole_numbers
from tablecloak.suppression.proof.joining import certificate_of
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.proof.witness import PoolProof, WitnessPool
from tablecloak.suppression.system.system import System

_NO_NEEDS = np.zeros(0, dtype=np.int64)


class Standing:
    """A pattern with its proofs against the external intruder and against each insider.

    Parameters
    ----------
    audit : Audit
        The audit of the pattern. Needs that it left open for an insider stay open.

    Attributes
    ----------
    suppressed : numpy.ndarray of bool, shape (n_cells,)
        The pattern as it is now.
    """

    def __init__(self, audit: Audit) -> None:
        self.audit, self.members = audit, audit.members
        self.suppressed = audit.suppressed.copy()
        self.parts = [_StandingPart(part, self.members) for part in audit.parts]

    @property
    def is_proved(self) -> bool:
        """Whether every sensitive cell is proved to be protected against everybody."""
        hidden = self.suppressed[self.audit.needs.cells]
        in_parts = sum(len(part.system.needs.cells) for part in self.parts)
        is_open = any(bool(np.any(part.pool.open)) for part in self.parts)
        return bool(np.all(hidden)) and in_parts == len(hidden) and not is_open

    def left_out(self) -> tuple[Integers, Integers]:
        """Return the pairs of an insider, by its number, and a sensitive cell that are open.

        Sums of hidden cells are never claimed against insiders, and are not among them.
        """
        pairs = [(_NO_NEEDS, _NO_NEEDS)]
        pairs += [
            (part.open.insider, part.system.cells[part.system.needs.cells[part.open.need]])
            for part in self.parts
        ]
        insider, cell = (np.concatenate(column) for column in zip(*pairs, strict=True))
        return insider, cell

    def attackable(self, budget: Budget) -> list[tuple[int, int]]:
        """Return the pairs of those left out, by insider and cell, of which an attack succeeds.

        Each is one program in each direction, so that what is easy to compute does not stay
        unsettled because the search has used up its time.
        """
        return [pair for part in self.parts for pair in part.attackable(budget)]

    @property
    def missing(self) -> tuple[int, int]:
        """Number of insiders against whom nothing is claimed, and of pairs that are left out."""
        return len(self.members.unjudged), len(self.left_out()[1])

    def publish(self, cell: int, budget: Budget) -> bool:
        """Publish a cell if every proof can do without it; return whether it was published.

        Parameters
        ----------
        cell : int
            A suppressed cell, by its number in the table, that need not be hidden.
        budget : Budget
            The cell stays suppressed if a proof is not found before it ends.
        """
        for part in self.parts:
            position = part.position_of(cell)
            if position >= 0 and not part.publish(position, budget, self._knows_whole_numbers):
                return False
        self.suppressed[cell] = False
        return True

    @property
    def _knows_whole_numbers(self) -> bool:
        return self.members.know_whole_numbers

    def moved(self) -> Flags:
        """Flag the cells that any witness in use moves, shape (n_cells,)."""
        moved = np.zeros(len(self.suppressed), dtype=bool)
        for part in self.parts:
            for number in part.used():
                moved[part.system.cells[part.pool.rows[number][0]]] = True
        return moved

    def certificate(self) -> ProtectionCertificate:
        """Return the proof of all needs that are not left out. The caller must verify it."""
        every = np.arange(len(self.members.named))
        excused = np.flatnonzero(self.members.excused[self.audit.needs.cells])
        left_out = [(np.repeat(every, len(excused)), np.tile(excused, len(every)))]
        left_out += [
            (part.open.insider, part.system.needs.index[part.open.need]) for part in self.parts
        ]
        insider, index = (np.concatenate(column) for column in zip(*left_out, strict=True))
        return certificate_of(
            self.audit.problem,
            self.suppressed,
            self.audit.requirement,
            [part.pool.whole_proof() for part in self.parts],
            [self._known_by(number) for number in every.tolist()],
            [part.own_proof() for part in self.parts],
            (insider, index),
        )

    def _known_by(self, number: int) -> Knowledge:
        """Return what an insider knows of the cells that are still suppressed."""
        known = self.members.named[number]
        kept = self.suppressed[known.cells]
        if np.all(kept):
            return known
        return replace(
            known, cells=known.cells[kept], lower=known.lower[kept], upper=known.upper[kept]
        )


@dataclass(frozen=True, eq=False)
class _Own:
    """The needs for which an insider needs witnesses of its own, and their numbers in the pool."""

    needs: Integers
    upper: Integers
    lower: Integers

    @classmethod
    def of(cls, pool: WitnessPool, chosen: Flags) -> _Own:
        return cls(np.flatnonzero(chosen), pool.upper_witness[chosen], pool.lower_witness[chosen])

    @property
    def rows(self) -> set[int]:
        return set(self.upper.tolist()) | set(self.lower.tolist())


class _StandingPart:
    """One part of the audit: a bundle of components of hidden cells.

    Attributes
    ----------
    pool : WitnessPool
        Everybody's proof; it holds the witnesses of insiders as well.
    known : KnownCells
        What insiders know of cells of this part.
    own : dict of int to _Own
        For each insider who can rule out witnesses in use.
    open : OwnProofs
        Needs for which nothing is claimed against an insider.
    failures : Counter
        How often each insider prevented the publication of a cell. The most frequent are asked
        first, since they probably prevent the next one, too.
    """

    def __init__(self, part: Part, members: Members) -> None:
        self.system, self.pool = part.system, part.pool
        self.hidden = np.ones(part.system.n_unknown, dtype=bool)
        self.known = members.within(part.system)
        self._few = FewCells(part.system, self.known)
        self._judged = members.judged_in(part.system)
        self.own: dict[int, _Own] = {}
        self.users: dict[int, set[int]] = {}
        self.failures: Counter[int] = Counter()
        self.open = part.own.chosen(part.own.open)
        proved = part.own.chosen(~part.own.open)
        numbers, first = np.unique(proved.insider, return_index=True)
        columns = (
            np.split(column, first[1:]) for column in (proved.need, proved.upper, proved.lower)
        )
        for number, *own in zip(numbers.tolist(), *columns, strict=False):
            self._keep(number, _Own(*own))

    @cached_property
    def _attack(self) -> Attack:
        return Attack(self.system)

    def attackable(self, budget: Budget) -> list[tuple[int, int]]:
        """Return the open pairs of an insider and a cell that this insider estimates too closely.

        Each insider has one program for each direction of a cell; the limit that its multipliers
        prove says so.
        """
        found = list[tuple[int, int]]()
        for number in np.unique(self.open.insider).tolist():
            if budget.is_over:
                break
            system = self._seen_by(number)
            needs = system.needs
            self._attack.hide(self.hidden)
            self._attack.know(system)
            for index in self.open.need[self.open.insider == number].tolist():
                limits = np.full((2, len(needs.cells)), np.inf)
                for side, sign in enumerate((1, -1)):
                    position = int(needs.cells[index])
                    extreme = self._attack.extreme(position, sign, time_limit=budget.left)
                    limits[side, index] = extreme.limit
                    if not needs.met(*limits)[index]:
                        found.append((number, int(self.system.cells[position])))
                        break
            self._attack.know(self.system)
        return found

    def position_of(self, cell: int) -> int:
        """Return the position of a cell of the table; -1 if it is not in this part."""
        at = int(np.searchsorted(self.system.cells, cell))
        inside = at < self.system.n_unknown and self.system.cells[at] == cell
        return at if inside else -1

    def publish(self, position: int, budget: Budget, whole: bool) -> bool:
        """Publish one cell if the needs whose witnesses move it can be proved without it."""
        harmed = set(self.pool.moving(position))
        trial = self.pool.without(position)
        self.hidden[position] = False
        self._attack.hide(self.hidden)
        self._few.hide(self.hidden)
        changed = self._changed(trial)
        new: dict[int, _Own] | None = None
        if self._is_proved(trial, np.any(changed, axis=0), budget, whole):
            new = self._proved_against(self._doubted(trial, harmed), trial, budget)
        if new is None:
            self.hidden[position] = True
            return False
        self.pool = trial
        for number, own in new.items():
            self._keep(number, own)
        return True

    def _is_proved(self, trial: WitnessPool, changed: Flags, budget: Budget, whole: bool) -> bool:
        """Prove all needs within the trial pool; in whole numbers if an intruder knows these."""
        if np.any(trial.open):
            self._few.prove(trial, trial.open, budget)
        if np.any(trial.open):
            prove(self._attack, trial, budget, stop_at_failure=True)
        if np.any(trial.open):
            return False
        if not whole or not np.any(changed):
            return True
        low, high = np.where(self.hidden, [self.system.low, self.system.high], 0.0)
        system = self.system.with_room(low, high)
        failed, _ = prove_in_whole_numbers(system, trial, changed, budget)
        return not failed

    def _proved_against(
        self, doubted: Iterable[int], trial: WitnessPool, budget: Budget
    ) -> dict[int, _Own] | None:
        """Return new witnesses for each insider whose proof is doubted; None if a proof fails."""
        found = {}
        for number in sorted(doubted, key=lambda one: (-self.failures[one], one)):
            own = self._held_against(number, trial, budget)
            if own is None:
                self.failures[number] += 1
                return None
            found[number] = own
        return found

    def _held_against(self, number: int, trial: WitnessPool, budget: Budget) -> _Own | None:
        system = self._seen_by(number)
        pool, changed = trial.against(system)
        asked = self._judged.copy()
        asked[self.open.need[self.open.insider == number]] = False
        if np.any(pool.open & asked):
            self._few.prove(pool, asked, budget)
        if np.any(pool.open & asked):
            nothing = Extreme(np.zeros(0), 0.0, np.inf, np.zeros(0))
            skipped = {(index, 1): nothing for index in np.flatnonzero(~asked).tolist()}
            self._attack.know(system)
            prove(self._attack, pool, budget, stop_at_failure=True, disclosed=skipped)
            self._attack.know(self.system)
            if np.any(pool.open & asked):
                return None
        if np.any(changed):
            changed |= np.any(_differ(pool, trial), axis=0)
            trial.keep_used(pool)
        return _Own.of(pool, changed & asked)

    def _doubted(self, trial: WitnessPool, harmed: set[int]) -> set[int]:
        """Return the insiders whose proof has lost a witness, or who can rule out a new one."""
        doubted: set[int] = set()
        for row in harmed:
            doubted |= self.users.get(row, set())
        up, down = self._changed(trial)
        for changed, witness in ((up, trial.upper_witness), (down, trial.lower_witness)):
            for row in np.unique(witness[changed]).tolist():
                if row < 0:
                    continue
                needs = np.flatnonzero(changed & (witness == row))
                ruled_out = set(self._who_rules_out(trial.rows[row])) - doubted
                doubted |= {n for n in ruled_out if self._relies_on_everybody(n, needs)}
        return doubted

    def _relies_on_everybody(self, number: int, needs: Integers) -> bool:
        return number not in self.own or not np.all(np.isin(needs, self.own[number].needs))

    def _changed(self, trial: WitnessPool) -> Flags:
        return _differ(trial, self.pool)

    def _who_rules_out(self, witness: tuple[Integers, Floats]) -> list[int]:
        """Return the insiders who know that a witness is not the true table."""
        deviation = np.zeros(self.system.n_unknown)
        deviation[witness[0]] = witness[1]
        moves, facts = deviation[self.known.cell], self.known
        outside = (moves < facts.low) | (moves > facts.high)
        found: list[int] = np.unique(facts.insider[outside]).tolist()
        return found

    def _seen_by(self, number: int) -> System:
        return self.system.narrowed(*self.known.of(number))

    def _keep(self, number: int, own: _Own) -> None:
        before = self.own.get(number)
        for row in before.rows - own.rows if before else ():
            self.users[row].discard(number)
        for row in own.rows:
            self.users.setdefault(row, set()).add(number)
        self.own[number] = own

    def used(self) -> set[int]:
        """Return the numbers of all witnesses in use, in common proofs or for an insider."""
        every = [self.pool.upper_witness, self.pool.lower_witness]
        used = set(np.concatenate(every).tolist())
        for own in self.own.values():
            used |= own.rows
        return used - {-1}

    def own_proof(self) -> tuple[Integers, PoolProof]:
        """Return the proofs of insiders with their own witnesses, and the insider of each."""
        insider = np.concatenate(
            [_NO_NEEDS, *(np.full(len(claim.needs), number) for number, claim in self.own.items())]
        )
        columns = (
            np.concatenate([_NO_NEEDS, *(getattr(claim, name) for claim in self.own.values())])
            for name in ("needs", "upper", "lower")
        )
        return insider, self.pool.proof_of(*columns)


def _differ(one: WitnessPool, other: WitnessPool) -> Flags:
    """Flag the needs whose upward or downward witness differs between two pools."""
    return np.array(
        [one.upper_witness != other.upper_witness, one.lower_witness != other.lower_witness]
    )


@dataclass(frozen=True, eq=False)
class Held:
    """A pattern with its verified proof against everybody and against insiders.

    Parameters
    ----------
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    certificate : ProtectionCertificate
        Verified.
    insiders : AgainstInsiders, optional
        The cost of protection against insiders; None if no insider was named.
    """

    suppressed: Flags
    certificate: ProtectionCertificate
    insiders: AgainstInsiders | None = None


def held(standing: Standing, question: Question) -> Held:
    """Return the standing pattern, verified, with cells published that no witness moves.

    Parameters
    ----------
    standing : Standing
    question : Question

    Raises
    ------
    VerificationError
        If the proof does not pass its check.
    """
    problem, audited = question.problem, standing.audit.suppressed
    must = problem.sensitive | problem.forced
    # A cell that no witness moves protects nothing, and may follow from published cells anyway.
    for fewer in (standing.suppressed & (must | standing.moved()), standing.suppressed):
        if not _know_more(question, audited, fewer):
            standing.suppressed = fewer
            break
    else:
        standing = Standing(standing.audit)
    proof = standing.certificate()
    proof.verify()
    return Held(standing.suppressed, proof)


def _know_more(question: Question, audited: Flags, published: Flags) -> bool:
    """Whether an insider may know more of the published pattern than of the audited one.

    What an insider knows may depend on what is suppressed, such as which cell is the largest.
    """
    if np.array_equal(audited, published):
        return False
    for kind in question.intruders:
        if kind.knows_by_cell:
            continue
        known = {one.name: one for one in kind.members(question.problem, audited)}
        for one in kind.members(question.problem, published):
            before = known.get(one.name)
            if before is None or not np.all(np.isin(one.cells, before.cells)):
                return True
            at = np.argsort(before.cells)[np.searchsorted(np.sort(before.cells), one.cells)]
            if np.any(one.lower > before.lower[at]) or np.any(one.upper < before.upper[at]):
                return True
    return False

"""The joint audit: what a new output discloses together with all earlier ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_array

from tablecloak.errors import listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.computation import computation_of
from tablecloak.safe.joint.estimates import Estimate, Estimates
from tablecloak.safe.joint.finding import Finding, Term
from tablecloak.safe.joint.small_groups import Classes, small_groups
from tablecloak.safe.joint.system import Overlap, System, figures_of_classes
from tablecloak.safe.joint.two_parts import small_groups_of_two
from tablecloak.safe.joint.variables import Variable, Variables

__all__ = ["JointAudit"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

STILL = 1e-6
"""Move of a class, in standard deviations, up to which it counts as none."""

EXACT = 1e-6
"""Coefficient of a figure up to which it plays no part."""

NEAR = 1e-6
"""The same for the sum of two small classes, in records."""

WHOLE_CLASSES, WHOLE_FIGURES = 400, 400
"""Size up to which all outputs are searched at once for small groups of any number of classes.
Beyond, single classes and pairs of them are searched in all outputs at once, larger groups in each
two outputs. Chosen by trial."""

MOST_EXPLAINED = 8
"""Findings of one question whose sum of figures is worked out; the smallest groups come first."""

MOST_TERMS = 8
"""Terms of a sum that are written out."""

SECONDS, SECONDS_OF_ALL = 1.0, 4.0
"""Limits of each search for small groups, and of all of them for one variable."""


@dataclass
class JointAudit:
    """What is remembered of the outputs of one project.

    Parameters
    ----------
    appetite : Appetite
    """

    appetite: Appetite
    _variables: Variables = field(default_factory=lambda: Variables(0))

    def findings(
        self,
        asked: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        *,
        n_records: int,
        contributors: Ints | None = None,
    ) -> tuple[list[Finding], list[str]]:
        """Return what figures disclose together with earlier ones, and what was not searched.

        Parameters
        ----------
        asked : sequence of Figures
            Those of a new output.
        earlier : mapping of str to sequence of Figures
            Those of all outputs so far, by the names of these.
        n_records : int
            Number of records of the project.
        contributors : (n_records,) array of int, optional
            Code of the contributor of each record; by default each has its own.

        Returns
        -------
        findings : list of Finding
            Groups of fewer contributors than the threshold whose figure follows from those asked
            about and earlier ones, and does not follow from earlier ones alone; and groups of more
            that break the (n, k) or p% rule.
        undecided : list of str
            What was not searched, a sentence each.
        """
        flat = [figures for some in earlier.values() for figures in some]
        self._bring_up_to(flat, n_records)
        names = {
            id(figures): (name, which)
            for name, some in [*earlier.items(), ("", asked)]
            for which, figures in enumerate(some)
        }
        self._variables.forget()
        after = self._with(asked)
        findings: list[Finding] = []
        undecided: list[str] = []
        for variable, some in after:
            question = _Question(
                self.appetite, self._variables, variable, some, contributors, names
            )
            findings += question.findings()
            undecided += question.undecided
        return findings, list(dict.fromkeys(undecided))

    def _bring_up_to(self, flat: list[Figures], n_records: int) -> None:
        done = self._variables.done
        is_ahead = len(done) <= len(flat) and all(map(_is, done, flat))
        if not is_ahead or n_records < self._variables.n_records:
            self._variables = Variables(n_records)
        self._variables.grow(n_records)
        for figures in flat[len(self._variables.done) :]:
            self._variables.add(figures)

    def _with(self, asked: Sequence[Figures]) -> list[tuple[Variable, list[Figures]]]:
        found: list[tuple[Variable, list[Figures]]] = []
        for figures in asked:
            for variable, some in found:
                if variable.has(figures):
                    some.append(figures)
                    break
            else:
                found.append((self._variables.of(figures), [figures]))
        return found


def _is(one: object, other: object) -> bool:
    return one is other


class _Question:
    """What is asked of one variable."""

    def __init__(
        self,
        appetite: Appetite,
        variables: Variables,
        variable: Variable,
        asked: Sequence[Figures],
        contributors: Ints | None,
        names: Mapping[int, tuple[str, int]],
    ) -> None:
        self.appetite = appetite
        self.variable = variable
        self.names = names
        self.before = variable.system
        self.after = self.before
        self.amounts = variable.amounts
        self.parent = np.arange(self.before.n_classes)
        self.overlaps: list[tuple[Overlap, ...]] = []
        for figures in asked:
            self.after = variables.extended(self.after, figures)
            self.amounts = variable.learned(self.amounts, figures)
            assert self.after.parent is not None
            self.parent = self.parent[self.after.parent]
            self.overlaps.append(self.after.overlaps)
        n = len(self.before.parts)
        self.asked = range(n, n + len(asked))
        self.contributors = _repeated(contributors)
        self.counted = _distinct(self.after.class_of, self.contributors, self.after.n_classes)
        self.undecided: list[str] = []
        self.end = monotonic() + SECONDS_OF_ALL

    # -- what follows -----------------------------------------------------------------------

    def findings(self) -> list[Finding]:
        """Return all findings; none whose records contain those of another."""
        groups: list[tuple[Flags, tuple[int, ...]]] = [
            *((group, ()) for group in self._single()),
            *((group, ()) for group in self._pairs()),
        ]
        if self.after.n_classes <= WHOLE_CLASSES and self.after.n_figures <= WHOLE_FIGURES:
            found, is_complete = self._of_all()
            groups += [(group, ()) for group in found]
        else:
            is_complete = True
            for one, overlaps in zip(self.asked, self.overlaps, strict=True):
                found, is_done = self._of_one(one)
                groups += [(group, (one,)) for group in found]
                is_complete &= is_done
                for other, overlap in enumerate(overlaps):
                    found, is_done = self._of_two(one, other, overlap)
                    groups += [(group, (one, other)) for group in found]
                    is_complete &= is_done
            self.undecided.append(
                f"groups of three or more classes of records that follow only from three or more "
                f"outputs on {self.variable.name} were not searched"
            )
        if not is_complete:
            self.undecided.append(
                f"the search for small groups in figures on {self.variable.name} was cut off"
            )
        groups += [(group, ()) for group in self._dominated()]
        kept = _smallest(groups, self.after.size)
        told = [
            self._finding(group, likely, is_explained=number < MOST_EXPLAINED)
            for number, (group, likely) in enumerate(kept)
        ]
        return [*told, *self._estimated(told)]

    def _is_known(self, group: Flags) -> bool:
        """Whether a group follows from earlier outputs alone."""
        parents = np.unique(self.parent[group])
        if self.after.size[group].sum() != self.before.size[parents].sum():
            return False
        return _is_still(self.before.moves[parents].sum(axis=0), self.before.size[parents].sum())

    def _follows(self, group: Flags) -> bool:
        return _is_still(self.after.moves[group].sum(axis=0), self.after.size[group].sum())

    def _still(self) -> Flags:
        scale = np.sqrt(np.maximum(self.after.size, 1))
        return np.asarray(np.abs(self.after.moves).max(axis=1) <= STILL * scale)

    def _single(self) -> Iterable[Flags]:
        """Return small classes whose figure follows from all outputs together."""
        for number in np.flatnonzero(self._still() & (self.counted < self.appetite.safe_threshold)):
            group = self._flags(number)
            if not self._is_known(group):
                yield group

    def _pairs(self) -> Iterable[Flags]:
        """Return pairs of small classes whose sum follows from all outputs together."""
        small = np.flatnonzero(~self._still() & (self.counted < self.appetite.safe_threshold))
        move = self.after.moves[small]
        order = np.argsort(move[:, 0])
        ahead = move[order, 0]
        first = np.searchsorted(ahead, -move[:, 0] - NEAR, side="left")
        length = np.searchsorted(ahead, -move[:, 0] + NEAR, side="right") - first
        one = np.repeat(np.arange(len(small)), length)
        within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
        other = order[np.repeat(first, length) + within]
        is_still = np.abs(move[one] + move[other]).max(axis=1, initial=0) <= NEAR
        for a, b in zip(small[one[is_still]], small[other[is_still]], strict=True):
            if a < b:
                group = self._flags(a, b)
                if self._is_few(group) and not self._is_known(group):
                    yield group

    def _of_all(self) -> tuple[list[Flags], bool]:
        """Return small groups of any number of classes that follow from all outputs together."""
        system = self.after
        members = self._members(np.arange(system.n_classes), system.n_classes)
        figures = figures_of_classes(system.parts, system.groups)
        return self._flagged(
            np.arange(system.n_classes),
            lambda is_known: small_groups(
                Classes(figures, self.counted, members),
                self.appetite.safe_threshold,
                is_known,
                SECONDS,
            ),
        )

    def _of_one(self, one: int) -> tuple[list[Flags], bool]:
        """Return small groups that follow from a new part alone."""
        group = self.after.groups[one]
        size = np.bincount(group + 1, self.after.size)
        rows = np.flatnonzero(size) - 1
        nowhere = np.full(len(rows), -1)
        return self._of_two(one, None, Overlap(rows, nowhere, size[rows + 1].astype(np.int64)))

    def _of_two(self, one: int, other: int | None, overlap: Overlap) -> tuple[list[Flags], bool]:
        """Return small groups that follow from a new part and another one."""
        counted, members = overlap.records, None
        kind = None
        if self.contributors is not None:
            kind = self._kinds(one, other, overlap)
            counted = self._counted_by(kind, len(counted))
            members = self._members(kind, len(counted))
        untold = [self.after.parts[one].never_told, np.empty((0, 0))]
        if other is not None:
            untold[1] = self.after.parts[other].never_told
        classes = Classes(csr_array((len(counted), 0)), counted, members)
        return self._flagged(
            kind if kind is not None else lambda: self._kinds(one, other, overlap),
            lambda is_known: small_groups_of_two(
                (overlap.rows, overlap.columns),
                (untold[0], untold[1]),
                classes,
                self.appetite.safe_threshold,
                is_known,
                SECONDS,
            ),
        )

    def _kinds(self, one: int, other: int | None, overlap: Overlap) -> Ints:
        """Return in which entry of an overlap each class is."""
        width = int(overlap.columns.max(initial=-1)) + 2
        column = self.after.groups[other] if other is not None else np.int32(-1)
        code = (self.after.groups[one].astype(np.int64) + 1) * width + column + 1
        return np.searchsorted((overlap.rows + 1) * width + overlap.columns + 1, code)

    def _flagged(
        self,
        kinds: Ints | Callable[[], Ints],
        searched: Callable[[Callable[[Ints], bool]], tuple[list[Ints], bool]],
    ) -> tuple[list[Flags], bool]:
        """Search among kinds of classes, and return groups of classes."""
        known: list[Ints] = [] if callable(kinds) else [kinds]

        def flags(some: Ints) -> Flags:
            if not known and callable(kinds):
                known.append(kinds())
            return np.isin(known[0], some)

        if monotonic() > self.end:
            return [], False
        found, is_complete = searched(lambda some: self._is_known(flags(some)))
        groups = [flags(some) for some in found]
        # What a solver says to follow must leave every move at 0.
        return [group for group in groups if self._follows(group)], is_complete

    def _dominated(self) -> Iterable[Flags]:
        """Return classes with enough contributors that follow, and break a rule on amounts."""
        if (self.amounts == 1).all():
            return
        many = self.counted >= self.appetite.safe_threshold
        for number in np.flatnonzero(self._still() & many):
            group = self._flags(number)
            if self._broken(group) and not self._is_known(group):
                yield group

    def _estimated(self, told: Sequence[Finding]) -> Iterable[Finding]:
        """Return contributions that somebody estimates too closely, beyond groups that are told."""
        amounts, share = self.amounts, self.appetite.safe_pratio_p
        if not share or (amounts == 1).all():
            return
        if not (self.after.n_classes <= WHOLE_CLASSES and self.after.n_figures <= WHOLE_FIGURES):
            self.undecided.append(
                f"how closely contributions to {self.variable.name} can be estimated from sums "
                "that contain them was not searched across outputs"
            )
            return
        if (amounts < 0).any():
            self.undecided.append(
                f"{self.variable.name} has negative amounts, so that sums bound no contribution"
            )
            return
        after = self._estimates(self.after, amounts)
        before = self._estimates(self.before, amounts)
        records = {record for finding in told for record in finding.records.tolist()}
        who = self._who()
        for estimate in after.close():
            own = np.flatnonzero((self.after.class_of == estimate.number) & (who == estimate.who))
            parent = int(self.parent[estimate.number])
            if records.isdisjoint(own.tolist()) and before.of(parent, estimate.who) is None:
                yield self._close(estimate, own)

    def _who(self) -> Ints:
        n = len(self.after.class_of)
        return np.arange(n) if self.contributors is None else self.contributors[:n]

    def _estimates(self, system: System, amounts: Floats) -> Estimates:
        figures = (
            figures_of_classes(system.parts, system.groups)
            if system.parts
            else csr_array((system.n_classes, 0))
        )
        amounts = np.nan_to_num(amounts)
        share = self.appetite.safe_pratio_p
        return Estimates(figures, system.class_of, self._who(), amounts, share)

    def _close(self, estimate: Estimate, records: Ints) -> Finding:
        said, asked = [], []
        start = 0
        for part in self.after.parts:
            name, which = self.names[id(part.figures)]
            for figure, label in enumerate(part.figures.labels):
                coefficient = float(estimate.multipliers[start + figure])
                if abs(coefficient) > EXACT:
                    said.append(Term(name, label, coefficient))
                    if not name:
                        asked.append((which, figure))
            start += len(part.figures.labels)
        who = "another contributor" if estimate.attacker is not None else "anybody"
        text = (
            f"from {_sum(said)} {who} estimates the {self.variable.name} of one contributor "
            f"within {self.appetite.safe_pratio_p:.0%}"
        )
        return Finding("p-ratio", 1, records, tuple(said), tuple(asked), text)

    # -- groups -----------------------------------------------------------------------------

    def _flags(self, *classes: np.integer) -> Flags:
        group = np.zeros(self.after.n_classes, dtype=bool)
        group[np.array(classes)] = True
        return group

    def _records(self, group: Flags) -> Ints:
        return np.flatnonzero(group[self.after.class_of])

    def _n_contributors(self, group: Flags) -> int:
        records = self._records(group)
        return len(records if self.contributors is None else np.unique(self.contributors[records]))

    def _is_few(self, group: Flags) -> bool:
        return self._n_contributors(group) < self.appetite.safe_threshold

    def _counted_by(self, kind: Ints, n_kinds: int) -> Ints:
        if self.contributors is None:
            return np.bincount(kind, self.after.size, minlength=n_kinds).astype(np.int64)
        return _distinct(kind[self.after.class_of], self.contributors, n_kinds)

    def _members(self, kind: Ints, n_kinds: int) -> tuple[Ints, ...] | None:
        if self.contributors is None:
            return None
        pairs = pd.DataFrame({"kind": kind[self.after.class_of], "who": self.contributors})
        pairs = pairs.drop_duplicates().sort_values("kind", kind="stable")
        ends = np.searchsorted(pairs["kind"].to_numpy(), np.arange(1, n_kinds))
        return tuple(np.split(pairs["who"].to_numpy(), ends))

    def _broken(self, group: Flags) -> str:
        """Return the rule on amounts that a group breaks, or nothing."""
        records = self._records(group)
        amounts = self.amounts[records]
        if self.contributors is not None:
            who = pd.factorize(self.contributors[records])[0]
            amounts = np.bincount(who, amounts).astype(float)
        largest = np.sort(np.abs(amounts))[::-1]
        total = largest.sum()
        limits = self.appetite
        if largest[2:].sum() < limits.safe_pratio_p * largest[0]:
            return "p-ratio"
        if total and largest[: limits.safe_nk_n].sum() > limits.safe_nk_k * total:
            return "nk-rule"
        return ""

    # -- what is said -----------------------------------------------------------------------

    def _finding(self, group: Flags, likely: Sequence[int], *, is_explained: bool) -> Finding:
        count = self._n_contributors(group)
        rule = "threshold" if count < self.appetite.safe_threshold else self._broken(group)
        terms = computation_of(self.after, group, self.asked, likely) if is_explained else None
        parts = self.after.parts
        said, asked = [], []
        for part, figure, coefficient in terms or ():
            figures = parts[part].figures
            name, which = self.names[id(figures)]
            said.append(Term(name, figures.labels[figure], coefficient))
            if not name:
                asked.append((which, figure))
        if terms is None:
            # No short computation: every figure of what is asked about may be part of it.
            asked = [
                (self.names[id(parts[part].figures)][1], figure)
                for part in self.asked
                for figure in self._touching(part, group)
            ]
        text = self._text(rule, count, said)
        return Finding(rule, count, self._records(group), tuple(said), tuple(asked), text)

    def _touching(self, part: int, group: Flags) -> list[int]:
        within = self.after.groups[part][group]
        columns = np.unique(within[within >= 0])
        sums = self.after.parts[part].sums
        return np.flatnonzero(np.asarray(sums[:, columns].sum(axis=1)).ravel()).tolist()

    def _text(self, rule: str, count: int, terms: Sequence[Term]) -> str:
        who = f"{count} contributor{'s' * (count != 1)}"
        limits = {
            "threshold": f"fewer than {self.appetite.safe_threshold}",
            "p-ratio": f"of which the two largest break the p% rule with "
            f"{self.appetite.safe_pratio_p:.0%}",
            "nk-rule": f"of which the {self.appetite.safe_nk_n} largest hold more than "
            f"{self.appetite.safe_nk_k:.0%}",
        }
        what = f"{self.variable.name} of {who}, {limits[rule]}"
        if not terms:
            return f"{what}, follow from all outputs together"
        return f"{_sum(terms)} = {what}"


def _sum(terms: Sequence[Term]) -> str:
    text = ""
    ordered = sorted(terms, key=lambda term: (-term.coefficient, term.output))
    for term in ordered[:MOST_TERMS]:
        share = abs(Fraction(term.coefficient).limit_denominator(1000))
        times = "" if share == 1 else f"{share} x "
        sign = " - " if term.coefficient < 0 else " + " if text else ""
        where = term.output or "this output"
        text += f"{sign or ''}{times}{where} [{term.label}]"
    rest = ordered[MOST_TERMS:]
    if rest:
        names = sorted({term.output or "this output" for term in rest})
        text += f" and {len(rest)} more figures of {listed(names)}"
    return text.strip()


def _is_still(move: Floats, n_records: float) -> bool:
    return bool(np.abs(move).max() <= STILL * max(n_records, 1) ** 0.5)


def _repeated(contributors: Ints | None) -> Ints | None:
    """Return codes of contributors if any of them has two records."""
    if contributors is None or not pd.Index(contributors).has_duplicates:
        return None
    return contributors


def _distinct(kind: Ints, contributors: Ints | None, n_kinds: int) -> Ints:
    """Return the number of contributors of each kind of records."""
    if contributors is None:
        return np.bincount(kind, minlength=n_kinds).astype(np.int64)
    code = kind * (int(contributors.max(initial=0)) + 1) + contributors
    first = pd.unique(code)
    return np.bincount(first // (int(contributors.max(initial=0)) + 1), minlength=n_kinds).astype(
        np.int64
    )


def _smallest(
    groups: list[tuple[Flags, tuple[int, ...]]], size: Ints
) -> list[tuple[Flags, tuple[int, ...]]]:
    """Leave out groups that contain another one, and repetitions."""
    kept: list[tuple[Flags, tuple[int, ...]]] = []
    for group, likely in sorted(groups, key=lambda item: int(size[item[0]].sum())):
        if not any(not (other & ~group).any() for other, _ in kept):
            kept.append((group, likely))
    return kept

"""The joint audit: what a new output discloses together with all earlier ones.

It searches for classes of records, pairs of them and larger groups whose figure follows.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.joint.disclosure import Disclosure, disclosure_of, estimates_of
from tablecloak.safe.joint.nested_filters import nested_groups
from tablecloak.safe.joint.question import SummedVariable, SummedVariables, VariableQuestion
from tablecloak.safe.joint.repeated import RepeatedAmounts, first_of_each
from tablecloak.safe.joint.small_groups import SmallGroups
from tablecloak.safe.joint.waves import WaveFigures
from tablecloak.safe.output import Figures

NEAR = 1e-6
"""Move of the sum of two small classes, in records, up to which it counts as none."""

MOST_EXPLAINED = 8
"""Findings of one question whose sum of figures is worked out; the smallest groups come first."""


def single_classes(question: VariableQuestion) -> Iterable[Flags]:
    """Return small classes whose figure follows from all outputs together."""
    is_small = question.counted < question.appetite.safe_threshold
    for number in np.flatnonzero(question.still & is_small):
        group = question.flags(number)
        if not question.is_known(group):
            yield group


def pairs_of_classes(question: VariableQuestion) -> Iterable[Flags]:
    """Return pairs of classes that follow together: of few contributors, or dominated by few."""
    chosen, is_count = ~question.still, question.is_count
    if is_count:
        # Figures that count break no rule but the threshold.
        chosen &= question.counted < question.appetite.safe_threshold
    for group in _cancelling(question, np.flatnonzero(chosen)):
        is_told = question.is_few(group) or (not is_count and question.broken(group))
        if is_told and not question.is_known(group):
            yield group


def _cancelling(question: VariableQuestion, chosen: Integers) -> Iterable[Flags]:
    """Return pairs of classes whose moves cancel."""
    move = question.after.moves[chosen]
    order = np.argsort(move[:, 0])
    ahead = move[order, 0]
    # Asked in ascending order, which is many times as fast.
    wanted = -ahead[::-1]
    first = np.searchsorted(ahead, wanted - NEAR, side="left")
    length = np.searchsorted(ahead, wanted + NEAR, side="right") - first
    one = np.repeat(order[::-1], length)
    within = np.arange(length.sum()) - np.repeat(np.cumsum(length) - length, length)
    other = order[np.repeat(first, length) + within]
    is_still = np.abs(move[one] + move[other]).max(axis=1, initial=0) <= NEAR
    for a, b in zip(chosen[one[is_still]], chosen[other[is_still]], strict=True):
        if a < b:
            yield question.flags(a, b)


def groups_of_all(question: VariableQuestion) -> tuple[list[Flags], bool]:
    """Return small groups of any number of classes that follow from all outputs together."""
    system = question.after
    if not any(len(system.parts[part].kept) for part in question.new_parts):
        # All new figures follow from earlier ones.
        return [], True
    search = SmallGroups(
        question.counted,
        question.members,
        question.appetite.safe_threshold,
        lambda some: question.is_known(question.flags(*some)),
        question.work,
    )
    numbers, is_complete = search.of_all(system, question.shares)
    groups = [question.flags(*some) for some in numbers]
    # What a solver says to follow must leave every move at 0.
    return [group for group in groups if question.follows(group)], is_complete


def dominated_classes(question: VariableQuestion) -> Iterable[Flags]:
    """Return classes with enough contributors that follow, and break a rule on amounts."""
    if question.is_count:
        return
    many = question.counted >= question.appetite.safe_threshold
    for number in np.flatnonzero(question.still & many):
        group = question.flags(number)
        if question.broken(group) and not question.is_known(group):
            yield group


@dataclass
class JointAudit:
    """What is remembered of the outputs of one project.

    Parameters
    ----------
    appetite : Appetite
    """

    appetite: Appetite
    _variables: SummedVariables = field(default_factory=lambda: SummedVariables(0))
    _repeated: RepeatedAmounts = field(default_factory=RepeatedAmounts)
    _of_units: JointAudit | None = None
    _waves: WaveFigures = field(default_factory=WaveFigures)
    _of_panel: JointAudit | None = None

    def findings(
        self,
        new: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        *,
        n_records: int,
        contributors: Integers | None = None,
        waves: Integers | None = None,
        codes: Sequence[Integers] = (),
    ) -> tuple[list[Disclosure], list[str]]:
        """Return what figures disclose together with earlier ones, and what was not searched.

        Parameters
        ----------
        new : sequence of Figures
            Those of the output that is asked about.
        earlier : mapping of str to sequence of Figures
            Those of all outputs so far, by the names of these.
        n_records : int
            Number of records of the project.
        contributors : (n_records,) array of int, optional
            Code of the contributor of each record; by default each has its own.
        waves : (n_records,) array of int, optional
            Code that no contributor has in two records, such as the year; -1 if it is not known.
        codes : sequence of (n_records,) array of int, default=()
            Of columns with few codes, by which amounts may rise alike; -1 where not known.

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
        names = _names_of(new, earlier)
        self._variables.forget()
        undecided = self._variables.sums_of_columns(new, names)
        of_several, unsure = self._of_weighted_sums(new, contributors)
        undecided += unsure
        findings, unsure = self._answers(*self._with_differences(new, names), contributors)
        undecided += unsure
        if contributors is not None and not findings:
            findings, unsure = self._of_repeated(new, earlier, n_records, contributors, codes)
            undecided += unsure
        if contributors is not None and waves is not None and not findings:
            findings, unsure = self._between_waves(new, earlier, contributors, waves)
            undecided += unsure
        # A figure that tells of few beside others of its variable is to be hidden anyway.
        named = {term for finding in findings for term in finding.new_terms}
        findings = [one for one in of_several if named.isdisjoint(one.new_terms)] + findings
        return findings, list(dict.fromkeys(undecided))

    def _answers(
        self,
        new: Sequence[Figures],
        names: dict[int, tuple[str, int]],
        contributors: Integers | None,
    ) -> tuple[list[Disclosure], list[str]]:
        """Return what follows from figures of each variable, and what was not searched."""
        findings: list[Disclosure] = []
        undecided: list[str] = []
        for variable, some in self._by_variable(new):
            question = VariableQuestion(
                self.appetite, self._variables, variable, some, contributors, names
            )
            findings += _findings(question)
            undecided += question.undecided
        return findings, undecided

    def _of_repeated(
        self,
        new: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        n_records: int,
        contributors: Integers,
        codes: Sequence[Integers],
    ) -> tuple[list[Disclosure], list[str]]:
        """Return what follows where a contributor has the same in several records."""
        if np.bincount(contributors).max(initial=0) < 2:
            return [], []
        merged, past, places = self._repeated.merged(new, earlier, contributors, codes)
        if not merged:
            return [], []
        if self._of_units is None:
            self._of_units = JointAudit(self.appetite)
        audit = self._of_units
        audit._bring_up_to([figures for some in past.values() for figures in some], n_records)
        audit._variables.forget()
        findings, undecided = audit._answers(merged, _names_of(merged, past), contributors)
        return [
            replace(
                finding,
                new_terms=tuple((places[which], row) for which, row in finding.new_terms),
                text=f"{finding.text} (contributors have the same in several records)",
            )
            for finding in findings
        ], undecided

    def _between_waves(
        self,
        new: Sequence[Figures],
        earlier: Mapping[str, Sequence[Figures]],
        contributors: Integers,
        waves: Integers,
    ) -> tuple[list[Disclosure], list[str]]:
        """Return what follows for whoever compares the waves of a panel."""
        apart, past, places = self._waves.apart(new, earlier, contributors, waves)
        if self._of_panel is None:
            self._of_panel = JointAudit(self.appetite)
        audit = self._of_panel
        first = first_of_each(contributors)
        audit._bring_up_to([figures for some in past.values() for figures in some], len(first))
        audit._variables.forget()
        names = _names_of(apart, past)
        undecided = audit._variables.sums_of_columns(apart, names)
        findings, unsure = audit._answers(*audit._with_differences(apart, names), None)
        return [
            replace(
                finding,
                records=first[finding.records],
                new_terms=tuple(
                    (places[part][0], int(places[part][1][row])) for part, row in finding.new_terms
                ),
                text=f"{finding.text} (contributors are compared between their records)",
            )
            for finding in findings
        ], [*undecided, *unsure]

    def _of_weighted_sums(
        self, new: Sequence[Figures], contributors: Integers | None
    ) -> tuple[list[Disclosure], list[str]]:
        """Return what sums of several columns tell of few, and where that was not searched."""
        findings, undecided = {}, []
        threshold = self.appetite.safe_threshold
        for which, row, records, is_searched in self._variables.weighted_sums(
            new, threshold, contributors
        ):
            said = (
                f"{new[which].variable} [{new[which].labels[row]}] and sums of other columns over "
                f"the same contributors tell of fewer than {threshold}, if one column is another "
                "times a known factor"
            )
            if is_searched:
                n = len(records if contributors is None else np.unique(contributors[records]))
                findings[which, row] = Disclosure(
                    "threshold", n, records, (), ((which, row),), said
                )
            else:
                undecided.append(f"whether {said}, was not searched")
        return list(findings.values()), undecided

    def _bring_up_to(self, flat: list[Figures], n_records: int) -> None:
        taken_in = self._variables.figures
        is_ahead = len(taken_in) <= len(flat) and all(map(operator.is_, taken_in, flat))
        if not is_ahead or n_records < self._variables.n_records:
            self._variables = SummedVariables(n_records)
        self._variables.grow(n_records)
        for figures in flat[len(self._variables.figures) :]:
            self._variables.add(figures)

    def _with_differences(
        self, new: Sequence[Figures], names: dict[int, tuple[str, int]]
    ) -> tuple[list[Figures], dict[int, tuple[str, int]]]:
        """Return figures with what they tell beside those of columns that mostly agree."""
        pairs_of_figures = [pair for pairs in self._variables.differences(new) for pair in pairs]
        names |= {id(entry): names[id(source)] for entry, source in pairs_of_figures}
        return [*new, *(entry for entry, _ in pairs_of_figures)], names

    def _by_variable(self, new: Sequence[Figures]) -> list[tuple[SummedVariable, list[Figures]]]:
        pairs: list[tuple[SummedVariable, list[Figures]]] = []
        for figures in new:
            same = next((some for variable, some in pairs if variable.has(figures)), None)
            if same is None:
                pairs.append((self._variables.of(figures), [figures]))
            else:
                same.append(figures)
        return pairs


def _names_of(
    new: Sequence[Figures], earlier: Mapping[str, Sequence[Figures]]
) -> dict[int, tuple[str, int]]:
    """Return output and number of each `Figures`, by its identity; "" for new ones."""
    return {
        id(figures): (name, which)
        for name, some in [*earlier.items(), ("", new)]
        for which, figures in enumerate(some)
    }


def _findings(question: VariableQuestion) -> list[Disclosure]:
    """Return all findings; none whose records contain those of another."""
    groups: list[tuple[Flags, tuple[int, ...]]] = [
        *((group, ()) for group in single_classes(question)),
        *((group, ()) for group in pairs_of_classes(question)),
    ]
    found, is_complete = groups_of_all(question)
    groups += [(group, ()) for group in found]
    if not is_complete:
        groups += nested_groups(question)
        question.undecided.append(
            f"the search for small groups in figures on {question.variable.name} was cut off"
        )
    groups += [(group, ()) for group in dominated_classes(question)]
    kept = _smallest(groups, question.after.size)
    findings = [
        disclosure_of(question, group, likely, is_explained=number < MOST_EXPLAINED)
        for number, (group, likely) in enumerate(kept)
    ]
    return [*findings, *estimates_of(question, findings)]


def _smallest(
    groups: list[tuple[Flags, tuple[int, ...]]], size: Integers
) -> list[tuple[Flags, tuple[int, ...]]]:
    """Leave out groups that contain another one, and repetitions."""
    kept: list[tuple[Flags, tuple[int, ...]]] = []
    for group, likely in sorted(groups, key=lambda item: int(size[item[0]].sum())):
        if not any(not (other & ~group).any() for other, _ in kept):
            kept.append((group, likely))
    return kept

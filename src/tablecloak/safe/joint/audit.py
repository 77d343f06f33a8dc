"""The joint audit: what a new output discloses together with all earlier ones."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tablecloak.arrays import Flags, Integers
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.figures import Figures
from tablecloak.safe.joint.finding import Finding
from tablecloak.safe.joint.question import Question
from tablecloak.safe.joint.searches import (
    dominated_classes,
    groups_of_all,
    groups_of_one,
    groups_of_two,
    pairs_of_classes,
    single_classes,
)
from tablecloak.safe.joint.telling import estimated, told
from tablecloak.safe.joint.variables import Variable, Variables

__all__ = ["JointAudit"]

MOST_EXPLAINED = 8
"""Findings of one question whose sum of figures is worked out; the smallest groups come first."""


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
        contributors: Integers | None = None,
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
            question = Question(self.appetite, self._variables, variable, some, contributors, names)
            findings += _findings(question)
            undecided += question.undecided
        return findings, list(dict.fromkeys(undecided))

    def _bring_up_to(self, flat: list[Figures], n_records: int) -> None:
        done = self._variables.done
        is_ahead = len(done) <= len(flat) and all(map(operator.is_, done, flat))
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


def _findings(question: Question) -> list[Finding]:
    """Return all findings; none whose records contain those of another."""
    groups: list[tuple[Flags, tuple[int, ...]]] = [
        *((group, ()) for group in single_classes(question)),
        *((group, ()) for group in pairs_of_classes(question)),
    ]
    if question.is_small:
        found, is_complete = groups_of_all(question)
        groups += [(group, ()) for group in found]
    else:
        is_complete = True
        for one, overlaps in zip(question.asked, question.overlaps, strict=True):
            found, is_done = groups_of_one(question, one)
            groups += [(group, (one,)) for group in found]
            is_complete &= is_done
            for other, overlap in enumerate(overlaps):
                found, is_done = groups_of_two(question, one, other, overlap)
                groups += [(group, (one, other)) for group in found]
                is_complete &= is_done
        question.undecided.append(
            f"groups of three or more classes of records that follow only from three or more "
            f"outputs on {question.variable.name} were not searched"
        )
    if not is_complete:
        question.undecided.append(
            f"the search for small groups in figures on {question.variable.name} was cut off"
        )
    groups += [(group, ()) for group in dominated_classes(question)]
    kept = _smallest(groups, question.after.size)
    findings = [
        told(question, group, likely, is_explained=number < MOST_EXPLAINED)
        for number, (group, likely) in enumerate(kept)
    ]
    return [*findings, *estimated(question, findings)]


def _smallest(
    groups: list[tuple[Flags, tuple[int, ...]]], size: Integers
) -> list[tuple[Flags, tuple[int, ...]]]:
    """Leave out groups that contain another one, and repetitions."""
    kept: list[tuple[Flags, tuple[int, ...]]] = []
    for group, likely in sorted(groups, key=lambda item: int(size[item[0]].sum())):
        if not any(not (other & ~group).any() for other, _ in kept):
            kept.append((group, likely))
    return kept

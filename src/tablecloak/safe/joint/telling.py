"""What is said of a finding: the sum of figures, and who comes how close."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

import numpy as np

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import listed
from tablecloak.safe.joint.computation import computation_of
from tablecloak.safe.joint.estimates import Estimate, Estimates
from tablecloak.safe.joint.finding import Finding, Term
from tablecloak.safe.joint.question import Question
from tablecloak.safe.joint.system import System

__all__ = ["estimated", "told"]

EXACT = 1e-6
"""Coefficient of a figure up to which it plays no part."""

MOST_TERMS = 8
"""Terms of a sum that are written out."""


def told(question: Question, group: Flags, likely: Sequence[int], *, is_explained: bool) -> Finding:
    """Return what is said of a group that follows.

    Parameters
    ----------
    question : Question
    group : array of bool
        Classes of the group.
    likely : sequence of int
        Parts that are known to be enough for the sum.
    is_explained : bool
        Whether the sum is worked out.
    """
    count = question.n_contributors(group)
    rule = "threshold" if count < question.appetite.safe_threshold else question.broken(group)
    terms = computation_of(question.after, group, question.asked, likely) if is_explained else None
    said, asked = _named(question, terms or ())
    if terms is None:
        # No short computation: every figure of what is asked about may be part of it.
        touching = [
            (part, figure, 1.0)
            for part in question.asked
            for figure in _touching(question, part, group)
        ]
        _, asked = _named(question, touching)
    text = _text(question, rule, count, said)
    return Finding(rule, count, question.records(group), said, asked, text)


def _named(
    question: Question, terms: Iterable[tuple[int, int, float]]
) -> tuple[tuple[Term, ...], tuple[tuple[int, int], ...]]:
    """Return terms by the names of outputs, and those of the output asked about."""
    said, asked = [], []
    for part, figure, coefficient in terms:
        figures = question.after.parts[part].figures
        name, which = question.names[id(figures)]
        said.append(Term(name, figures.labels[figure], coefficient))
        if not name:
            asked.append((which, figure))
    return tuple(said), tuple(asked)


def _touching(question: Question, part: int, group: Flags) -> list[int]:
    within = question.after.groups[part][group]
    columns = np.unique(within[within >= 0])
    sums = question.after.parts[part].sums
    return np.flatnonzero(np.asarray(sums[:, columns].sum(axis=1)).ravel()).tolist()


def _text(question: Question, rule: str, count: int, terms: Sequence[Term]) -> str:
    who = f"{count} contributor{'s' * (count != 1)}"
    limits = {
        "threshold": f"fewer than {question.appetite.safe_threshold}",
        "p-ratio": f"of which the two largest break the p% rule with "
        f"{question.appetite.safe_pratio_p:.0%}",
        "nk-rule": f"of which the {question.appetite.safe_nk_n} largest hold more than "
        f"{question.appetite.safe_nk_k:.0%}",
    }
    what = f"{question.variable.name} of {who}, {limits[rule]}"
    if not terms:
        return f"{what}, follow from all outputs together"
    return f"{_sum(terms)} = {what}"


def estimated(question: Question, found: Sequence[Finding]) -> Iterable[Finding]:
    """Return contributions that somebody estimates too closely, beyond groups that were found."""
    amounts, share = question.amounts, question.appetite.safe_pratio_p
    if not share or (amounts == 1).all():
        return
    if not question.is_small:
        question.undecided.append(
            f"how closely contributions to {question.variable.name} can be estimated from sums "
            "that contain them was not searched across outputs"
        )
        return
    if (amounts < 0).any():
        question.undecided.append(
            f"{question.variable.name} has negative amounts, so that sums bound no contribution"
        )
        return
    after = _estimates(question, question.after, amounts)
    before = _estimates(question, question.before, amounts)
    records = {record for finding in found for record in finding.records.tolist()}
    who = _who(question)
    for estimate in after.close():
        own = np.flatnonzero((question.after.class_of == estimate.number) & (who == estimate.who))
        parent = int(question.parent[estimate.number])
        if records.isdisjoint(own.tolist()) and before.of(parent, estimate.who) is None:
            yield _close(question, estimate, own)


def _who(question: Question) -> Integers:
    n = len(question.after.class_of)
    return np.arange(n) if question.contributors is None else question.contributors[:n]


def _estimates(question: Question, system: System, amounts: Floats) -> Estimates:
    amounts = np.nan_to_num(amounts)
    share = question.appetite.safe_pratio_p
    return Estimates(system.figures, system.class_of, _who(question), amounts, share)


def _close(question: Question, estimate: Estimate, records: Integers) -> Finding:
    """Return what is said of a contribution that somebody estimates too closely."""
    columns = [
        (number, figure)
        for number, part in enumerate(question.after.parts)
        for figure in range(part.sums.shape[0])
    ]
    used = np.flatnonzero(np.abs(estimate.multipliers) > EXACT)
    said, asked = _named(
        question, ((*columns[at], float(estimate.multipliers[at])) for at in used.tolist())
    )
    who = "another contributor" if estimate.attacker is not None else "anybody"
    text = (
        f"from {_sum(said)} {who} estimates the {question.variable.name} of one contributor "
        f"within {question.appetite.safe_pratio_p:.0%}"
    )
    return Finding("p-ratio", 1, records, said, asked, text)


def _sum(terms: Sequence[Term]) -> str:
    text = ""
    ordered = sorted(terms, key=lambda term: (-term.coefficient, term.output))
    for term in ordered[:MOST_TERMS]:
        share = abs(Fraction(term.coefficient).limit_denominator(1000))
        times = "" if share == 1 else f"{share} x "
        sign = " - " if term.coefficient < 0 else " + " if text else ""
        where = term.output or "this output"
        text += f"{sign}{times}{where} [{term.label}]"
    rest = ordered[MOST_TERMS:]
    if rest:
        names = sorted({term.output or "this output" for term in rest})
        text += f" and {len(rest)} more figures of {listed(names)}"
    return text.strip()

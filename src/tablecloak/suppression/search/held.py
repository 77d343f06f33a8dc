"""A pattern with the intruders against whom it is proved, and the pairs left out of the claim."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags
from tablecloak.suppression.attack.against_insiders import AgainstInsiders
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.proof.proof import ProtectionCertificate
from tablecloak.suppression.search.standing import Standing

__all__ = ["Held", "held"]


@dataclass(frozen=True, eq=False)
class Held:
    """A pattern with its verified proof against everybody and against insiders.

    Parameters
    ----------
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    certificate : ProtectionCertificate
        Verified.
    left_out : list of (str, int)
        Pairs of an insider's name and a sensitive cell for which no protection is claimed.
    insiders : AgainstInsiders, optional
        The cost of protection against insiders; None if no insider was named.
    """

    suppressed: Flags
    certificate: ProtectionCertificate
    left_out: list[tuple[str, int]]
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
        standing = Standing(standing.audit, standing.members)
    proof = standing.certificate()
    proof.verify()
    named, pairs = standing.members.named, standing.left_out()
    return Held(standing.suppressed, proof, [(named[number].name, cell) for number, cell in pairs])


def _know_more(question: Question, audited: Flags, published: Flags) -> bool:
    """Whether an insider may know more of the published pattern than of the audited one.

    What an insider knows may depend on what is suppressed, such as which cell is the largest.
    """
    if np.array_equal(audited, published):
        return False
    for kind in question.intruders:
        known = {one.name: one for one in kind.members(question.problem, audited)}
        for one in kind.members(question.problem, published):
            before = known.get(one.name)
            if before is None or not np.all(np.isin(one.cells, before.cells)):
                return True
            at = np.argsort(before.cells)[np.searchsorted(np.sort(before.cells), one.cells)]
            if np.any(one.lower > before.lower[at]) or np.any(one.upper < before.upper[at]):
                return True
    return False

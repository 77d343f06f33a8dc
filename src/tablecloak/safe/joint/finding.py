"""What somebody with all outputs in hand could compute."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tablecloak.arrays import Integers
from tablecloak.errors import listed


@dataclass(frozen=True)
class Term:
    """One figure of a computation.

    Parameters
    ----------
    output : str
        Name of the output the figure stands in; "" for the one that is asked about.
    label : str
        The figure within it.
    coefficient : float
        By what it is multiplied.
    """

    output: str
    label: str
    coefficient: float


@dataclass(frozen=True)
class Finding:
    """A group of too few contributors that follows from figures of several outputs.

    Parameters
    ----------
    rule : {"threshold", "p-ratio"}
    n_contributors : int
        How many contributors stand behind what follows.
    records : (n,) array of int
        Positions of their records. For inside use only.
    terms : tuple of Term
        The computation, as a sum of published figures.
    asked : tuple of (int, int)
        Those of its terms that stand in the output asked about: (which of its `Figures`, which
        figure). Hiding one of them breaks the computation.
    text : str
        One sentence for the researcher and the checker: the outputs, and the sum.
    """

    rule: str
    n_contributors: int
    records: Integers
    terms: tuple[Term, ...]
    asked: tuple[tuple[int, int], ...]
    text: str

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the earlier outputs that the computation uses."""
        return tuple(dict.fromkeys(term.output for term in self.terms if term.output))


def why_hidden(findings: Iterable[Finding]) -> str:
    """Return why figures were hidden, by the names of outputs alone.

    How many contributors a finding has is not said: where its figures are hidden, that number is.
    """
    names = list(dict.fromkeys(name for finding in findings for name in finding.outputs))
    others = f"together with {listed(names, limit=20)} " if names else ""
    return f"hidden by differencing: {others}more would be told of few contributors than may be"

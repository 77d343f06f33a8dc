"""Proofs that no adjustment costs less than a bound; each is rebuilt from the question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tablecloak.cta.answer import LossBound
from tablecloak.cta.distances.distance import DISTANCES
from tablecloak.cta.loosened import loosened, proved_loss
from tablecloak.cta.parts import parts_of
from tablecloak.cta.question import Question
from tablecloak.cta.search.balance import with_balance
from tablecloak.cta.squares import SquaresForm
from tablecloak.cta.tight import TightForm
from tablecloak.errors import VerificationError
from tablecloak.solve.bounds import dual_bound
from tablecloak.solve.branch import BranchTree

__all__ = ["DistanceBound", "PartsBound", "SquaresBound"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class DistanceBound:
    """Proof that no adjustment costs less than a bound.

    Parameters
    ----------
    independent : numpy.ndarray of int
        Relations to which the multipliers refer.
    balance : numpy.ndarray of int
        Balance rows after all others.
    tree : BranchTree or None
        Search tree over the directions; None if multipliers of the relaxation suffice.
    duals : numpy.ndarray of float
        Multipliers of the relaxation; used without a tree.
    directions : numpy.ndarray of float or None
        Fixed directions to which the bound refers; None if they were free.
    """

    independent: npt.NDArray[np.int64]
    balance: npt.NDArray[np.int64]
    tree: BranchTree | None
    duals: Floats
    directions: Floats | None = None

    @classmethod
    def of(
        cls,
        form: TightForm,
        tree: BranchTree | None,
        duals: Floats,
        directions: Floats | None = None,
    ) -> DistanceBound:
        """Keep of a form what its program cannot be built anew without."""
        return cls(form.model.independent, form.balance, tree, duals, directions)

    def form(self, question: Question) -> TightForm:
        """Return the program to which the multipliers refer, built anew from a question."""
        form = TightForm.of(
            question.model(self.independent),
            free=self.directions is None,
            maximum=DISTANCES[question.distance].is_maximum,
        )
        return with_balance(form, self.balance) if len(self.balance) else form

    def verify(self, question: Question, changes: Floats | None = None) -> float:
        """Return the bound on sum (or maximum) of w |z|, by sparse products alone.

        Parameters
        ----------
        question : Question
            From which the program is built anew, with all numbers loosened by their rounding.
        changes : numpy.ndarray of float, optional
            Not needed.
        """
        del changes
        form = self.form(question)
        program = loosened(form)
        try:
            if self.tree is not None:
                return proved_loss(form, self.tree.verify(program))
            if self.directions is not None:
                program = form.directed(self.directions, program)
            return proved_loss(form, dual_bound(program, self.duals))
        except (ValueError, IndexError):
            raise VerificationError("The proof does not fit the program of the problem.") from None


@dataclass(frozen=True, eq=False)
class SquaresBound:
    """Proof that no adjustment has a smaller sum of weighted squares than a bound.

    Parameters
    ----------
    independent : numpy.ndarray of int
        Relations to which the multipliers refer.
    duals : numpy.ndarray of float
        Multipliers of relations and statistics.
    directions : numpy.ndarray of float or None
        Fixed directions to which the bound refers; None if they were free.
    """

    independent: Integers
    duals: Floats
    directions: Floats | None = None

    def verify(self, question: Question, changes: Floats) -> float:
        """Return the bound on sum w z^2 that the multipliers prove, by sparse products alone.

        Parameters
        ----------
        question : Question
            From which rows and rooms are built anew.
        changes : numpy.ndarray of float, shape (n_cells,)
            Of a table that exists, so that better ones move no cell beyond its loss.
        """
        known_loss = float(np.dot(question.weights, changes**2))
        form = SquaresForm(question.model(self.independent), known_loss)
        if len(self.duals) != len(form.row_lower):
            raise VerificationError("The multipliers do not fit the relations and statistics.")
        return form.bound(self.duals, self.directions) * form.objective


@dataclass(frozen=True, eq=False)
class PartsBound:
    """Proof that no adjustment costs less than the bounds of its parts together.

    Parameters
    ----------
    numbers : tuple of int
        Parts with sensitive cells.
    certificates : tuple of LossBound
        One for each of them.
    """

    numbers: tuple[int, ...]
    certificates: tuple[LossBound, ...]

    def verify(self, question: Question, changes: Floats) -> float:
        """Return the sum of what the parts prove, each for its own cells.

        Raises
        ------
        VerificationError
            If a part was proved twice, or there is none of that number.
        """
        part = parts_of(question.problem, question.room)
        known = len(set(self.numbers)) == len(self.numbers) == len(self.certificates)
        if not known or not set(self.numbers) <= set(part[part >= 0].tolist()):
            raise VerificationError("The parts of the table are not those that were proved.")
        return float(
            sum(
                certificate.verify(
                    question.part(part == number), np.where(part == number, changes, 0)
                )
                for number, certificate in zip(self.numbers, self.certificates, strict=True)
            )
        )

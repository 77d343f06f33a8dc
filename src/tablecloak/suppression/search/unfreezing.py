"""Frozen cells that make protection impossible: the fewest to unfreeze, proved.

With a weight of 1 on frozen cells and everything else hidden, a pattern of least weight unfreezes
the fewest cells. So the exact method finds them, and its bound proves that no fewer suffice.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tablecloak.arrays import Flags, Integers
from tablecloak.budget import Budget, Progress
from tablecloak.errors import ModelError, SolverError, TablecloakError, listed
from tablecloak.solve.solver import on_chosen_solver
from tablecloak.suppression.attack.audit import attacked
from tablecloak.suppression.attack.external_bounds import with_finite_bounds
from tablecloak.suppression.attack.finding import Verdict
from tablecloak.suppression.attack.question import Question
from tablecloak.suppression.result.pattern import Unfrozen
from tablecloak.suppression.search.closing import closed
from tablecloak.suppression.search.merging import search_merged
from tablecloak.suppression.search.method import SearchMethod
from tablecloak.suppression.system.requirement import Requirement
from tablecloak.tables.cell_arrays import CellStatus
from tablecloak.tables.changes.change import Change
from tablecloak.tables.keys import are_rests
from tablecloak.tables.problem import ProtectionProblem

UNFREEZING_SHARE = 0.3
"""Share of the time for finding the fewest frozen cells to unfreeze. Chosen by trial; not
measured."""

NAMED_CELLS = 5000
"""Most cells of a table of which an error names the fewest frozen cells to unfreeze."""

NAMING_SECONDS = 10.0
"""Most seconds for finding them."""

TIE = 0.5
"""Most that the weights of all cells together add to their number: of several choices of as few
cells the one of least weight is taken, and the number stays what counts."""


@dataclass(frozen=True)
class Unfreezing:
    """The change to a problem in which the fewest cells are unfrozen, as it is asked for.

    Parameters
    ----------
    requirement : Requirement
        What counts as protected.
    """

    requirement: Requirement

    def change(self, problem: ProtectionProblem, budget: Budget) -> Change:
        """Return the change, whose remarks hold the cells as `unfrozen`, if there are any.

        Raises
        ------
        ModelError
            If a sensitive cell cannot be protected whatever is unfrozen; names the cells.
        """
        opened = frozen_in_vain(problem, self.requirement, budget.share(UNFREEZING_SHARE))
        if not len(opened.cells):
            return Change.within(problem, problem)
        return Change.within(
            problem, opened.unfrozen(), remarks={"unfrozen": opened}, notes=(opened.summary(),)
        )


UNFREEZE = "Set unfreeze=True to suppress these."
"""What to do where frozen cells prevent protection; the end of its message."""


def naming_frozen_cells(
    error: ModelError, problem: ProtectionProblem, requirement: Requirement, budget: Budget
) -> ModelError:
    """Return the error with the frozen cells that are to blame, where they are found quickly."""
    if not problem.frozen.any() or problem.table.n_cells > NAMED_CELLS:
        return error
    try:
        # The search that failed has stopped its own budget.
        seconds = max(min(budget.left, NAMING_SECONDS), 1.0)
        opened = frozen_in_vain(problem, requirement, Budget.of(seconds, threads=budget.threads))
    except TablecloakError:
        return error
    if not len(opened.cells):
        return error
    return ModelError(
        f"{error} Frozen cells prevent it: {opened.summary()}. {UNFREEZE}",
        cells=error.cells,
    )


@on_chosen_solver
def fewest_to_unfreeze(
    problem: ProtectionProblem,
    *,
    require: Requirement | str = Requirement.TWO_SIDED,
    time_limit: float = 60.0,
    threads: int | None = None,
    progress: Progress | None = None,
    solver: str | None = None,
) -> Unfrozen:
    """Find the fewest frozen cells to unfreeze so that every sensitive cell can be protected.

    Parameters
    ----------
    problem : ProtectionProblem
    require : Requirement or str, default="two-sided"
        What counts as protected.
    time_limit : float, default=60
        Seconds after which the best choice found is returned, with what is proved.
    threads : int, optional
        By default as many as there are processors.
    progress : callable, optional
        Called with stage, loss, bound and the number of open needs or nodes.
    solver : str, optional
        Name of the solver of all programs, such as "highs"; as for `suppress`.

    Returns
    -------
    Unfrozen
        Of several choices of as few cells, one whose weight is least. Cells of earlier releases
        stay frozen.

    Raises
    ------
    ModelError
        If a sensitive cell cannot be protected whatever is unfrozen; names the cells.

    Examples
    --------
    >>> import numpy as np, tablecloak as tc
    >>> problem = tc.examples.cox_rounded()
    >>> frozen = problem.with_changes(status=np.where(problem.sensitive, "u", "z"))
    >>> tc.fewest_to_unfreeze(frozen).fewest
    4
    """
    del solver
    budget = Budget.begun(time_limit, threads=threads, progress=progress)
    with budget.interruptible():
        return frozen_in_vain(problem, Requirement.parse(require), budget)


def frozen_in_vain(
    problem: ProtectionProblem, requirement: Requirement, budget: Budget
) -> Unfrozen:
    """Find the fewest cells to unfreeze within a budget. See `fewest_to_unfreeze`."""
    exposed, is_proved = _exposed(problem, requirement, problem.frozen, budget)
    if not len(exposed):
        return Unfrozen(problem, np.zeros(0, dtype=np.int64), 0)
    fewest = int(np.any(is_proved))
    may_go = problem.frozen & ~are_rests(problem.table.keys)
    exposed, is_proved = _exposed(problem, requirement, problem.frozen & ~may_go, budget)
    if np.any(is_proved):
        cells = exposed[is_proved]
        raise ModelError(
            f"{len(cells)} sensitive cells cannot be protected even if no cell is frozen: "
            f"{listed(problem.table.labels(cells[:5]))}. Lower their levels, or widen the external "
            f"bounds in their relations.",
            cells=cells,
        )
    if len(exposed):
        raise SolverError(
            f"It was not settled whether {len(exposed)} sensitive cells can be protected if no "
            f"cell is frozen: {listed(problem.table.labels(exposed[:5]))}. Measure the variables "
            f"of their relations in units of similar size, or change their levels."
        )
    weights = np.where(may_go, problem.weights, 0.0)
    asked = problem.with_changes(
        # What is not frozen is hidden: only frozen cells are left to decide about.
        status=np.select([may_go, problem.status == "s"], ["s", "m"], problem.status),
        weights=np.where(may_go, 1 + TIE * weights / (1 + weights.sum()), 0.0),
    )
    finite = with_finite_bounds(asked, requirement, budget).problem
    state = search_merged(SearchMethod.parse("exact"), finite, requirement, budget)
    found = closed(asked, state, budget, time_limit=budget.left)
    cells = np.flatnonzero(found.suppressed & may_go)
    # Any choice of k cells weighs less than k + TIE.
    fewest = max(fewest, int(np.floor(found.bound - TIE - 1e-6)) + 1)
    return Unfrozen(problem, cells, min(fewest, len(cells)))


def _exposed(
    problem: ProtectionProblem, requirement: Requirement, frozen: Flags, budget: Budget
) -> tuple[Integers, Flags]:
    """Return the sensitive cells that are not protected if all but frozen cells are hidden.

    The second result flags those among them that are proved to be attackable.
    """
    status = np.where(problem.frozen & ~frozen, CellStatus.SAFE.value, problem.status)
    question = Question.of(problem.with_changes(status=status), requirement, "external")
    audit = attacked(question, ~frozen, budget.within(np.inf))
    if audit.interrupted:
        raise SolverError(
            "It was not settled which sensitive cells the frozen cells expose. Raise `time_limit`."
        )
    pairs = zip(audit.needs.cells.tolist(), audit.verdicts, strict=True)
    open_ = [(cell, verdict) for cell, verdict in pairs if verdict is not Verdict.PROTECTED]
    cells = np.array([cell for cell, _ in open_], dtype=np.int64)
    return cells, np.array([each is Verdict.ATTACKABLE for _, each in open_], dtype=bool)

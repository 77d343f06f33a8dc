"""The interface of solvers, their capabilities, and the registry of all solvers.

A solver is one class: it solves a `Program` once, and returns what it claims (`Claim`). One that
keeps a program in memory and starts again from its last basis also implements `Solver.load`; all
others use `ColdProgram`, which solves from scratch each time. Capabilities list what a solver can
do. `tablecloak.solve.linear` and `tablecloak.solve.mixed` make up for the missing ones, and check
every claim.

The solver is chosen once, around a whole computation, by `using_solver`::

    with using_solver("cbc"):
        pattern = suppress(problem)
"""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar, ParamSpec, TypeVar

import numpy as np
from scipy.sparse import csr_array

from tablecloak.arrays import Floats, Integers
from tablecloak.errors import InputError
from tablecloak.extras import EXTRA_OF, how_to_install, is_installed
from tablecloak.registry import Registry
from tablecloak.solve.program import Program

FEASIBILITY_TOLERANCE = 1e-9
"""Tolerance that solvers are given, for rows, bounds and signs of reduced costs."""

DEFAULT = "highs"
"""Name of the default solver."""


class Capability(Enum):
    """An ability of a solver beyond solving a linear program once."""

    HOT_START = "start again from its last basis after changes"
    INTEGERS = "solve programs with whole-number columns"
    QUADRATIC = "minimise convex quadratic functions"
    DUALS = "return the multipliers of the rows"
    INTERIOR_POINT = "use an interior point method"


class LinearMethod(Enum):
    """A way to solve a linear program."""

    WARM = "from the last basis"
    COLD = "from scratch, by the simplex method"
    PRESOLVED = "from scratch, by the simplex method after presolving"
    INTERIOR = "by an interior point method that ends in a vertex"
    CENTRAL = "by an interior point method that does not end in a vertex"


class SolveStatus(Enum):
    """The outcome of a run: checked in a `Solution`, unchecked in a `Claim`."""

    OPTIMAL = "optimal"
    """Feasible; for a linear program also proved optimal by its multipliers."""
    FEASIBLE = "feasible"
    """Feasible, not proved optimal: the limit was reached or the proof failed."""
    INFEASIBLE = "infeasible"
    """No point is feasible, according to the solver; `find_infeasibility` confirms it."""
    UNBOUNDED = "unbounded"
    """The objective has no finite minimum, according to the solver."""
    UNKNOWN = "unknown"
    """No point was found within the limits."""


@dataclass(frozen=True, eq=False)
class Claim:
    """The unchecked answer of a solver.

    Parameters
    ----------
    status : SolveStatus
    x : numpy.ndarray of float, shape (n_columns,), optional
        None if there is no point.
    duals : numpy.ndarray of float, shape (n_rows,)
        Row multipliers, positive for a binding lower side and negative for a binding upper side;
        empty if the solver returns none.
    bound : float, default=-inf
        Lower bound on the objective of a mixed-integer program.
    is_beyond : bool, default=False
        Whether the run ended because the objective reached the cutoff.
    message : str
        The solver's name for its status.
    history : list of tuple
        Seconds, value and bound during a mixed-integer search, if the solver reports them.
    """

    status: SolveStatus
    x: Floats | None = None
    duals: Floats = field(default_factory=lambda: np.empty(0))
    bound: float = -np.inf
    is_beyond: bool = False
    message: str = ""
    history: list[tuple[float, float, float]] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class Solution:
    """The checked answer of one run.

    Parameters
    ----------
    status : SolveStatus
    x : numpy.ndarray of float, shape (n_columns,)
        Empty if no point was found.
    duals : numpy.ndarray of float, shape (n_rows,)
        Row multipliers; empty for a mixed-integer program.
    value : float
        Objective of `x`, computed here.
    bound : float
        Lower bound: proved by `duals` for a linear program, but only claimed by the solver for a
        mixed-integer one.
    """

    status: SolveStatus
    x: Floats
    duals: Floats
    value: float
    bound: float

    @classmethod
    def without_point(cls, status: SolveStatus, bound: float = -np.inf) -> Solution:
        """Return an answer without a point."""
        return cls(status, np.empty(0), np.empty(0), np.inf, bound)


@dataclass(frozen=True, eq=False, kw_only=True)
class Request:
    """Options of one run.

    Parameters
    ----------
    seconds : float, default=inf
        Time limit.
    method : LinearMethod, default=LinearMethod.COLD
        Way to solve a linear program.
    start : numpy.ndarray of float, optional
        A feasible point to start a mixed-integer search from; a solver may ignore it.
    gap : float, default=1e-6
        Relative gap at which a mixed-integer search may stop.
    target : float, default=-inf
        Objective at which a mixed-integer search may stop; a solver may ignore it.
    nodes : int, optional
        Nodes of a mixed-integer search after which it may stop; a solver may ignore it.
    curvature : numpy.ndarray of float, optional
        q of the objective c.x + 1/2 sum q_i x_i^2, all >= 0; only with `Capability.QUADRATIC`.
    algorithm : str, default=""
        One of the solver's `algorithms`.
    as_shipped : bool, default=False
        Whether to keep the solver's own tolerances, to compare solvers.
    """

    seconds: float = np.inf
    method: LinearMethod = LinearMethod.COLD
    start: Floats | None = None
    gap: float = 1e-6
    target: float = -np.inf
    nodes: int | None = None
    curvature: Floats | None = None
    algorithm: str = ""
    as_shipped: bool = False


class LoadedProgram(ABC):
    """A linear program in the memory of a solver, to be changed and solved again.

    `tablecloak.solve.linear.LinearSolver` keeps the program itself and checks what is claimed.
    """

    fallbacks: ClassVar[tuple[LinearMethod, ...]] = ()
    """Methods to try, in this order, if an answer fails its check."""

    @abstractmethod
    def change_costs(self, columns: Integers, costs: Floats) -> None:
        """Replace the costs of some columns."""

    @abstractmethod
    def change_bounds(self, columns: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of some columns."""

    @abstractmethod
    def change_sides(self, rows: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the sides of some rows."""

    @abstractmethod
    def add_rows(self, matrix: csr_array, lower: Floats, upper: Floats) -> None:
        """Append rows."""

    @abstractmethod
    def drop_rows(self, rows: Integers) -> None:
        """Remove some rows."""

    @abstractmethod
    def run(
        self,
        seconds: float,
        method: LinearMethod = LinearMethod.WARM,
        *,
        cutoff: float = np.inf,
        iterations: int | None = None,
        duals: bool = True,
    ) -> Claim:
        """Solve the program as it stands.

        Parameters
        ----------
        seconds : float
            Time limit.
        method : LinearMethod
        cutoff : float, default=inf
            Objective at which the run may give up.
        iterations : int, optional
            Simplex iterations after which the run stops.
        duals : bool, default=True
            Whether to return multipliers.

        Raises
        ------
        SolverError
            If the solver breaks off.
        """

    @property
    @abstractmethod
    def basis(self) -> Any:
        """The last basis of the simplex method; None if the solver has no hot start."""

    @basis.setter
    @abstractmethod
    def basis(self, basis: Any) -> None: ...


class Solver(ABC):
    """One solver. To add one, write a class of this kind in a module of `tablecloak.solve`.

    It must implement `run` only. Missing capabilities are made up for: without DUALS the dual
    program is solved as well, without INTEGERS our own branch and bound takes over, and without
    HOT_START each program is solved from scratch.
    """

    name: ClassVar[str]
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    algorithms: ClassVar[tuple[str, ...]] = ()
    """Names of the algorithms for linear programs that can be chosen to compare them."""

    packages: ClassVar[tuple[str, ...]] = ()
    """Python packages that the solver needs."""

    @classmethod
    def missing(cls) -> str:
        """Return the package that must be installed, or ""; nothing is imported to find out."""
        lacking = [package for package in cls.packages if not is_installed(package)]
        if not lacking:
            return ""
        hint = f" ({how_to_install(lacking[0])[:-1]})" if lacking[0] in EXTRA_OF else ""
        return f"the Python package {lacking[0]}{hint}"

    @abstractmethod
    def run(self, program: Program, request: Request) -> Claim:
        """Solve a program once, from scratch.

        Raises
        ------
        SolverError
            If the solver breaks off.
        """

    def load(self, program: Program, *, primal: bool = False) -> LoadedProgram:
        """Return a linear program in the solver's memory.

        Parameters
        ----------
        program : Program
        primal : bool, default=False
            Whether only costs will change: the last basis then stays primal feasible, and the
            primal simplex method is best.
        """
        del primal
        return ColdProgram(self, program)

    def can(self, capability: Capability) -> bool:
        """Whether the solver has a capability."""
        return capability in self.capabilities

    def require(self, capability: Capability) -> None:
        """Check for a capability that nothing can replace.

        Raises
        ------
        InputError
            If the solver does not have it.
        """
        if self.can(capability):
            return
        able = [solver.name for solver in SOLVERS if capability in solver.capabilities]
        raise InputError(
            f"The solver {self.name!r} cannot {capability.value}. Choose one that can: "
            f"{', '.join(able)}."
        )


class ColdProgram(LoadedProgram):
    """A program for a solver without hot start: stored here, and solved from scratch each time.

    Parameters
    ----------
    solver : Solver
    program : Program
    """

    def __init__(self, solver: Solver, program: Program) -> None:
        self._solver = solver
        self._program = program.with_columns(
            program.cost.copy(), program.lower.copy(), program.upper.copy()
        )

    def change_costs(self, columns: Integers, costs: Floats) -> None:
        """Replace the costs of some columns."""
        self._program.cost[columns] = costs

    def change_bounds(self, columns: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the bounds of some columns."""
        self._program.lower[columns] = lower
        self._program.upper[columns] = upper

    def change_sides(self, rows: Integers, lower: Floats, upper: Floats) -> None:
        """Replace the sides of some rows."""
        self._program = self._program.with_sides(rows, lower, upper)

    def add_rows(self, matrix: csr_array, lower: Floats, upper: Floats) -> None:
        """Append rows."""
        self._program = self._program.with_rows(matrix, lower, upper)

    def drop_rows(self, rows: Integers) -> None:
        """Remove some rows."""
        self._program = self._program.only_rows(np.delete(np.arange(self._program.n_rows), rows))

    def run(
        self,
        seconds: float,
        method: LinearMethod = LinearMethod.WARM,
        *,
        cutoff: float = np.inf,
        iterations: int | None = None,
        duals: bool = True,
    ) -> Claim:
        """Solve the program to its end; a limit on iterations makes the answer UNKNOWN."""
        del cutoff, duals
        if iterations is not None:
            return Claim(SolveStatus.UNKNOWN)
        if method is LinearMethod.WARM:
            method = LinearMethod.COLD
        return self._solver.run(self._program, Request(seconds=seconds, method=method))

    @property
    def basis(self) -> Any:
        """None, since no basis is kept."""
        return None

    @basis.setter
    def basis(self, basis: Any) -> None:
        del basis


SOLVERS: Registry[Solver] = Registry("solver", "tablecloak.solve")
"""All solvers, installed or not, by the names that ``--solver`` accepts."""


def installed_solver(name: str) -> Solver:
    """Return a solver by its name.

    Raises
    ------
    InputError
        If no solver has this name, or if it is not installed.
    """
    sibling = SOLVERS[name]
    if missing := sibling.missing():
        usable = ", ".join(other.name for other in SOLVERS if not other.missing())
        raise InputError(
            f"The solver {name!r} is not installed: {missing} is missing. Install it, or choose "
            f"another one: {usable}."
        )
    return sibling()


_CHOSEN: ContextVar[Solver | None] = ContextVar("solver", default=None)


def chosen_solver() -> Solver:
    """Return the solver that `using_solver` has chosen, by default HiGHS."""
    return _CHOSEN.get() or installed_solver(DEFAULT)


@contextmanager
def using_solver(solver: str | Solver | None) -> Iterator[Solver]:
    """Solve all programs inside the block with one solver.

    Parameters
    ----------
    solver : str, Solver or None
        None keeps the present choice.

    Notes
    -----
    The choice is a context variable. It holds in this thread, and in the tasks of
    `tablecloak.executors.ThreadExecutor`, which run in a copy of the caller's context. Tasks in
    other processes do not inherit it: they get the solver's name as an argument.
    """
    choice = installed_solver(solver) if isinstance(solver, str) else solver or chosen_solver()
    token = _CHOSEN.set(choice)
    try:
        yield choice
    finally:
        _CHOSEN.reset(token)


P = ParamSpec("P")
R = TypeVar("R")


def on_chosen_solver(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function so that its keyword argument `solver` chooses the solver inside it."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        solver: Any = kwargs.get("solver")
        with using_solver(solver):
            return function(*args, **kwargs)

    return run

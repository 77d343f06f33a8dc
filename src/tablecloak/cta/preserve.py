"""Statistics that an adjustment preserves, as linear rows on the changes z = x - a.

Each statistic is a sibling of the same shape: a subset of cells, a tolerance, and
`rows(problem)`. All moments are taken over the cells of the subset.

References
----------
.. [1] Cox, Kelly, Patil: Balancing quality and confidentiality for multivariate tabular data,
   Privacy in Statistical Databases 2004.
.. [2] Cox: Preserving confidentiality and quality of tabular data, 2003: L(y) = Cov(a, y) / Var(a),
   Var(a + y) / Var(a) = 1 + 2 L(y) + Var(y) / Var(a).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from tablecloak.errors import InputError, ModelError, suggestion
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "Covariance",
    "Mean",
    "Moments",
    "Preserve",
    "PreservedRow",
    "PreservedVariance",
    "Regression",
    "Slope",
    "Variance",
    "each",
    "moments",
    "parse",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
EACH = "each "
"""Before the name of a dimension: one statistic for each of its codes."""

Subset = str | Mapping[str, Any] | npt.ArrayLike
"""``"sensitive"``, ``"all"``, codes such as ``{"region": "North"}``, a mask, or cell indices."""


@dataclass(frozen=True, eq=False)
class PreservedRow:
    """|coefficients . z - target| <= slack.

    Parameters
    ----------
    name : str
        For messages.
    coefficients : numpy.ndarray of float, shape (n_cells,)
        The largest absolute value is 1.
    slack : float
        Accepted distance of the sum from its target.
    target : float, default=0
    """

    name: str
    coefficients: Floats
    slack: float
    target: float = 0.0

    def error(self, changes: npt.ArrayLike, values: Floats | None = None) -> float:
        """Return by how much given changes break the row, as a share of the sum of its terms.

        Parameters
        ----------
        changes : array of float, shape (n_cells,)
        values : numpy.ndarray of float, shape (n_cells,), optional
            Values whose rounding to doubles is excused.
        """
        terms = self.coefficients * np.asarray(changes, dtype=np.longdouble)
        off = float(abs(terms.sum() - self.target) - self.slack)
        if values is not None:
            off -= float(np.dot(np.abs(self.coefficients), np.spacing(np.abs(values))))
        size = float(np.abs(terms).sum()) + abs(self.target)
        return off / size if off > 0 else 0.0


@dataclass(frozen=True, eq=False)
class PreservedVariance:
    """The variance over some cells stays, within a tolerance; checked as it is.

    Parameters
    ----------
    cells : numpy.ndarray of bool, shape (n_cells,)
    tolerance : float
        Accepted distance of the ratio of variances from 1.
    """

    cells: Flags
    tolerance: float

    def error(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return how far the ratio of variances lies beyond what is accepted, as a share."""
        return max(abs(self.excess(problem, changes)) - self.tolerance, 0.0)

    def excess(self, problem: ProtectionProblem, changes: Floats) -> float:
        """Return Var(a + z) / Var(a) - 1."""
        values = problem.table.values[self.cells]
        return moments(values, values + changes[self.cells]).variance_ratio - 1


@dataclass(frozen=True)
class Preserve:
    """What all statistics share; not a statistic itself.

    Parameters
    ----------
    subset : str, mapping, or array, default="sensitive"
        Cells over which the statistic is taken: ``"sensitive"``, ``"all"``, codes such as
        ``{"region": "North"}`` (a list of codes is also accepted), a mask, or cell indices.
    tolerance : float, default=0
        Accepted change: of the mean as a share of it, of the slope as it is.
    """

    subset: Any = "sensitive"
    tolerance: float = 0.0

    def __post_init__(self) -> None:
        if not self.tolerance >= 0:
            raise InputError(f"`tolerance` must be a number >= 0. Got {self.tolerance!r}.")

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows that preserve the statistic.

        Parameters
        ----------
        problem : ProtectionProblem
        integer : bool, default=False
            Whether changes are whole numbers.
        """
        raise NotImplementedError


@dataclass(frozen=True)
class Mean(Preserve):
    """The mean of the subset stays: sum z_i = 0."""

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficient 1 on each cell of the subset."""
        cells = select(problem, self.subset)
        total = float(np.abs(problem.table.values[cells].sum()))
        return [PreservedRow("mean", cells.astype(np.float64), self.tolerance * total)]


@dataclass(frozen=True)
class Slope(Preserve):
    """The slope of the adjusted on the original values is 1: L(z) = Cov(a, z) / Var(a) = 0."""

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficients a_i - mean(a), scaled to at most 1.

        Raises
        ------
        ModelError
            If all values of the subset are equal, so that no slope is defined.
        """
        cells = select(problem, self.subset)
        values = problem.table.values
        centred = np.where(cells, values - values[cells].mean(), 0.0)
        largest = float(np.abs(centred).max())
        if largest == 0:
            raise ModelError("Slope: all values of the subset are equal, so no slope is defined.")
        spread = float(np.sum(centred**2)) / largest
        # Changes in whole numbers cannot meet a row with fractional coefficients exactly; half
        # a unit of one cell is what the published precision can express.
        whole = 0.5 if integer else 0.0
        slack = max(self.tolerance * spread, whole)
        return [PreservedRow("slope", centred / largest, slack)]


@dataclass(frozen=True)
class Covariance(Preserve):
    """The covariance with another variable of the same cells stays: Cov(x, v) = Cov(a, b).

    Parameters
    ----------
    subset, tolerance
        As for the others; the tolerance is a share of the product of standard deviations.
    other : array_like of float, shape (n_cells,)
        True values b of the other variable, in the order of the cells.
    published : array_like of float, shape (n_cells,), optional
        Its published values v, such as an adjustment of it; by default the true ones.
    """

    other: Any = None
    published: Any = None

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return one row with coefficients v_i - mean(v), scaled to at most 1.

        Raises
        ------
        InputError
            If the other variable has not one number for each cell.
        ModelError
            If its values are all equal.
        """
        cells = select(problem, self.subset)
        values = problem.table.values
        true = known = _of_all_cells(problem, self.other, "other")
        if self.published is not None:
            known = _of_all_cells(problem, self.published, "published")
        a, b, v = values[cells], true[cells], known[cells]
        centred = np.where(cells, known - v.mean(), 0.0)
        largest = float(np.abs(centred).max())
        if largest == 0:
            raise ModelError("Covariance: all published values of the other variable are equal.")
        wanted = float(np.sum((a - a.mean()) * (b - b.mean())))
        target = (wanted - float(np.sum((a - a.mean()) * (v - v.mean())))) / largest
        accepted = self.tolerance * len(a) * float(np.std(a) * np.std(b)) / largest
        slack = max(accepted, 0.5 if integer else 0.0)
        return [PreservedRow("covariance", centred / largest, slack, target)]


@dataclass(frozen=True)
class Regression(Preserve):
    """Slope 1 and intercept 0: the regression of adjusted on original values is the identity."""

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return the rows of the mean and of the slope."""
        mean = Mean(self.subset, self.tolerance).rows(problem, integer=integer)
        return mean + Slope(self.subset, self.tolerance).rows(problem, integer=integer)


@dataclass(frozen=True)
class Variance(Preserve):
    """The variance stays: 2 Cov(a, z) + Var(z) = 0.

    The condition is quadratic in z, so that it is met by a search over L(z) = t: each t is a
    linear row, and between one with too large and one with too small a variance lies the one
    that is looked for.

    Parameters
    ----------
    subset
        As for the others.
    tolerance : float, default=1e-4
        Accepted distance of the ratio of variances from 1.
    """

    tolerance: float = 1e-4

    def rows(self, problem: ProtectionProblem, *, integer: bool = False) -> list[PreservedRow]:
        """Return no row: the condition is not linear."""
        del problem, integer
        return []

    def kept(self, problem: ProtectionProblem) -> PreservedVariance:
        """Return the condition itself, for checks."""
        return PreservedVariance(select(problem, self.subset), self.tolerance)

    def slope_row(self, problem: ProtectionProblem, shift: float) -> PreservedRow:
        """Return the row L(z) = shift.

        Raises
        ------
        ModelError
            If all values of the subset are equal.
        """
        row = Slope(self.subset).rows(problem)[0]
        cells = select(problem, self.subset)
        values = problem.table.values[cells]
        centred = values - values.mean()
        target = shift * float(np.sum(centred**2)) / float(np.abs(centred).max())
        return PreservedRow("variance", row.coefficients, 0.0, target)


@dataclass(frozen=True)
class Moments:
    """How an adjusted set of values compares with the original.

    Parameters
    ----------
    mean_shift : float
        Mean of the changes.
    slope : float
        Slope of adjusted on original values, 1 + L(z).
    correlation : float
        Between original and adjusted values.
    variance_ratio : float
        Variance of the adjusted values over that of the original ones.
    distribution_distance : float
        Kolmogorov-Smirnov distance between the two empirical distributions.
    """

    mean_shift: float
    slope: float
    correlation: float
    variance_ratio: float
    distribution_distance: float


def moments(original: Floats, adjusted: Floats) -> Moments:
    """Compare two sets of values; NaN where the original values are all equal."""
    if len(original) == 0:
        return Moments(0.0, np.nan, np.nan, np.nan, np.nan)
    a, x = original - original.mean(), adjusted - adjusted.mean()
    var_a, var_x, cov = float(np.mean(a * a)), float(np.mean(x * x)), float(np.mean(a * x))
    shift = float(np.mean(adjusted - original))
    both = np.sort(np.concatenate([original, adjusted]))
    below = [np.searchsorted(np.sort(part), both, side="right") for part in (original, adjusted)]
    distance = float(np.max(np.abs(below[0] - below[1]))) / len(original)
    if var_a == 0:
        return Moments(shift, np.nan, np.nan, np.nan, distance)
    correlation = cov / np.sqrt(var_a * var_x) if var_x > 0 else np.nan
    return Moments(shift, cov / var_a, float(correlation), var_x / var_a, distance)


def each(
    problem: ProtectionProblem,
    dimension: str,
    statistic: Callable[[Flags], Preserve],
    *,
    within: Subset = "all",
) -> list[Preserve]:
    """Return one statistic for each code of a dimension: row-wise or group-wise versions.

    Parameters
    ----------
    problem : ProtectionProblem
    dimension : str
        Such as "region": one statistic over the cells of each region.
    statistic : callable
        Makes a statistic from a mask, such as ``Mean`` or ``Regression``.
    within : str, mapping, or array, default="all"
        Cells that count at all, such as ``"sensitive"``; codes without any are left out.

    Raises
    ------
    InputError
        If there is no such dimension.

    Examples
    --------
    >>> import tablecloak as tc
    >>> len(tc.each(tc.examples.cox(), "row", tc.Mean))
    5
    """
    keys = problem.table.keys
    if dimension not in keys.columns:
        known = map(str, keys.columns)
        raise InputError(f"`dimension` is {dimension!r}.{suggestion(str(dimension), known)}")
    mask = select(problem, within)
    codes = keys[dimension].to_numpy()
    parts = [mask & (codes == code) for code in dict.fromkeys(codes[mask].tolist())]
    return [statistic(part) for part in parts]


def _of_all_cells(problem: ProtectionProblem, given: Any, name: str) -> Floats:
    values = np.asarray(given, dtype=np.float64)
    if values.shape != problem.table.values.shape or not np.all(np.isfinite(values)):
        raise InputError(f"`{name}` must hold one finite number for each cell of the table.")
    return values


def parse(
    given: Sequence[Preserve | str], problem: ProtectionProblem | None = None
) -> list[Preserve]:
    """Accept statistics or their names: ``mean``, ``slope``, ``regression``, ``variance``.

    Each over a subset after a colon, as in ``mean:all``; without one, over the sensitive cells.
    ``mean:each region`` is one mean for each code of the dimension region.
    """
    known = {"mean": Mean, "slope": Slope, "regression": Regression, "variance": Variance}
    parsed: list[Preserve] = []
    for entry in given:
        if isinstance(entry, Preserve):
            parsed.append(entry)
            continue
        name, _, subset = str(entry).partition(":")
        if name not in known:
            raise InputError(f"`preserve` names {name!r}.{suggestion(name, known)}")
        if subset.startswith(EACH) and problem is not None:
            parsed.extend(each(problem, subset.removeprefix(EACH), known[name]))
            continue
        parsed.append(known[name](subset or "sensitive"))
    return parsed


def select(problem: ProtectionProblem, subset: Subset) -> Flags:
    """Return the mask of a subset.

    Raises
    ------
    InputError
        If the subset is empty or not understood.
    """
    n = problem.table.n_cells
    if isinstance(subset, str):
        named = {"sensitive": problem.sensitive, "all": np.ones(n, dtype=bool)}
        if subset not in named:
            raise InputError(f"`subset` is {subset!r}.{suggestion(subset, named)}")
        mask = named[subset]
    elif isinstance(subset, Mapping):
        mask = np.ones(n, dtype=bool)
        for name, codes in subset.items():
            if name not in problem.table.keys.columns:
                columns = map(str, problem.table.keys.columns)
                raise InputError(f"`subset` names {name!r}.{suggestion(str(name), columns)}")
            wanted = [codes] if isinstance(codes, str) else list(codes)
            mask &= problem.table.keys[name].isin(wanted).to_numpy()
    else:
        array = np.asarray(subset)
        mask = np.zeros(n, dtype=bool)
        mask[array] = True
    if not np.any(mask):
        raise InputError(f"The subset {subset!r} has no cell.")
    return mask

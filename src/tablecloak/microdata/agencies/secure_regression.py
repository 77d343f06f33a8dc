"""Regression over the records of several agencies, none of which shows any of its own.

Everything rests on sums: each agency holds numbers, all learn their sum, and nobody learns a
summand. Numbers are fixed-point integers modulo M. The first agency adds a random number R below
M and passes R + v_1 on; each agency adds its own; the first subtracts R. What an agency sees is
uniform on [0, M), so that it tells nothing. A regression needs X'X, X'y, y'y and n only.

Limits, which callers are told of: with two agencies each learns the other's number; two
neighbours who collude learn what the one between them added, unless numbers are split into shares
that travel around the ring in different orders. Results are not disclosure-safe by themselves: a
regression over few records may reveal some of them.

References
----------
.. [1] Karr, Sanil: Secure regression over distributed data, 2004; Benaloh: Secret sharing
   homomorphisms, 1987 (secure summation).
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from scipy.stats import norm
from scipy.stats import t as student_t

from tablecloak.errors import InputError, ModelError, SolverError

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Agency",
    "FixedPoint",
    "Ring",
    "Rounds",
    "SecureRegression",
    "encoded",
    "records",
    "regression_rounds",
    "secure_regression",
    "secure_sum",
    "shares_of",
]

Floats = npt.NDArray[np.float64]

Result = TypeVar("Result")

Rounds: TypeAlias = Generator[tuple[str, Floats | None], Floats, Result]
"""Questions with their arguments go out, sums come in, and a result is returned."""

MOST_STEPS = 50
"""Newton steps of a logistic regression."""

LEAST_AGENCIES = 3
"""With two, each learns the number of the other by subtraction."""

ILL_CONDITIONED = 1e6
"""Condition number of X'X above which columns are centred and scaled first."""


@dataclass(frozen=True)
class FixedPoint:
    """Numbers as integers modulo M.

    Parameters
    ----------
    modulus : int, default=2**128
    fraction_bits : int, default=32
        Numbers are multiples of 2**-fraction_bits; what is finer is rounded.
    """

    modulus: int = 1 << 128
    fraction_bits: int = 32

    def encode(self, value: float) -> int:
        """Return a number modulo M.

        Raises
        ------
        InputError
            If it is not finite, or not below M/2 in absolute value.
        """
        if not np.isfinite(value):
            raise InputError("A number to be summed is missing or infinite.")
        whole = round(value * (1 << self.fraction_bits)) if self.fraction_bits else round(value)
        if abs(whole) >= self.modulus // 2:
            raise InputError(
                f"A number does not fit: with this modulus sums must stay below "
                f"{self.limit:g}. Take a larger modulus, or fewer bits for fractions."
            )
        return whole % self.modulus

    def decode(self, value: int) -> float:
        """Return the number that an integer modulo M stands for; from M/2 on it is negative."""
        signed = value - self.modulus if value >= self.modulus // 2 else value
        return signed / (1 << self.fraction_bits)

    @property
    def limit(self) -> float:
        """Absolute value that sums must stay below."""
        return (self.modulus // 2) / (1 << self.fraction_bits)


@dataclass(frozen=True, eq=False)
class Agency:
    """One holder of records; `values` answers with its own numbers and is never passed on.

    Parameters
    ----------
    name : str
    values : callable
        Given a question, a list of floats.
    """

    name: str
    values: Callable[[str, Any], Iterable[float]]


Listener = Callable[[str, str, Sequence[int]], None]
"""Told of each message: sender, receiver, numbers. For tests and logs of the protocol."""


@dataclass(frozen=True, eq=False)
class Ring:
    """Agencies that pass messages around.

    Parameters
    ----------
    agencies : sequence of Agency
        At least three.
    arithmetic : FixedPoint, default=FixedPoint()
    largest : float, optional
        Upper bound on the absolute value of any agency's number, agreed beforehand. K times it
        must stay below M/2, which is checked before anything is sent; by default half of that.
    shares : int, default=1
        Into how many random shares each number is split; each share travels around the ring in an
        order of its own, with other neighbours: see `routes`.
    listener : callable, optional
    """

    agencies: Sequence[Agency]
    arithmetic: FixedPoint = FixedPoint()
    largest: float | None = None
    shares: int = 1
    listener: Listener | None = None

    def __post_init__(self) -> None:
        if len(self.agencies) < LEAST_AGENCIES:
            raise InputError(
                f"{len(self.agencies)} agencies are too few: with two, each learns the number of "
                f"the other by subtraction. At least {LEAST_AGENCIES} are needed."
            )
        names = [agency.name for agency in self.agencies]
        if len(set(names)) < len(names):
            raise InputError("Every agency needs a name of its own.")
        if self.shares < 1:
            raise InputError(f"`shares` must be at least 1. Got {self.shares!r}.")
        if self.largest is not None and len(self.agencies) * self.largest >= self.arithmetic.limit:
            raise InputError(
                f"{len(self.agencies)} numbers up to {self.largest:g} may add up to the limit "
                f"{self.arithmetic.limit:g} of this modulus and would come out wrong. Take a "
                f"larger modulus."
            )

    def sums(self, question: str, argument: Any = None, *, draw: Draw | None = None) -> Floats:
        """Return the sums over all agencies of what they answer to a question.

        Parameters
        ----------
        question : str
        argument : object, optional
            Known to all, such as the coefficients so far.
        draw : callable, optional
            Random number below M; by default from the operating system. For tests.

        Raises
        ------
        InputError
            If a number is too large, so that the sum could come out wrong.
        SolverError
            If an agency does not answer, or with another length; nothing was revealed.
        """
        draw = draw or _random_below
        modulus = self.arithmetic.modulus
        most, count = self.largest, len(self.agencies)
        answers = [
            encoded(agency, question, argument, self.arithmetic, count, most)
            for agency in self.agencies
        ]
        length = len(answers[0])
        for agency, answer in zip(self.agencies, answers, strict=True):
            if len(answer) != length:
                raise SolverError(
                    f"Agency {agency.name!r} answered with {len(answer)} numbers instead of "
                    f"{length}; the round was given up and nothing was revealed."
                )
        split = [shares_of(answer, self.shares, modulus, draw) for answer in answers]
        total = [0] * length
        for share in range(self.shares):
            order = routes(count, self.shares)[share]
            blind = [draw(modulus) for _ in range(length)]
            passed = blind
            for step, at in enumerate(order):
                passed = [(p + v) % modulus for p, v in zip(passed, split[at][share], strict=True)]
                if self.listener:
                    receiver = order[(step + 1) % len(order)]
                    names = self.agencies[at].name, self.agencies[receiver].name
                    self.listener(*names, passed)
            total = [(t + p - b) % modulus for t, p, b in zip(total, passed, blind, strict=True)]
        return np.array([self.arithmetic.decode(value) for value in total])


TRIED_ROUTES = 2000
"""Orders among which the one with most new neighbours is taken."""


@lru_cache(maxsize=64)
def routes(agencies: int, shares: int) -> tuple[tuple[int, ...], ...]:
    """Ways of the shares around the ring, each starting at the first agency.

    Who stands on both sides of an agency on every way can compute its number. The ways are
    therefore the same in every round, known to all, and such that the neighbours of each agency are
    as many different ones as possible: with two shares three of four agencies, four of five or
    more. An order drawn by chance gives it the same two neighbours again, with four agencies one
    time in three.

    Parameters
    ----------
    agencies, shares : int

    Returns
    -------
    tuple of tuple of int
        One order of all agencies for each share; the first is 0, 1, 2, ...
    """
    found = [tuple(range(agencies))]
    beside: list[set[int]] = [set() for _ in range(agencies)]
    _meet(found[0], beside)
    while len(found) < shares:
        most = min(2 * (len(found) + 1), agencies - 1)
        best: tuple[tuple[int, int], tuple[int, ...]] | None = None
        for attempt in range(TRIED_ROUTES):
            order = (0, *sorted(range(1, agencies), key=_rank(len(found), attempt)))
            met = [set(known) for known in beside]
            _meet(order, met)
            sizes = [len(known) for known in met]
            if best is None or (min(sizes), sum(sizes)) > best[0]:
                best = (min(sizes), sum(sizes)), order
            if min(sizes) >= most:
                break
        assert best is not None
        found.append(best[1])
        _meet(best[1], beside)
    return tuple(found)


def _meet(order: Sequence[int], beside: list[set[int]]) -> None:
    """Note who stands beside whom."""
    for at, agency in enumerate(order):
        beside[agency] |= {order[at - 1], order[(at + 1) % len(order)]}


def _rank(share: int, attempt: int) -> Callable[[int], bytes]:
    """Order by digests: all agencies find the same ways, whatever their version of Python."""
    return lambda agency: hashlib.sha256(f"{share} {attempt} {agency}".encode()).digest()


Draw = Callable[[int], int]


def _random_below(modulus: int) -> int:
    return secrets.randbelow(modulus)


def encoded(
    agency: Agency,
    question: str,
    argument: Any,
    arithmetic: FixedPoint,
    n_agencies: int,
    largest: float | None = None,
) -> list[int]:
    """Return an agency's answer modulo M.

    Raises
    ------
    SolverError
        If it cannot answer. What went wrong may quote records: only its kind is told.
    InputError
        If a number is larger than agreed; neither the number nor its place is told.
    """
    try:
        values = [float(value) for value in agency.values(question, argument)]
    except Exception as error:
        raise SolverError(
            f"Agency {agency.name!r} did not answer ({type(error).__name__}); the round was "
            f"given up and nothing was revealed."
        ) from None
    most = arithmetic.limit / n_agencies * (1 - 1e-12) if largest is None else largest
    if not all(abs(value) <= most for value in values):
        raise InputError(
            f"A number of agency {agency.name!r} is larger than {most:g}, so that the sum could "
            f"pass the limit of the modulus and come out wrong. Nothing was sent. Take a larger "
            f"modulus."
        )
    return [arithmetic.encode(value) for value in values]


def shares_of(
    answer: Sequence[int], shares: int, modulus: int, draw: Draw = _random_below
) -> list[list[int]]:
    """Split each number into shares, shape (shares, len(answer)), uniform but for their sum."""
    parts = [[draw(modulus) for _ in answer] for _ in range(shares - 1)]
    last = [(v - sum(part[i] for part in parts)) % modulus for i, v in enumerate(answer)]
    return [*parts, last]


def secure_sum(
    values: Sequence[float],
    *,
    arithmetic: FixedPoint | None = None,
    shares: int = 1,
    draw: Draw | None = None,
    listener: Listener | None = None,
) -> float:
    """Return the sum of one number of each of at least three agencies.

    Examples
    --------
    >>> secure_sum([1.5, 2.0, -4.25])
    -0.75
    """
    agencies = [_holder(f"agency {k + 1}", value) for k, value in enumerate(values)]
    ring = Ring(agencies, arithmetic or FixedPoint(), shares=shares, listener=listener)
    return float(ring.sums("value", draw=draw)[0])


@dataclass(frozen=True, eq=False)
class SecureRegression:
    """Result of a regression over the records of all agencies.

    Parameters
    ----------
    names : tuple of str
        Of the coefficients; the intercept is the first.
    coefficients, standard_errors : numpy.ndarray of float
    n : int
        Records of all agencies.
    sigma : float
        Standard error of the regression; NaN for a logistic one.
    r2, adjusted_r2 : float
        NaN for a logistic one.
    f_statistic : float
        That all coefficients but the intercept are 0; NaN for a logistic regression.
    deviance : float
        -2 log likelihood at the coefficients; for least squares with sigma^2 = residuals / n.
    iterations : int
        Rounds of Newton steps; 1 for least squares.
    """

    names: tuple[str, ...]
    coefficients: Floats
    standard_errors: Floats
    n: int
    sigma: float
    r2: float
    adjusted_r2: float
    f_statistic: float
    deviance: float
    iterations: int = 1

    @property
    def p_values(self) -> Floats:
        """Two-sided, by the t distribution; by the normal one for a logistic regression."""
        ratio = np.abs(self.coefficients / self.standard_errors)
        is_linear = np.isfinite(self.sigma)
        tail = student_t.sf(ratio, self.n - len(self.names)) if is_linear else norm.sf(ratio)
        values: Floats = 2.0 * tail
        return values

    @property
    def aic(self) -> float:
        """Akaike's criterion."""
        return self.deviance + 2 * (len(self.names) + bool(np.isfinite(self.sigma)))

    def to_frame(self) -> pd.DataFrame:
        """One row for each coefficient."""
        import pandas as pd

        columns = {
            "coefficient": self.coefficients,
            "standard_error": self.standard_errors,
            "p_value": self.p_values,
        }
        return pd.DataFrame(columns, index=pd.Index(self.names, name="name"))

    def summary(self) -> str:
        """Figures in one line."""
        fit = f", R^2 {self.r2:.4f}, F {self.f_statistic:.4g}" if np.isfinite(self.sigma) else ""
        return f"{self.n} records{fit}, AIC {self.aic:.6g}, rounds of sums: {self.iterations}"

    def __repr__(self) -> str:
        parts = ", ".join(
            f"{name} {value:.6g} ({error:.3g})"
            for name, value, error in zip(
                self.names, self.coefficients, self.standard_errors, strict=True
            )
        )
        return f"<secure regression, {self.n} records: {parts}; R^2 {self.r2:.4f}>"


def secure_regression(
    data: Sequence[tuple[npt.ArrayLike, npt.ArrayLike]],
    names: Sequence[str],
    *,
    logistic: bool = False,
    arithmetic: FixedPoint | None = None,
    shares: int = 1,
    listener: Listener | None = None,
) -> SecureRegression:
    """Fit a regression from sums alone.

    Parameters
    ----------
    data : sequence of (X, y)
        One entry for each agency: predictors without the intercept, shape (n_k, p), and
        response, shape (n_k,).
    names : sequence of str
        Of the predictors.
    logistic : bool, default=False
        Logistic regression of a 0/1 response by Newton steps, each a round of sums.
    arithmetic : FixedPoint, optional
    shares : int, default=1
        Against neighbours who collude; see `Ring`.
    listener : callable, optional

    Returns
    -------
    SecureRegression

    Raises
    ------
    InputError
        If there are fewer than three agencies, or numbers do not fit the modulus.
    ModelError
        If predictors are linearly dependent, or a logistic fit does not converge.
    """
    agencies = [records(f"agency {k + 1}", x, y) for k, (x, y) in enumerate(data)]
    ring = Ring(agencies, arithmetic or FixedPoint(), shares=shares, listener=listener)
    rounds = regression_rounds(names, logistic=logistic)
    try:
        asked = next(rounds)
        while True:
            asked = rounds.send(ring.sums(*asked))
    except StopIteration as end:
        result: SecureRegression = end.value
        return result


def regression_rounds(names: Sequence[str], *, logistic: bool) -> Rounds[SecureRegression]:
    """Ask for the sums that a regression needs, one question after another, and return it.

    Each agency can run this by itself and so knows beforehand what may be asked of it.

    Yields
    ------
    (question, argument)
        Sums over all agencies of their answers are sent back.
    """
    labels = ("(intercept)", *names)
    return _logistic_rounds(labels) if logistic else _linear_rounds(labels)


def _linear_rounds(labels: tuple[str, ...]) -> Rounds[SecureRegression]:
    p = len(labels)
    xx, xy, yy, sum_y, n = _moments((yield "moments", None), p)
    shift, scale = np.zeros(p - 1), np.ones(p - 1)
    if np.linalg.cond(xx) > ILL_CONDITIONED:
        # The error of normal equations grows with the square of the condition number.
        shift = xx[0, 1:] / n
        spread = np.diag(xx)[1:] / n - shift**2
        scale = np.where(spread > 0, np.sqrt(np.maximum(spread, 1e-300)), 1.0)
        centred = yield "moments", np.concatenate([shift, scale])
        xx, xy, yy, sum_y, n = _moments(centred, p)
    if n <= p or np.linalg.matrix_rank(xx) < p:
        raise ModelError("The predictors are linearly dependent, or there are too few records.")
    inverse = np.linalg.inv(xx)
    found = np.linalg.solve(xx, xy)
    residual = yy - float(found @ xy)
    sigma2 = residual / (n - p)
    back = np.eye(p)
    back[1:, 1:] = np.diag(1 / scale)
    back[0, 1:] = -shift / scale
    explained = yy - sum_y**2 / n - residual
    r2 = explained / (explained + residual)
    return SecureRegression(
        labels,
        back @ found,
        np.sqrt(sigma2 * np.diag(back @ inverse @ back.T)),
        n,
        float(np.sqrt(sigma2)),
        float(r2),
        float(1 - (1 - r2) * (n - 1) / (n - p)),
        float(explained / (p - 1) / sigma2) if p > 1 else np.nan,
        float(n * (np.log(2 * np.pi * residual / n) + 1)),
    )


def _moments(sums: Floats, p: int) -> tuple[Floats, Floats, float, float, int]:
    xx, rest = _symmetric(sums, p)
    return xx, rest[:p], float(rest[p]), float(rest[p + 1]), round(float(xx[0, 0]))


def _symmetric(sums: Floats, p: int) -> tuple[Floats, Floats]:
    """Return the matrix whose upper triangle comes first, and what follows it."""
    matrix = np.zeros((p, p))
    upper = np.triu_indices(p)
    matrix[upper] = sums[: len(upper[0])]
    return matrix + matrix.T - np.diag(np.diag(matrix)), sums[len(upper[0]) :]


def _logistic_rounds(labels: tuple[str, ...]) -> Rounds[SecureRegression]:
    beta = np.zeros(len(labels))
    nan = np.nan
    for turn in range(1, MOST_STEPS + 1):
        information, rest = _symmetric((yield "newton", beta), len(labels))
        gradient, deviance, n = rest[:-2], float(rest[-2]), round(float(rest[-1]))
        if np.linalg.matrix_rank(information) < len(labels):
            raise ModelError("The predictors are linearly dependent, or separate the response.")
        step = np.linalg.solve(information, gradient)
        beta = beta + step
        if np.max(np.abs(step)) <= 1e-9 * max(1.0, float(np.max(np.abs(beta)))):
            errors = np.sqrt(np.diag(np.linalg.inv(information)))
            return SecureRegression(labels, beta, errors, n, nan, nan, nan, nan, deviance, turn)
    raise ModelError("The logistic regression did not converge: predictors separate the response.")


def _holder(name: str, value: float) -> Agency:
    """Return an agency with one number."""
    return Agency(name, lambda question, argument: [value])


def records(name: str, x: npt.ArrayLike, y: npt.ArrayLike) -> Agency:
    """Return an agency that answers the questions of a regression from its own records.

    Raises
    ------
    InputError
        If shapes do not match, or a value is missing or infinite.
    """
    own_x, own_y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if own_x.ndim != 2 or own_y.shape != (len(own_x),):
        raise InputError(f"{name}: X must have one row for each entry of y.")
    if not (np.all(np.isfinite(own_x)) and np.all(np.isfinite(own_y))):
        raise InputError(f"{name}: X or y has a missing or infinite value.")
    p = own_x.shape[1]

    def values(question: str, argument: Any) -> Floats:
        if question == "newton":
            full = np.column_stack([np.ones(len(own_x)), own_x])
            eta = full @ argument
            chance = expit(eta)
            weighted = full.T @ (full * (chance * (1 - chance))[:, None])
            upper = weighted[np.triu_indices(full.shape[1])]
            deviance = 2 * float(np.sum(np.logaddexp(0, eta) - own_y * eta))
            return np.concatenate([upper, full.T @ (own_y - chance), [deviance, len(own_y)]])
        scaled = own_x if argument is None else (own_x - argument[:p]) / argument[p:]
        full = np.column_stack([np.ones(len(scaled)), scaled])
        upper = (full.T @ full)[np.triu_indices(full.shape[1])]
        return np.concatenate([upper, full.T @ own_y, [own_y @ own_y, own_y.sum()]])

    return Agency(name, values)

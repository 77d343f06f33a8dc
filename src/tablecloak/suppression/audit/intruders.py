"""Who attacks, and what each intruder knows beyond what is published.

Every intruder knows all published cells, all relations and the external bounds. Siblings of
the same shape say what else: each returns, for a pattern, the bounds that its members have
narrower than everybody else. Exact definitions and proofs: docs/guarantees.md, section 4.

References
----------
.. [1] Salazar: Protecting tables with cell suppression, Joint UNECE/Eurostat work session on
   statistical data confidentiality, 2001 (several attackers).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from tablecloak.errors import InputError, suggestion
from tablecloak.tables.contributions import Contributions
from tablecloak.tables.problem import ProtectionProblem

__all__ = [
    "Contributors",
    "External",
    "Intruder",
    "Knowledge",
    "KnownZeros",
    "WholeNumbers",
    "parse_intruders",
    "with_whole_numbers",
]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]

NOISE = 1e-9
"""Share of a sum by which two ways of adding it up may differ; it is not counted as known."""


@dataclass(frozen=True, eq=False)
class Knowledge:
    """What one intruder knows beyond what is published.

    Parameters
    ----------
    name : str
        Who it is, for the internal report.
    cells : numpy.ndarray of int
        Suppressed cells of which it knows more than the external bounds.
    lower, upper : numpy.ndarray of float
        Its bounds on their values.
    """

    name: str
    cells: Integers
    lower: Floats
    upper: Floats


@dataclass(frozen=True)
class Intruder:
    """What all kinds share; not a kind itself."""

    kind: ClassVar[str] = ""

    @property
    def name_of_kind(self) -> str:
        """Return what to call the kind in reports."""
        return self.kind

    def members(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return what each intruder of this kind knows."""
        raise NotImplementedError


@dataclass(frozen=True)
class External(Intruder):
    """Contributed to no cell; knows what everybody knows. Always attacks."""

    kind: ClassVar[str] = "external"

    def members(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return nothing: everybody knows as much."""
        del problem, suppressed
        return []


@dataclass(frozen=True)
class KnownZeros(Intruder):
    """Knows which suppressed cells are zero."""

    kind: ClassVar[str] = "zeros"

    def members(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder who knows all zeros."""
        cells = np.flatnonzero(suppressed & (problem.table.values == 0))
        zero = np.zeros(len(cells))
        return [Knowledge("knows zeros", cells, zero, zero)] if len(cells) else []


@dataclass(frozen=True)
class WholeNumbers(Intruder):
    """Knows that all values are whole numbers; attacks with integer programs."""

    kind: ClassVar[str] = "integers"

    def members(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return nothing: what it knows is no bound.

        Raises
        ------
        InputError
            If the table is not one of whole numbers.
        """
        del suppressed
        if not problem.table.integer:
            raise InputError("The intruder 'integers' needs a table of whole numbers.")
        return []


@dataclass(frozen=True)
class Contributors(Intruder):
    """Every contributor, or every pair, or every holding: each knows its own contributions.

    It knows a suppressed cell exactly if nobody else contributes to it. Of any other cell it
    knows that the value is at least its own contribution, times its weight, if what the others
    give is known not to be negative: if no contribution is, and no external bound. Otherwise
    it knows of that cell what everybody does. Contributions are those that the table holds, the
    largest of each cell; where rules rank another variable than the published one, only the
    first kind of knowledge counts.

    Parameters
    ----------
    together : {1, 2}, default=1
        1: each on its own. 2: pairs that meet, in the same suppressed cell or as only
        contributors of two suppressed cells in the same relation; they know what either knows,
        and cells to which only the two of them contribute.
    level : {"contributor", "holding"}, default="contributor"
        Who is meant.
    everywhere : bool, default=False
        Also pairs that do not meet: all of them, whose number grows with the square of the
        number of contributors.
    """

    together: int = 1
    level: Literal["contributor", "holding"] = "contributor"
    everywhere: bool = False

    @property
    def name_of_kind(self) -> str:
        """Return contributors, holdings, or pairs of these."""
        return f"{self.level}s" if self.together == 1 else f"pairs of {self.level}s"

    def members(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder for each contributor, or pair, that knows something.

        Raises
        ------
        InputError
            If the table does not tell who contributed what.
        """
        found = _identified(problem, self.level)
        shares = _shares(problem, found, suppressed)
        if self.together == 1:
            return _one_by_one(problem, shares, found)
        if self.everywhere:
            who = pd.DataFrame({"one": shares["who"].unique()})
            pairs = who.merge(who.rename(columns={"one": "other"}), how="cross")
            pairs = pairs[pairs["one"] < pairs["other"]]
        else:
            pairs = _meeting(problem, shares, suppressed)
        return _in_pairs(problem, shares, pairs, found)


def with_whole_numbers(kinds: list[Intruder], problem: ProtectionProblem) -> list[Intruder]:
    """Return the intruders with 'integers' among them if everybody knows that values are whole."""
    if not problem.table.is_count or any(isinstance(kind, WholeNumbers) for kind in kinds):
        return kinds
    return [*kinds, WholeNumbers()]


def parse_intruders(given: Intruder | str | Sequence[Intruder | str]) -> list[Intruder]:
    """Accept intruders or their names, such as contributors; unknown names list all of them."""
    known: dict[str, Intruder] = {
        "external": External(),
        "contributors": Contributors(),
        "pairs": Contributors(together=2),
        "all-pairs": Contributors(together=2, everywhere=True),
        "holdings": Contributors(level="holding"),
        "zeros": KnownZeros(),
        "integers": WholeNumbers(),
    }
    listed = [given] if isinstance(given, Intruder | str) else list(given)
    parsed = []
    for entry in listed:
        if isinstance(entry, Intruder):
            parsed.append(entry)
        elif entry in known:
            parsed.append(known[entry])
        else:
            raise InputError(f"`intruders` names {entry!r}.{suggestion(str(entry), known)}")
    return parsed


def _identified(problem: ProtectionProblem, level: str) -> Contributions:
    table = problem.table
    found = table.holdings if level == "holding" else table.contributions
    if found is None or not np.any(found.largest_contributor >= 0):
        raise InputError(
            f"Intruders on the level of {level}s need to know who contributed what, but the table "
            f"does not tell. Tabulate it from microdata with `{level}=`."
        )
    return found


def _shares(problem: ProtectionProblem, found: Contributions, suppressed: Flags) -> pd.DataFrame:
    """One row for each known contribution to a suppressed cell: who, cell, size, how many."""
    cells = np.flatnonzero(suppressed)
    who = found.largest_contributor[cells]
    row, column = np.nonzero(who >= 0)
    cell = cells[row]
    size = (found.largest * found.largest_weight)[cell, column]
    return pd.DataFrame(
        {"who": who[row, column], "cell": cell, "size": size, "count": found.count[cell]}
    ).sort_values(["who", "cell"], kind="stable")


def _one_by_one(
    problem: ProtectionProblem, shares: pd.DataFrame, found: Contributions
) -> list[Knowledge]:
    known = shares.assign(one=shares["who"], alone=shares["count"] == 1)
    return _knowledge(problem, found, known, lambda row: found.name_of(row.one))


def _in_pairs(
    problem: ProtectionProblem, shares: pd.DataFrame, pairs: pd.DataFrame, found: Contributions
) -> list[Knowledge]:
    each = [pairs.assign(who=pairs[name]) for name in ("one", "other")]
    both = pd.concat(each).merge(shares, on="who").groupby(["one", "other", "cell"], sort=True)
    known = both.agg(size=("size", "sum"), count=("count", "first"), of=("who", "size"))
    known = known.reset_index().assign(alone=lambda frame: frame["count"] == frame["of"])
    return _knowledge(
        problem,
        found,
        known,
        lambda row: f"{found.name_of(row.one)} with {found.name_of(row.other)}",
    )


def _knowledge(
    problem: ProtectionProblem,
    found: Contributions,
    known: pd.DataFrame,
    name: Callable[[Any], str],
) -> list[Knowledge]:
    """Split what intruders know, one row for each of them and each cell, sorted, by intruder."""
    cell = known["cell"].to_numpy(dtype=np.int64)
    at_least = known["size"].to_numpy() - _shortfall(problem, found)[cell]
    lower, upper = _bounds(problem, cell, at_least, known["alone"].to_numpy())
    useful = np.flatnonzero(_is_news(problem, cell, lower, upper))
    if not len(useful):
        return []
    who = known[[column for column in ("one", "other") if column in known]]
    first = (who != who.shift()).any(axis=1).cumsum().to_numpy()[useful]
    groups = np.split(useful, np.flatnonzero(np.diff(first)) + 1)
    names = [name(row) for row in who.iloc[[group[0] for group in groups]].itertuples()]
    return [
        Knowledge(text, cell[group], lower[group], upper[group])
        for text, group in zip(names, groups, strict=True)
    ]


def _meeting(problem: ProtectionProblem, shares: pd.DataFrame, suppressed: Flags) -> pd.DataFrame:
    """Pairs in the same suppressed cell, or alone in two suppressed cells of one relation."""
    meetings = [shares[["who", "cell"]].rename(columns={"cell": "place"})]
    alone = shares[shares["count"] == 1]
    relations = problem.table.relations
    if len(alone):
        only = np.full(problem.table.n_cells, -1, dtype=np.int64)
        only[alone["cell"]] = alone["who"]
        row = np.repeat(np.arange(relations.shape[0]), np.diff(relations.indptr))
        who = only[relations.indices]
        kept = (who >= 0) & suppressed[relations.indices]
        place = row[kept] + problem.table.n_cells
        meetings.append(pd.DataFrame({"who": who[kept], "place": place}).drop_duplicates())
    places = pd.concat(meetings)
    pairs = places.merge(places, on="place")[["who_x", "who_y"]].set_axis(["one", "other"], axis=1)
    return pairs[pairs["one"] < pairs["other"]].drop_duplicates()


def _shortfall(problem: ProtectionProblem, found: Contributions) -> Floats:
    """By how much less than its own contributions an intruder must reckon each cell.

    Infinite everywhere if what others contribute may be negative, for then a contribution says
    nothing of the value: this shows in the data, or external bounds admit it for everybody.
    """
    values = problem.table.values
    gap = np.abs(found.total - values)
    same = gap <= found.shortfall + NOISE * np.abs(values)
    if np.any(problem.lower_bound < 0) or not np.all(same):
        return np.full(len(values), np.inf)
    shortfall: Floats = np.maximum(found.shortfall, gap)
    return shortfall


def _bounds(
    problem: ProtectionProblem, cell: Integers, at_least: Floats, exact: Flags
) -> tuple[Floats, Floats]:
    values = problem.table.values[cell]
    # Beyond the value there is only the rounding of sums.
    known = np.minimum(np.maximum(at_least, problem.lower_bound[cell]), values)
    lower = np.where(exact, values, known)
    upper = np.where(exact, values, problem.upper_bound[cell])
    return lower, upper


def _is_news(problem: ProtectionProblem, cell: Integers, lower: Floats, upper: Floats) -> Flags:
    news: Flags = (lower > problem.lower_bound[cell]) | (upper < problem.upper_bound[cell])
    return news

"""Intruders who contributed to the table, each on its own, and what they know of its cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.suppression.attack.intruder import INTRUDERS, Intruder
from tablecloak.suppression.proof.knowledge import Knowledge
from tablecloak.tables.contributions import IN_NO_HOLDING, ContributionLevel, Contributions
from tablecloak.tables.problem import ProtectionProblem

NOISE = 1e-9
"""Share of a sum by which rounding may change it with the order of its terms. Knowledge within this
share is not counted."""


def lacking(problem: ProtectionProblem, level: str) -> str:
    """Return a message if a table does not tell who contributed what; empty if it does.

    Parameters
    ----------
    problem : ProtectionProblem
    level : {"contributor", "holding"}
    """
    if _of_level(problem, level) is not None:
        return ""
    return (
        f"Intruders on the level of {level}s need to know who contributed what, but the table "
        f"does not tell. Tabulate it from microdata with `{level}=`."
    )


def knowledge(
    problem: ProtectionProblem, suppressed: Flags, level: str, *, pairs: bool, everywhere: bool
) -> list[Knowledge]:
    """Return what each contributor, or each pair of them, knows of suppressed cells.

    Parameters
    ----------
    problem : ProtectionProblem
    suppressed : numpy.ndarray of bool, shape (n_cells,)
    level : {"contributor", "holding"}
    pairs : bool
    everywhere : bool
        Whether to include pairs that do not meet.
    """
    known = _of_level(problem, level)
    if known is None:
        return []
    shares = _shares(problem, known, suppressed)
    if not pairs:
        return _one_by_one(problem, shares, known)
    if everywhere:
        who = pd.DataFrame({"one": shares["who"].unique()})
        both = who.merge(who.rename(columns={"one": "other"}), how="cross")
        both = both[both["one"] < both["other"]]
    else:
        both = _meeting(problem, shares, suppressed)
    return _in_pairs(problem, shares, both, known)


def _of_level(problem: ProtectionProblem, level: str) -> Contributions | None:
    table = problem.table
    known = table.holdings if level == "holding" else table.contributions
    return known if known is not None and np.any(known.largest_contributor >= 0) else None


def _shares(problem: ProtectionProblem, found: Contributions, suppressed: Flags) -> pd.DataFrame:
    """Return one row for each known contribution to a suppressed cell: who, cell, size, count."""
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
    """Return the knowledge of each intruder, from sorted rows of one intruder and one cell each."""
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
    """Return pairs in one suppressed cell, or alone in two suppressed cells of one relation."""
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
    """Return by how much each cell may lie below the contributions of one intruder.

    Infinite for all cells of a variable if contributions of others to it may be negative: a
    contribution then implies no bound on the value. They may be if the data hold negative ones, or
    external bounds admit them.
    """
    table = problem.table
    gap = np.abs(found.total - table.values)
    same = gap <= found.shortfall + NOISE * np.abs(table.values)
    variable = np.zeros(table.n_cells, dtype=np.int64)
    if table.variables is not None:
        variable = table.variables.of_cells(table.keys)
    may_be_negative = np.bincount(variable, (problem.lower_bound < 0) | ~same) > 0
    return np.where(may_be_negative[variable], np.inf, np.maximum(found.shortfall, gap))


def _bounds(
    problem: ProtectionProblem, cell: Integers, at_least: Floats, exact: Flags
) -> tuple[Floats, Floats]:
    values = problem.table.values[cell]
    # A bound beyond the value can only be a rounding error of sums.
    known = np.minimum(np.maximum(at_least, problem.lower_bound[cell]), values)
    lower = np.where(exact, values, known)
    upper = np.where(exact, values, problem.upper_bound[cell])
    return lower, upper


def _is_news(problem: ProtectionProblem, cell: Integers, lower: Floats, upper: Floats) -> Flags:
    news: Flags = (lower > problem.lower_bound[cell]) | (upper < problem.upper_bound[cell])
    return news


@INTRUDERS.register
@dataclass(frozen=True)
class Contributors(Intruder):
    """Every contributor: each knows its own contributions.

    A contributor knows a suppressed cell exactly if nobody else contributes to it. Of any other
    cell it knows that the value is at least its own contribution, times its weight, provided that
    no contribution and no external bound is negative; otherwise it knows of that cell what
    everybody knows. The table holds the largest contributions of each cell, and only these count.
    Where rules rank another variable than the published one, only the first kind of knowledge
    counts. Contributors who waived protection attack like all others. A cell that is safe because
    of waivers is not sensitive, and so protected from nobody; one that stays sensitive is protected
    from all of them, as a whole, so that it does not matter who of its contributors waived.

    Parameters
    ----------
    together : {1, 2}, default=1
        1: each contributor alone. 2: pairs that meet in one suppressed cell, or are the only
        contributors of two suppressed cells in one relation; a pair knows what either knows, and
        the cells to which only these two contribute.
    level : {"contributor", "holding"}, default="contributor"
        Whether contributors or holdings attack.
    everywhere : bool, default=False
        Whether all pairs attack, even those that do not meet. Their number grows with the square
        of the number of contributors.
    """

    name: ClassVar[str] = "contributors"
    usual_with: ClassVar[str] = "contributor"
    knows_by_cell: ClassVar[bool] = True

    together: Annotated[int, Field(ge=1, le=2, description="2 for pairs.")] = 1
    level: Annotated[ContributionLevel, Field(description="Who is meant.")] = "contributor"
    everywhere: Annotated[bool, Field(description="Also pairs that do not meet.")] = False

    @property
    def name_of_kind(self) -> str:
        """Return "contributors", "holdings", or "pairs of" either."""
        return f"{self.level}s" if self.together == 1 else f"pairs of {self.level}s"

    def is_also(self, name: str) -> tuple[str, str]:
        """Return that a holding may be the contributor of its name, and is if it has no other."""
        if self.level == "holding" and self.together == 1:
            kind = replace(self, level="contributor").name_of_kind
            return kind, name.removesuffix(IN_NO_HOLDING)
        return super().is_also(name)

    def lacking(self, problem: ProtectionProblem) -> str:
        """Return a message if the table does not tell who contributed what."""
        return lacking(problem, self.level)

    def knowledge(self, problem: ProtectionProblem, suppressed: Flags) -> list[Knowledge]:
        """Return one intruder for each contributor, or pair, that knows something."""
        return knowledge(
            problem, suppressed, self.level, pairs=self.together == 2, everywhere=self.everywhere
        )

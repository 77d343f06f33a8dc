"""What a caller asks to be preserved: statistics, or their names.

A name may have a subset after a colon, as in ``mean:all``; ``mean:each region`` is one mean for
each code of the dimension region, and ``correlation:bonuses ~ wages`` is of two variables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tablecloak.arrays import Flags
from tablecloak.cta.statistics.moments import Subset, select
from tablecloak.cta.statistics.statistic import STATISTICS, Statistic
from tablecloak.errors import InputError, suggestion
from tablecloak.tables.problem import ProtectionProblem

EACH = "each "
"""Before the name of a dimension: one statistic for each of its codes."""


def named_statistics() -> list[str]:
    """Return the names of all statistics that a name and the text after a colon describe fully."""
    return [kind.name for kind in STATISTICS if kind.is_named]


def each(
    problem: ProtectionProblem,
    dimension: str,
    statistic: Callable[[Flags], Statistic],
    *,
    within: Subset = "all",
) -> list[Statistic]:
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
        columns = map(str, keys.columns)
        raise InputError(f"`dimension` is {dimension!r}.{suggestion(str(dimension), columns)}")
    mask = select(problem, within)
    codes = keys[dimension].to_numpy()
    parts = [mask & (codes == code) for code in dict.fromkeys(codes[mask].tolist())]
    return [statistic(part) for part in parts]


def parse(
    given: Sequence[Statistic | str], problem: ProtectionProblem | None = None
) -> list[Statistic]:
    """Accept statistics or their names, such as ``mean`` and ``regression:all``.

    Without a subset after a colon a statistic is taken over the sensitive cells.

    Raises
    ------
    InputError
        If a name is unknown, or does not say all that the statistic needs.
    """
    parsed: list[Statistic] = []
    for entry in given:
        if isinstance(entry, Statistic):
            parsed.append(entry)
            continue
        name, _, subset = str(entry).partition(":")
        kind = _named(name)
        if subset.startswith(EACH) and problem is not None:
            parsed.extend(each(problem, subset.removeprefix(EACH), kind))
            continue
        parsed.append(kind.of_text(subset))
    return parsed


def _named(name: str) -> type[Statistic]:
    names = named_statistics()
    if name in names:
        return STATISTICS[name]
    if name in STATISTICS:
        raise InputError(
            f"`preserve` names {name!r}, which needs more than a subset. Pass an object of the "
            f"class {STATISTICS[name].__name__} instead."
        )
    raise InputError(f"`preserve` names {name!r}.{suggestion(name, names)}")

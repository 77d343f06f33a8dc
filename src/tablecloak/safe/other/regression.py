"""Regressions: linear, logit and others, as statsmodels fits them.

The columns of a regression may single out small groups, whose sum of y follows from the
coefficients.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Annotated, Any, ClassVar

import numpy as np
import pandas as pd
from pydantic import Field

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.errors import listed
from tablecloak.safe.appetite import Appetite
from tablecloak.safe.joint.disclosure import same_records, unsearched
from tablecloak.safe.other.design_matrix import DesignMatrix
from tablecloak.safe.other.fit import WEIGHTS, Fit, figure_of
from tablecloak.safe.other.fitted_model import (
    LIKELIHOODS,
    is_of_categories,
    tells_values,
    unchecked,
)
from tablecloak.safe.other.kind import KINDS, Checked, Counts, Kind, OutputRecords
from tablecloak.safe.output import Reason, Status
from tablecloak.safe.squares import column_is_told
from tablecloak.safe.tables.level_counts import ALL_DIGITS, rounded
from tablecloak.safe.tables.measures import CellMeasure, broken_rules
from tablecloak.safe.tables.request import TableAxis, TableGrid

PERFECT = 1e-12
"""Share of the variation left over up to which a fit is perfect: rounding alone."""

MOST_LISTED = 5
"""Most groups that a reason names."""

COLUMNS = {
    "params": "coefficient",
    "bse": "standard error",
    "tvalues": "t",
    "pvalues": "p",
}
"""What is shown of each coefficient, by the attribute of a fitted model that has it."""

NUMBERS = (
    "nobs",
    "df_resid",
    "rsquared",
    "rsquared_adj",
    "prsquared",
    "fvalue",
    "llf",
    "aic",
    "bic",
)
"""What is shown of the fit as a whole, if the model has it."""


@KINDS.register
@dataclass(frozen=True)
class RegressionOutput(Kind):
    """Regression: degrees of freedom, and groups of few records that its columns single out.

    Source: F. Ritchie, *Disclosure control for regression outputs* (2019), for degrees of freedom
    and saturated models; D. A. Belsley, E. Kuh, R. E. Welsch, *Regression diagnostics* (1980),
    section 2.1, for leverage.
    """

    name: ClassVar[str] = "regression"
    label: ClassVar[str] = "regression"

    fit: Annotated[Any, Field(description="Fitted model, a `Fit`.")]

    def check(self, records: OutputRecords) -> Checked:
        """Check the columns of the regression, and its fit."""
        fit: Fit = self.fit
        design = DesignMatrix(fit.exog, fit.names, records.contributor, fit.weights)
        limits = records.appetite
        free = design.n_contributors - design.rank
        given = getattr(fit.result, "df_resid", None)
        if given is not None and np.isfinite(given):
            free = min(free, int(given))
        of_tables, digits = _as_tables(design, fit, limits)
        reasons = [*_singled_out(design, limits), *of_tables]
        reasons += [
            *_nearly_told(design, fit, limits),
            *_crossed(design, limits),
            *_squares(design, fit, limits),
        ]
        least = limits.safe_dof_threshold
        if free < least:
            text = f"{free} residual degrees of freedom; at least {least} are needed"
            reasons.insert(0, Reason("fail", "degrees of freedom", text))
        if fit.n_left_out:
            text = (
                f"{fit.n_left_out} records have weight 0: degrees of freedom count them, and "
                "`observations` does not. Leave them out of the data of the fit"
            )
            reasons.append(Reason("review", "weights", text))
        if fit.left_over <= PERFECT:
            text = "the fit is perfect: every value of y follows from the coefficients (R2 is 1)"
            reasons.append(Reason("fail", "perfect fit", text))
        reasons += [
            Reason("review", "method", text)
            for text in unchecked(fit.result, (*list(COLUMNS)[1:], *NUMBERS))
        ]
        notes = [
            f"{free} residual degrees of freedom; largest leverage {design.leverage.max():.3g}"
        ]
        if digits < ALL_DIGITS:
            notes.append(
                f"figures are shown with {digits} digits: from all digits would follow how many "
                f"records have which value of {fit.y}"
            )
        if tells_values(fit.result.model):
            notes.append(
                f"{', '.join(LIKELIHOODS)} are left out: a likelihood holds sums of functions of "
                f"{fit.y}, which tell how many records have which value"
            )
        counts, conditional = _counts(records, design, fit)
        return Checked(
            _frames(fit, digits), tuple(reasons), tuple(notes),
            counts=counts, conditional=conditional,
            properties={"method": fit.method, "dof": free},
            base=same_records(len(fit.endog), fit.columns) if fit.leaves_out else "",
        )  # fmt: skip


def _counts(
    records: OutputRecords, design: DesignMatrix, fit: Fit
) -> tuple[tuple[Counts, ...], tuple[Counts, ...]]:
    """Return the counts, and the sums of y, that coefficients and their errors tell.

    X'y = X' fitted, and whoever knows how many records there are of each kind knows the right side.
    A regression on the categories of a variable is a table of means, and standard errors tell the
    counts of it. With other columns the sum over all records is told, since their means are in most
    papers; the rest of X'y, sums of y times a column, follows for whoever knows X. Where y is a
    category, the sums are counts of each. Standard errors are those of X'X: they tell how many have
    each flag, and the sum of each other column; with weights, the sum of these.
    """
    y = fit.y
    of_flags, amounts = design.matrix == 1, fit.endog * fit.weights
    is_told = of_flags.any(axis=0) & ((design.matrix == 0) | of_flags).all(axis=0)
    # The number of all records is always told.
    flags = np.column_stack([np.ones(len(of_flags)), design.matrix[:, is_told]])
    names = ["all", *(name for name, told in zip(fit.names, is_told, strict=True) if told)]
    patterns, group = np.unique(flags, axis=0, return_inverse=True)
    group, sums = group.ravel().astype(np.int64), patterns.T.astype(np.int64)
    labels = ["observations", *(f"observations where {name} = 1" for name in names[1:])]

    def of_sums(chosen: list[int]) -> tuple[Counts, ...]:
        said = tuple(
            f"sum of {y}" + f" where {names[number]} = 1" * (number > 0) for number in chosen
        )
        places = (None,) * len(said)
        return (Counts(records.positions, group, sums[chosen], said, places, amounts, y),)[
            : len(said)
        ]

    every = list(range(1, len(sums)))
    free = every if design.is_binary else [number for number in every if sums[number].all()]
    # Standard errors tell how many have a flag, whatever the other columns are.
    counted = [0, *every]
    counts = Counts(
        records.positions, group, sums[counted], tuple(labels[number] for number in counted),
        (None,) * len(counted),
    )  # fmt: skip
    # Errors are those of X'WX, and degrees of freedom count `freq_weights`.
    weighted = (
        replace(
            counts, labels=tuple(f"weights of {label}" for label in counts.labels),
            amounts=fit.weights, variable=WEIGHTS,
        ),
    ) if fit.is_weighted else ()  # fmt: skip
    # Then X'y is the sum of each column where y is 1.
    adds_up_columns = fit.is_of_flag and not fit.is_weighted
    products = tuple(
        Counts(
            records.positions, np.zeros_like(group), np.ones((1, 1), dtype=np.int64),
            (f"sum of {y} x {name}",), (None,), amounts * column, f"{y} x {name}",
        )
        for name, column, is_counted in zip(fit.names, design.matrix.T, is_told, strict=True)
        if not is_counted and not adds_up_columns
    )  # fmt: skip
    of_columns = _crossed_columns(records, design, fit, is_told, group, sums, names)
    left = [number for number in every if number not in free]
    if is_of_categories(fit.result.model):
        return (counts, *weighted, *(replace(
            counts, labels=tuple(f"{label} with {y} = {code:g}" for label in counts.labels),
            amounts=(fit.endog == code).astype(np.float64), variable=f"{y} = {code:g}",
        ) for code in np.unique(fit.endog))), ()  # fmt: skip
    # Of 0 and 1 papers tell the mean also where there is no constant.
    has_all = any(sums[number].all() for number in free)
    free = [0, *free] if fit.is_of_flag and not has_all else free
    return (counts, *weighted, *of_sums(free)), (*of_sums(left), *products, *of_columns)


def _crossed_columns(
    records: OutputRecords,
    design: DesignMatrix,
    fit: Fit,
    is_told: Flags,
    group: Integers,
    sums: Integers,
    names: list[str],
) -> tuple[Counts, ...]:
    """Return what standard errors, which are those of X'X, tell of columns and each two of them.

    How many have both of two flags, the sum of a column for each flag, and that of the product of
    two others. Nested models tell the same of the columns that they differ by. Where y is 0 or 1,
    X'y is the sum of each column for y = 1.

    Parameters
    ----------
    group : (n,) array of int
        Pattern of flags of each record.
    sums : (flags, patterns) array of 0 and 1
    names : list of str
        Of the flags; the first one is of all records.
    """
    # Constants say of no part.
    kept = [0, *(number for number in range(1, len(sums)) if not sums[number].all())]
    sums, names, n_flags = sums[kept], [names[number] for number in kept], len(kept)
    counts: list[Counts] = []
    pairs = [
        (one, other)
        for one, other in combinations(range(1, n_flags), 2)
        if (sums[one] & sums[other]).any()
        and not any((sums[one] & sums[other] == sums[k]).all() for k in (one, other))
    ]
    if pairs:
        both = np.array([sums[one] & sums[other] for one, other in pairs])
        said = tuple(
            f"observations where {names[one]} = 1 and {names[other]} = 1" for one, other in pairs
        )
        counts.append(Counts(records.positions, group, both, said, (None,) * len(said)))
    varies = [
        (name, column)
        for name, column, is_counted in zip(fit.names, design.matrix.T, is_told, strict=True)
        if not is_counted and np.ptp(column)
    ]
    for name, column in varies:
        said = tuple(
            f"sum of {name}" + f" where {names[number]} = 1" * (number > 0)
            for number in range(n_flags)
        )
        counts.append(Counts(records.positions, group, sums, said, (None,) * n_flags, column, name))
    alone, every = np.zeros_like(group), np.ones((1, 1), dtype=np.int64)
    for (one, column), (other, beside) in combinations(varies, 2):
        counts.append(
            Counts(
                records.positions, alone, every, (f"sum of {one} x {other}",), (None,),
                column * beside, f"{one} x {other}",
            )
        )  # fmt: skip
    if fit.is_of_flag and not fit.is_weighted:
        of_y = np.array([[0, 1]], dtype=np.int64)
        counts += [
            Counts(
                records.positions, fit.endog.astype(np.int64), of_y,
                (f"sum of {name} where {fit.y} = 1",), (None,), column, name,
            )
            for name, column in varies
        ]  # fmt: skip
    return tuple(counts)


def _singled_out(design: DesignMatrix, limits: Appetite) -> list[Reason]:
    """Return reasons for records and groups whose sum of y follows from the coefficients."""
    reasons = []
    threshold = limits.safe_threshold
    alone = int((design.leverage > limits.safe_leverage).sum())
    if alone:
        reasons.append(
            Reason(
                "fail",
                "leverage",
                f"{alone} records have a leverage above {limits.safe_leverage:g} (largest "
                f"{design.leverage.max():.3g}): the fit goes through them or nearly so, and their "
                "values follow from the coefficients",
            )
        )
    groups, is_complete = design.small_groups(threshold)
    for some, what in ((groups, "groups"), (design.slopes_of_few(threshold), "slopes")):
        if some:
            status: Status = "fail" if design.is_binary else "review"
            fewest = min(n for _, n in some)
            known = "" if status == "fail" else " for whoever knows the other columns of these"
            text = (
                f"the columns single out {len(some)} {what} of fewer than {threshold} "
                f"contributors (the smallest has {fewest}), whose sum of y follows from the "
                f"coefficients{known}: join categories, or leave these records out"
            )
            labels = tuple(label for label, _ in some[:MOST_LISTED])
            reasons.append(Reason(status, "saturated", text, labels))
    if not is_complete:
        reasons += unsearched(["the search for groups that the columns single out was cut off"])
    return reasons


def _nearly_told(design: DesignMatrix, fit: Fit, limits: Appetite) -> list[Reason]:
    """Return a reason for records whose y the fit tells within p per cent, though not exactly."""
    if not fit.has_amounts or fit.left_over <= PERFECT:
        return []
    records = design.nearly_told(fit.endog, limits.safe_pratio_p, fit.tells_squares)
    # Above the limit they are told altogether.
    records = records[design.leverage[records] <= limits.safe_leverage]
    if not records.size:
        return []
    most = design.leverage[records].max()
    text = (
        f"whoever knows the columns is told {fit.y} of {len(records)} records within "
        f"{limits.safe_pratio_p:.0%}: their leverage is up to {most:.3g}, and the fit "
        f"leaves over {fit.left_over:.3g} of the variation"
    )
    return [Reason("review", "leverage", text)]


def _crossed(design: DesignMatrix, limits: Appetite) -> list[Reason]:
    """Return a reason for few contributors with a value, or with values of two columns.

    Standard errors are those of X'X with all digits: of columns of few values they tell how many
    records have each, and how many have both of two.
    """
    threshold, few = limits.safe_threshold, design.crossings()
    small = [n for n in few if 0 < n < threshold]
    if not small:
        return []
    text = (
        f"standard errors tell how many have values of two columns of the regression: "
        f"{len(small)} such groups have fewer than {threshold} contributors (the smallest "
        f"{min(small)}): join categories, or leave one of the columns out"
    )
    return [Reason("review", "threshold", text)]


def _squares(design: DesignMatrix, fit: Fit, limits: Appetite) -> list[Reason]:
    """Return a reason for columns one amount of which is nearly told by their sum of squares.

    Residuals tell that of y, and standard errors, which are those of X'X, that of each column:
    of the only one beside a constant without any other knowledge.
    """
    if not fit.tells_squares:
        return []
    p = limits.safe_pratio_p
    names = [name for name, column in zip(fit.names, design.matrix.T, strict=True)
            if column_is_told(column, design.contributor, p)]  # fmt: skip
    of_y = fit.has_amounts and column_is_told(fit.endog, design.contributor, p)
    if not names and not of_y:
        return []
    named = listed([*[fit.y] * of_y, *names], limit=MOST_LISTED)
    text = (
        f"residuals and standard errors tell sums of squares, of which one contributor has nearly "
        f"all of {named}: that amount follows within {p:.0%}. Clip it, or take logarithms"
    )
    return [Reason("fail" if of_y or design.rank <= 2 else "review", "p-ratio", text)]


def _as_tables(design: DesignMatrix, fit: Fit, limits: Appetite) -> tuple[list[Reason], int]:
    """Return reasons for categories whose sum of y is told, and would be hidden in a table.

    With them come the digits with which figures may be shown. Several figures tell a mean, and more
    of its digits than each: they have one less than the mean would have.
    """
    y, digits = fit.y, ALL_DIGITS
    alike: dict[str, bool] = {}
    unsafe: dict[str, str] = {}
    for codes in design.partitions():
        counts, order = np.bincount(codes), np.argsort(codes, kind="stable")
        starts = np.cumsum(counts) - counts
        sorted_y = fit.endog[order]
        is_one = np.maximum.reduceat(sorted_y, starts) == np.minimum.reduceat(sorted_y, starts)
        measure = _measure(y, codes, fit.endog, design.contributor, limits)
        broken = broken_rules(measure, limits)
        tells = [number for number in range(len(counts))
                 if measure.n[measure.grid.places[number, 0]] >= limits.safe_threshold
                 and design.singled_out(order[starts[number] :][: counts[number]])]  # fmt: skip
        cells = measure.grid.places[tells, 0]
        fewest, _, few = measure.by_level.digits(cells, with_squares=False)
        digits = min(digits, fewest - (fewest < ALL_DIGITS))
        few[cells] |= measure.by_level.few_beyond_a_gap(with_squares=False)[cells]
        broken["threshold"] = broken["threshold"] | few
        for number, cell in enumerate(measure.grid.places[:, 0]):
            if measure.n[cell] < limits.safe_threshold:
                continue
            group = order[starts[number] :][: counts[number]]
            rules = [rule for rule, cells in broken.items() if cells[cell]]
            is_zeros = "zeros" in rules
            is_alike = is_one[number] and (is_zeros or fit.endog[group[0]] not in (0, 1))
            if (is_alike or rules) and design.singled_out(group):
                if is_alike:
                    alike[design.said(group)] = is_zeros
                else:
                    unsafe[design.said(group)] = rules[0]
    reasons = []
    remedy = "leave the category out, or join it with another"
    is_told = design.is_binary or design.is_of_means
    if alike:
        is_fact = is_told and any(alike.values())
        status: Status = "fail" if is_fact else "review"
        known = "" if is_fact else " whoever knows the other columns of these"
        text = f"{y} is the same for everybody where {next(iter(alike))}, which the coefficients "
        text += f"tell{known}: {remedy}"
        reasons.append(Reason(status, "zeros", text, tuple(alike)[:MOST_LISTED]))
    if unsafe:
        label, rule = next(iter(unsafe.items()))
        condition = "" if is_told else " whoever knows the other columns of these records"
        text = f"the coefficients tell{condition} the sum of {y} where {label}, which a table "
        text += f"would hide ({rule}): {remedy}"
        status = "fail" if is_told else "review"
        reasons.append(Reason(status, rule, text, tuple(unsafe)[:MOST_LISTED]))
    return reasons, digits


def _measure(
    y: str, codes: Integers, values: Floats, contributor: Integers, limits: Appetite
) -> CellMeasure:
    """Return the sums of y by category, as a table of one column has them."""
    size = int(codes.max()) + 1
    grid = TableGrid(
        TableAxis(codes, np.arange(size), size),
        TableAxis(np.zeros_like(codes), np.zeros(1, dtype=np.int64), 1),
    )
    return CellMeasure(
        "sum", y, grid, codes, values, contributor, None, limits.safe_nk_n, limits.safe_threshold
    )


def _frames(fit: Fit, digits: int) -> tuple[pd.DataFrame, ...]:
    """Return coefficients, and figures of the fit as a whole, with so many digits."""
    columns = {}
    for name, label in COLUMNS.items():
        figure = figure_of(fit.result, name)
        if figure is not None and np.size(figure) == len(fit.names):
            columns[label] = rounded(np.asarray(figure, dtype=np.float64).ravel(), digits)
    if not columns:
        params = np.asarray(fit.result.params, dtype=np.float64).ravel()
        columns["coefficient"] = rounded(params, digits)
    rows = fit.names if len(columns["coefficient"]) == len(fit.names) else None
    coefficients = pd.DataFrame(columns, index=None if rows is None else pd.Index(rows))
    numbers: dict[str, float] = {"observations": float(len(fit.endog))}
    for name in NUMBERS:
        if name in LIKELIHOODS and tells_values(fit.result.model):
            continue
        found = figure_of(fit.result, name)
        if name != "nobs" and found is not None and np.ndim(found) == 0:
            # Degrees of freedom are no function of y.
            is_whole = float(found).is_integer()
            numbers[name] = float(found if is_whole else rounded(np.array([found]), digits)[0])
    return coefficients, pd.DataFrame({"value": pd.Series(numbers)})

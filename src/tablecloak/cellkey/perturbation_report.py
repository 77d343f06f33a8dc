"""The report for those who made a perturbed table: what was lost, and what can be inferred."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from tablecloak.cellkey.attack import CountAttack
from tablecloak.cellkey.perturbed_tables import PerturbedTables
from tablecloak.render.heat_map import Drawing, add_heat_map, as_number, labels_of
from tablecloak.render.page import Page, Square

MEANING = (
    "d1 is the absolute distance of true and perturbed values, d2 the distance as a share of the "
    "true value, d3 the distance of the square roots. Values that became 0 are counted apart."
)


def perturbation_report(
    title: str,
    made: PerturbedTables,
    attack: CountAttack | None,
    lines: Sequence[str],
    settings: pd.DataFrame,
    source: str,
) -> Page:
    """Describe perturbed tables to those who made them. Secret.

    Parameters
    ----------
    title : str
    made : PerturbedTables
    attack : CountAttack or None
    lines : sequence of str
        What was found, a paragraph each.
    settings : pandas.DataFrame
    source : str
        The job file.

    Returns
    -------
    Page
    """
    page = Page(title)
    page.heading("What was perturbed")
    for line in lines:
        page.text(line)
    cells = made.to_frame()
    page.legend({"up": "raised", "down": "lowered", "": "not changed"})
    keys = cells[list(made.hierarchies)]
    add_heat_map(page, keys, made.hierarchies, _squares(keys, cells, made.measure, attack))
    utility = made.utility()
    page.heading("Utility")
    page.text(MEANING)
    page.table(utility.distances.dropna(axis=1, how="all"))
    counted = {
        "false zeros": utility.false_zeros,
        "empty cells above 0": utility.false_nonzeros,
    }
    page.table(pd.DataFrame({"cells": counted}))
    if attack is not None:
        _describe_attack(page, attack, cells)
    page.heading("How it was done")
    page.table(settings, index=False)
    if source:
        page.code(source)
    return page


def _describe_attack(page: Page, attack: CountAttack, cells: pd.DataFrame) -> None:
    """Say how closely true counts follow from the release."""
    page.heading("What an intruder can infer")
    page.text(
        "The intruder knows the perturbation table, and that true counts are whole, at least 0, "
        "and add up. The release and this knowledge leave an interval of each true count."
    )
    width = (attack.upper - attack.lower)[attack.listed]
    share = f"{100 * attack.determined_share:.3g} %"
    page.text(
        f"Share of published counts that follow exactly: {share}; mean width of the intervals: "
        f"{attack.mean_width:.3g}."
    )
    names = list(attack.codes.columns)
    known = attack.codes.merge(cells[[*names, "true_count"]], on=names, how="left")
    true = known["true_count"].fillna(0).to_numpy(np.int64)
    page.text(
        f"The most likely count, by the chances of the perturbation table within each interval, is "
        f"the true one for {100 * attack.best_guess_share(true):.3g} % of the published counts."
    )
    widths, cells = np.unique(width, return_counts=True)
    page.table(pd.DataFrame({"width": widths, "published counts": cells}), index=False)


def _squares(
    keys: pd.DataFrame, cells: pd.DataFrame, measure: str, attack: CountAttack | None
) -> Drawing:
    """Draw each cell as published; pointing at it shows the true value and its interval."""
    labels = labels_of(keys)
    true = cells["true_count" if "true_count" in cells else measure].to_numpy(float)
    shown = cells["perturbed"].to_numpy(float)
    inferred = _intervals(keys, attack)

    def square(cell: int) -> Square:
        change = shown[cell] - true[cell]
        hover = f"{labels[cell]}: {as_number(true[cell])} perturbed to {as_number(shown[cell])}"
        kind = "up" if change > 0 else "down" if change < 0 else ""
        share = float(np.sqrt(min(abs(change) / max(abs(true[cell]), 1.0), 1.0)))
        return Square(as_number(shown[cell]), kind, hover + inferred[cell], share)

    return square


def _intervals(keys: pd.DataFrame, attack: CountAttack | None) -> list[str]:
    """Return what is said of the interval of each cell."""
    if attack is None:
        return [""] * len(keys)
    found = keys.merge(attack.to_frame(), on=list(keys.columns), how="left")
    ends = zip(found["lower"], found["upper"], strict=True)
    return [f"; inferred: {low:g} to {high:g}" for low, high in ends]

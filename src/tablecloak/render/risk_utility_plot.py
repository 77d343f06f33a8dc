"""The picture of a risk-utility map: a point for each method, the frontier connected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tablecloak import showing
from tablecloak.render.plotting import new_figure, save_secret
from tablecloak.risk_utility_map import RiskUtilityMap

__all__ = ["plot_risk_utility"]


@showing.plot.register
def plot_risk_utility(shown: RiskUtilityMap, path: str | Path | None = None) -> Any:
    """Draw each method with two standard errors each way."""
    figure, axes = new_figure(7, 5)
    table = shown.table
    axes.errorbar(
        table["risk"],
        table["utility"],
        xerr=2 * table["risk_error"].fillna(0),
        yerr=2 * table["utility_error"].fillna(0),
        fmt="o",
        color="#457b9d",
        elinewidth=0.8,
    )
    on = table[table["frontier"]].sort_values("risk")
    axes.plot(on["risk"], on["utility"], color="#d62828", linewidth=1, label="frontier")
    middle = (table["risk"].min() + table["risk"].max()) / 2
    for name, row in table.iterrows():
        # Names stand on the side with more room.
        right = row["risk"] <= middle
        axes.annotate(
            str(name),
            (row["risk"], row["utility"]),
            textcoords="offset points",
            xytext=(5 if right else -5, 4),
            ha="left" if right else "right",
            fontsize=8,
        )
    axes.set_xlabel("risk")
    axes.set_ylabel("utility")
    axes.legend()
    save_secret(figure, path)
    return figure

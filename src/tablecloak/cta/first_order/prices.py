"""A bound for given directions: multipliers of relations under which no cell gains by moving.

For multipliers y of the relations, sum W_i |g_i| >= sum min over the box of (W_i |g_i| - r_i g_i)
with r = A' y. A group whose |r_i| exceeds W_i would go to the end of its room, however far that
is; so relations lower their multipliers until no group gains more than it costs.
"""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.certificates.tree import RELATION, Multipliers
from tablecloak.cta.first_order.layout import FirstOrderLayout, row_least
from tablecloak.cta.first_order.schedule import CHARGED_ROUNDS, NEARLY


def affordable_prices(layout: FirstOrderLayout, prices: Floats, is_up: Flags) -> Floats:
    """Return smaller prices, at which moving farther pays for no group.

    Parameters
    ----------
    layout : FirstOrderLayout
    prices : numpy.ndarray of float, shape (n_rows,)
        Multipliers of relations.
    is_up : numpy.ndarray of bool
        Direction of each sensitive group.
    """
    for _ in range(CHARGED_ROUNDS):
        share = _share(layout, layout.transposed @ prices, is_up)
        if np.all(share >= NEARLY):
            break
        prices = prices * row_least(layout.matrix, share[layout.matrix.indices])
    least = np.min(_share(layout, layout.transposed @ prices, is_up), initial=1.0)
    scaled: Floats = prices * least
    return scaled


def _share(layout: FirstOrderLayout, paid: Floats, is_up: Flags) -> Floats:
    """Return the share of what is paid for each group at which moving farther does not pay."""
    cost, at = layout.model.cost, layout.model.sensitive
    gain = np.abs(paid)
    gain[at] = np.where(is_up, paid[at], -paid[at])
    share: Floats = np.where(gain > cost, cost / np.where(gain > 0, gain, 1.0), 1.0)
    return share


def price_bound(layout: FirstOrderLayout, prices: Floats, is_up: Flags) -> float:
    """Return the bound that affordable prices prove for given directions."""
    model, at = layout.model, layout.model.sensitive
    paid = (layout.transposed @ prices)[at]
    level = np.where(is_up, model.up_level, model.down_level)
    return float(np.sum((model.cost[at] - np.where(is_up, paid, -paid)) * level))


def price_multipliers(layout: FirstOrderLayout, prices: Floats) -> Multipliers:
    """Return prices as a certificate keeps them."""
    return Multipliers.of([(RELATION, layout.rows, -1, prices)])

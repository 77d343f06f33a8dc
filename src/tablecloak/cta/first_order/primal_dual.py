"""The primal-dual hybrid gradient method for adjustments: two sparse products for each step.

It finds a saddle point of sum W_i |g_i| - y' A g over changes g within their boxes and multipliers
y of the relations A g = 0. A step in one group of cells is a formula: shrink towards 0, and stay
within the box. For sensitive groups the box is one of two, below or above the truth; in which of
them a group lies may be given, or be chosen anew in each step, where the nearer one is taken. With
directions given the method converges to an optimum; with directions that are chosen it is a
heuristic, whose directions are good.

References
----------
.. [1] Chambolle, Pock: A first-order primal-dual algorithm for convex problems with applications
   to imaging, Journal of Mathematical Imaging and Vision 40 (2011).
.. [2] Pock, Chambolle: Diagonal preconditioning for first order primal-dual algorithms in convex
   optimization, ICCV 2011.
.. [3] Applegate et al.: Practical large-scale linear programming using primal-dual hybrid gradient,
   NeurIPS 2021.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tablecloak.arrays import Flags, Floats
from tablecloak.cta.first_order.layout import FirstOrderLayout

Chooser = Callable[[Floats, Floats], Flags]
"""From what going up and going down costs each sensitive group in this step, which ones go up."""

SAFE_STEP = 0.98
"""Share of the longest steps for which convergence is proved."""


class PrimalDual:
    """Changes and multipliers, improved step by step.

    Parameters
    ----------
    layout : FirstOrderLayout
    changes : numpy.ndarray of float, shape (n_groups,), optional
        By default none.
    multipliers : numpy.ndarray of float, shape (n_rows,), optional
        By default 0.
    """

    def __init__(
        self,
        layout: FirstOrderLayout,
        changes: Floats | None = None,
        multipliers: Floats | None = None,
    ) -> None:
        self.layout = layout
        model, moves = layout.model, layout.model.moves
        self.changes = np.zeros(model.n_groups) if changes is None else changes.copy()
        n_rows = len(layout.rows)
        self.multipliers = np.zeros(n_rows) if multipliers is None else multipliers.copy()
        self.priced = layout.transposed @ self.multipliers
        reach = layout.size_transposed @ layout.price
        # A group without relations goes straight to its nearest safe value.
        self._change_step = layout.change / np.where(reach > 0, reach, layout.price.min(initial=1))
        self._price_step = layout.price / (layout.size @ layout.change)
        at = model.sensitive
        self._low, self._high = -moves.down, moves.up
        self._sensitive_box = moves.down[at], moves.up[at]

    def step(self, ratio: float, choose: Chooser) -> None:
        """Make one step.

        Parameters
        ----------
        ratio : float
            Longer steps of changes and shorter ones of multipliers above 1.
        choose : callable
            See `Chooser`.
        """
        layout = self.layout
        length = (SAFE_STEP * ratio) * self._change_step
        new = self._nearest(self.changes + length * self.priced, length, choose)
        self.multipliers -= (
            (SAFE_STEP / ratio) * self._price_step * (layout.matrix @ (2 * new - self.changes))
        )
        self.changes = new
        self.priced = layout.transposed @ self.multipliers

    def _nearest(self, target: Floats, length: Floats, choose: Chooser) -> Floats:
        """Return the changes that minimise cost and squared distance to a target."""
        model = self.layout.model
        shrinkage = length * model.cost
        changes = np.clip(target - np.clip(target, -shrinkage, shrinkage), self._low, self._high)
        at, (down, up) = model.sensitive, self._sensitive_box
        goal, long, cost = target[at], length[at], model.cost[at]
        above = np.clip(goal - shrinkage[at], model.up_level, np.maximum(up, model.up_level))
        below = np.clip(
            goal + shrinkage[at], -np.maximum(down, model.down_level), -model.down_level
        )
        is_up = choose(
            cost * above + (above - goal) ** 2 / (2 * long),
            (below - goal) ** 2 / (2 * long) - cost * below,
        )
        changes[at] = np.where(is_up, above, below)
        found: Floats = changes
        return found

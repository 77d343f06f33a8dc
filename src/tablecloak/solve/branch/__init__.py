"""Branch and bound whose proof can be checked by a stranger.

The search tree splits the integral points into leaves; each leaf carries row multipliers
whose weak-duality bound reaches the claim, or which prove that the leaf is empty. Checking
the tree needs sparse products and no solver. Rows may be added on the way (lazy
constraints), which HiGHS itself does not offer.
"""

from tablecloak.solve.branch.search import (
    BranchResult,
    BranchSearch,
    Rows,
    Separate,
    branch_and_bound,
)
from tablecloak.solve.branch.tree import BranchTree

__all__ = ["BranchResult", "BranchSearch", "BranchTree", "Rows", "Separate", "branch_and_bound"]

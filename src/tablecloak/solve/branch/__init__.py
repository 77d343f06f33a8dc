"""Branch and bound whose proof can be checked without a solver.

The search tree splits the integral points into leaves. Each leaf has row multipliers whose
weak-duality bound reaches the claimed bound, or which prove that the leaf is empty. Checking the
tree takes sparse products only. Rows may be added during the search (lazy constraints), which
HiGHS itself does not offer.
"""

from tablecloak.solve.branch.search import (
    BranchResult,
    BranchSearch,
    BranchTree,
    Rows,
    Separate,
    branch_and_bound,
)

__all__ = ["BranchResult", "BranchSearch", "BranchTree", "Rows", "Separate", "branch_and_bound"]

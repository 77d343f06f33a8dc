"""Tables that do not add up, made additive with least change."""

from tablecloak.reconciliation.reconcile import reconcile
from tablecloak.reconciliation.reconciled_table import Pass, ReconciledTable

__all__ = ["Pass", "ReconciledTable", "reconcile"]

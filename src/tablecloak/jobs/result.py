"""What a job produced."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tablecloak.cta.result.adjustment import Adjustment
from tablecloak.history import History
from tablecloak.publish.adjusted_audit import AdjustedAudit
from tablecloak.suppression.attack.audit import Audit
from tablecloak.suppression.result.pattern import SuppressionPattern
from tablecloak.tables.problem import ProtectionProblem

__all__ = ["JobResult"]


@dataclass(frozen=True, eq=False)
class JobResult:
    """What a job produced.

    Parameters
    ----------
    problem : ProtectionProblem
    parts : tuple of ProtectionProblem
        The problem of each variable, whose cells are those of `problem` in this order; `problem`
        alone if the job has no variables.
    pattern : SuppressionPattern or None
    pattern_audit : Audit or None
    adjustment : Adjustment or None
    adjustment_audit : AdjustedAudit or None
    files : list of Path
        All files that were written.
    histories : dict of str to History
        How the searches went: ``suppression``, ``adjustment``.
    failures : dict of str to str
        Methods that gave no release although another did, and why.
    withheld : dict of str to str
        Methods whose release was found but not written to ``release/``, and why. Its files, if
        there are any, lie in ``internal/withheld/``.
    """

    problem: ProtectionProblem
    parts: tuple[ProtectionProblem, ...]
    pattern: SuppressionPattern | None
    pattern_audit: Audit | None
    adjustment: Adjustment | None
    adjustment_audit: AdjustedAudit | None
    files: list[Path]
    histories: dict[str, History]
    failures: dict[str, str]
    withheld: dict[str, str] = field(default_factory=dict)

    @property
    def is_safe(self) -> bool:
        """Whether every release passed its audit, and none was withheld."""
        audits = [self.pattern_audit, self.adjustment_audit]
        return not self.withheld and all(found.is_safe for found in audits if found is not None)

    def summary(self) -> str:
        """Say in one line what was found. Secret: losses are sums of hidden values."""
        parts = [part.summary() for part in (self.pattern, self.adjustment) if part is not None]
        failed = [f"no {name}: {why}" for name, why in self.failures.items()]
        kept = [f"release of the {name} withheld: {why}" for name, why in self.withheld.items()]
        return "; ".join([*parts, *failed, *kept])

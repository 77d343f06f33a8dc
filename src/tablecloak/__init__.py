"""tablecloak: protects published statistical tables, with certificates anyone can check.

The public interface is flat: ``import tablecloak as tc``. Names are loaded when they are
first used, so that importing the package itself costs almost nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

_HOME = {
    "Adjustment": "cta.adjustment",
    "AdjustmentRisk": "cta.risk",
    "AttributeDisclosure": "tables.rules.attribute_disclosure",
    "Audit": "suppression.audit.audit",
    "CellStatus": "tables.problem",
    "Confidentiality": "tables.confidentiality",
    "CountAttack": "cellkey.attack",
    "Comparison": "comparison",
    "Correlation": "cta.statistics.correlation",
    "Covariance": "cta.statistics.covariance",
    "CoveringIntervals": "cta.covering",
    "Dimension": "tables.dimensions",
    "Dominance": "tables.rules.dominance",
    "Equation": "tables.equations",
    "Explanation": "explaining.explanation",
    "Groups": "tables.sums",
    "Hierarchy": "tables.hierarchy",
    "IntervalPattern": "suppression.intervals",
    "InputError": "errors",
    "JointCovariance": "cta.statistics.joint_covariance",
    "JointMoments": "cta.statistics.joint_moments",
    "JointRegression": "cta.statistics.joint_regression",
    "KDisclosure": "tables.rules.k_disclosure",
    "Manual": "tables.rules.manual",
    "Mean": "cta.statistics.mean",
    "MinimumFrequency": "tables.rules.minimum_frequency",
    "ModelError": "errors",
    "PPercent": "tables.rules.p_percent",
    "PriorPosterior": "tables.rules.prior_posterior",
    "ProtectionProblem": "tables.problem",
    "Regression": "cta.statistics.regression",
    "Request": "tables.rules.request",
    "Requirement": "suppression.requirement",
    "Slope": "cta.statistics.slope",
    "SmallCountTable": "cta.rounding.small_counts",
    "SolverError": "errors",
    "SuppressionPattern": "suppression.pattern",
    "Table": "tables.table",
    "Transmission": "publish.transmission",
    "TablecloakError": "errors",
    "TablecloakWarning": "errors",
    "Variance": "cta.statistics.variance",
    "Verdict": "suppression.audit.finding",
    "VerificationError": "errors",
    "WeightRule": "tables.weights.rule",
    "ZeroUnsafe": "tables.rules.zero_unsafe",
    "ReconciledTable": "reconciliation.reconciled",
    "RoundedTable": "cta.rounding.rounded_table",
    "adjust": "cta.adjust",
    "adjust_together": "cta.together",
    "attack_adjustment": "cta.risk",
    "attack_counts": "cellkey.attack",
    "compare": "comparison",
    "controlled_rounding": "cta.rounding.controlled",
    "audit": "publish.audit",
    "each": "cta.preserve",
    "explain": "publish.explain",
    "fewest_to_unfreeze": "suppression.frozen",
    "contributed": "tables.tabulation.contributed",
    "Contributed": "tables.tabulation.contributed",
    "NoisyTable": "microdata.noisy_table",
    "noisy_table": "microdata.noisy_table",
    "join": "tables.joined",
    "link": "tables.link",
    "covering_intervals": "cta.covering",
    "Published": "tables.earlier",
    "PerturbedCounts": "cellkey.counts",
    "PerturbedMagnitudes": "cellkey.magnitudes",
    "perturb_counts": "cellkey.counts",
    "perturb_magnitudes": "cellkey.magnitudes",
    "Plan": "planning.plan",
    "plan": "planning.planner",
    "Proposal": "tables.proposals.proposal",
    "propose": "tables.proposals.proposal",
    "protect": "tables.protect",
    "protected_intervals": "publish.protected_intervals",
    "publish_intervals": "suppression.intervals",
    "read_jj": "tables.formats",
    "read_problem": "tables.formats",
    "read_published": "publish.earlier",
    "reconcile": "reconciliation.reconcile",
    "run_job": "jobs.run",
    "run_publication": "jobs.publication",
    "small_count_rounding": "cta.rounding.small_counts",
    "suppress": "suppression.suppress",
    "tabulate": "tables.tabulation.tabulate",
    "waivers_saved": "suppression.waivers_saved",
    "write_jj": "tables.formats",
    "write_problem": "tables.formats",
    "write_transmission": "publish.transmission",
}
"""Where each public name lives, below ``tablecloak``."""

if TYPE_CHECKING:
    from tablecloak import examples as examples
    from tablecloak.cellkey.attack import CountAttack as CountAttack
    from tablecloak.cellkey.attack import attack_counts as attack_counts
    from tablecloak.cellkey.counts import PerturbedCounts as PerturbedCounts
    from tablecloak.cellkey.counts import perturb_counts as perturb_counts
    from tablecloak.cellkey.magnitudes import PerturbedMagnitudes as PerturbedMagnitudes
    from tablecloak.cellkey.magnitudes import perturb_magnitudes as perturb_magnitudes
    from tablecloak.comparison import Comparison as Comparison
    from tablecloak.comparison import compare as compare
    from tablecloak.cta.adjust import adjust as adjust
    from tablecloak.cta.adjustment import Adjustment as Adjustment
    from tablecloak.cta.covering import CoveringIntervals as CoveringIntervals
    from tablecloak.cta.covering import covering_intervals as covering_intervals
    from tablecloak.cta.preserve import each as each
    from tablecloak.cta.risk import AdjustmentRisk as AdjustmentRisk
    from tablecloak.cta.risk import attack_adjustment as attack_adjustment
    from tablecloak.cta.rounding.controlled import controlled_rounding as controlled_rounding
    from tablecloak.cta.rounding.rounded_table import RoundedTable as RoundedTable
    from tablecloak.cta.rounding.small_counts import SmallCountTable as SmallCountTable
    from tablecloak.cta.rounding.small_counts import small_count_rounding as small_count_rounding
    from tablecloak.cta.statistics.correlation import Correlation as Correlation
    from tablecloak.cta.statistics.covariance import Covariance as Covariance
    from tablecloak.cta.statistics.joint_covariance import JointCovariance as JointCovariance
    from tablecloak.cta.statistics.joint_moments import JointMoments as JointMoments
    from tablecloak.cta.statistics.joint_regression import JointRegression as JointRegression
    from tablecloak.cta.statistics.mean import Mean as Mean
    from tablecloak.cta.statistics.regression import Regression as Regression
    from tablecloak.cta.statistics.slope import Slope as Slope
    from tablecloak.cta.statistics.variance import Variance as Variance
    from tablecloak.cta.together import adjust_together as adjust_together
    from tablecloak.errors import InputError as InputError
    from tablecloak.errors import ModelError as ModelError
    from tablecloak.errors import SolverError as SolverError
    from tablecloak.errors import TablecloakError as TablecloakError
    from tablecloak.errors import TablecloakWarning as TablecloakWarning
    from tablecloak.errors import VerificationError as VerificationError
    from tablecloak.explaining.explanation import Explanation as Explanation
    from tablecloak.jobs.publication import run_publication as run_publication
    from tablecloak.jobs.run import run_job as run_job
    from tablecloak.microdata.noisy_table import NoisyTable as NoisyTable
    from tablecloak.microdata.noisy_table import noisy_table as noisy_table
    from tablecloak.planning.plan import Plan as Plan
    from tablecloak.planning.planner import plan as plan
    from tablecloak.publish.audit import audit as audit
    from tablecloak.publish.earlier import read_published as read_published
    from tablecloak.publish.explain import explain as explain
    from tablecloak.publish.protected_intervals import protected_intervals as protected_intervals
    from tablecloak.publish.transmission import Transmission as Transmission
    from tablecloak.publish.transmission import write_transmission as write_transmission
    from tablecloak.reconciliation.reconcile import reconcile as reconcile
    from tablecloak.reconciliation.reconciled import ReconciledTable as ReconciledTable
    from tablecloak.suppression.audit.audit import Audit as Audit
    from tablecloak.suppression.audit.finding import Verdict as Verdict
    from tablecloak.suppression.frozen import fewest_to_unfreeze as fewest_to_unfreeze
    from tablecloak.suppression.intervals import IntervalPattern as IntervalPattern
    from tablecloak.suppression.intervals import publish_intervals as publish_intervals
    from tablecloak.suppression.pattern import SuppressionPattern as SuppressionPattern
    from tablecloak.suppression.requirement import Requirement as Requirement
    from tablecloak.suppression.suppress import suppress as suppress
    from tablecloak.suppression.waivers_saved import waivers_saved as waivers_saved
    from tablecloak.tables.confidentiality import Confidentiality as Confidentiality
    from tablecloak.tables.dimensions import Dimension as Dimension
    from tablecloak.tables.earlier import Published as Published
    from tablecloak.tables.equations import Equation as Equation
    from tablecloak.tables.formats import read_jj as read_jj
    from tablecloak.tables.formats import read_problem as read_problem
    from tablecloak.tables.formats import write_jj as write_jj
    from tablecloak.tables.formats import write_problem as write_problem
    from tablecloak.tables.hierarchy import Hierarchy as Hierarchy
    from tablecloak.tables.joined import join as join
    from tablecloak.tables.link import link as link
    from tablecloak.tables.problem import CellStatus as CellStatus
    from tablecloak.tables.problem import ProtectionProblem as ProtectionProblem
    from tablecloak.tables.proposals.proposal import Proposal as Proposal
    from tablecloak.tables.proposals.proposal import propose as propose
    from tablecloak.tables.protect import protect as protect
    from tablecloak.tables.rules.attribute_disclosure import (
        AttributeDisclosure as AttributeDisclosure,
    )
    from tablecloak.tables.rules.dominance import Dominance as Dominance
    from tablecloak.tables.rules.k_disclosure import KDisclosure as KDisclosure
    from tablecloak.tables.rules.manual import Manual as Manual
    from tablecloak.tables.rules.minimum_frequency import MinimumFrequency as MinimumFrequency
    from tablecloak.tables.rules.p_percent import PPercent as PPercent
    from tablecloak.tables.rules.prior_posterior import PriorPosterior as PriorPosterior
    from tablecloak.tables.rules.request import Request as Request
    from tablecloak.tables.rules.zero_unsafe import ZeroUnsafe as ZeroUnsafe
    from tablecloak.tables.sums import Groups as Groups
    from tablecloak.tables.table import Table as Table
    from tablecloak.tables.tabulation.contributed import Contributed as Contributed
    from tablecloak.tables.tabulation.contributed import contributed as contributed
    from tablecloak.tables.tabulation.tabulate import tabulate as tabulate
    from tablecloak.tables.weights.rule import WeightRule as WeightRule

__all__ = sorted([*_HOME, "__version__", "examples"])  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    if name == "examples":
        return importlib.import_module("tablecloak.examples")
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'tablecloak' has no attribute {name!r}")
    return getattr(importlib.import_module(f"tablecloak.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)

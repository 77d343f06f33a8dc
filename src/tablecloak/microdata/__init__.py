"""Microdata: local suppression, swapping, PRAM, noise, neighbourhood sampling, secure regression.

Each method is an object with parameters; its ``protect(records, seed=...)`` returns a release,
which holds the protected records and a report. `METHODS` lists all methods by name; `Chain` joins
several.
"""

from tablecloak.microdata.agencies.agency import Agency, FixedPoint
from tablecloak.microdata.agencies.regression import SecureRegression, secure_regression
from tablecloak.microdata.agencies.ring import Ring, secure_sum
from tablecloak.microdata.assessment.assess import Assessment, assess
from tablecloak.microdata.assessment.measure import MEASURES
from tablecloak.microdata.chain import Chain, ChainRelease
from tablecloak.microdata.loglinear import LogLinearModel, choose_model
from tablecloak.microdata.methods.local_recoding import LocallyRecodedRelease, LocalRecoding
from tablecloak.microdata.methods.local_suppression import LocalSuppression, LocalSuppressionRelease
from tablecloak.microdata.methods.method import METHODS, Columns, Method
from tablecloak.microdata.methods.microaggregation import Microaggregation, MicroaggregationRelease
from tablecloak.microdata.methods.multiplicative_noise import (
    MultiplicativeNoise,
    MultipliedRelease,
)
from tablecloak.microdata.methods.neighbours import (
    NeighbourhoodSampling,
    NeighbourRelease,
)
from tablecloak.microdata.methods.noise import (
    CovarianceNoise,
    IndependentNoise,
    MaskedRelease,
    NoiseRelease,
    RestrictedNoise,
)
from tablecloak.microdata.methods.orthogonal_masking import OrthogonalMasking
from tablecloak.microdata.methods.outlier_noise import OutlierNoise
from tablecloak.microdata.methods.partition_bound import PartitionBound, microaggregation_bound
from tablecloak.microdata.methods.pram import GuaranteedPRAM, PRAMRelease
from tablecloak.microdata.methods.pram_by_matrix import ClassicalPRAM
from tablecloak.microdata.methods.rank_swapping import RankSwapping, RankSwapRelease
from tablecloak.microdata.methods.recoding import RecodedRelease, Recoding
from tablecloak.microdata.methods.shuffling import ShuffledRelease, Shuffling
from tablecloak.microdata.methods.swapping import DataSwapping, SwapRelease, SwapReport
from tablecloak.microdata.methods.targeted import TargetedSwapping, TargetedSwapRelease
from tablecloak.microdata.methods.topcoding import TopcodedRelease, Topcoding
from tablecloak.microdata.noisy_table import NoisyTable, noisy_table
from tablecloak.microdata.order import OrderWarning, in_random_order
from tablecloak.microdata.risk.groups import (
    GroupDiversity,
    GroupLikeness,
    group_diversity,
    group_likeness,
)
from tablecloak.microdata.risk.keys import HouseholdRisk, KeyRisk, household_risk, key_risk
from tablecloak.microdata.risk.linkage import (
    MixedLinkage,
    RankIntervals,
    interval_disclosure,
    mixed_linkage,
    rank_intervals,
    record_linkage,
)
from tablecloak.microdata.risk.population import PopulationRisk, population_risk
from tablecloak.microdata.risk.probabilistic_linkage import (
    ProbabilisticLinkage,
    probabilistic_linkage,
)
from tablecloak.microdata.risk.special_uniques import (
    SpecialUniqueRisk,
    special_unique_risk,
    special_uniques,
)
from tablecloak.microdata.samplers import LegacySampler
from tablecloak.microdata.swap_candidates import SwapCandidates, sweep
from tablecloak.microdata.utility.comparison import (
    categories_compared,
    correlations_compared,
    eigenvalue_loss,
    information_loss,
    interval_overlap,
    numbers_compared,
    regression_compared,
)
from tablecloak.microdata.utility.noise_maps import plot_mean_map, plot_slope_map
from tablecloak.microdata.utility.propensity import (
    PropensityScore,
    propensity,
    propensity_score,
)
from tablecloak.microdata.utility.risk_utility import risk_utility_map
from tablecloak.risk_utility_map import RiskUtilityMap, best_below, frontier

__all__ = [
    "MEASURES",
    "METHODS",
    "Agency",
    "Assessment",
    "Chain",
    "ChainRelease",
    "ClassicalPRAM",
    "Columns",
    "CovarianceNoise",
    "DataSwapping",
    "FixedPoint",
    "GroupDiversity",
    "GroupLikeness",
    "GuaranteedPRAM",
    "HouseholdRisk",
    "IndependentNoise",
    "KeyRisk",
    "LegacySampler",
    "LocalRecoding",
    "LocalSuppression",
    "LocalSuppressionRelease",
    "LocallyRecodedRelease",
    "LogLinearModel",
    "MaskedRelease",
    "Method",
    "Microaggregation",
    "MicroaggregationRelease",
    "MixedLinkage",
    "MultiplicativeNoise",
    "MultipliedRelease",
    "NeighbourRelease",
    "NeighbourhoodSampling",
    "NoiseRelease",
    "NoisyTable",
    "OrderWarning",
    "OrthogonalMasking",
    "OutlierNoise",
    "PRAMRelease",
    "PartitionBound",
    "PopulationRisk",
    "ProbabilisticLinkage",
    "PropensityScore",
    "RankIntervals",
    "RankSwapRelease",
    "RankSwapping",
    "RecodedRelease",
    "Recoding",
    "RestrictedNoise",
    "Ring",
    "RiskUtilityMap",
    "SecureRegression",
    "ShuffledRelease",
    "Shuffling",
    "SpecialUniqueRisk",
    "SwapCandidates",
    "SwapRelease",
    "SwapReport",
    "TargetedSwapRelease",
    "TargetedSwapping",
    "TopcodedRelease",
    "Topcoding",
    "assess",
    "best_below",
    "categories_compared",
    "choose_model",
    "correlations_compared",
    "eigenvalue_loss",
    "frontier",
    "group_diversity",
    "group_likeness",
    "household_risk",
    "in_random_order",
    "information_loss",
    "interval_disclosure",
    "interval_overlap",
    "key_risk",
    "microaggregation_bound",
    "mixed_linkage",
    "noisy_table",
    "numbers_compared",
    "plot_mean_map",
    "plot_slope_map",
    "population_risk",
    "probabilistic_linkage",
    "propensity",
    "propensity_score",
    "rank_intervals",
    "record_linkage",
    "regression_compared",
    "risk_utility_map",
    "secure_regression",
    "secure_sum",
    "special_unique_risk",
    "special_uniques",
    "sweep",
]

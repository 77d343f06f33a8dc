"""Cell-key perturbation: noise that follows from the records behind a cell.

Each record gets a random key once, and keeps it. The keys of the records of a cell add up to its
cell key. The perturbation table gives the change for a value and a cell key. The same records give
the same published value in every table.
"""

from tablecloak.cellkey.attack import CountAttack, attack_counts
from tablecloak.cellkey.counts import PerturbedCounts, perturb_counts
from tablecloak.cellkey.design import design_count_table, design_magnitude_table
from tablecloak.cellkey.files import (
    read_magnitude_tables,
    read_perturbations,
    write_perturbations,
)
from tablecloak.cellkey.magnitudes import (
    Constant,
    Flex,
    MagnitudeNoise,
    PerturbedMagnitudes,
    perturb_magnitudes,
)
from tablecloak.cellkey.perturbation import PERTURBATIONS, Perturbation, PerturbedTables
from tablecloak.cellkey.perturbation_table import KeyRows, Perturbations, PerturbationTable
from tablecloak.cellkey.perturbed_problem import PerturbedProblem, perturb_problem
from tablecloak.cellkey.record_keys import draw_record_keys, make_secret, read_secret
from tablecloak.cellkey.utility import Utility, utility_of
from tablecloak.protection import Records

__all__ = [
    "PERTURBATIONS",
    "Constant",
    "CountAttack",
    "Flex",
    "KeyRows",
    "MagnitudeNoise",
    "Perturbation",
    "PerturbationTable",
    "Perturbations",
    "PerturbedCounts",
    "PerturbedMagnitudes",
    "PerturbedProblem",
    "PerturbedTables",
    "Records",
    "Utility",
    "attack_counts",
    "design_count_table",
    "design_magnitude_table",
    "draw_record_keys",
    "make_secret",
    "perturb_counts",
    "perturb_magnitudes",
    "perturb_problem",
    "read_magnitude_tables",
    "read_perturbations",
    "read_secret",
    "utility_of",
    "write_perturbations",
]

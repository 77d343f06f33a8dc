"""Microdata: local suppression, swapping, PRAM, noise, neighbourhood sampling, secure regression.

Each method is an object with parameters; its ``protect(records, seed=...)`` returns a release,
which holds the protected records and a report. `METHODS` lists all methods by name; `Chain` joins
several. Names are loaded when they are first used; ``__init__.pyi`` lists them.
"""

from tablecloak.lazy_names import lazy_names
from tablecloak.risk_utility_map import RiskUtilityMap, best_below, frontier  # noqa: F401

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

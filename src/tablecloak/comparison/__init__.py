"""Methods side by side: what an intruder gets from each release, and what the analyst gets."""

from tablecloak.comparison.figures import guesses, risk, utility
from tablecloak.comparison.intervals import hidden_intervals
from tablecloak.comparison.side_by_side import Comparison, compare

__all__ = ["Comparison", "compare", "guesses", "hidden_intervals", "risk", "utility"]

"""Methods side by side: what an intruder gets from each release, and what the analyst gets."""

from tablecloak.comparison.measures import Guesses, guesses, hidden_intervals, utility
from tablecloak.comparison.side_by_side import Comparison, compare

__all__ = ["Comparison", "Guesses", "compare", "guesses", "hidden_intervals", "utility"]

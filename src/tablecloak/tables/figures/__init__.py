"""Figures that are derived from cells and published beside them, such as ratios and indices."""

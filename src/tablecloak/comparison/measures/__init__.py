"""Measures of risk and utility, by the same definitions for every method."""

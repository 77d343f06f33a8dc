"""Patterns by deletion in the null space of the hidden cells."""

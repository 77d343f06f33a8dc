"""Adjusted tables, their checks and claims."""

"""Patterns and what is claimed of them."""

"""Patterns from boxes: witnesses that are products of one move on each dimension."""

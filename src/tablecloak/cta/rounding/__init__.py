"""Controlled rounding and rounding of small counts."""

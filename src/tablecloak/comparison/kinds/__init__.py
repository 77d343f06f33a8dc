"""Releases that can be compared, one kind in each module."""

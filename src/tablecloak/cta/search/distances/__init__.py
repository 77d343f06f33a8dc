"""Distances between a true and an adjusted table, one class in one file each."""

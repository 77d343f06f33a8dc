"""Intruders who run an adjustment backwards, one file for each."""

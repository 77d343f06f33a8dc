"""Intruders who guess true values from adjusted ones, one file for each."""

"""Outputs other than tables: one class for each kind, with what may leave of it and why."""

"""The ways to protect a table, one in each module."""

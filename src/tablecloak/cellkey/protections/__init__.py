"""The ways to protect a table by cell keys."""

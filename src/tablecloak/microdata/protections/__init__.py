"""The ways to protect a table by what is done to its records."""

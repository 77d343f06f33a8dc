"""The ways to protect a table that was added up: by gaps, intervals or other values."""

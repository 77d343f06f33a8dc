"""Groups of records that share keys, and the search for the fewest suppressed values."""

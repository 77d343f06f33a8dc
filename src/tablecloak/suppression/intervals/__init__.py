"""The search for intervals to publish, and their rounding."""

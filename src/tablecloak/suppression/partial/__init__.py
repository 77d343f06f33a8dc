"""How intervals to publish are found, and rounded."""

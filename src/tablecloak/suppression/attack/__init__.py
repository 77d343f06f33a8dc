"""What is asked of a pattern, intruders, their attacks, and the audit that runs them."""

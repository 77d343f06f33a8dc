"""What is claimed, and the arrays that prove it."""

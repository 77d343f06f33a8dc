"""What can be asked: one class in one file for each call."""

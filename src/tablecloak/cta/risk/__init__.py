"""What an intruder can guess of an adjusted table."""

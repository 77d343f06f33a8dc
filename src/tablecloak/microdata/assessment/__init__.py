"""Assessment of a release: risk before and after, and utility, for every method alike."""

"""The plan of a publication: which tables must be protected together, and by which jobs."""

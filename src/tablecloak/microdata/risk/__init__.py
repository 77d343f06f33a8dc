"""Disclosure risk of each record in a release, by keys and by distance."""

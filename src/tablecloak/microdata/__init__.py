"""Microdata: swapping, PRAM, noise, neighbourhood sampling, secure regression."""

"""Proofs of protection: witnesses, their exactness, and what insiders know."""

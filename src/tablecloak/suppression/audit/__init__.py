"""Intruders, their attacks, and the audit that runs them."""

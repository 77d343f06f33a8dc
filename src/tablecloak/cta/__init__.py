"""Controlled tabular adjustment: sensitive cells move to safe values, the rest hardly at all."""

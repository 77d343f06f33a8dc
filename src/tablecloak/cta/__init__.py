"""Controlled tabular adjustment: sensitive cells move to safe values, others little."""

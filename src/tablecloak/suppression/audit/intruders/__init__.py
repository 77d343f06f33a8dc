"""The intruders besides which a pattern must hold. One kind a file."""

"""The kinds of intruders, one in each module."""

"""Tables of a safe room: `crosstab` and `pivot_table` as pandas has them, protected."""

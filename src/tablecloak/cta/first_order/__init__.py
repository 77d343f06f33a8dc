"""First-order methods for large tables: search and proof by sparse products, without a solver."""

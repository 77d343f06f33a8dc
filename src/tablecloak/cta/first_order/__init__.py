"""First-order methods for large tables: search and proof by sparse products, without a solver.

Sizes, numbers of steps and shares were measured on made tables of 16,401 to 1,018,023 cells: see
docs/decisions, "First-order methods". Small counts were measured on 3,347 to 48,348 cells.
"""

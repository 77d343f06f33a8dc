"""The solver HiGHS. Only this folder imports highspy."""

from tablecloak.solve.highs.solver import Highs

__all__ = ["Highs"]

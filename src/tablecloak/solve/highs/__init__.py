"""HiGHS. Nothing outside of this folder imports highspy."""

from tablecloak.solve.highs.solver import Highs

__all__ = ["Highs"]

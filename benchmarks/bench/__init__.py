"""Comparison of solvers and methods on fixed instances; certificates judge every answer."""

from bench.runner import Bench, run_bench

__all__ = ["Bench", "run_bench"]

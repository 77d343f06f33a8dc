"""Solvers and methods side by side on frozen instances; every answer is judged by certificates."""

from tablecloak.bench.runner import Bench, run_bench

__all__ = ["Bench", "run_bench"]

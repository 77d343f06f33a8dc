"""Controlled rounding (RND)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.argus.method import METHODS, ProtectionMethod, Task
from tablecloak.argus.outputs import Protected
from tablecloak.argus.rules import numbers_of
from tablecloak.cta.rounding.controlled import controlled_rounding
from tablecloak.errors import InputError
from tablecloak.tables.weights import WeightRule


@METHODS.register
class Rounding(ProtectionMethod):
    """Round all cells to multiples of a base so that the table stays additive."""

    name: ClassVar[str] = "RND"
    minutes: ClassVar[float] = 10.0
    arguments: ClassVar[tuple[tuple[str, float, float], ...]] = (
        ("base", 1, 1e9), ("steps", 0, 100), ("minutes", 1, 1e6), ("partitions", 0, 1),
        ("stop", 1, 2), ("unit", 0, 1),
    )  # fmt: skip

    def protect(self, task: Task) -> Protected:
        """Round to the base, if it is large enough for what must be protected."""
        numbers, problem = task.wanted.numbers, task.problem
        if "base" not in numbers:
            raise InputError("RND needs a base, as in RND(1,5).")
        base, steps = int(numbers["base"]), int(numbers.get("steps", 0))
        least = self._least_base(task)
        if base < least:
            raise InputError(
                f"The base {base} is too small for the protection levels. Take {least:g} or more."
            )
        rounded = controlled_rounding(
            problem,
            base=base,
            max_steps=steps + 1,
            weights=WeightRule.UNIT if numbers.get("unit", 1) else WeightRule.FILE,
            time_limit=task.seconds,
        )
        task.say(rounded.summary())
        none = np.zeros(problem.table.n_cells, dtype=bool)
        values = rounded.values.astype(np.float64)
        return Protected(problem, none, values, 0, [], "rounded", float(rounded.steps * base))

    def _least_base(self, task: Task) -> float:
        if task.jobs[0].is_count:
            return max(
                [n[0] for j in task.jobs for n in numbers_of(j.all_rules, "FREQ")], default=1
            )
        levels = task.problem.lower_protection + task.problem.upper_protection
        return float(np.max(levels, initial=0))

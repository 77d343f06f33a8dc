"""Controlled tabular adjustment (CTA)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from tablecloak.argus.method import METHODS, ProtectionMethod, Task
from tablecloak.argus.outputs import Protected
from tablecloak.cta.adjust import adjust
from tablecloak.publish.audit import audit


@METHODS.register
class Adjusting(ProtectionMethod):
    """Move sensitive cells to safe values and the rest as little as possible."""

    name: ClassVar[str] = "CTA"

    def protect(self, task: Task) -> Protected:
        """Adjust, and audit the adjusted values."""
        problem = task.problem
        adjusted = adjust(problem, time_limit=task.seconds, progress=task.batch.progress)
        task.say(adjusted.summary())
        is_proved = audit(problem, adjusted.values).is_safe
        none = np.zeros(problem.table.n_cells, dtype=bool)
        return Protected(problem, none, adjusted.values, 0, [], "adjusted", 0.0, is_proved)

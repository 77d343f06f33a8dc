"""Tables of three to seven cells whose best release can be computed in fractions.

Relations have coefficients such as 0.5, 2 and 7, some are sums of others, and many cells lack one
external bound or both.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from attack_optima import Case, exact

FREE = (-np.inf, np.inf)
COEFFICIENTS = (1.0, -1.0, 0.5, 2.0, 7.0, -0.2, 0.1, -3.0, 12.0, 1000.0)

Levels = Sequence[tuple[float, float]]
"""Lower and upper levels of a sensitive cell."""


@st.composite
def tiny_cases(draw, levels: Levels, statuses: str) -> Case:
    """Cells with one of some pairs of levels if they are sensitive, as one at least is."""
    n = draw(st.integers(3, 7))
    tenths = draw(st.lists(st.integers(-400, 400), min_size=n, max_size=n))
    values = [number / draw(st.sampled_from([1, 10])) for number in tenths]
    rows = []
    for _ in range(draw(st.integers(1, 4))):
        cells = draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=4, unique=True))
        row = [0.0] * n
        for cell in cells:
            row[cell] = draw(st.sampled_from(COEFFICIENTS))
        rows.append(row)
    if len(rows) > 1 and draw(st.booleans()):
        total = [float(exact(a) + exact(b)) for a, b in zip(rows[0], rows[1], strict=True)]
        rows += [total] if any(total) else []
    sides = [
        float(sum(exact(c) * exact(v) for c, v in zip(row, values, strict=True))) for row in rows
    ]
    status = [draw(st.sampled_from(statuses)) for _ in range(n)]
    status[draw(st.integers(0, n - 1))] = "u"
    both = [draw(st.sampled_from(levels)) if one == "u" else (0.0, 0.0) for one in status]
    ends = [
        draw(st.sampled_from([FREE, (min(v, 0.0), np.inf), (v - 5, v + 50), (-np.inf, v + 3)]))
        for v in values
    ]
    weights = [draw(st.sampled_from([1.0, 2.0, 5.0])) for _ in range(n)]
    lower, upper = (list(one) for one in zip(*both, strict=True))
    low, high = (list(one) for one in zip(*ends, strict=True))
    return Case("tiny", rows, values, sides, "".join(status), lower, upper, low, high, weights)

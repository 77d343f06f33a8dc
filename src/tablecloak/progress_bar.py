"""Progress of a search in words, and as a bar in notebooks."""

from __future__ import annotations

import math
from typing import Any

from tablecloak.budget import running
from tablecloak.extras import required


def progress_in_words(stage: str, loss: float, bound: float, left: int) -> str:
    """Return stage, loss, bound and gap of a report of progress, and what is open.

    Work that has none of these, as reading, is its stage alone.
    """
    if stage.startswith("audit"):
        return f"{stage}: {loss:.0f} of {bound:.0f}, {left} open"
    if math.isinf(loss) and math.isinf(bound) and not left:
        return stage
    state = f"loss {loss:.9g}" if math.isfinite(loss) else "nothing found yet"
    lower = f", bound {bound:.9g}" if math.isfinite(bound) else ""
    if lower and 0 <= bound <= loss < math.inf:
        lower += f", gap {100 * (loss - bound) / loss if loss else 0:.1f} %"
    return f"{stage}: {state}{lower}, {left} open"


class ProgressBar:
    """A bar for `progress=`, in a notebook or a terminal: time, stage, loss, bound and gap.

    Raises
    ------
    InputError
        If tqdm is not installed.

    Examples
    --------
    >>> import tablecloak as tc
    >>> with tc.ProgressBar() as bar:
    ...     pattern = tc.suppress(tc.examples.cox_rounded(), progress=bar)
    """

    def __init__(self) -> None:
        required("tqdm", "Progress bars")
        from tqdm.auto import tqdm

        self.bar: Any = tqdm(bar_format="{percentage:3.0f}% |{bar:20}| {elapsed} {desc}")

    def __call__(self, stage: str, loss: float, bound: float, left: int) -> None:
        """Show a report; the bar is the share of the time limit that is used."""
        budget = running()
        if budget is not None and math.isfinite(budget.deadline):
            self.bar.total, self.bar.n = budget.elapsed + budget.left, budget.elapsed
        self.bar.set_description_str(progress_in_words(stage, loss, bound, left))

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

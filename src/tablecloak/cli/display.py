"""What all commands share: progress and messages on stderr, exit codes."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn
from rich.progress import Progress as Bar

from tablecloak.budget import Stopwatch, running
from tablecloak.errors import plain
from tablecloak.executors import DelayedCall
from tablecloak.progress_bar import progress_in_words

NOT_SAFE = 1
"""Exit code: a release is not proved to be safe."""
BAD_INPUT = 2
"""Exit code: a file, an option or the problem itself is wrong."""
INTERNAL = 70
"""Exit code: a fault of this program."""
INTERRUPTED = 130
"""Exit code: stopped by Ctrl-C before there was anything to write."""

SILENT_SECONDS = 2.0
"""Seconds before progress is first shown."""

BETWEEN_SECONDS = 0.2
"""Least time between two changes of the line that shows progress: faster ones cannot be read."""

BAR_WIDTH = 20
"""Characters of the bar: the line beside it has the figures."""

_console = Console(stderr=True)


class Reporter:
    """Shows stage, loss, bound, gap, and the time that is left, from two seconds on.

    The bar is the share of the time limit that is used; without a limit it only moves.
    """

    def __init__(self) -> None:
        self.watch = Stopwatch()
        self.shown = 0.0
        self.bar = Bar(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(BAR_WIDTH),
            console=_console,
            transient=True,
            disable=not _console.is_terminal,
        )
        self.task = self.bar.add_task("working (Ctrl-C ends)", total=None)
        self.start = DelayedCall(SILENT_SECONDS, self.bar.start)

    def __call__(self, stage: str, loss: float, bound: float, left: int) -> None:
        """Record progress; cheap enough to be called often."""
        words = progress_in_words(stage, loss, bound, left)
        if words == stage:
            # The next report may come in a minute only.
            self.show(stage, None)
            return
        seconds = self.watch.seconds
        if seconds < SILENT_SECONDS or seconds - self.shown < BETWEEN_SECONDS:
            return
        self.shown = seconds
        budget = running()
        limit = math.inf if budget is None else budget.elapsed + budget.left
        ending = f" of {limit:.0f} s" if math.isfinite(limit) else " s"
        self.show(
            f"{words}, {seconds:.0f}{ending} (Ctrl-C keeps what is proved)",
            None if budget is None or math.isinf(limit) else budget.elapsed / limit,
        )

    def show(self, text: str, share: float | None) -> None:
        """Show a line, and which share of the time is used; None if there is no limit."""
        total = None if share is None else 1.0
        self.bar.update(self.task, description=text, total=total, completed=share or 0.0)

    def stop(self) -> None:
        """Remove the line."""
        self.start.cancel()
        # `bar.stop` would print an empty line where stderr is no terminal.
        self.bar.live.stop()


@contextmanager
def reporting() -> Iterator[Reporter]:
    """Give a reporter and remove its line in the end."""
    reporter = Reporter()
    try:
        yield reporter
    finally:
        reporter.stop()


def show_warning(message: Warning | str, *_: object, **__: object) -> None:
    """Print a warning as one line; takes the place of `warnings.showwarning`."""
    say(f"note: {message}")


def once(show: Callable[..., None]) -> Callable[..., None]:
    """Show each warning the first time alone: that of one variable is often that of the others."""
    shown: set[str] = set()

    def first(message: Warning | str, *others: object, **further: object) -> None:
        if str(message) not in shown:
            shown.add(str(message))
            show(message, *others, **further)

    return first


def say(text: str) -> None:
    """Print a message to stderr with control characters made visible."""
    print(plain(text), file=sys.stderr)

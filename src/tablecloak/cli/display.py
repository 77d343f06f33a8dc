"""What all commands share: progress and messages on stderr, exit codes."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from tablecloak.budget import Stopwatch
from tablecloak.errors import plain
from tablecloak.executors import DelayedCall

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

_console = Console(stderr=True)


class Reporter:
    """Shows stage, loss, bound and the number of open cells or nodes, from two seconds on."""

    def __init__(self) -> None:
        self.watch = Stopwatch()
        self.shown = 0.0
        self.status = _console.status("working (Ctrl-C ends)")
        self.start = DelayedCall(SILENT_SECONDS, self.status.start)

    def __call__(self, stage: str, loss: float, bound: float, left: int) -> None:
        """Record progress; cheap enough to be called often."""
        seconds = self.watch.seconds
        if seconds < SILENT_SECONDS or seconds - self.shown < BETWEEN_SECONDS:
            return
        self.shown = seconds
        known = f", bound {bound:.9g}" if math.isfinite(bound) else ""
        state = f"loss {loss:.9g}" if math.isfinite(loss) else "nothing found yet"
        if stage.startswith("audit"):
            state, known = f"{loss:.0f} of {bound:.0f}", ""
        self.status.update(f"{stage}: {state}{known}, {left} open, {seconds:.0f} s (Ctrl-C ends)")

    def stop(self) -> None:
        """Remove the line."""
        self.start.cancel()
        self.status.stop()


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
    say(f"Warning: {message}")


def say(text: str) -> None:
    """Print a message to stderr with control characters made visible."""
    print(plain(text), file=sys.stderr)

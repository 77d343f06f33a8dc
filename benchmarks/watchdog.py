"""An end to attacks that hang: the seed is named, and what was counted until then is printed."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

HANGS = 90.0
"""Seconds of processor time for one small problem after which it hangs; limits are 1 to 10."""

SLOW = 20.0
"""The same, from which on its seed is printed."""


class Watchdog(threading.Thread):
    """Ends the whole process once one problem has taken far too long.

    Parameters
    ----------
    report : callable
        Prints what was counted.
    """

    def __init__(self, report: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self.report = report
        self.seed, self.since = -1, time.process_time()
        self.start()

    def watch(self, seed: int) -> None:
        """Begin with the next problem."""
        seconds = time.process_time() - self.since
        if seconds > SLOW:
            print(f"seed {self.seed} took {seconds:.0f} s of processor time", flush=True)
        self.seed, self.since = seed, time.process_time()

    def run(self) -> None:
        """Look every second."""
        while time.process_time() - self.since < HANGS:
            time.sleep(1)
        print(f"FAILURE, seed {self.seed}: hangs", flush=True)
        self.report()
        os._exit(1)

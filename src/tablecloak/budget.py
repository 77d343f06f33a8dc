"""What a search may use: time, threads, a seed; how it reports, and how it is stopped.

This is the only clock in the package. A public function makes one `Budget` from its arguments and
hands it down; a phase gets a part of it by `Budget.share`. A search is ended by `Budget.stop`, from
any thread; it looks at `Budget.is_over` between its steps.
"""

from __future__ import annotations

import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tablecloak.blas import blas_threads
from tablecloak.errors import InputError

Progress = Callable[[str, float, float, int], None]
"""Called with the stage, the loss, the lower bound, and the number of open cells or nodes."""

LEAST_STRICT = 0.5
"""Least seconds of a strict budget: shorter limits may be missed by this much."""

REPEATED_EVERY = 0.5
"""Seconds after which the last report is repeated while one program is being solved."""


class Stopwatch:
    """Measures seconds from its creation."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._start


def usable_cores() -> int:
    """Return how many cores this process may use, which may be fewer than the machine has."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass
class _Stop:
    """Shared by a budget and all its parts."""

    event: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    last: tuple[str, float, float, int] | None = None
    """The last report."""
    reported: float = -math.inf
    """When it was made."""


MOST_THREADS = 1024
"""Most threads of a search; a larger number is a slip of the pen."""


@dataclass(frozen=True, kw_only=True)
class Budget:
    """Deadline, cancellation, progress, threads and seed of a search.

    Parameters
    ----------
    deadline : float
        Time of `time.monotonic` at which the budget ends. Make budgets by `Budget.of`.
    started : float
        When the whole search began.
    threads : int
    seed : int
    progress : callable or None
    is_strict : bool, default=False
        Whether no step gets time past the deadline, even if there is no answer without it.

    Notes
    -----
    A budget never raises to end a search. What runs past the deadline on purpose, such as the
    first pattern of a suppression, looks at `is_stopped` alone.
    """

    deadline: float
    started: float
    threads: int = 1
    seed: int = 0
    progress: Progress | None = None
    is_strict: bool = False
    _stop: _Stop = field(default_factory=_Stop, repr=False)
    _ran_out: threading.Event = field(default_factory=threading.Event, repr=False)

    @classmethod
    def of(
        cls,
        seconds: float = math.inf,
        *,
        threads: int | None = 1,
        seed: Any = 0,
        progress: Progress | None = None,
    ) -> Budget:
        """Start the clock.

        Parameters
        ----------
        seconds : float, default=inf
            Time limit.
        threads : int, optional
            None stands for all processors.
        seed : int, default=0
        progress : callable, optional

        Raises
        ------
        InputError
            If the time limit, the number of threads or the seed is out of range.
        """
        if not seconds >= 0:
            raise InputError(f"`time_limit` must be 0 or more seconds. Got {seconds!r}.")
        if threads is not None and not 1 <= threads <= MOST_THREADS:
            raise InputError(
                f"`threads` must be at least 1 and at most {MOST_THREADS}. Got {threads!r}."
            )
        generator(seed)
        now = time.monotonic()
        return cls(
            deadline=now + seconds,
            started=now,
            threads=threads or usable_cores(),
            seed=seed,
            progress=progress,
        )

    @classmethod
    def begun(cls, seconds: float = math.inf, **options: Any) -> Budget:
        """Start the clock of a public function, with the arguments of `of`.

        If another public function calls this one, stopping either stops both. An outer function
        that was stopped may still call this one to finish: the inner budget is then independent.
        """
        budget, outer = cls.of(seconds, **options), running()
        if outer is None or outer.is_stopped:
            return budget
        return replace(budget, _stop=outer._stop)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send the budget to another process, where it ends at the same time of day.

        It is not heard there that the search is stopped, nor here what is reported there.
        """
        left, here = self.deadline - time.monotonic(), time.time()
        return _arrived, (here + left, left, here - self.elapsed, self.threads, self.seed)

    @property
    def left(self) -> float:
        """Seconds left, 0 when the time is over or the search was stopped."""
        return 0.0 if self.is_over else max(self.deadline - time.monotonic(), 0.0)

    @property
    def elapsed(self) -> float:
        """Seconds since the whole search began."""
        return time.monotonic() - self.started

    @property
    def is_stopped(self) -> bool:
        """Whether somebody called `stop`."""
        return self._stop.event.is_set()

    @property
    def is_over(self) -> bool:
        """Whether no time is left, or the search was stopped."""
        if self.is_stopped:
            return True
        if time.monotonic() < self.deadline:
            return False
        self._ran_out.set()
        return True

    @property
    def ran_out(self) -> bool:
        """Whether any step of the search saw its time or its share of it end."""
        return self._ran_out.is_set()

    def settled(self) -> None:
        """Say that no step had more to do with more time, because its question is settled."""
        self._ran_out.clear()

    def share(self, part: float) -> Budget:
        """Return a part of the time that is left; stopping either stops both."""
        return self.within(part * self.left if math.isfinite(self.deadline) else math.inf)

    def within(self, seconds: float) -> Budget:
        """Return a part that ends after so many seconds, or with this budget if that is sooner."""
        return replace(self, deadline=min(self.deadline, time.monotonic() + seconds))

    def whole(self) -> Budget:
        """Return the same budget as that of a search of its own, which begins now.

        Shares of the whole time, and seconds since the start, are then those of this search.
        """
        return replace(self, started=time.monotonic())

    def at_least(self, seconds: float) -> Budget:
        """Return a budget with at least so many seconds, past the deadline if need be.

        For steps without which there is no answer at all. `stop` still ends them.
        """
        if self.is_strict:
            return self
        return replace(self, deadline=max(self.deadline, time.monotonic() + seconds))

    def past(self, seconds: float) -> float:
        """Return the seconds for one such step, at least so many even if the search was stopped."""
        return self.left if self.is_strict else max(self.left, seconds)

    def strict(self) -> Budget:
        """Return a budget past whose deadline no step gets time: even no answer comes in time.

        It has half a second at least.
        """
        return replace(self.at_least(LEAST_STRICT), is_strict=True)

    def quiet(self) -> Budget:
        """Return the same budget without reports of progress."""
        return replace(self, progress=None)

    def stop(self) -> None:
        """End the search, and all that has a part of this budget; from any thread."""
        self._stop.event.set()

    def report(self, stage: str, loss: float, bound: float = -math.inf, open_: int = 0) -> None:
        """Report progress, one thread at a time.

        A callback that raises KeyboardInterrupt stops the search. Any other error of a callback
        stops it too, and is raised.
        """
        if self.progress is None:
            return
        with self._stop.lock:
            if self.is_stopped:
                return
            self._stop.last = (stage, loss, bound, open_)
            self._stop.reported = time.monotonic()
            try:
                self.progress(stage, loss, bound, open_)
            except KeyboardInterrupt:
                self.stop()
            except BaseException:
                self.stop()
                raise

    def hears_stop(self) -> bool:
        """Whether the search is stopped, by `stop` or by a progress callback.

        For long steps without reports, such as one large program: the last report is repeated
        every half second, so that a stop button works in the middle of the step.
        """
        last = self._stop.last
        if last is not None and time.monotonic() >= self._stop.reported + REPEATED_EVERY:
            self.report(*last)
        return self.is_stopped

    @contextmanager
    def interruptible(self) -> Iterator[Budget]:
        """Turn the first Ctrl-C into `stop`; a second one interrupts as usual.

        In other threads than the main one, signals cannot be received: there they change nothing.
        Inside, `running` returns this budget, and dense linear algebra has as many threads as it.
        """
        token = _RUNNING.set(self)
        try:
            with self.undisturbed(), blas_threads(self.threads):
                yield self
        finally:
            _RUNNING.reset(token)

    @contextmanager
    def undisturbed(self) -> Iterator[None]:
        """Turn the first Ctrl-C into `stop`, as `interruptible` does, but end no search inside."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):
            # Ctrl-C is ignored, or handled outside of Python: do not change that.
            yield
            return

        def handle(number: int, frame: Any) -> None:
            if self.is_stopped:
                before(number, frame)
            self.stop()

        signal.signal(signal.SIGINT, handle)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)


def _arrived(end: float, left: float, began: float, threads: int, seed: Any) -> Budget:
    """Return a budget that was sent here. It has no more time than it had, if clocks differ."""
    here = time.time()
    budget = Budget.of(max(min(end - here, left), 0.0), threads=threads, seed=seed)
    return replace(budget, started=time.monotonic() - max(here - began, 0.0))


_RUNNING: ContextVar[Budget | None] = ContextVar("budget", default=None)


def running() -> Budget | None:
    """Return the budget of the search that this thread works for; None outside of all.

    Solvers look at it while they solve a program: their callers pass them seconds alone. Like the
    choice of the solver it is a context variable, which tasks of `ThreadExecutor` see as well.
    """
    return _RUNNING.get()


class StopButton:
    """A progress callback through which another thread can end the search that reports to it.

    Parameters
    ----------
    progress : callable, optional
        Told all reports.

    Notes
    -----
    One press ends one search: the one that reports next. If another follows, it runs until the
    button is pressed again, as Ctrl-C ends one search after the other.
    """

    def __init__(self, progress: Progress | None = None) -> None:
        self._progress = progress
        self._pressed = threading.Event()

    def press(self) -> None:
        """End the search at its next report, with the best that is proved by then."""
        self._pressed.set()

    def __call__(self, stage: str, loss: float, bound: float, open_: int) -> None:
        """Pass a report on, or stop the search that made it."""
        if self._progress is not None:
            self._progress(stage, loss, bound, open_)
        if self._pressed.is_set():
            self._pressed.clear()
            raise KeyboardInterrupt


def generator(seed: Any = None) -> np.random.Generator:
    """Return the source of random numbers that a seed stands for.

    Parameters
    ----------
    seed : int, sequence of int, numpy.random.Generator or None
        None draws a seed from the system.

    Raises
    ------
    InputError
        If it is negative or no whole number.
    """
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise InputError(f"`seed` must be a whole number, 0 or more. Got {seed!r}.") from None

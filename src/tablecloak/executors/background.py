"""Work beside a program that goes on: a call in a thread of its own, and a call after a while."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class BackgroundCall:
    """A call that has begun in a thread of its own and does not keep the program from ending.

    Parameters
    ----------
    function : callable
        It handles its own errors: nobody hears of one that ends the thread.
    *arguments
    """

    def __init__(self, function: Callable[..., None], *arguments: Any) -> None:
        self._thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._thread.start()

    @property
    def is_running(self) -> bool:
        """Whether the call has not returned yet."""
        return self._thread.is_alive()

    def wait(self, seconds: float | None = None) -> None:
        """Wait until the call has returned, at most so many seconds."""
        self._thread.join(seconds)


class DelayedCall:
    """A call that begins after some seconds, in a thread of its own, unless it is cancelled.

    Parameters
    ----------
    seconds : float
    function : callable
    *arguments
    """

    def __init__(self, seconds: float, function: Callable[..., object], *arguments: Any) -> None:
        self._timer = threading.Timer(seconds, function, arguments)
        self._timer.daemon = True
        self._timer.start()

    def cancel(self) -> None:
        """Leave the call out if it has not begun; return when it can no longer run."""
        self._timer.cancel()
        self._timer.join()


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Return the result of a call in another thread, while other coroutines go on.

    The call sees the context variables of the coroutine.
    """
    return await asyncio.to_thread(function, *args, **kwargs)

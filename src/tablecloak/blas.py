"""Cores of dense linear algebra: a search that may use one core uses one there too.

BLAS takes all cores of the machine unless it is told otherwise. Beside other work its threads wait
for each other, and a factorisation takes several times as long as on one core.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


class _Limit:
    """The limit that holds in this process, and how many searches need it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.searches = 0
        self.held: Any = None


_LIMIT = _Limit()


@cache
def _libraries() -> Any:
    """Return what sets the threads of the libraries that numpy and scipy have loaded."""
    import scipy.linalg  # noqa: F401 (its BLAS is another one than that of numpy)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def blas_threads(number: int) -> Iterator[None]:
    """Let dense linear algebra use so many threads inside.

    The number is one for the process. Of searches that run at the same time the first decides, and
    the last to end puts back what was before.
    """
    with _LIMIT.lock:
        if not _LIMIT.searches:
            _LIMIT.held = _libraries().limit(limits=number, user_api="blas")
        _LIMIT.searches += 1
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.searches -= 1
            if not _LIMIT.searches:
                _LIMIT.held.restore_original_limits()

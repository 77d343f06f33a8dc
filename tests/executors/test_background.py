"""Calls beside a program that goes on: in a thread at once, after a while, or from a coroutine."""

from __future__ import annotations

import asyncio
import contextvars
import threading

from tablecloak.executors import BackgroundCall, DelayedCall, in_thread


def test_a_call_runs_beside_its_caller_until_it_returns():
    going, told = threading.Event(), []

    def work(*words: str) -> None:
        assert going.wait(60)
        told.extend(words)

    call = BackgroundCall(work, "one", "two")
    assert call.is_running and not told
    call.wait(0.01)
    assert call.is_running
    going.set()
    call.wait(60)
    assert not call.is_running and told == ["one", "two"]


def test_a_delayed_call_begins_by_itself_or_never():
    begun, cancelled = threading.Event(), threading.Event()
    later = DelayedCall(3600, cancelled.set)
    soon = DelayedCall(0.01, begun.set)
    assert begun.wait(60)
    later.cancel()
    soon.cancel()
    assert not cancelled.is_set()


def test_a_call_in_a_thread_sees_the_context_of_its_coroutine():
    solver = contextvars.ContextVar("solver", default="highs")

    async def asked() -> tuple[str, bool]:
        solver.set("cbc")
        here = threading.get_ident()
        return await in_thread(lambda: (solver.get(), threading.get_ident() != here))

    assert asyncio.run(asked()) == ("cbc", True)

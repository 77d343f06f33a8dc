"""Sources of random numbers for neighbourhood sampling: those of numpy, and those of R."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from tablecloak.arrays import Floats, Integers
from tablecloak.budget import generator


class Sampler(Protocol):
    """Source of uniform random numbers between 0 and 1."""

    def uniforms(self, count: int) -> Floats:
        """Return uniform random numbers."""

    def permutation(self, n: int) -> Integers:
        """Return a random permutation, from 0."""


class LegacySampler:
    """The random numbers of R before 3.6: Mersenne Twister, sampling by rounding.

    They reproduce published releases to the last digit.

    Parameters
    ----------
    seed : int
        Seed as for ``set.seed``.
    """

    def __init__(self, seed: int) -> None:
        state, words = seed & 0xFFFFFFFF, np.empty(625, dtype=np.uint32)
        for _ in range(50):
            state = (69069 * state + 1) & 0xFFFFFFFF
        for at in range(625):
            state = (69069 * state + 1) & 0xFFFFFFFF
            words[at] = state
        self._bits = np.random.MT19937()
        self._bits.state = {
            "bit_generator": "MT19937",
            "state": {"key": words[1:], "pos": 624},
        }

    def uniforms(self, count: int) -> Floats:
        """Return uniform random numbers, never 0 or 1."""
        raw = np.asarray(self._bits.random_raw(count), dtype=np.float64) * 2.3283064365386963e-10
        half = 0.5 * 2.328306437080797e-10
        return np.clip(raw, half, 1 - half)

    def permutation(self, n: int) -> Integers:
        """Return the permutation of ``sample(n)``, from 0."""
        left, found = np.arange(n), np.empty(n, dtype=np.int64)
        for at, u in enumerate(self.uniforms(n)):
            j = int((n - at) * u)
            found[at] = left[j]
            left[j] = left[n - at - 1]
        return found


class NumpySampler:
    """The random numbers of numpy."""

    def __init__(self, seed: int | np.random.Generator | None) -> None:
        self._random = generator(seed)

    def uniforms(self, count: int) -> Floats:
        """Return uniform random numbers."""
        return self._random.random(count)

    def permutation(self, n: int) -> Integers:
        """Return a random permutation, from 0."""
        found: Integers = self._random.permutation(n)
        return found

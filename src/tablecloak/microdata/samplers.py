"""Random numbers of R, for neighbourhood sampling."""

from __future__ import annotations

import numpy as np

from tablecloak.arrays import Floats, Integers


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

    def random(self, count: int) -> Floats:
        """Return uniform random numbers, by the name that a generator of numpy has for them."""
        return self.uniforms(count)

    def permutation(self, n: int) -> Integers:
        """Return the permutation of ``sample(n)``, from 0."""
        left, chosen = np.arange(n), np.empty(n, dtype=np.int64)
        for at, u in enumerate(self.uniforms(n)):
            j = int((n - at) * u)
            chosen[at] = left[j]
            left[j] = left[n - at - 1]
        return chosen

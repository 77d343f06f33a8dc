"""Inputs of published results, made anew: random numbers of R, and the test records of the ONS."""

from __future__ import annotations

import numpy as np
import pandas as pd


def r_uniform(seed: int, n: int) -> np.ndarray:
    """Numbers of R's runif after set.seed(seed), by the Mersenne Twister."""
    state = seed
    for _ in range(50):
        state = (69069 * state + 1) & 0xFFFFFFFF
    words = []
    for _ in range(625):
        state = (69069 * state + 1) & 0xFFFFFFFF
        words.append(state)
    random = np.random.RandomState()
    random.set_state(("MT19937", np.array(words[1:], dtype=np.uint32), 624))
    drawn = np.frombuffer(random.bytes(4 * n), dtype="<u4")
    return drawn * 2.3283064365386963e-10


def ons_records(size: int = 1000, largest_key: int = 255) -> pd.DataFrame:
    """Test records of the package cell-key-perturbation: numpy's legacy generator, seed 111."""
    random = np.random.RandomState(111)
    five, four = [0.25, 0.35, 0.2, 0.1, 0.1], [0.25, 0.35, 0.2, 0.2]
    ten = [0.20, 0.15, 0.08, 0.15, 0.02, 0.025, 0.075, 0.1, 0.1, 0.1]
    columns = {"record_key": random.randint(0, largest_key + 1, size)}
    for number, chances in enumerate([five, [0.5, 0.5], four, four, ten, five, five], start=1):
        columns[f"var{number}"] = random.choice(
            np.arange(1, len(chances) + 1), p=chances, size=size
        )
    columns["var8"] = random.choice(list("ABCD"), size)
    return pd.DataFrame(columns)

"""A table of counts with noise of a privacy mechanism, made additive.

Run: python examples/noisy_counts/run.py

With OpenDP (pip install opendp) the noise comes from its discrete Laplace mechanism; without it
numpy draws noise of the same distribution, which shows how reconciliation works but is no safe
source of randomness.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

import tablecloak as tc

EPSILON = 1.0
CELLS_OF_A_PERSON = 4
"""A person counts in one cell, in two margins and in the total."""


def true_counts() -> pd.DataFrame:
    """People by region and education: all combinations, also empty ones, with all margins."""
    people = tc.examples.people()
    table = pd.crosstab(people.region, people.edu, margins=True, margins_name="Total")
    return table.reset_index().melt("region", value_name="count")


def with_noise(counts: list[int], scale: float) -> list[int]:
    """Add discrete Laplace noise to each count."""
    try:
        import opendp.prelude as dp
    except ImportError:
        random = np.random.default_rng(1)
        stay = 1 - np.exp(-1 / scale)
        up, down = (random.geometric(stay, len(counts)) for _ in range(2))
        return (np.array(counts) + up - down).tolist()
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    mechanism = dp.m.make_laplace(*space, scale=scale)
    assert mechanism.map(CELLS_OF_A_PERSON) <= EPSILON + 1e-9
    return list(mechanism(counts))


def main() -> None:
    table = true_counts()
    scale = CELLS_OF_A_PERSON / EPSILON
    stays = np.exp(-1 / scale)
    noisy = table.assign(
        count=with_noise(table["count"].tolist(), scale), variance=2 * stays / (1 - stays) ** 2
    )
    additive = tc.reconcile(
        noisy, ["region", "edu"], "count", variance="variance", lower=0, whole=True
    )
    print(additive.summary())
    before = ((noisy["count"] - table["count"]) ** 2).mean()
    after = ((additive.values - table["count"]) ** 2).mean()
    print(f"mean squared distance from the true counts: {before:.1f} before, {after:.1f} after")
    # It adds up, in whole numbers of 0 or more.
    assert not np.any(additive.passes[-1].problem.residual(additive.values))
    assert np.all(additive.values >= 0) and np.all(additive.values % 1 == 0)


if __name__ == "__main__":
    main()

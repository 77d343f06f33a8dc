"""Invented records of firms, people and households. Nobody in them exists."""

from __future__ import annotations

import numpy as np
import pandas as pd

REGIONS = {"N": ("N1", "N2", "N3"), "S": ("S1", "S2"), "W": ("W1",)}
"""Parts of the invented country with their regions."""

INDUSTRIES = {"goods": ("mining", "food", "steel"), "services": ("trade", "hotels", "banks")}
"""Sectors of its economy with their industries."""

_REGIONS = [region for below in REGIONS.values() for region in below]
_INDUSTRIES = [industry for below in INDUSTRIES.values() for industry in below]


def firms(n: int = 2000, seed: int = 1) -> pd.DataFrame:
    """Return invented firms: skewed turnover, rare combinations, groups of firms.

    Parameters
    ----------
    n : int, default=2000
        Number of firms.
    seed : int, default=1
        The same seed gives the same firms.

    Returns
    -------
    pandas.DataFrame
        Columns ``firm``, ``group``, ``part`` and ``region`` (two levels), ``industry``, ``size``
        and ``turnover``.
    """
    random = np.random.default_rng(seed)
    region = random.choice(_REGIONS, n, p=[0.3, 0.2, 0.02, 0.25, 0.2, 0.03])
    industry = random.choice(_INDUSTRIES, n, p=[0.01, 0.15, 0.04, 0.5, 0.25, 0.05])
    turnover = np.ceil(random.lognormal(5.5, 1.6, n))
    size = np.where(turnover < 150, "small", np.where(turnover < 2000, "medium", "large"))
    group = np.where(random.random(n) < 0.1, random.integers(0, n // 10, n), n + np.arange(n))
    return pd.DataFrame(
        {
            "firm": [f"f{number}" for number in range(n)],
            "group": [f"g{number}" for number in group],
            "part": [code[0] for code in region],
            "region": region,
            "industry": industry,
            "size": size,
            "turnover": turnover.astype(int),
        }
    )


def demography(n: int = 1500, seed: int = 1) -> pd.DataFrame:
    """Return invented enterprises of a year: each was born in it, or survives from the year before.

    Births and survivors together are the active enterprises.

    Parameters
    ----------
    n : int, default=1500
        Number of active enterprises.
    seed : int, default=1
        The same seed gives the same enterprises.

    Returns
    -------
    pandas.DataFrame
        Columns ``enterprise``, ``region``, ``industry``, ``event`` (birth or survivor) and
        ``employees``.
    """
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "enterprise": [f"e{number}" for number in range(n)],
            "region": random.choice(_REGIONS, n, p=[0.3, 0.2, 0.02, 0.25, 0.2, 0.03]),
            "industry": random.choice(_INDUSTRIES, n, p=[0.02, 0.15, 0.05, 0.45, 0.25, 0.08]),
            "event": random.choice(["birth", "survivor"], n, p=[0.15, 0.85]),
            "employees": np.ceil(random.lognormal(1.5, 1.2, n)).astype(int),
        }
    )


def businesses(n: int = 900, seed: int = 1) -> pd.DataFrame:
    """Return invented businesses with employees, and turnover of two years.

    Parameters
    ----------
    n : int, default=900
        Number of businesses.
    seed : int, default=1
        The same seed gives the same businesses.

    Returns
    -------
    pandas.DataFrame
        Columns ``business``, ``region``, ``industry``, ``employees``, ``turnover_2024`` and
        ``turnover`` (of 2025).
    """
    random = np.random.default_rng(seed)
    employees = np.ceil(random.lognormal(1.8, 1.2, n)).astype(int)
    before = np.ceil(employees * random.lognormal(4.6, 0.6, n))
    return pd.DataFrame(
        {
            "business": [f"b{number}" for number in range(n)],
            "region": random.choice(_REGIONS, n, p=[0.3, 0.2, 0.02, 0.25, 0.2, 0.03]),
            "industry": random.choice(_INDUSTRIES, n, p=[0.02, 0.15, 0.05, 0.45, 0.25, 0.08]),
            "employees": employees,
            "turnover_2024": before.astype(int),
            "turnover": np.ceil(before * random.lognormal(0.03, 0.15, n)).astype(int),
        }
    )


def people(n: int = 2000, seed: int = 1) -> pd.DataFrame:
    """Return invented people: an intruder may know their age, sex, education and region.

    Parameters
    ----------
    n : int, default=2000
        Number of people.
    seed : int, default=1
        The same seed gives the same people.

    Returns
    -------
    pandas.DataFrame
        Columns ``region``, ``age`` (years), ``sex`` (f or m), ``edu`` (school, trade, college or
        doctorate), ``job`` and ``wage`` (per month, 0 without a job).
    """
    random = np.random.default_rng(seed)
    age = np.clip(random.gamma(6, 7.5, n), 16, 95).astype(int)
    level = random.choice(4, n, p=[0.35, 0.4, 0.23, 0.02])
    works = (age < 67) & (random.random(n) < 0.8)
    jobs = np.array(["care", "craft", "office", "sales", "science"])
    wage = np.round(np.exp(7.2 + 0.25 * level + 0.01 * age + random.normal(0, 0.35, n)), -1)
    return pd.DataFrame(
        {
            "region": random.choice(_REGIONS, n, p=[0.3, 0.2, 0.05, 0.25, 0.15, 0.05]),
            "age": age,
            "sex": random.choice(["f", "m"], n),
            "edu": np.array(["school", "trade", "college", "doctorate"])[level],
            "job": np.where(works, random.choice(jobs, n), "none"),
            "wage": np.where(works, wage, 0).astype(int),
        }
    )


def census(households: int = 800, seed: int = 1) -> pd.DataFrame:
    """Return the invented members of households, some with a job that is rare in their town.

    Parameters
    ----------
    households : int, default=800
        Number of households.
    seed : int, default=1
        The same seed gives the same households.

    Returns
    -------
    pandas.DataFrame
        Columns ``county`` and ``town`` (two levels), ``home`` (the household), ``age`` (child,
        adult or old), ``sex`` (f or m) and ``job``; one row for each member.
    """
    random = np.random.default_rng(seed)
    county = random.choice(["east", "west"], households)
    town = np.char.add(county, random.choice(["-1", "-2", "-3"], households))
    member_of = np.repeat(np.arange(households), random.integers(1, 5, households))
    n = len(member_of)
    jobs = ["none", "office", "craft", "sales", "doctor", "judge"]
    return pd.DataFrame(
        {
            "county": county[member_of],
            "town": town[member_of],
            "home": [f"h{number}" for number in member_of],
            "age": random.choice(["child", "adult", "old"], n, p=[0.25, 0.55, 0.2]),
            "sex": random.choice(["f", "m"], n),
            "job": random.choice(jobs, n, p=[0.4, 0.25, 0.2, 0.14, 0.007, 0.003]),
        }
    )

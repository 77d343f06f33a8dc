"""Libraries that only some users need: which extra installs them, and what to say without them.

The package itself brings what a release needs, of records or finished tables. Everything else is
imported where it is used, through `required`, so that a missing library ends in one message that
says what to install. Each wing, a folder that the core does without, has an extra with what only it
needs.
"""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from types import ModuleType

from tablecloak.errors import InputError

EXTRA_OF = {
    "cryptography": "agencies",
    "distributed": "dask",
    "flask": "app",
    "ibis": "engines",
    "matplotlib": "plots",
    "numba": "fast",
    "openpyxl": "excel",
    "psycopg": "postgres",
    "pulp": "solvers",
    "pyarrow": "engines",
    "pyscipopt": "scip",
    "pyspark": "spark",
    "statsmodels": "regression",
    "tomli_w": "app",
    "tqdm": "notebooks",
    "waitress": "app",
    "yaml": "safe",
}
"""The extra that installs each library, by the name under which the library is imported."""


def is_installed(library: str) -> bool:
    """Whether a library or a part of this package is there; only what it lies in is imported."""
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def how_to_install(library: str) -> str:
    """Say what to type.

    Examples
    --------
    >>> how_to_install("matplotlib")
    'Install it with: pip install "tablecloak[plots]".'
    """
    return f'Install it with: pip install "tablecloak[{EXTRA_OF[library]}]".'


def required(library: str, users: str) -> ModuleType:
    """Import a library of an extra.

    Parameters
    ----------
    library : str
        One of `EXTRA_OF`.
    users : str
        What needs it, in the plural and with a capital, such as "Plots".

    Raises
    ------
    InputError
        If it is not installed: says what needs it and what to type.
    """
    try:
        return importlib.import_module(library)
    except ImportError as error:
        found = f"cannot be imported ({error})" if is_installed(library) else "is not installed"
        raise InputError(
            f"{users} need the library {library}, which {found}. {how_to_install(library)}"
        ) from None

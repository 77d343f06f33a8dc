"""Tables of databases, aggregated where they lie."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

from tablecloak.errors import InputError
from tablecloak.storage import existing_file


def open_database(address: str, table: str) -> Any:
    """Open a table of a database as an Ibis table; it is aggregated where it lies.

    Parameters
    ----------
    address : str
        Such as ``postgresql://user@host/database``; a password belongs into the environment
        (``PGPASSWORD``), not into a file.
    table : str

    Raises
    ------
    InputError
        If it cannot be opened.
    """
    import ibis

    _require_database(address)
    try:
        return ibis.connect(address).table(table)
    except ModuleNotFoundError as error:
        raise InputError(
            f"{address.split(':', maxsplit=1)[0]} databases need the library {error.name}, which "
            f'is not installed. For PostgreSQL: pip install "tablecloak[postgres]"; for another '
            f"database, install ibis-framework with its extra."
        ) from error
    except Exception as error:
        # The address may hold a password.
        raise InputError(
            f"Table {table!r} cannot be opened in the database: {type(error).__name__}. Check the "
            f"connection, the name of the table, and that you may read it."
        ) from error


def _require_database(address: str) -> None:
    """Refuse the name of a database file that is not there: opening it would create it."""
    scheme, _, rest = address.partition("://")
    file = unquote(rest.partition("?")[0])
    if scheme in ("duckdb", "sqlite") and file not in ("", ":memory:"):
        existing_file(file)

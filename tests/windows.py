"""A window of a browser on the app: it sends what is asked to the table that it has open."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tablecloak.app.server import create_app

OF_THE_APP = ("/open", "/?", "/table/")
"""Beginnings of addresses that are no pages of the open table."""


class Window:
    """A client that is led to tables as a browser is.

    Parameters
    ----------
    client : flask.testing.FlaskClient
    """

    def __init__(self, client: Any) -> None:
        self.client, self.table = client, ""

    def get(self, address: str, **given: Any) -> Any:
        return self._answer("get", address, given)

    def post(self, address: str, **given: Any) -> Any:
        return self._answer("post", address, given)

    def _answer(self, method: str, address: str, given: dict[str, Any]) -> Any:
        is_first = address == "/" or address.startswith(OF_THE_APP)
        answer = getattr(self.client, method)(("" if is_first else self.table) + address, **given)
        led = re.match(r"(/table/\w+)(/.*)", answer.headers.get("Location", ""))
        if led:
            self.table, answer.headers["Location"] = led.groups()
        return answer


def window(folder: Path) -> Window:
    """Return the user's window on a new app."""
    opened = Window(create_app(folder, "secret").test_client())
    assert opened.get("/?token=secret").status_code == 302
    return opened

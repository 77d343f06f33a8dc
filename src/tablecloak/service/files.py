"""A question from a file, answered into a file."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from tablecloak.budget import Progress
from tablecloak.errors import TablecloakError
from tablecloak.service.call import CALLS
from tablecloak.service.faults import told_of
from tablecloak.service.request import JOB, asked, read_json
from tablecloak.storage import existing_file, require_writable, write_text


def answer_file(
    name: str, request: Path, output: Path, progress: Progress | None = None
) -> dict[str, Any]:
    """Answer the request in a file, and write the answer. It is secret.

    Parameters
    ----------
    name : str
        Of the call.
    request : Path
        JSON, as the server takes it.
    output : Path
        The answer alone, without the job around it.
    progress : callable, optional

    Raises
    ------
    TablecloakError
        Names the file, the place in it, and the remedy. Nothing was written.
    """
    kind = CALLS[name]
    require_writable(output)
    body = existing_file(request).read_bytes()
    with tempfile.TemporaryDirectory(prefix="tablecloak-") as temporary:
        folder = Path(temporary)
        try:
            call, question = asked(kind, read_json(body), folder, progress)
            answer = dict(call.answer(question))
        except TablecloakError as error:
            text = told_of(error, folder).removeprefix(f"{JOB}: ")
            raise type(error)(f"{request}: {text}", cells=error.cells) from None
    write_text(output, json.dumps(answer, allow_nan=False, ensure_ascii=False), secret=True)
    return answer

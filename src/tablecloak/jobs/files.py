"""The two folders of a job: one to publish, one to keep."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pandas as pd

from tablecloak.errors import TablecloakError
from tablecloak.storage import write_text
from tablecloak.tables.formats import write_frame

RESULT = "internal/result.json"
"""File that says how a job went, and of which inputs its results are."""


class ReleaseWriter(Protocol):
    """Writes the files of a release."""

    def __call__(self, *, folder: Path, withheld: Path) -> list[Path]:
        """Write to the two folders; give back the paths."""
        ...


@dataclass(frozen=True)
class JobFiles:
    """Writes files of a job and records their paths.

    Parameters
    ----------
    out : Path
    written_files : list of Path
        All files are added to it.
    withheld : dict of str to str
        Methods whose release could not be written are added to it, with the reason.
    """

    out: Path
    written_files: list[Path]
    withheld: dict[str, str]

    @property
    def internal(self) -> Path:
        """Folder that may not be published."""
        return self.out / "internal"

    def begin(self) -> None:
        """Make both folders, also if nothing is released, so that older releases go."""
        (self.out / "release").mkdir()
        self.internal.mkdir(parents=True, exist_ok=True)
        self.internal.chmod(0o700)

    def written(self, name: str, write: Callable[[Path], object]) -> None:
        """Write a file of the internal folder, and perhaps others beside it.

        `write` sees to it that only their owner reads them.
        """
        before = set(self.internal.iterdir())
        write(self.internal / name)
        self.written_files.extend(sorted(set(self.internal.iterdir()) - before))

    def secret(self, name: str, content: pd.DataFrame) -> None:
        """Write a frame into the internal folder."""
        self.written(name, lambda path: write_frame(content, path, secret=True))

    def state(self, fingerprint: str, is_safe: bool, message: str) -> None:
        """Write how the job went, and the fingerprint of its inputs."""
        state = {"fingerprint": fingerprint, "is_safe": is_safe, "message": message}
        text = json.dumps(state, indent=2) + "\n"
        self.written(Path(RESULT).name, lambda path: write_text(path, text, secret=True))

    def release(self, method: str, write: ReleaseWriter) -> None:
        """Write what may be published of one method, or note why it is withheld."""
        folder = self.out / "release" / method
        try:
            files = write(folder=folder, withheld=self.internal / "withheld" / method)
        except TablecloakError as error:
            # The proofs are kept even if the files of the release are withheld.
            self.withheld[method] = str(error)
            shutil.rmtree(folder, ignore_errors=True)
        else:
            self.written_files.extend(files)

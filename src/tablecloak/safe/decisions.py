"""Decisions of a checker on the outputs of a bundle, and the release of what was approved."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, get_args

from tablecloak.errors import InputError, listed, suggestion
from tablecloak.safe.bundle import (
    CHECKS,
    CHECKSUMS,
    DECISIONS,
    require_file_name,
)
from tablecloak.storage import checksum, readable, replacing_folder, require_writable, write_text

State = Literal["approved", "rejected"]

RELEASED = "released.json"
"""What was approved, with the checksums of its files; it may leave with them."""


@dataclass(frozen=True)
class Decision:
    """What a checker decided on one output.

    Parameters
    ----------
    state : {"approved", "rejected", ""}
        "" while there is only a comment.
    comment, who : str
    when : str
        ISO format.
    files : mapping of str to str
        SHA-256 of each file that was decided on. Other files need another decision.
    """

    state: State | Literal[""] = ""
    comment: str = ""
    who: str = ""
    when: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


class Bundle:
    """A bundle as a checker opens it.

    Parameters
    ----------
    folder : str or Path
        What `Project.finalise` has written.

    Raises
    ------
    InputError
        If it is no bundle, or its list of outputs was changed.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if not (self.folder / CHECKS).is_file():
            raise InputError(
                f"{self.folder}: there is no {CHECKS} in it. Give the folder that "
                "Project.finalise has written."
            )
        self._require_unchanged(CHECKS)
        self.outputs = _outputs(self.folder / CHECKS)
        self.decisions = self._decided()

    def files(self, name: str) -> list[str]:
        """Return the files of an output.

        Raises
        ------
        InputError
            If the bundle has no such output.
        """
        if name not in self.outputs:
            raise InputError(
                f"{self.folder}: there is no output {name!r}.{suggestion(name, self.outputs)}"
            )
        return [
            require_file_name(file, "the file", "the bundle was not written by Project.finalise")
            for file in self.outputs[name]["files"]
        ]

    @property
    def undecided(self) -> list[str]:
        """Names of the outputs that are neither approved nor rejected."""
        return [name for name in self.outputs if not self.decision(name).state]

    def decision(self, name: str) -> Decision:
        """Return what was decided on an output; an empty decision if nothing was."""
        return self.decisions.get(name, Decision())

    def decide(
        self, name: str, state: State | None = None, *, comment: str | None = None, who: str = ""
    ) -> Decision:
        """Decide on an output, or comment it; `write` keeps it.

        Raises
        ------
        InputError
            If the output is not known, one of its files was changed, or it failed and is approved
            without a comment that says why.
        """
        files = {file: self._require_unchanged(file) for file in self.files(name)}
        before = self.decision(name)
        made = Decision(
            before.state if state is None else state,
            before.comment if comment is None else comment,
            who or before.who,
            datetime.now(UTC).isoformat(timespec="seconds"),
            files,
        )
        self._require_said(name, made)
        self.decisions[name] = made
        return made

    def write(self) -> Path:
        """Write all decisions into the bundle, and return the file."""
        told = {name: asdict(decision) for name, decision in self.decisions.items()}
        text = json.dumps({"decisions": told}, indent=2, ensure_ascii=False)
        write_text(self.folder / DECISIONS, text + "\n")
        return self.folder / DECISIONS

    def release(self, out: str | Path) -> list[Path]:
        """Copy the files of all approved outputs into a new folder.

        Returns
        -------
        list of Path
            What was copied.

        Raises
        ------
        InputError
            If an output is undecided, a file was changed since it was decided on, or the folder
            exists already.
        """
        out = Path(out)
        self.require_releasable(out)
        approved = {
            name: self.decision(name)
            for name in self.outputs
            if self.decision(name).state == "approved"
        }
        with replacing_folder(out) as new:
            for name, decision in approved.items():
                for file in self.files(name):
                    self._require_unchanged(file)
                    shutil.copyfile(self.folder / file, new / file)
                    # What is compared is the copy: the file may change after it was looked at.
                    self._require_decided_on(file, checksum(new / file), decision)
            # Who decided, and why, stays in the bundle.
            released = {name: {"files": dict(one.files)} for name, one in approved.items()}
            text = json.dumps({"released": released}, indent=2, ensure_ascii=False)
            write_text(new / RELEASED, text + "\n")
            new.chmod(out.absolute().parent.stat().st_mode & 0o777)
        return [out / file for name in approved for file in self.files(name)]

    def require_releasable(self, out: Path) -> None:
        """Refuse a release before anything is written.

        Raises
        ------
        InputError
            If an output is undecided, failed and is approved without a word, or the folder exists
            already or lies in the bundle.
        """
        require_writable(out / RELEASED)
        if self.undecided:
            raise InputError(
                f"{self.folder}: nothing was decided on {listed(self.undecided)}: approve or "
                "reject each output first"
            )
        if out.resolve().is_relative_to(self.folder.resolve()):
            raise InputError(
                f"{out} lies in the bundle, which stays inside: choose a folder outside of it for "
                "what is released"
            )
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise InputError(f"{out} exists already: choose another folder for what is released")
        for name in self.outputs:
            self._require_said(name, self.decision(name))

    def require_unchanged(self) -> None:
        """Refuse a bundle of which a file was changed, or is another than was decided on.

        Raises
        ------
        InputError
            Names the file.
        """
        for name in self.outputs:
            for file in self.files(name):
                self._require_decided_on(file, self._require_unchanged(file), self.decision(name))

    # -- checks ---------------------------------------------------------------------------

    def _require_said(self, name: str, decision: Decision) -> None:
        """Refuse to approve what failed without a word on why."""
        failed = self.outputs[name]["status"] == "fail"
        if failed and decision.state == "approved" and not decision.comment.strip():
            raise InputError(f"the output {name!r} failed: to approve it, say why in a comment")

    def _require_unchanged(self, file: str) -> str:
        """Return the checksum of a file that is the one that was written."""
        written = self.folder / CHECKSUMS / f"{file}.txt"
        if not written.is_file() or not (self.folder / file).is_file():
            what = "its checksum" if (self.folder / file).is_file() else "it"
            raise InputError(f"{self.folder / file}: {what} is missing: ask for the bundle again")
        found = checksum(self.folder / file)
        if found.encode() != written.read_bytes().strip():
            raise InputError(
                f"{self.folder / file} was changed after the bundle was written: its checksum is "
                "another. Ask for the bundle again"
            )
        return found

    def _require_decided_on(self, file: str, digits: str, decision: Decision) -> None:
        if decision.state and decision.files.get(file) != digits:
            raise InputError(
                f"{self.folder / file} is not the file that was decided on: look at it again, and "
                "decide again"
            )

    def _decided(self) -> dict[str, Decision]:
        """Read the decisions in the bundle, which the page may have written."""
        path = self.folder / DECISIONS
        if not path.exists():
            return {}
        given = _read(path).get("decisions")
        if not isinstance(given, dict):
            raise InputError(f"{path}: has no 'decisions'. Save it again from the page.")
        return {name: self._checked(path, name, each) for name, each in given.items()}

    def _checked(self, path: Path, name: str, given: Any) -> Decision:
        if name not in self.outputs:
            raise InputError(
                f"{path}: decides on {name!r}, which the bundle does not have: it belongs to "
                "another bundle"
            )
        fields = {"state": "", "comment": "", "who": "", "when": "", "files": {}}
        if not isinstance(given, dict) or any(
            not isinstance(given.get(key, empty), type(empty)) for key, empty in fields.items()
        ):
            raise InputError(f"{path}: the decision on {name!r} cannot be read")
        values = {key: given.get(key, empty) for key, empty in fields.items()}
        if values["state"] not in ("", *get_args(State)):
            raise InputError(
                f"{path}: state of {name!r} is {values['state']!r}; known are 'approved' and "
                "'rejected'"
            )
        return Decision(**values)


def _outputs(path: Path) -> dict[str, dict[str, Any]]:
    """Read what the bundle tells of its outputs."""
    outputs = _read(path).get("outputs")
    kinds = {"kind": str, "status": str, "reasons": list, "files": list, "exception": str}
    is_sound = isinstance(outputs, dict) and all(
        isinstance(each, dict)
        and all(isinstance(each.get(key), kind) for key, kind in kinds.items())
        and all(isinstance(file, str) for file in each["files"])
        and all(isinstance(reason, dict) and {"status", "rule", "text"} <= reason.keys()
                for reason in each["reasons"])
        for each in outputs.values()
    )  # fmt: skip
    if not is_sound:
        raise InputError(f"{path}: does not tell of outputs. Ask for the bundle again")
    assert isinstance(outputs, dict)
    return outputs


def _read(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(readable(path).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise InputError(f"{path}: must hold an object")
    return found


def decision_in(folder: Path, name: str) -> Decision:
    """Return what was decided on an output of a folder; an empty one if none can be told."""
    try:
        return Bundle(folder).decision(name)
    except InputError:
        return Decision()

"""What a data centre accepts: the limits that every output is checked against."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from tablecloak.errors import InputError, suggestion
from tablecloak.extras import required
from tablecloak.storage import existing_file
from tablecloak.tables.classifications import CLASSIFICATIONS
from tablecloak.tables.hierarchy import Hierarchy


class Appetite(BaseModel):
    """Limits of a data centre, under the names of the YAML file that ACRO reads.

    Source: ACRO 1.0, ``default.yaml``; the defaults are the same.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    safe_threshold: Annotated[
        int, Field(ge=1, description="Fewest contributors behind a published figure.")
    ] = 10
    safe_dof_threshold: Annotated[
        int, Field(ge=0, description="Fewest residual degrees of freedom of a regression.")
    ] = 10
    safe_leverage: Annotated[
        float, Field(gt=0, le=1, description="Most that a fit may follow one record.")
    ] = 0.9
    safe_nk_n: Annotated[
        int, Field(ge=1, description="(n, k) rule: how many largest contributors are added up.")
    ] = 2
    safe_nk_k: Annotated[
        float, Field(gt=0, le=1, description="(n, k) rule: share of a cell they may hold.")
    ] = 0.9
    safe_pratio_p: Annotated[
        float,
        Field(ge=0, le=1, description="p% rule: what all but the two largest hold of the largest."),
    ] = 0.1
    check_missing_values: Annotated[
        bool, Field(description="Whether figures that leave out missing values are reviewed.")
    ] = False
    survival_safe_threshold: Annotated[
        int, Field(ge=1, description="Fewest persons behind a step of a survival table.")
    ] = 10
    zeros_are_disclosive: Annotated[
        bool, Field(description="Whether an empty cell, or one of zeros alone, is unsafe.")
    ] = True
    safe_round_base: Annotated[int, Field(ge=2, description="Base of rounded counts.")] = 5
    federated: Annotated[
        bool, Field(description="Read and not used: nothing is checked elsewhere.")
    ] = False
    data_must_be_declared: Annotated[
        bool, Field(description="Whether outputs are reviewed unless Project(data=...) is given.")
    ] = False
    blocked_extensions: Annotated[
        tuple[str, ...], Field(description="Files that may not leave.")
    ] = (".svg", ".svgz", ".gph")
    code_lists: Annotated[
        tuple[str, ...],
        Field(description="Classifications such as nace-2.1, or .hrc files, of codes in labels."),
    ] = ()

    @field_validator("code_lists")
    @classmethod
    def _are_there(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in CLASSIFICATIONS and not Path(name).is_file():
                listed = ", ".join(kind.name for kind in CLASSIFICATIONS)
                raise ValueError(f"{name!r} is neither a file nor one of {listed}")
        return names

    @cached_property
    def listed_codes(self) -> frozenset[str]:
        """Codes of the lists, without dots: tables often leave these out."""
        codes: set[str] = set()
        for name in self.code_lists:
            if name in CLASSIFICATIONS:
                codes |= CLASSIFICATIONS[name]().entries.keys()
            else:
                codes |= set(Hierarchy.from_hrc(name).codes)
        return frozenset(code.replace(".", "") for code in codes)

    @classmethod
    def read(cls, path: str | Path) -> Appetite:
        """Read the YAML file of a data centre.

        Raises
        ------
        InputError
            If the file or the library `yaml` is missing, or the file is no YAML or has keys or
            values that are not known.
        """
        yaml = required("yaml", "Limits of a data centre")
        try:
            limits: Any = yaml.safe_load(existing_file(path).read_text(encoding="utf-8"))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is not YAML: {error}") from None
        if not isinstance(limits, dict):
            raise InputError(f"{path} must hold keys and values, such as 'safe_threshold: 10'")
        return cls.of(limits, where=str(path))

    @classmethod
    def of(cls, limits: dict[str, Any], where: str = "appetite") -> Appetite:
        """Check limits that were given by name.

        Raises
        ------
        InputError
            If a key is not known or a value out of range.
        """
        for key in limits:
            if key not in cls.model_fields:
                raise InputError(
                    f"{where}: there is no limit {key!r}.{suggestion(str(key), cls.model_fields)}"
                )
        try:
            return cls(**limits)
        except ValidationError as error:
            first = error.errors()[0]
            raise InputError(
                f"{where}: {first['loc'][0]} = {first['input']!r}: {first['msg']}"
            ) from None

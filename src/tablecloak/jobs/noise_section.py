"""``[noise]``: multiplicative noise of the records of a job."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, model_validator

from tablecloak.errors import suggestion
from tablecloak.jobs.registered import Section
from tablecloak.microdata.multipliers import Least, Most, Shape, Sizes

__all__ = ["NoiseSpec"]


class NoiseSpec(Section, BaseModel):
    """``[noise]``: how multipliers are drawn; see `tablecloak.noisy_table`."""

    least: Least = 0.05
    most: Most = 0.15
    shape: Shape = "ramp"
    balance: list[str] = []
    keep: list[str] = []

    @model_validator(mode="after")
    def _bounds(self) -> NoiseSpec:
        Sizes(self.least, self.most, self.shape)
        return self

    def check(self, job: Any) -> None:
        """Refuse a job that noise of records does not fit."""
        if any((job.suppression, job.adjustment, job.perturbation)):
            raise ValueError(
                "leave out [suppression], [adjustment] and [perturbation], or [noise]: two "
                "releases of one table together reveal more than each of them"
            )
        if job.variables:
            raise ValueError("[noise] is for one variable; leave out [variables]")
        if job.data.kind == "table" or job.data.value is None:
            raise ValueError("[noise] needs microdata, and the column of values to add up")
        for name in (*self.balance, *self.keep):
            if name not in job.dimensions:
                raise ValueError(
                    f"[noise] names the dimension {name!r}.{suggestion(name, job.dimensions)}"
                )

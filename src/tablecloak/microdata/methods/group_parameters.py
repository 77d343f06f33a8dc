"""Parameters of methods that make groups by keys large and diverse enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from tablecloak.microdata.anonymity.levels import HierarchyLike
from tablecloak.microdata.methods.parameters import option

GroupKeys = Annotated[Sequence[str], option("key", "Attribute known to an intruder.", min_length=1)]
GroupSize = Annotated[int, Field(ge=2, description="Smallest number of records in a group.")]
KeyHierarchies = Annotated[
    Mapping[str, HierarchyLike] | None,
    option("hierarchy", "Hierarchy of a key: age=5/10/20 for bands, or region=region.hrc."),
]
Subsets = Annotated[
    int | None,
    Field(ge=1, description="Ask for all combinations of this many keys; default: all keys."),
]
SensitiveAttribute = Annotated[
    str | None, Field(description="Attribute whose values must differ within each group.")
]
DifferentValues = Annotated[
    float | None,
    Field(ge=1, description="Different sensitive values in each group (l-diversity)."),
]
Closeness = Annotated[
    float | None,
    Field(
        ge=0,
        le=1,
        description="Largest distance of the sensitive values of a group from those of the "
        "file (t-closeness).",
    ),
]
SearchSeconds = Annotated[float, Field(gt=0, description="Seconds for the search.")]

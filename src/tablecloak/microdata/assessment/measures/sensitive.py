"""Risk of inference: what the group of records with the same keys tells."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, Literal

from tablecloak.errors import InputError
from tablecloak.microdata.assessment.measure import MEASURES, Case, Figure, Measure
from tablecloak.microdata.coding import CodedRecords
from tablecloak.microdata.risk.groups import GroupLikeness, diversity_of, grouped_values, is_ordered


@MEASURES.register
class Diversity(Measure):
    """Diversity of sensitive attributes within groups."""

    name: ClassVar[str] = "diversity"
    place: ClassVar[int] = 20
    kind: ClassVar[Literal["risk", "utility"]] = "risk"
    needs: ClassVar[tuple[str, ...]] = ("keys", "sensitive")

    def figures(self, case: Case) -> Iterator[Figure]:
        """Yield l of two kinds, t, and how often the best guess is right, for each attribute."""
        for name in case.sensitive:
            keys = [key for key in case.keys if key != name]
            if not keys:
                raise InputError(f"The only key is the sensitive attribute {name!r} itself.")
            ordered = is_ordered(case.original[name]) and is_ordered(case.released[name])
            groups = [
                grouped_values(CodedRecords.of(frame, [*keys, name]), keys, "open")
                for frame in case.files
            ]
            one, other = (diversity_of(*found, ordered=ordered) for found in groups)
            yield Figure(
                f"distinct l of {name}",
                one.distinct_l,
                other.distinct_l,
                f"Smallest number of different values of {name} in a group with the same keys.",
            )
            yield Figure(
                f"entropy l of {name}",
                one.entropy_l,
                other.entropy_l,
                f"Number of equally frequent values of {name} that would be as uncertain as those "
                "of the most uniform group.",
            )
            yield Figure(
                f"t of {name}",
                one.t,
                other.t,
                f"Largest distance of the distribution of {name} in a group from that of the file.",
            )
            yield Figure(
                f"best guess of {name}",
                float(one.most_frequent.mean()),
                float(other.most_frequent.mean()),
                f"Share of the records whose {name} is the most frequent value of their group.",
            )
            alike, like = (GroupLikeness(group, found) for found, group in groups)
            yield Figure(
                f"alpha of {name}",
                alike.alpha,
                like.alpha,
                f"Largest share of one value of {name} in a group: 1 if a group tells it.",
            )
            yield Figure(
                f"beta of {name}",
                alike.beta,
                like.beta,
                f"Largest relative growth of the share of a value of {name} from file to group.",
            )
            yield Figure(
                f"delta of {name}",
                alike.delta,
                like.delta,
                f"Largest logarithm of the ratio of the shares of a value of {name} in group and "
                "file.",
            )

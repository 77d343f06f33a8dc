"""Small groups that are differences of two or three published figures, at any size of a project.

Whoever filters a frame again and again publishes nested groups: everybody, men, and women but five.
A group X follows from figures with coefficients 1 and -1 where A = B + X, A = B + C + X, or
A + B = C + X, as sums of disjoint groups. They are found from how many records each two figures
share, without any search: sizes that fit are looked up, and shared records decide. It is what is
left to do where a search in all figures is too long, and the output goes to review.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.sparse import csc_array, csr_array, hstack, vstack

from tablecloak.arrays import Flags, Floats, Integers
from tablecloak.safe.joint.question import VariableQuestion
from tablecloak.safe.joint.system import FigurePart, members_of

MOST_FIGURES = 4000
"""Figures that are looked at together, the largest first: filters nest in large groups."""

MOST_SHARED = 2e8
"""Products that counting shared records may take; figures are left out, small ones first."""

MOST_PAIRS = 5_000_000
"""Pairs of figures whose sizes fit that may be looked at for one new figure."""


@dataclass(frozen=True)
class PublishedGroups:
    """Groups of records whose number is published.

    Parameters
    ----------
    members : csc_array, shape (c, f)
        1 where a class belongs to a group.
    part : (f,) array of int
        Part of the system that each is a figure of.
    size : (f,) array of float
        Records of each.
    shared : (f, f) array of float
        Records that each two share.
    """

    members: csc_array
    part: Integers
    size: Floats
    shared: Floats

    @classmethod
    def of(cls, question: VariableQuestion) -> PublishedGroups:
        """Collect the groups of all parts of a system, those of new parts in any case."""
        system = question.after
        # Sums of these are whole numbers below 2^53, so that they are exact.
        mark = np.random.default_rng(1).integers(2**31, size=system.n_classes).astype(np.float64)
        rows = [_groups(entry) for entry in system.parts]
        of_part = np.repeat(np.arange(len(rows)), [entry.shape[0] for entry in rows])
        counted = (system.size, np.ones_like(mark), mark)
        added = []
        for number, entry in enumerate(rows):
            group, n_groups = system.group(number) + 1, entry.shape[1] + 1
            by_group = [np.bincount(group, weights, n_groups)[1:] for weights in counted]
            added.append(entry @ np.column_stack(by_group))
        size, n_classes, marked = np.vstack(added).T
        is_new = of_part >= question.new_parts.start
        # Figures of the same records tell the same; one that was there before is not new.
        _, first = np.unique(marked, return_index=True)
        order = first[np.lexsort((-size[first], ~is_new[first]))]
        order = order[size[order] > 0][:MOST_FIGURES]
        per_class = np.cumsum(n_classes[order]) / max(system.n_classes, 1)
        order = order[: int(np.searchsorted(system.n_classes * per_class**2, MOST_SHARED)) + 1]
        order = order[np.argsort(of_part[order], kind="stable")]
        starts = np.searchsorted(of_part, np.arange(len(rows)))
        columns = []
        for number in np.unique(of_part[order]).tolist():
            entry = rows[number][order[of_part[order] == number] - starts[number]]
            columns.append(members_of(system.group(number), entry.shape[1]).T @ entry.T)
        chosen = csc_array(hstack(columns, format="csc"))
        weighted = csr_array(chosen.T) * system.size.astype(float)
        return cls(chosen, of_part[order], size[order], (csr_array(weighted) @ chosen).toarray())


def _groups(part: FigurePart) -> csr_array:
    """Return the figures that count groups, and the sum of those that count one each."""
    sums = part.sums
    per_row = np.diff(sums.indptr)
    row = np.repeat(np.arange(len(per_row)), per_row)
    is_group = np.bincount(row, sums.data != 1, minlength=len(per_row)) == 0
    rows = sums[np.flatnonzero(is_group)]
    single = np.unique(sums[np.flatnonzero(is_group & (per_row == 1))].indices)
    total = np.zeros((int(len(single) > 1), sums.shape[1]))
    total[:, single] = 1
    return csr_array(vstack([rows, csr_array(total)]))


def nested_groups(question: VariableQuestion) -> list[tuple[Flags, tuple[int, ...]]]:
    """Return small groups that follow from a new figure and one or two others, with their parts."""
    published = PublishedGroups.of(question)
    reach = question.most_records + 1
    small: dict[bytes, tuple[Flags, tuple[int, ...]]] = {}
    for new in np.flatnonzero(published.part >= question.new_parts.start).tolist():
        n_tried = 0
        for plus, minus in _fitting(published, new, reach):
            n_tried += len(plus)
            if n_tried > MOST_PAIRS:
                break
            for terms in np.concatenate([plus, -1 - minus], axis=1).tolist():
                group = _group(published, terms)
                if group is not None and question.is_few(group) and not question.is_known(group):
                    parts = {
                        int(published.part[term if term >= 0 else -1 - term]) for term in terms
                    }
                    key = np.packbits(group).tobytes()
                    small.setdefault(key, (group, tuple(sorted(parts))))
    return list(small.values())


def _group(published: PublishedGroups, terms: list[int]) -> Flags | None:
    """Return the classes that are left of a sum of groups, if it is 0 or 1 throughout."""
    total = np.zeros(published.members.shape[0])
    for term in terms:
        column = term if term >= 0 else -1 - term
        start, end = published.members.indptr[column : column + 2]
        total[published.members.indices[start:end]] += 1 if term >= 0 else -1
    is_group = ((total == 0) | (total == 1)).all() and total.any()
    return total > 0 if is_group else None


def _fitting(
    published: PublishedGroups, new: int, reach: float
) -> Iterator[tuple[Integers, Integers]]:
    """Yield what is added and what is taken off, a row for each sum that gives a small group."""
    size, shared, with_new = published.size, published.shared, published.shared[new]
    numbers = np.arange(len(size))
    other = numbers != new
    within = numbers[other & (with_new == size)]
    around = numbers[other & (with_new == size[new])]
    beside = numbers[other & (with_new == 0)]
    rest = numbers[other]

    def columns(*parts: Integers | int) -> Integers:
        length = max(np.size(part) for part in parts)
        return np.column_stack([np.broadcast_to(part, length) for part in parts])

    # new = B + X and A = new + X
    for one in within[size[new] - size[within] < reach, None]:
        yield columns(new), one[None, :]
    for one in around[size[around] - size[new] < reach, None]:
        yield one[None, :], columns(new)
    # new = B + C + X
    for one, two in _windows(size, within, size[new] - size[within], within, reach):
        good = (one < two) & (shared[one, two] == 0)
        if good.any():
            yield columns(new, one[good])[:, :1], columns(one[good], two[good])
    # A = new + C + X
    for one, two in _windows(size, around, size[around] - size[new], beside, reach):
        good = shared[one, two] == size[two]
        if good.any():
            yield columns(one[good]), columns(new, two[good])
    # new + B = C + X
    for one, two in _windows(size, beside, size[beside] + size[new], rest, reach):
        good = (one != two) & (with_new[two] + shared[one, two] == size[two])
        if good.any():
            yield columns(new, one[good]), columns(two[good])
    # A + B = new + X
    touching = rest[with_new[rest] > 0]
    wanted = size[new] - size[touching]
    for one, two in _windows(size, touching, wanted + reach, touching, reach):
        good = (one < two) & (shared[one, two] == 0)
        good &= with_new[one] + with_new[two] == size[new]
        if good.any():
            yield columns(one[good], two[good]), columns(new, two[good])[:, :1]


def _windows(
    size: Floats, one: Integers, most: Floats, two: Integers, reach: float
) -> Iterator[tuple[Integers, Integers]]:
    """Yield pairs in which the size of the second lies below `most`, by less than `reach`."""
    order = two[np.argsort(size[two], kind="stable")]
    ahead = size[order]
    first = np.searchsorted(ahead, most - reach, side="right")
    length = np.maximum(np.searchsorted(ahead, most, side="left") - first, 0)
    start = 0
    while start < len(one):
        total = np.cumsum(length[start:])
        end = start + max(int(np.searchsorted(total, MOST_PAIRS // 5, side="right")), 1)
        some = length[start:end]
        place = np.arange(some.sum()) - np.repeat(np.cumsum(some) - some, some)
        yield np.repeat(one[start:end], some), order[np.repeat(first[start:end], some) + place]
        start = end

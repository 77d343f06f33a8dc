"""Sums of several columns over the same few records, which may be one column times known factors.

Sums of income, income x age and income x children over the same people are linear equations in
their incomes: whoever knows the factors solves them. With d independent sums over n people all but
n - d + 1 can be eliminated, and more where factors repeat. Nothing tells columns that are products
of a known factor from others, so that all are taken to be.

A combination is 0 at some records if their columns, as points of d dimensions, lie on a hyperplane.
None holds a basis of all dimensions, so that it leaves out m contributors where m disjoint bases
are found: that proves nearly every sum of many to be safe. Where fewer are found, one that leaves
out fewer than m contributors holds at least one of any m: each of these is tried, and all points
are projected along it, until bases prove enough or one dimension is left. That is a complete
search, whose length depends on m and d alone; where it is cut off, nothing is proved.

Noise in a column hides no group: a hyperplane that nearly holds all but few is looked for by least
trimmed squares, which is no proof.

Sources: disjoint bases, Edmonds (1965), Journal of Research of the NBS 69B, 67-72; least trimmed
squares, Rousseeuw and Van Driessen (2006), Data Mining and Knowledge Discovery 12, 29-45.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

import numpy as np
from scipy.linalg import qr
from scipy.sparse import csr_array, vstack

from tablecloak.arrays import AnyIntegers, Flags, Floats, Integers
from tablecloak.safe.joint.copies import AmountColumn, is_still, moved_sums
from tablecloak.safe.joint.search_work import SearchWork
from tablecloak.safe.joint.system import members_of
from tablecloak.safe.output import Figures

DEPENDENT, NOTHING = 1e-9, 1e-9
"""Share of the largest singular value up to which sums depend on each other, and of a point's
length up to which it lies on a hyperplane."""

DIGITS = 9
"""Decimals of points by which directions are the same."""

MOST_TRIED, SOME = 5000, 300
"""Points that are tried for one output, and records that are looked at first: where no
hyperplane holds nearly all of these, none holds nearly all of more."""

APART = 1e-6
"""Least entry of the diagonal of a triangular factor whose points, of length 1, are a basis."""

NEAR, MOST_LEFT = 2e-2, 0.1
"""Share of a point's length up to which a hyperplane nearly holds it, and what all of these may add
to a combination, beside what others add, if it tells of the others."""

EXACTLY = 1e-7
"""The same where it must hold it exactly, but for rounding errors."""

STARTS, ROUNDS, MOST_TRIMMED = 30, 10, 2000
"""Hyperplanes through random points that least trimmed squares begin with, rounds of each, and
points that are looked at."""

MOST_COVERED = 200
"""Records of a sum up to which it is looked at what sums of other records overlap it."""

FEW_COLUMNS = 2
"""Columns that eliminate one contributor of a group: that is left to the rules on the group."""


def tells_of_few(
    sums: Floats, who: Integers, threshold: int, work: SearchWork | None = None
) -> bool | None:
    """Whether a combination of sums may tell of too few contributors; None if that takes too long.

    Parameters
    ----------
    sums : (d, n) array of float
        What each sum adds of each record.
    who : (n,) array of int
        Contributor of each record.
    threshold : int
    work : SearchWork, optional
        Points that may still be tried; by default `MOST_TRIED`.
    """
    # A sum of few alone is judged where it is published.
    enough = [_are_enough(who[row != 0], threshold) for row in sums]
    there = sums[enough].any(axis=0)
    points, who = sums[enough][:, there], who[there]
    if len(points) < FEW_COLUMNS:
        return False
    points = points / np.abs(points).max(axis=1, keepdims=True)
    lengths, points = np.linalg.norm(points, axis=0), _scaled(points)
    axes, sizes, basis = np.linalg.svd(points, full_matrices=False)
    is_kept = sizes > DEPENDENT * sizes[0]
    d, n = int(is_kept.sum()), len(lengths)
    if d < FEW_COLUMNS:
        return False
    _, code, often = np.unique(who, return_inverse=True, return_counts=True)
    left = len(often) - d + 1
    few = min(threshold, left)
    rotated = axes[:, is_kept].T @ points
    most = min(few, left // 2)
    if (
        (d > FEW_COLUMNS and left < threshold)
        or _is_nearly_told(rotated, lengths, code, most)
        or _is_told_beside_counts(rotated, lengths, code, most)
    ):
        return True
    points, step = _scaled(basis[is_kept]), max(n // SOME, 1)
    is_safe = _has_bases(points[:, ::step], code[::step], code[::step], few)
    points = points[:0] if is_safe else _off_common_directions(points, code, few)
    if not len(points):
        return False
    work = work or SearchWork(MOST_TRIED)
    for every in dict.fromkeys((step, 1)):
        if not _leaves_out_few(points[:, ::every], code[::every], few, [], work):
            return None if work.left < 0 else False
    return True


def _are_enough(who: Integers, threshold: int) -> bool:
    """Whether records are of so many contributors; the first ones nearly always are."""
    return any(len(np.unique(some)) >= threshold for some in (who[: 10 * threshold], who))


def _is_told_beside_counts(points: Floats, lengths: Floats, who: Integers, few: int) -> bool:
    """Whether sums and the number of records tell of few, as far as seen.

    The number is the sum of a constant, which is no product of anybody's amount and eliminates
    none; so that relations count that are exact.
    """
    beside = np.vstack([points, 1 / lengths])
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    axes, sizes, _ = np.linalg.svd(beside, full_matrices=False)
    if sizes[-1] <= DEPENDENT * sizes[0]:
        return False
    return _is_nearly_told(axes.T @ beside, lengths, who, few, EXACTLY)


def _is_nearly_told(
    points: Floats, lengths: Floats, who: Integers, few: int, near: float = NEAR
) -> bool:
    """Whether a hyperplane nearly holds the points of all but few contributors, as far as seen.

    What these add to the combination must be little beside what others add.
    """
    random = np.random.default_rng(1)
    d, n = points.shape
    some = points if n <= MOST_TRIMMED else points[:, random.choice(n, MOST_TRIMMED, False)]
    drawn = some[:, random.integers(0, some.shape[1], (STARTS, d - 1))].transpose(1, 0, 2)
    starts = np.vstack([np.eye(d), np.linalg.svd(drawn)[0][:, :, -1]])
    tried: list[Floats] = []
    for normal in _trimmed(some, starts):
        if any(abs(abs(normal @ other) - 1) < NOTHING for other in tried):
            continue
        tried.append(normal)
        away = np.abs(normal @ points)
        added = np.sort(np.bincount(who, away * lengths))[::-1]
        rest = np.sqrt((added[few - 1 :] ** 2).sum())
        is_little = rest <= MOST_LEFT * added[: few - 1].sum()
        if is_little and len(np.unique(who[away > near])) < few:
            return True
    return False


def _trimmed(points: Floats, normals: Floats) -> Floats:
    """Return the normals of hyperplanes nearest to half of all points, begun with others."""
    half, moves = points.shape[1] // 2, np.arange(len(normals))
    normals = normals.copy()
    for _ in range(ROUNDS):
        before = normals[moves]
        nearest = np.argpartition(np.abs(before @ points), half, axis=1)[:, : half + 1]
        held = points[:, nearest].transpose(1, 0, 2)
        normals[moves] = np.linalg.eigh(held @ held.transpose(0, 2, 1))[1][:, :, 0]
        turned = np.abs((normals[moves] * before).sum(axis=1))
        moves = moves[np.abs(turned - 1) >= NOTHING]
        if not len(moves):
            break
    return normals


def _off_common_directions(points: Floats, who: Integers, few: int) -> Floats:
    """Project points along directions of `few` contributors or more.

    A hyperplane that leaves out fewer holds all of these directions.
    """
    side = np.sign(np.sin(np.arange(1, len(points) + 1)) @ points)
    rounded = np.round(points * side, DIGITS)
    _, first, direction = np.unique(rounded, axis=1, return_index=True, return_inverse=True)
    direction = direction.ravel()
    pairs = np.unique(np.column_stack([direction, who]), axis=0)
    common = first[np.bincount(pairs[:, 0], minlength=len(first)) >= few]
    if not len(common):
        return points
    axes, sizes, _ = np.linalg.svd(points[:, common])
    off: Floats = axes[:, int((sizes > NOTHING).sum()) :].T @ points
    return off


def _leaves_out_few(
    points: Floats, who: Integers, few: int, off: list[int], work: SearchWork
) -> bool:
    """Whether a hyperplane holds the points of all but few contributors, not those that are off."""
    is_left = np.abs(points).max(axis=0) > NOTHING
    left = np.unique(who[is_left])
    if len(left) < few:
        return True
    others = np.setdiff1d(left, off)
    enough = max(few - len(off), 0)
    if len(points) == 1 or _has_bases(points, who, others, enough) or work.is_over():
        return False
    others = others[:enough].tolist()
    for number, one in enumerate(others):
        axes, sizes, _ = np.linalg.svd(points[:, who == one])
        along = axes[:, int((sizes > NOTHING).sum()) :]
        passed = [*off, *others[:number]]
        if along.size and _leaves_out_few(along.T @ points, who, few, passed, work):
            return True
    return False


def _has_bases(points: Floats, who: Integers, chosen: Integers, number: int) -> bool:
    """Whether some contributors have so many disjoint bases, each of which no hyperplane holds.

    Found one after the other, they need not be the most that there are.
    """
    d = len(points)
    there = np.flatnonzero(np.isin(who, chosen) & (np.abs(points).max(axis=0) > NOTHING))
    if len(there) < number * d:
        return False
    for _ in range(number):
        if len(there) < d:
            return False
        lengths = np.linalg.norm(points[:, there], axis=0)
        triangle, order = qr(points[:, there] / lengths, mode="r", pivoting=True)
        if abs(triangle[d - 1, d - 1]) <= APART:
            return False
        there = there[~np.isin(who[there], who[there[order[:d]]])]
    return True


def _scaled(points: Floats) -> Floats:
    return np.asarray(points / np.linalg.norm(points, axis=0))


def together(
    figures: Figures,
    before: AmountColumn | None,
    column_with: AmountColumn,
    others: Sequence[AmountColumn],
    n_records: int,
) -> Iterator[tuple[int, Integers, Floats]]:
    """Yield new figures, records, and what sums of several columns add of each of these.

    They are those of the figure, of a difference to an earlier one, or of a sum of another column
    that follows from the figure and others. Columns play a part if their sum of the same records
    follows, as far as they have these; or, where records are few, if a sum was published of records
    that overlap them by half.

    Parameters
    ----------
    figures : Figures
    before, column_with : AmountColumn
        Their column without and with them; before is None if there were no sums of it.
    others : sequence of AmountColumn
    n_records : int
    """
    columns = (column_with, *others)
    amounts = [np.nan_to_num(column.amounts) for column in columns]
    moves = [np.where(np.isnan(c.amounts)[:, None], 0.0, c.moves(n_records)) for c in columns]
    rows = _rows(figures, n_records)
    is_new = np.diff(rows.indptr) > 0
    past: Floats | None = None
    if before is not None:
        is_new &= ~before.tells(figures, n_records)
        past = np.where(np.isnan(column_with.amounts)[:, None], 0.0, before.moves(n_records))
    searched: set[tuple[int, ...]] = set()
    for row, records, follows in chain(
        _of_the_same(figures, is_new, past, moves, others, n_records),
        _of_differences(figures, is_new, before, moves, n_records),
    ):
        chosen = np.flatnonzero(follows).tolist()
        key = (hash(records.tobytes()), *chosen)
        if key not in searched:
            searched.add(key)
            yield row, records, np.array([amounts[number][records] for number in chosen])
    small = np.flatnonzero(is_new & (np.diff(rows.indptr) <= MOST_COVERED)).tolist()
    if not small or len(others) < FEW_COLUMNS:
        return
    published = [
        (column.amounts, _rows(entry, n_records))
        for column in (column_with, *others)
        for entry in column.figures
    ]
    for row in small:
        some = rows[[row]]
        sums = []
        for column, entry in published:
            shared = (entry @ some.T).toarray().ravel()
            is_near = (2 * shared >= np.diff(entry.indptr)) & (2 * shared >= some.nnz)
            sums += [(column, entry[[near]]) for near in np.flatnonzero(is_near)]
        records = np.unique(np.concatenate([entry.indices for _, entry in sums]))
        given = [
            entry[:, records].toarray().ravel() * np.nan_to_num(column[records])
            for column, entry in sums
        ]
        yield row, records, np.array(given)


def _of_the_same(
    figures: Figures,
    is_new: Flags,
    past: Floats | None,
    moves: Sequence[Floats],
    others: Sequence[AmountColumn],
    n_records: int,
) -> Iterator[tuple[int, Integers, Flags]]:
    """Yield sums that new figures tell and other columns as well: a new figure, and the records.

    Looked at are the new figures, those of other columns, and the totals of each.
    """
    group = _group_of_each(figures, n_records)
    for entry in (figures, *(entry for column in others for entry in column.figures)):
        rows = _with_total(entry)
        follows = np.array([is_still(*moved_sums(entry, rows, move)) for move in moves])
        is_asked = follows[0] & follows[1:].any(axis=0)
        if past is not None and is_asked.any():
            is_asked &= ~is_still(*moved_sums(entry, rows, past))
        if not is_asked.any():
            continue
        members = _Members(entry.group, entry.records)
        shape = (figures.sums.shape[1] + 1, rows.shape[1] + 1)
        both = _shared_records(group[entry.records], entry.group, shape)
        shared = figures.sums @ (both @ (rows != 0).T)
        for row in np.flatnonzero(is_asked):
            shares = is_new & (shared[:, row] > 0)
            if shares.any():
                first = row if entry is figures and row < len(is_new) else np.argmax(shares)
                yield int(first), members.of(rows[[row]].indices), follows[:, row]


def _of_differences(
    figures: Figures,
    is_new: Flags,
    before: AmountColumn | None,
    moves: Sequence[Floats],
    n_records: int,
) -> Iterator[tuple[int, Integers, Flags]]:
    """Yield differences between new figures and earlier ones that other columns tell as well.

    Looked at are those of few records, and those where one figure contains the other.
    """
    sums, chosen = csr_array(figures.sums), np.flatnonzero(is_new)
    if before is None or not len(chosen):
        return
    group = _group_of_each(figures, n_records)
    moved = [moved_sums(figures, sums[chosen], move)[0] for move in moves[1:]]
    for entry in before.figures:
        rows = csr_array(entry.sums)
        shape = (sums.shape[1] + 1, rows.shape[1] + 1)
        both = _shared_records(group[entry.records], entry.group, shape)
        shared = (sums[chosen] @ both) @ rows.T
        size = sums[chosen] @ np.bincount(group + 1, minlength=shape[0])[1:]
        of_entry = rows @ np.bincount(entry.group + 1, minlength=shape[1])[1:]
        left, right = size[:, None] - shared, of_entry - shared
        is_near = (left + right <= MOST_COVERED) | (np.minimum(left, right) == 0)
        is_near &= (left + right > 0) & (shared > 0)
        follows = np.array(
            [
                is_still(new[:, None] - moved_sums(entry, rows, move)[0], left + right)
                for new, move in zip(moved, moves[1:], strict=True)
            ]
        )
        pairs = np.argwhere(is_near & follows.any(axis=0))
        if not len(pairs):
            continue
        of_entry_too = _group_of_each(entry, n_records)
        members = _Members((group + 1) * shape[1] + of_entry_too + 1, np.arange(n_records))
        codes = np.arange(shape[0] * shape[1])
        for new, old in pairs:
            here = np.append(0.0, sums[[chosen[new]]].toarray())[codes // shape[1]]
            there = np.append(0.0, rows[[old]].toarray())[codes % shape[1]]
            records = members.of(np.flatnonzero(here != there))
            yield int(chosen[new]), records, np.append(True, follows[:, new, old])


class _Members:
    """The records of groups, sorted once instead of being looked for in each sum.

    Parameters
    ----------
    group : (n,) array of int
        -1 for none.
    records : (n,) array of int
    """

    def __init__(self, group: AnyIntegers, records: AnyIntegers) -> None:
        order = np.argsort(group, kind="stable")
        self.records, counts = records[order], np.bincount(group + 1)
        self.ends = np.cumsum(counts)

    def of(self, groups: Integers) -> Integers:
        """Return the records of some groups in ascending order."""
        there = groups[groups + 1 < len(self.ends)]
        parts = [self.records[self.ends[one] : self.ends[one + 1]] for one in there.tolist()]
        return np.sort(np.concatenate([self.records[:0], *parts]))


def _group_of_each(figures: Figures, n_records: int) -> Integers:
    """Return the group of each record of the project; -1 for none."""
    group = np.full(n_records, -1, dtype=np.int64)
    group[figures.records] = figures.group
    return group


def _shared_records(one: AnyIntegers, other: AnyIntegers, shape: tuple[int, int]) -> Integers:
    """Return how many records each two groups share; `shape` counts -1 as a group of both."""
    code = (one + 1) * shape[1] + other + 1
    return np.bincount(code, minlength=shape[0] * shape[1]).reshape(shape)[1:, 1:]


def _with_total(figures: Figures) -> csr_array:
    """Return which groups figures add up, and those that are figures alone added up."""
    sums = csr_array(figures.sums)
    alone = np.zeros((1, sums.shape[1]))
    alone[:, np.unique(sums[np.flatnonzero(np.diff(sums.indptr) == 1)].indices)] = 1
    return csr_array(vstack([sums, csr_array(alone)]))


def _rows(figures: Figures, n_records: int) -> csr_array:
    """Return which records each figure adds up, shape (f, n_records)."""
    group = _group_of_each(figures, n_records)
    return csr_array(csr_array(figures.sums) @ members_of(group, figures.sums.shape[1]))

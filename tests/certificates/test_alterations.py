"""Whatever is altered in a certificate of any kind is refused, and no false bound is accepted."""

from __future__ import annotations

import io
import itertools
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import random_tables
import tablecloak as tc
from tablecloak.certificates.claim import arrays_of
from tablecloak.certificates.verifier import (
    HEADER,
    PROBLEM,
    RELEASES,
    RefusedError,
    main,
    schema_of,
    verify,
)

Arrays = dict[str, Any]

KINDS: dict[str, Callable[[], Any]] = {
    "suppression": lambda: tc.suppress(random_tables.random_problem(1), weights="value"),
    "insiders": lambda: tc.suppress(
        random_tables.random_problem(1), protect_against=["zeros"], method="sequential"
    ),
    "intervals": lambda: tc.publish_intervals(random_tables.random_problem(1), seed=1),
    "adjustment": lambda: tc.adjust(random_tables.random_problem(1)),
    "mean": lambda: tc.adjust(random_tables.random_problem(1), preserve=["mean:all", "slope:all"]),
    "given directions": lambda: tc.adjust(random_tables.random_problem(1), directions="up"),
    "L2": lambda: tc.adjust(random_tables.random_problem(1), distance="L2"),
    "Linf": lambda: tc.adjust(random_tables.random_problem(1), distance="Linf", preserve=["mean"]),
    "variance": lambda: tc.adjust(random_tables.random_problem(1), preserve=["variance"]),
    "tree": lambda: tc.adjust(random_tables.random_problem(2, shape=(3, 4, 4), n_sensitive=8)),
    "parts": lambda: tc.adjust(parts()),
    "rounding": lambda: tc.controlled_rounding(random_tables.random_problem(1), base=7),
    "small counts": lambda: tc.small_count_rounding(small_counts(), base=4),
}


def parts() -> Any:
    """Four tables side by side: their totals are published as they are."""
    problem = random_tables.random_problem(3, shape=(3, 4, 4), n_sensitive=6)
    status = problem.status.copy()
    total = np.all((problem.table.keys == "Total").to_numpy(), axis=1)
    status[total] = "z"
    return problem.with_changes(status=status)


def small_counts() -> Any:
    """Counts of 4 x 4 cells and their margins, many of them below 4."""
    names = [str(place) for place in range(4)]
    counts = [1, 4, 9, 2, 7, 2, 30, 1, 12, 1, 2, 8, 3, 3, 0, 40]
    frame = pd.DataFrame(list(itertools.product(names, names)), columns=["row", "column"])
    table = tc.tabulate(frame.assign(n=counts), ["row", "column"], "n", decimals=0)
    zero, n = np.zeros(table.n_cells), table.n_cells
    return tc.ProtectionProblem(
        table, np.full(n, "s"), zero, zero, zero, zero, np.full(n, np.inf), np.ones(n)
    )


def member(array: Any) -> bytes:
    """An array as a file of an archive."""
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array))
    return stream.getvalue()


class Case:
    """A true certificate of one kind, and the file of its problem."""

    def __init__(self, kind: str, folder: Any) -> None:
        self.kind = kind
        self.result = KINDS[kind]()
        self.problem = self.result.problem
        self.arrays: Arrays = arrays_of(self.result.certificates, self.problem)
        self.original = folder / "problem.jj"
        tc.write_problem(self.problem, self.original)
        self.members = {name: member(array) for name, array in self.arrays.items()}

    @property
    def code(self) -> int:
        """Exit code of its verdict: 3 where nothing is claimed of sensitive cells."""
        is_claimed = "protection" in self.arrays["claims"].tolist()
        return 0 if is_claimed or not np.any(self.arrays["status"] == "u") else 3

    def saved(self, path: Any, name: str, array: Any) -> str:
        """Write a file in which one array is another; the bytes of all others are at hand."""
        with zipfile.ZipFile(path, "w") as archive:
            for other, content in self.members.items():
                archive.writestr(f"{other}.npy", member(array) if other == name else content)
        return str(path)

    def verdict(self, **changes: Any) -> str:
        try:
            lines = verify({**self.arrays, **changes}, self.original)
        except Exception as error:  # as `main` does: whatever is wrong, it proves nothing
            return f"REFUSED: {error}"
        return "\n".join(lines)


@pytest.fixture(scope="module", params=KINDS)
def case(request, tmp_path_factory):
    return Case(request.param, tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="module")
def tried() -> dict[str, set[str]]:
    """Arrays that a test had altered in a file, by test: a name is read alike for all kinds."""
    return {"form": set(), "names": set()}


def save(path: Any, arrays: Arrays) -> str:
    np.savez_compressed(path, **arrays)
    return str(path)


def test_true_certificates_of_all_kinds_are_accepted(case, tmp_path, capsys):
    path = save(tmp_path / "c.npz", case.arrays)
    assert main([path, str(case.original)]) == case.code, capsys.readouterr().out
    for claim in case.result.certificates:
        claim.verify(case.problem)


def malformed(name: str, array: Any) -> Iterator[tuple[str, Any]]:
    """The same numbers in another form."""
    yield "one more axis", array[None]
    yield "as bytes", np.frombuffer(array.tobytes() or b"0", np.uint8)
    yield "as objects as text", array.astype("S") if array.dtype.kind != "S" else array.astype("U")
    if array.dtype.kind == "f":
        yield "half as long", array.astype(np.float32)
        yield "big-endian", array.astype(">f8")
        yield "complex", array.astype(complex)
    if array.dtype.kind == "i":
        yield "short", array.astype(np.int32)
        yield "unsigned", array.astype(np.uint64)
        yield "floats", array.astype(float)
    if array.dtype.kind == "b":
        yield "numbers", array.astype(np.int64)
    if array.ndim:
        yield "one more", np.append(array, array[-1:] if len(array) else np.zeros(1, array.dtype))
        yield "none", array[:0] if len(array) else np.zeros(1, array.dtype)
        if len(array) > 1:
            yield "one less", array[:-1]


def test_arrays_of_another_form_are_refused(case, tried, tmp_path, capsys):
    assert main([case.saved(tmp_path / "c.npz", "values", case.arrays["values"])]) == case.code
    capsys.readouterr()
    refused = 0
    fresh = [name for name in case.arrays if name not in tried["form"]]
    for name in fresh:
        for how, altered in malformed(name, case.arrays[name]):
            if (name, how) == ("witness_starts", "one more"):
                continue  # a further witness, which moves nothing
            path = case.saved(tmp_path / "c.npz", name, altered)
            assert main([path]) == 1, (name, how)
            assert capsys.readouterr().out.startswith("REFUSED: ")
            refused += 1
    assert refused >= 3 * len(fresh)
    tried["form"].update(fresh)


def test_missing_additional_and_doubled_arrays_are_refused(case, tried, tmp_path):
    fresh = [name for name in case.arrays if name not in tried["names"]]
    tried["names"].update(fresh)
    for name in fresh:
        rest = {key: array for key, array in case.arrays.items() if key != name}
        assert main([save(tmp_path / "c.npz", rest)]) == 1, name
    more = {**case.arrays, "more": np.zeros(1)}
    assert main([save(tmp_path / "c.npz", more)]) == 1
    path = save(tmp_path / "c.npz", case.arrays)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("values.npy", archive.read("values.npy"))
    assert main([path]) == 1


def test_words_that_say_something_else_are_refused(case):
    for name, others in {
        "format": ["tablecloak suppression certificate", "x", ""],
        "release": [kind for kind in RELEASES if kind != case.arrays["release"]],
        "requirement": ["Width", ""],
        "measure": ["L3", "weights", "widths"],
    }.items():
        for other in others:
            if name in case.arrays and str(case.arrays[name]) != other:
                altered = {**case.arrays, name: np.array(other)}
                with pytest.raises((RefusedError, KeyError)):
                    verify(altered)
    for version in (1, 2, 4):
        assert case.verdict(version=np.array(version)).startswith("REFUSED")
    claims = case.arrays["claims"].tolist()
    for other in ([], [*claims, claims[-1]], claims[::-1], [*claims, "safety"]):
        if other != claims:
            assert case.verdict(claims=np.array(other, dtype="U")).startswith("REFUSED"), other


def places(array: Any) -> list[int]:
    return sorted({0, len(array) // 3, len(array) // 2, len(array) - 1}) if len(array) else []


def with_entry(array: Any, place: int, value: Any) -> Any:
    altered = array.copy()
    altered[place] = value
    return altered


MAY_BE_INFINITE = (
    "lower_bound", "upper_bound", "capacity_up", "capacity_down", "sensitive_limit",
    "published_lower", "published_upper", "intruder_lower", "intruder_upper",
)  # fmt: skip


def test_numbers_that_are_none_and_indices_of_nothing_are_refused(case):
    refused = 0
    for name, array in case.arrays.items():
        for place in places(array) if array.ndim else [()]:
            if array.dtype.kind == "f":
                values = [np.nan] if name in MAY_BE_INFINITE else [np.nan, np.inf, -np.inf]
            elif array.dtype.kind == "i" and array.ndim:
                # A limit or a direction of 10^9 is no index, but there is no such choice either.
                values = [-3, 10**9, -(10**9)]
            else:
                continue
            for value in values:
                verdict = case.verdict(**{name: with_entry(array, place, value)})
                assert verdict.startswith("REFUSED"), (name, place, value)
                refused += 1
    assert refused > 10


def test_another_problem_is_refused_beside_the_file(case):
    counts = str(case.arrays["release"]) in ("rounding", "small counts")
    without = ("tolerance", "lower_bound", "upper_bound", *(
        ("lower_protection", "upper_protection", "sliding_protection", "status") if counts else ()
    ))  # fmt: skip
    for name in PROBLEM:
        array = case.arrays[name]
        if array.dtype.kind == "f" and name not in without:
            for place, change in itertools.product(places(array), (1.0, -1.0, 1e-6, np.inf)):
                altered = with_entry(array, place, array[place] + change)
                assert case.verdict(**{name: altered}).startswith("REFUSED"), (name, place)
    for name, change in (("lower_bound", -1.0), ("upper_bound", 1.0)):
        if not counts:
            altered = case.arrays[name] + change
            if not np.array_equal(altered, case.arrays[name]):
                assert case.verdict(**{name: altered}).startswith("REFUSED")
    if not counts:
        for place, letter in itertools.product(places(case.arrays["status"]), "sumz"):
            if case.arrays["status"][place] != letter:
                altered = with_entry(case.arrays["status"], place, letter)
                assert case.verdict(status=altered).startswith("REFUSED")
    cells = case.arrays["relation_cells"]
    for first, second in itertools.pairwise(range(min(len(cells), 6))):
        altered = cells.copy()
        altered[[first, second]] = altered[[second, first]]
        assert case.verdict(relation_cells=altered).startswith("REFUSED")


def test_another_release_is_refused(case):
    """A release of which any value is another one is not the one that was proved."""
    release = RELEASES[str(case.arrays["release"])]
    for name in ("published", "published_lower", "published_upper"):
        if name in release:
            array = case.arrays[name]
            for place, change in itertools.product(places(array), (1.0, -1.0, 0.01)):
                altered = with_entry(array, place, array[place] + change)
                assert case.verdict(**{name: altered}).startswith("REFUSED"), (name, place, change)
    if "suppressed" in release:
        array = case.arrays["suppressed"]
        for place in range(len(array)):
            altered = with_entry(array, place, not array[place])
            assert case.verdict(suppressed=altered).startswith("REFUSED"), place
    for name in ("base", "steps"):
        if name in release:
            for change in (-1, 1, -case.arrays[name], 10**16):
                if name == "steps" and change == 1:
                    continue  # a weaker claim: each value is less than two steps away
                altered = np.array(case.arrays[name] + change)
                assert case.verdict(**{name: altered}).startswith("REFUSED"), (name, change)
    if "decimals" in release and case.arrays["decimals"] == 0:
        for decimals in (13, -13, -3, 98):
            assert case.verdict(decimals=np.array(decimals)).startswith("REFUSED"), decimals


def test_other_figures_are_refused(case):
    loss = float(case.arrays["loss"])
    for other in (loss + 1, loss * 1.001 + 1e-6, -loss - 1):
        assert case.verdict(loss=np.array(other)).startswith("REFUSED")
    if "bound" in case.arrays:
        bound = float(case.arrays["bound"])
        for other in (bound * (1 + 1e-6) + 1e-6, max(2 * bound, 2 * loss) + 1, -1.0):
            assert case.verdict(bound=np.array(other)).startswith("REFUSED"), other
    moved = np.flatnonzero(case.arrays["published"] != case.arrays["values"]) if (
        "published" in case.arrays
    ) else np.zeros(0, int)  # fmt: skip
    if str(case.arrays["measure"]) in ("L1", "L2"):
        for cell in moved.tolist():
            weights = with_entry(case.arrays["weights"], cell, 3 * case.arrays["weights"][cell] + 1)
            assert case.verdict(weights=weights).startswith("REFUSED")
    for name in ("statistic_target", "statistic_data"):
        array = case.arrays.get(name, np.zeros(0))
        for place, change in itertools.product(places(array), (1.0, -0.5)):
            if name == "statistic_data" and case.arrays["statistic_kind"][-1] == "covariance":
                continue
            altered = with_entry(array, place, array[place] + change)
            assert case.verdict(**{name: altered}).startswith("REFUSED"), (name, place)
    kinds = case.arrays.get("statistic_kind", np.zeros(0, "U"))
    for place in range(len(kinds)):
        wider = kinds.astype("U20")
        assert case.verdict(statistic_kind=with_entry(wider, place, "median")).startswith("REFUSED")


def test_other_trees_are_refused(case):
    """A node that hangs elsewhere, splits elsewhere or has no proof leaves something out."""
    names = ("node_parent", "node_cell", "node_limit", "tree_starts", "proof_starts")
    present = [name for name in names if name in case.arrays]
    # Only the quick search of a pattern claims no bound.
    assert present == ([] if case.kind == "insiders" else list(names))
    tree = len(case.arrays.get("node_parent", ())) > 1
    for name, change in itertools.product(present, (1, -1)):
        array = case.arrays[name]
        for place in range(len(array)):
            altered = with_entry(array, place, array[place] + change)
            assert case.verdict(**{name: altered}).startswith("REFUSED"), (name, place, change)
    flipped = case.arrays.get("node_is_lower", np.zeros(0, dtype=bool))
    for place in range(len(flipped)):
        altered = with_entry(flipped, place, not flipped[place])
        assert case.verdict(node_is_lower=altered).startswith("REFUSED"), place
    nodes = [name for name in case.arrays if name.startswith("node_")]
    if tree:
        # Without its last node; with its root alone and any of the proofs.
        fewer = {name: case.arrays[name][:-1] for name in nodes}
        starts = case.arrays["tree_starts"].copy()
        starts[-1] -= 1
        assert case.verdict(**fewer, tree_starts=starts).startswith("REFUSED")


def wasteful(kind: str) -> tuple[Arrays, float]:
    """A true certificate of a release that loses more than the best one, and the least loss."""
    if kind == "suppression":
        best = KINDS[kind]()
        arrays = arrays_of(best.certificates, best.problem)
        more = np.flatnonzero(~best.suppressed & (best.problem.status == "s"))[:2]
        suppressed = arrays["suppressed"].copy()
        suppressed[more] = True
        loss = best.loss + float(best.problem.weights[more].sum())
        return {**arrays, "suppressed": suppressed, "loss": np.array(loss)}, best.loss
    for seed in range(10):
        problem = random_tables.random_problem(seed, n_sensitive=4)
        best = tc.adjust(problem, distance=kind)
        worse = max(
            (tc.adjust(problem, distance=kind, directions=way) for way in ("up", "down")),
            key=lambda adjustment: adjustment.loss,
        )
        if worse.loss > best.loss * (1 + 1e-2):
            break
    arrays = arrays_of(worse.certificates, problem)
    proof = arrays_of(best.certificates, problem)
    names = ("tree_", "node_", "proof_", "part", "direction", "bound")
    return {**arrays, **{name: proof[name] for name in proof if name.startswith(names)}}, best.loss


@pytest.mark.parametrize("kind", ["suppression", "L1", "L2", "Linf"])
def test_no_altered_proof_proves_a_bound_that_is_false(kind):
    """Between the least loss and that of a wasteful release there is room for false bounds."""
    arrays, least = wasteful(kind)
    loss = float(arrays["loss"])
    assert loss > least * (1 + 1e-3)
    verify(arrays)
    random, refused = np.random.default_rng(0), 0
    names = ["proof_data", "proof_row", "proof_cell", "proof_kind", "node_limit", "node_cell"]
    names += [name for name in ("cut_cell", "cut_kind", "up_data", "down_data") if name in arrays]
    for _ in range(300):
        claimed = least + (loss - least) * random.choice([0.01, 0.1, 0.5, 1.0])
        altered = {**arrays, "bound": np.array(claimed)}
        for name in random.choice(names, random.integers(1, 3), replace=False).tolist():
            array = altered[name].copy()
            if len(array):
                place = random.integers(len(array))
                array[place] = array[place] * random.choice([1, 2, -1, 10]) + random.integers(-2, 3)
                altered[name] = array
        with pytest.raises(RefusedError):
            verify(altered)
        refused += 1
    assert refused == 300


def test_schemas_name_every_array_of_a_certificate(case):
    schema = schema_of(str(case.arrays["release"]), case.arrays["claims"].tolist(), case.arrays)
    assert set(schema) == set(case.arrays)
    assert set(HEADER) <= set(schema)

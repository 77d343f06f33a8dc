"""Twenty lines that matter, broken one after the other: does a test notice each time?

Run it in a clone; the clone itself is not written to::

    python tests/mutations.py                 # all, in a copy of the tree
    python tests/mutations.py --only 3 7      # some of them
    python tests/mutations.py --baseline      # the same tests on the tree as it is

Each mutation names a file, a piece of a line that stands there exactly once, and what it becomes.
If the piece has gone, the run stops and says so; `tests/test_mutations.py` says it earlier.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "tablecloak"


@dataclass(frozen=True)
class Mutation:
    """One line that is broken.

    Parameters
    ----------
    fault : str
        What is wrong then, in the words of the field.
    file : str
        Below src/tablecloak.
    before, after : str
        The piece of the line, and what it becomes.
    tests : tuple of str
        Files or tests that should notice, the quickest first.
    """

    fault: str
    file: str
    before: str
    after: str
    tests: tuple[str, ...]

    @property
    def path(self) -> Path:
        return PACKAGE / self.file

    def broken(self, text: str) -> str:
        """Return the text of the file with the fault.

        Raises
        ------
        ValueError
            If the piece is not there exactly once.
        """
        times = text.count(self.before)
        if times != 1:
            raise ValueError(
                f"{self.file} has {times} times, not once: {self.before!r}. The line was changed: "
                f"give the mutation {self.fault!r} its new text in tests/mutations.py."
            )
        return text.replace(self.before, self.after)


MUTATIONS = (
    Mutation(
        "The p% rule leaves the second largest contributor out",
        "tables/rules/concentration.py",
        "together = given.sum_of_largest(units)",
        "together = given.sum_of_largest(units - 1)",
        ("tests/argus/test_golden.py",),
    ),
    Mutation(
        "A cell with exactly the minimum of contributors is unsafe",
        "tables/rules/contributors.py",
        "(given.weighted_count < self.minimum)",
        "(given.weighted_count <= self.minimum)",
        ("tests/test_published_tables.py",),
    ),
    Mutation(
        "A table that is off by a hundred thousandth passes as additive",
        "tables/additivity.py",
        "ADDITIVITY_TOLERANCE = 1e-9",
        "ADDITIVITY_TOLERANCE = 1e-5",
        ("tests/tables/test_additivity.py", "tests/tables/test_bad_input.py"),
    ),
    Mutation(
        "Weak duality prices columns at the wrong bound",
        "solve/bounds.py",
        "at = np.where(reduced > 0, low_x, high_x).astype(_LONG)",
        "at = np.where(reduced < 0, low_x, high_x).astype(_LONG)",
        ("tests/solve/test_bounds.py",),
    ),
    Mutation(
        "A point above the upper side of a row counts as feasible",
        "solve/bounds.py",
        "return Violation(float(max(below, above)),",
        "return Violation(float(below),",
        ("tests/solve/test_bounds.py",),
    ),
    Mutation(
        "Multipliers of CBC have the wrong sign",
        "solve/pulp.py",
        "duals[row] += constraint.pi",
        "duals[row] -= constraint.pi",
        ("tests/contracts/test_solver.py",),
    ),
    Mutation(
        "Suppression asks for half of the lower level",
        "suppression/system/requirements/two_sided.py",
        "problem.lower_protection[cells],",
        "0.5 * problem.lower_protection[cells],",
        (
            "tests/suppression/system/test_requirement.py",
            "tests/suppression/search/test_brute_force.py",
        ),
    ),
    Mutation(
        "One intruder is missing among the contributors",
        "suppression/attack/intruders/contributors.py",
        "groups = np.split(useful, np.flatnonzero(np.diff(first)) + 1)",
        "groups = np.split(useful, np.flatnonzero(np.diff(first)) + 1)[1:]",
        ("tests/suppression/attack/test_intruders.py", "tests/suppression/attack/test_audit.py"),
    ),
    Mutation(
        "A proof of protection takes the upper reach for the lower one as well",
        "suppression/proof/proof.py",
        'self._require(~needs.met(above, below), needs.cells, "")',
        'self._require(~needs.met(above, above), needs.cells, "")',
        ("tests/certificates/test_certificates.py", "tests/suppression/proof/test_witness.py"),
    ),
    Mutation(
        "A witness may leave the external bounds",
        "suppression/proof/proof.py",
        "bounds = self._check_bounds(matrix)\n        above",
        "bounds = 0.0\n        above",
        ("tests/certificates/test_certificates.py", "tests/certificates/test_forged_claims.py"),
    ),
    Mutation(
        "A capacity row asks for more than the level, and cuts patterns off that protect",
        "suppression/rows/master.py",
        "np.minimum(capacity[self.free] / left, 1.0)",
        "np.minimum(0.5 * capacity[self.free] / left, 1.0)",
        ("tests/test_published_results.py", "tests/suppression/search/test_brute_force.py"),
    ),
    Mutation(
        "Adjustment moves sensitive cells by half of the upper level",
        "cta/model/room.py",
        "up_level = np.where(sensitive, problem.upper_protection, 0.0)",
        "up_level = np.where(sensitive, 0.5 * problem.upper_protection, 0.0)",
        ("tests/contracts/test_release.py", "tests/cta/test_adjust.py"),
    ),
    Mutation(
        "An adjusted value may lie within its protection level",
        "cta/result/adjusted_table.py",
        "shortfall(problem, difference.changes), TOO_NEAR",
        "0 * shortfall(problem, difference.changes), TOO_NEAR",
        ("tests/cta/test_adjust.py::test_truth_itself_is_refused_as_too_near_to_the_truth",),
    ),
    Mutation(
        "A rounded value may have the other sign",
        "cta/rounding/rounded_table.py",
        '(x * np.sign(a) < 0, "have changed their sign"),',
        "",
        ("tests/cta/rounding/test_controlled.py",),
    ),
    Mutation(
        "The verifier lets a witness move a published cell",
        "certificates/verifier.py",
        'require(np.all(hidden[at]), "a witness moves a published cell")',
        "pass",
        ("tests/certificates/test_verifier.py", "tests/certificates/test_alterations.py"),
    ),
    Mutation(
        "The verifier asks for half of the lower level",
        "certificates/verifier.py",
        "    return cells, upper, lower, width\n",
        "    return cells, upper, 0.5 * lower, width\n",
        ("tests/certificates/test_verifier.py", "tests/certificates/test_alterations.py"),
    ),
    Mutation(
        "An insider may exclude the truth",
        "certificates/verifier.py",
        'require(np.all(honest), "an insider excludes the truth")',
        "pass",
        ("tests/certificates/test_verifier.py", "tests/certificates/test_alterations.py"),
    ),
    Mutation(
        "PRAM keeps too many records in their cells",
        "microdata/methods/pram.py",
        "(1 - xi) * (1 + 3 * xi)",
        "(1 - xi) * (1 + 2 * xi)",
        ("tests/microdata/methods/test_pram.py",),
    ),
    Mutation(
        "The risk of a pair of records has the wrong sign",
        "microdata/risk/keys.py",
        "odds - odds**2 * log",
        "odds + odds**2 * log",
        ("tests/microdata/test_measures.py",),
    ),
    Mutation(
        "Values of secondary cells may stand in a release",
        "tables/leaving.py",
        "cls.of_table(released_rows(problem.table, suppressed), problem,",
        "cls.of_table(released_rows(problem.table, problem.sensitive), problem,",
        ("tests/publish/test_publication.py",),
    ),
    Mutation(
        "Doubles in a file are looked for at one place in eight",
        "publish/leaks.py",
        "for offset in range(8):",
        "for offset in range(1):",
        ("tests/publish/test_publication.py", "tests/publish/test_published_bytes.py"),
    ),
    Mutation(
        "A batch publishes cells that are unsafe and not hidden",
        "argus/gate.py",
        "shown |= needs & ~is_hidden(protected)",
        "shown |= needs & False",
        ("tests/argus/test_gate.py",),
    ),
    Mutation(
        "The third rule of a batch still looks at contributors, not at holdings",
        "argus/rules.py",
        "return position >= (2 if",
        "return position >= (3 if",
        ("tests/argus/test_rules.py",),
    ),
)
"""Spread over the rooms; more than twenty, so that one may go with its line."""


def copied(folder: Path) -> Path:
    """Copy what git knows or would take into a folder."""
    command = ["git", "ls-files", "-co", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout.decode()
    for name in filter(None, listed.split("\0")):
        source, target = ROOT / name, folder / name
        if source.is_file() and not source.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target)
    return folder


def failing(folder: Path, tests: tuple[str, ...]) -> str | None:
    """Return the first test that fails in a copy, or None.

    Raises
    ------
    RuntimeError
        If the tests could not be run.
    """
    for test in tests:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(folder / "src"), "OMP_NUM_THREADS": "1"},
            check=False,
            capture_output=True,
            text=True,
        )
        if done.returncode == 1:
            found = re.search(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
            return found.group(1) if found else test
        if done.returncode != 0:
            raise RuntimeError(f"{test} could not be run:\n{done.stdout}{done.stderr}")
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", type=int, help="numbers of mutations, from 1")
    parser.add_argument("--baseline", action="store_true", help="break nothing; nothing may fail")
    options = parser.parse_args()
    chosen = [(n, m) for n, m in enumerate(MUTATIONS, 1) if not options.only or n in options.only]
    missed = 0
    with tempfile.TemporaryDirectory() as place:
        folder = copied(Path(place) / "tree")
        if options.baseline:
            tests = tuple(dict.fromkeys(test for _, mutation in chosen for test in mutation.tests))
            found = failing(folder, tests)
            print(f"baseline: {found or 'nothing fails'}")
            return int(found is not None)
        for number, mutation in chosen:
            path = folder / "src" / "tablecloak" / mutation.file
            text = path.read_text(encoding="utf-8")
            path.write_text(mutation.broken(text), encoding="utf-8")
            try:
                found = failing(folder, mutation.tests)
            finally:
                path.write_text(text, encoding="utf-8")
            missed += found is None
            print(f"{number:2} {mutation.fault}: {found or 'NOBODY NOTICED'}", flush=True)
    print(f"{len(chosen) - missed} of {len(chosen)} were noticed.")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())

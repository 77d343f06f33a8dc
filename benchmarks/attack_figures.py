"""Attack random tables with figures beside them by a program of the tests.

    python benchmarks/attack_figures.py --systems 100 --seed 0

Each system has two or three variables or years, small numbers, negative numerators, denominators of
0 that everybody knows, and 5 to 50 ratios or growth rates. The intruder is a linear program over
the cells of the tables, which reads the printed digits. Prints how many sensitive cells he exposes
if the totals are protected without the figures, and together with them; whether the verifier
believes all certificates, and how many altered ones although they lie. Exit code 1 if anything is
exposed together, doubted or believed falsely.

    python benchmarks/attack_figures.py --optima --systems 60 --seed 0

Small systems are protected with the least loss, which enumeration of all choices of totals and
figures confirms; exit code 1 if it does not.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

import tablecloak as tc

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from ratio_systems import Printed, System, altered, exposed, optimum, random_system, table_of
from tablecloak.certificates import verifier
from tablecloak.certificates.file import write_certificate
from tablecloak.tables.keys import are_derived


def system_of(random: np.random.Generator) -> System:
    """Return a random system with 5 to 50 figures."""
    names = ["then", "now", "staff"][: random.integers(2, 4)]
    shape = tuple(random.integers(2, 5, 2).tolist())
    low = {"then": 0 if random.random() < 0.5 else 3, "now": int(random.choice([-20, 1])),
           "staff": 0}  # fmt: skip
    parts = {}
    for name in names:
        table = table_of(random, name, shape, low[name], int(random.choice([15, 60, 900])))
        inner = np.flatnonzero((table.keys != "Total").all(axis=1) & (table.values != 0))
        chosen = random.choice(inner, min(2, len(inner)), replace=False).tolist()
        bounds = (-1e4, 1e5) if low[name] < 0 else None
        rule = tc.Manual([] if name == "staff" else chosen, range=15)
        parts[name] = table.protect(rule, external_bounds=bounds)
    bare = tc.join(parts)
    decimals = int(random.integers(0, 3))
    figures: list[tc.Ratio | tc.Growth] = [tc.Growth("now", since="then", decimals=decimals)]
    if len(names) == 3:
        figures.append(tc.Ratio("now / staff", decimals=decimals))
    printed = []
    for figure in figures:
        quotients = figure.quotients(bare.table)
        quotients = quotients.chosen(quotients.denominators(bare.table.values) > 0)
        terms = (figure.scale, figure.offset)
        pairs = zip(quotients.numerator.tolist(), quotients.denominator.tolist(), strict=True)
        printed += [
            Printed.of(bare.table.values, above, below, decimals, *terms) for above, below in pairs
        ]
    return System(bare, tuple(figures), tc.with_derived(bare, figures), tuple(printed))


def certified(
    pattern: tc.SuppressionPattern, system: System, n_altered: int, random: np.random.Generator
) -> tuple[bool, int, int]:
    """Whether the certificate is believed; how many altered ones are, and how many of them lie.

    Certificate and problem are files, which the stand-alone verifier reads.
    """
    with tempfile.TemporaryDirectory() as scratch, redirect_stdout(io.StringIO()):
        certificate, problem = Path(scratch, "certificate.npz"), Path(scratch, "problem.jj")
        write_certificate(pattern, certificate)
        tc.write_jj(pattern.problem, problem)
        files = [str(certificate), str(problem)]
        is_believed = verifier.main(files) == 0
        arrays = dict(np.load(certificate))
        n_believed = n_false = 0
        for _ in range(n_altered):
            forged = altered(arrays, system, random)
            np.savez(certificate, **forged)
            if verifier.main(files) == 0:
                n_believed += 1
                hidden = forged["suppressed"].astype(bool)
                n = system.bare.table.n_cells
                n_false += bool(exposed(system.bare, hidden[:n], system.told(hidden)))
    return is_believed, n_believed, n_false


def attack(n_systems: int, n_altered: int, random: np.random.Generator) -> bool:
    """Attack random systems, print what was found, and return whether nothing was."""
    count: Counter[str] = Counter()
    while count["systems"] < n_systems:
        system = system_of(random)
        if not 5 <= len(system.printed) <= 50:
            continue
        count["systems"] += 1
        n, problem = system.bare.table.n_cells, system.problem
        try:
            apart = tc.suppress(system.bare, method="sequential", time_limit=1).suppressed
            pattern = tc.suppress(problem, method="sequential", time_limit=1)
        except tc.ModelError:
            count["refused"] += 1
            continue
        together = pattern.suppressed
        is_believed, n_believed, n_false = certified(pattern, system, n_altered, random)
        count.update(
            figures=len(system.printed),
            sensitive=int(system.bare.sensitive.sum()),
            apart=len(exposed(system.bare, apart, system.printed)),
            together=len(exposed(system.bare, together[:n], system.told(together))),
            published=int(np.sum(~together[are_derived(problem.table.keys)])),
            verified=int(is_believed),
            altered=n_altered,
            believed=n_believed,
            false=n_false,
        )
    n_certificates = count["systems"] - count["refused"]
    print(
        "{systems} systems ({refused} cannot be protected), {figures} figures, {sensitive} "
        "sensitive cells: {apart} exposed apart, {together} together, {published} figures "
        "published; {verified} certificates verified from files; of {altered} altered ones "
        "{believed} believed, {false} of them false".format_map(count)
    )
    return not count["together"] and not count["false"] and count["verified"] == n_certificates


def compare_optima(n_systems: int, seed: int) -> bool:
    """Compare the best choices of totals and figures with enumeration, and print how many agree."""
    n_alike = 0
    for number in range(seed, seed + n_systems):
        system = random_system(number, (3,), 1)
        pattern = tc.suppress(system.problem, method="exact", time_limit=60)
        best = optimum(system)
        is_alike = pattern.is_optimal and abs(pattern.loss - best) <= 1e-6 * best
        n_alike += is_alike
        if not is_alike:
            print(f"system {number}: {pattern.loss}, bound {pattern.bound}; enumeration {best}")
    print(f"{n_alike} of {n_systems} choices of totals and figures are those of enumeration")
    return n_alike == n_systems


def main() -> int:
    """Attack or compare, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--systems", type=int, default=100)
    parser.add_argument("--altered", type=int, default=5, help="altered certificates of each")
    parser.add_argument("--optima", action="store_true", help="compare with enumeration instead")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    if options.optima:
        return int(not compare_optima(options.systems, options.seed))
    random = np.random.default_rng(options.seed)
    return int(not attack(options.systems, options.altered, random))


if __name__ == "__main__":
    sys.exit(main())

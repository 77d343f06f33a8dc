"""Attack what is published of random tables, by programs that share no code with the package.

    python benchmarks/attack_suppressions.py --count 1000 --seed 0
    python benchmarks/attack_suppressions.py --count 100000 --minutes 60 --scales

Each seed makes one table and one task: a pattern, intervals, or intervals around an adjustment,
by any method and with any options. What is published is attacked from the definition; where an
optimum is claimed for a tiny table all patterns are tried. Prints how often what happened, and
each failure with the seed that repeats it (`--only SEED`); ends with 1 if there was any.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import numpy as np

import tablecloak as tc

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import naive_attacks as naive
from random_tables import random_problem
from watchdog import Watchdog

REQUIREMENTS = ("two-sided", "width", "upper")
KINDS = ("pattern", "tiny pattern", "pattern", "tiny pattern", "intervals", "covering")

ATTACKED: Counter[str] = Counter()
"""Sensitive cells that were attacked, and patterns compared with all others."""


class FaultError(Exception):
    """What is published, claimed or raised is wrong."""


def attack_pattern(problem: tc.ProtectionProblem, random: np.random.Generator, tiny: bool) -> str:
    require = str(random.choice(REQUIREMENTS))
    options = {
        "method": str(random.choice(["auto", "sequential", "exact"])),
        "weights": random.choice([None, None, "value", "unit", "log", "relative", "file"]),
        "time_limit": float(random.choice([0.02, 0.5, 2.0] if not tiny else [2.0, 10.0])),
        "threads": int(random.choice([1, 1, 2])),
        "seed": int(random.integers(100)),
        "protect_against": str(random.choice(["zeros"])) if random.random() < 0.1 else (),
    }
    if random.random() < 0.2:
        options["previous"] = random.random(problem.table.n_cells) < 0.3
        options["discount"] = float(random.choice([0.0, 0.5, 1.0]))
    try:
        found = tc.suppress(problem, require=require, **options)
    except tc.ModelError as error:
        return _refused(problem, error, require, bool(options["protect_against"]))
    except tc.SolverError:
        if not options["protect_against"]:
            raise
        return f"{require}: not proved against insiders in time"
    found.verify()
    _check_pattern(found, require)
    audited = tc.audit(problem, found, require=require)
    if tc.Verdict.ATTACKABLE in audited.verdicts:
        raise FaultError(f"our own audit disagrees: {audited.summary()}")
    ATTACKED["safe patterns that our audit leaves undecided"] += not audited.is_safe
    if tiny:
        _check_bound(found, require, bool(options["protect_against"]))
    return f"{require}: {options['method']}" + " optimal" * found.is_optimal


def _refused(
    problem: tc.ProtectionProblem, error: tc.ModelError, require: str, insiders: bool
) -> str:
    """Check that what was refused cannot be protected; levels below the precision may be."""
    if "below the precision" in str(error):
        return f"{require}: levels below the precision of their values"
    everything = naive.intervals_of(problem, ~problem.frozen)
    if not insiders and not naive.exposed(problem, *everything, require):
        raise FaultError(f"refused although it can be protected: {str(error)[:150]}") from None
    return f"{require}: cannot be protected"


def _check_pattern(found: tc.SuppressionPattern, require: str) -> None:
    problem, hidden = found.problem, found.suppressed
    if np.any((problem.sensitive | problem.forced) & ~hidden) or np.any(problem.frozen & hidden):
        raise FaultError("a status is not kept")
    ATTACKED["cells attacked, patterns"] += problem.n_sensitive
    open_ = naive.exposed(problem, *naive.intervals_of(problem, hidden), require)
    if open_:
        raise FaultError(f"exposed: {open_}")
    for_nothing = naive.determined(problem, hidden)
    if for_nothing:
        raise FaultError(f"hidden for nothing: {for_nothing}")
    if found.bound > found.loss * (1 + 1e-9):
        raise FaultError(f"bound {found.bound!r} above loss {found.loss!r}")


def _check_bound(found: tc.SuppressionPattern, require: str, against: bool) -> None:
    free = found.problem.table.n_cells - int((found.problem.sensitive | found.problem.forced).sum())
    if free > 10:
        return
    ATTACKED["patterns compared with all others"] += 1
    best = naive.least_loss(found.problem, require)
    slack = 1e-6 * max(1.0, best)
    if found.bound > best + slack:
        raise FaultError(f"bound {found.bound!r}, but a pattern loses {best!r}")
    if not against and found.loss < best - slack:
        raise FaultError(f"loss {found.loss!r} is below the optimum {best!r}")


def attack_intervals(problem: tc.ProtectionProblem, random: np.random.Generator) -> str:
    require = str(random.choice(REQUIREMENTS))
    try:
        found = tc.publish_intervals(
            problem,
            require=require,
            weights=random.choice([None, "relative", "value", "unit", "log"]),
            blur=float(random.choice([0.0, 1.0, 3.0])),
            time_limit=float(random.choice([0.02, 0.5, 2.0])),
            seed=int(random.integers(100)),
        )
    except tc.ModelError as error:
        return _refused(problem, error, require, False)
    check_intervals(problem, found, require)
    proved = found.proved_bound()
    if proved < found.bound * (1 - 1e-9) or found.bound > found.narrowest * (1 + 1e-6):
        raise FaultError(f"bound {found.bound!r}, proved {proved!r}, narrowest {found.narrowest!r}")
    return f"{require}: intervals"


def check_intervals(problem: tc.ProtectionProblem, found: tc.IntervalPattern, require: str) -> None:
    """Attack intervals as they are released, not as they are held."""
    release, a = found.release(), problem.table.values
    low, high = naive.ends_of(problem, release)
    if np.any(low > a) or np.any(high < a):
        raise FaultError("an interval does not hold the true value")
    exact = low == high
    must = (problem.sensitive | problem.forced) & (problem.lower_bound < problem.upper_bound)
    if np.any(exact & must) or np.any(~exact & problem.frozen):
        raise FaultError("a status is not kept")
    ATTACKED["cells attacked, intervals"] += problem.n_sensitive
    open_ = naive.exposed(problem, low, high, require)
    if open_:
        raise FaultError(f"exposed: {open_}")
    audited = tc.audit(problem, release, require=require)
    if tc.Verdict.ATTACKABLE in audited.verdicts:
        raise FaultError(f"our own audit disagrees: {audited.summary()}")
    # Ends are drawn around the proof, which leaves an audit 1e-7 of a need to find it in.
    ATTACKED["safe intervals that our audit leaves undecided"] += not audited.is_safe


def attack_covering(problem: tc.ProtectionProblem, random: np.random.Generator) -> str:
    try:
        adjusted = tc.adjust(problem, time_limit=float(random.choice([0.5, 2.0])))
    except tc.TablecloakError as error:
        return f"covering: no adjustment ({type(error).__name__})"
    except Exception as error:
        # Adjustments have an attack of their own.
        return f"covering: adjustment failed ({type(error).__name__})"
    try:
        found = tc.protected_intervals(adjusted, time_limit=10)
    except tc.ModelError as error:
        return _refused(problem, error, "two-sided", False)
    check_intervals(problem, found, "two-sided")
    return "covering: intervals"


def attack(seed: int, *, scales: bool) -> str:
    """Make, publish and attack one table; say what it was.

    Raises
    ------
    FaultError
        With the reason; also if anything but an error about the input was raised.
    """
    random = np.random.default_rng([seed, 1])
    kind = KINDS[seed % len(KINDS)]
    problem = random_problem(seed, kind="awkward", scales=scales, tiny=kind.startswith("tiny"))
    try:
        if kind == "intervals":
            return attack_intervals(problem, random)
        if kind == "covering":
            return attack_covering(problem, random)
        return attack_pattern(problem, random, kind.startswith("tiny"))
    except FaultError:
        raise
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        raise FaultError(f"{type(error).__name__} in {where}: {str(error)[:200]}") from error


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--scales", action="store_true")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after so long")
    parser.add_argument("--only", type=int, help="repeat one seed, with the traceback")
    options = parser.parse_args()
    if options.only is not None:
        print(attack(options.only, scales=options.scales))
        return
    counts: Counter[str] = Counter()
    started, failures = time.monotonic(), 0
    tried = 0

    def report() -> None:
        for kind, number in sorted((counts + ATTACKED).items()):
            print(f"{number:6d}  {kind}")
        seconds = time.monotonic() - started
        print(f"{failures} failures in {tried} problems, {seconds:.0f} s", flush=True)

    watchdog = Watchdog(report)
    for seed in range(options.seed, options.seed + options.count):
        if time.monotonic() - started > 60 * options.minutes:
            break
        tried += 1
        watchdog.watch(seed)
        try:
            counts[attack(seed, scales=options.scales)] += 1
        except FaultError as fault:
            failures += 1
            print(f"seed {seed} ({KINDS[seed % len(KINDS)]}): {fault}", flush=True)
    report()
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()

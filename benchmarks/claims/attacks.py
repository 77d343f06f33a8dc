"""Attacks by programs that share no code with the package."""

import subprocess
import sys
from functools import partial
from pathlib import Path

from bench.claims import Claim, Column, Instance, Method

ROOT = Path(__file__).resolve().parents[2]

PROGRAMS = {
    "suppressions": "benchmarks/attack_suppressions.py --count 100000 --seed {seed} --minutes {minutes}",
    "scales": "benchmarks/attack_suppressions.py --scales --count 100000 --seed {seed} --minutes {minutes}",
    "adjustments": "benchmarks/attack_adjustments.py --count 100000 --seed {seed} --seconds {seconds}",
    "releases": "benchmarks/attack_releases.py --count 100000 --seed {seed} --minutes {minutes}",
    "chains": "benchmarks/attack_chains.py --chains 20 --seed {seed}",
    "safe rooms": "benchmarks/attack_safe_rooms.py --count 100000 --seed {seed} --minutes {minutes}",
    "certificates": "benchmarks/attack_certificates.py --count 10000 --seed {seed}",
    "figures": "benchmarks/attack_figures.py --systems 100 --seed {seed}",
    "best figures": "benchmarks/attack_figures.py --optima --systems 60 --seed {seed}",
    "claims": "benchmarks/attack_claims.py --count 300 --seed {seed}",
    "bounds": "benchmarks/attack_bounds.py --minutes {minutes} --seed {seed}",
    "forged certificates": "benchmarks/forged_certificates.py",
    "forged claims": "benchmarks/forged_claims.py",
    "mutated files": "tests/fuzzing.py --files 100000",
    "bad inputs": "tests/bad_inputs.py",
}
"""Command lines; each program ends with 0 if nothing was found."""


def attack(command, setting):
    words = command.format(
        seed=setting.seed, seconds=setting.limit, minutes=setting.limit / 60
    ).split()
    done = subprocess.run(
        [sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False
    )
    last = (done.stdout.strip().splitlines() or [done.stderr.strip()[-200:] or "nothing"])[-1]
    return {"tried": last, "found_nothing": done.returncode == 0}


CLAIM = Claim(
    apart=(),
    name="attacks",
    title="Attacks by programs that share no code with the package",
    text="""Every promise is attacked from its definition: patterns, intervals, adjusted and rounded tables, whole jobs from their
release folder, altered and forged certificates, mutated files. The limit is the time of each program that has one.""",
    said_in=("README.md", "docs/guarantees.md", "docs/certificate.md"),
    methods=(Method("attack", attack),),
    instances=lambda folder: [
        Instance(name, partial(str, line)) for name, line in PROGRAMS.items()
    ],
    smallest=Instance("one", lambda: "benchmarks/attack_suppressions.py --count 1 --seed {seed}"),
    columns=(
        Column("tried", "tried"),
        Column("found_nothing", "found nothing"),
        Column("failures", "found, all mended"),
    ),
    limits=(240.0,),
    findings="""Mutated files carry one to three changes (bits, tokens, lines, cuts); each was read or refused with an error of ours. Found on the
way: bare errors for broken numbers in CSV problems and relations, for a JJ relation with a huge cell number, for statuses that are no
text, for archives that are none, and for keywords out of place; a width in an .rda that asked for memory without end; an empty lead
string of a hierarchy that never ended. Exact witnesses cost little where patterns are searched (hier13x7x7d, hier16, cbs: same losses).""",
)

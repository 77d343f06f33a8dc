"""pytauargus on one table, optimal or modular: run by a Python that has pytauargus.

    PYTHON benchmarks/peer_tools/pytauargus_run.py FOLDER optimal SECONDS

FOLDER holds table.jj, which the optimal method reads, and table.tab, table.rda and one file for
each hierarchy, which the modular method reads. The answer is written to FOLDER/answer.json: the
indices of hidden cells of table.jj, or the codes of secondaries, and the seconds of the processor.
"""

import json
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

SINGLETONS = {"modular": False, "modular, singletons": True}
"""Whether the modular method looks after single contributors in its subtables."""


def optimal(folder: Path, minutes: int) -> dict:
    """The branch and cut of Fischetti and Salazar; its file lists what is hidden besides."""
    from pytauargus import HiTaSCtrl

    scratch = tempfile.mkdtemp()
    started = time.process_time()
    code = HiTaSCtrl().full_jj(str(folder / "table.jj"), scratch + "/out", minutes, "", scratch)
    seconds = time.process_time() - started
    lines = Path(scratch, "out").read_text().splitlines()
    cells = [int(line.split()[0]) for line in lines if line.strip()]
    return {"seconds": seconds, "secondary": cells, "claim": f"code {code}"}


def modular(folder: Path, minutes: int, singletons: bool) -> dict:
    """Tables of one step of the hierarchies each, with the optimal method; codes come back."""
    from pytauargus.batch import SafetyRule, SpecifyTable, Suppress
    from pytauargus.engine import Engine, SafetyRuleSet, parse_rda_table

    engine = Engine()
    meta = parse_rda_table(folder / "table.rda")
    for number, variable in enumerate(meta.variables):
        variable.index = number
    names = [variable.name for variable in meta.variables if variable.is_categorical]
    started = time.process_time()
    engine.open_table_data(str(folder / "table.tab"), meta)
    rules = SafetyRuleSet.from_rules([SafetyRule("MAN", ["10"])])
    engine._tables = [(SpecifyTable(names, "value", "", "cost"), rules)]
    engine.read_table()
    engine.suppress(
        Suppress(
            "MOD", 1, mod_max_time=minutes,
            mod_singleton=singletons, mod_singleton_multi=singletons, mod_min_freq=singletons,
        )
    )  # fmt: skip
    seconds = time.process_time() - started
    engine.write_intermediate_table(0, str(folder / "out.tab"), simple=True, suppress_empty=True)
    found = []
    for line in (folder / "out.tab").read_text().splitlines():
        fields = line.split(";")
        # Behind the codes: value, frequency, cost, status.
        if fields[len(names) + 3] == "M":
            found.append([field.strip('"') for field in fields[: len(names)]])
    return {"seconds": seconds, "secondary_codes": found, "claim": "ended"}


def main(folder: Path, method: str, limit: float) -> None:
    """Write the answer."""
    minutes = max(1, round(limit / 60))
    if method == "optimal":
        answer = optimal(folder, minutes)
    else:
        answer = modular(folder, minutes, SINGLETONS[method])
    answer["version"] = version("pytauargus")
    (folder / "answer.json").write_text(json.dumps(answer))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], float(sys.argv[3]))

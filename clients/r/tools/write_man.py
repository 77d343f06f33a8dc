"""Write the manual pages of the R package from its functions and from the calls of tablecloak.

    python clients/r/tools/write_man.py

Usage comes from R/calls.R; what an argument means comes from the class of the call. Functions of
R/tables.R have their page above them, in comments as roxygen2 reads them.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tablecloak.jobs.schema import Job
from tablecloak.service import CALLS
from tablecloak.service.call import SOURCE

PACKAGE = Path(__file__).resolve().parents[1]

LOCAL = {
    "tabular": "Data frame: the table, with its totals.",
    "list_tables": "Named list of data frames, each with its totals.",
    "list_explanatory_vars": "For each table the columns that span it.",
    "df_metadata": "Data frame with one row for each table to publish.",
    "df_eq_indicator": "Data frame with equations: eq_name, eq_indicator, unit.",
    "corr_table": "Data frame with one column for each level, from the coarsest to the finest.",
    "hrc": "Paths of .hrc files, named by variables.",
    "files_name": "Not needed: tau-ARGUS' files are not written.",
    "dir_name": "Not needed, as files_name.",
    "show_batch_console": "Not needed: there is no console.",
    "file_name": "Path of the file to write, with or without .hrc. Default: as corr_table.",
    "arb_filename": "Path of the batch file.",
    "is_tabular": "Not needed: the batch says it.",
    "missing_dir": "Not needed: files are written beside the batch.",
    "tauargus_exe": "Not needed: tau-ARGUS is not called.",
    "logbook": "Path of a file for the log. Default: none.",
    "verbose": "Whether to print the log, or to return more.",
    "import": "Whether to return the tables that were written.",
    "...": "Further arguments of the call, such as time_limit (seconds) and tolerance. Arguments "
    "of rtauargus that only say how tau-ARGUS is called are left out.",
}
"""Arguments that R handles itself, or takes in another form than the call."""

ABOUT = {
    "tab_rtauargus": (
        "Protect one table",
        "Finds unsafe cells by rules, or takes those of secret_var, and hides the cheapest others "
        "that protect them. The pattern is proved.",
        "The table with a column Status: A (too few contributors, where neither NK nor P finds "
        "it unsafe), B (any other primary), D (secondary) or V (to be published), in the order of "
        "its rows; with summary_secret a list of mask and stats.",
    ),
    "tab_multi_manager": (
        "Protect linked tables together",
        "All tables are one problem: a cell that several show has one status, and none is done "
        "again because of another.",
        "The tables, each with a column is_secret_1; with summary_secret also stats.",
    ),
    "analyse_metadata": (
        "Which tables must be protected together",
        "Finds tables that are contained in others, and clusters that share cells or sums.",
        "A data frame with a row for each table to protect, and its cluster.",
    ),
    "write_hrc2": (
        "Write a hierarchy",
        "Writes an .hrc file from a table of correspondence.",
        "The path of the file, invisibly.",
    ),
    "run_arb": (
        "Run a batch file of tau-ARGUS",
        "Every command of the batch is applied, named as not applied, or refused.",
        "With import a list of data frames, one for each CSV file that was written.",
    ),
}
"""Title, description and value of each page."""


EXAMPLES = {
    "tab_rtauargus": """cells <- data.frame(
  region = rep(c("N", "S", "Total"), each = 3), size = rep(c("a", "b", "Total"), 3),
  value = c(20, 50, 70, 30, 40, 70, 50, 90, 140), freq = c(9, 1, 10, 9, 9, 18, 18, 10, 28)
)
if (nzchar(Sys.which("tablecloak"))) {
  tab_rtauargus(cells, c("region", "size"), safety_rules = "FREQ(3,10)", time_limit = 5)
}""",
}
"""Examples of pages whose functions have no comment."""


def functions() -> dict[str, str]:
    """Arguments of each function as they stand in R, by its name."""
    text = (PACKAGE / "R" / "calls.R").read_text("utf-8")
    return dict(re.findall(r"^(\w+) <- function\((.*?)\) \{$", text, re.M | re.S))


def arguments_of(signature: str) -> list[str]:
    """Names of arguments, in their order."""
    parts, depth = [""], 0
    for letter in signature:
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.partition("=")[0].strip() for part in parts]


def page(name: str, signature: str) -> str:
    """Text of the page of one function."""
    title, description, value = ABOUT[name]
    helps = {p.name: p.help for p in CALLS.parameters(name)} if name in CALLS else {}
    lines = [
        "% Written by tools/write_man.py",
        f"\\name{{{name}}}",
        f"\\alias{{{name}}}",
        f"\\title{{{title}}}",
        f"\\description{{{description}}}",
        "\\usage{",
        f"{name}({signature.replace('%', chr(92) + '%')})",
        "}",
        "\\arguments{",
    ]
    for each in arguments_of(signature):
        shown = "\\dots" if each == "..." else each
        text = (LOCAL.get(each) or helps[each]).replace("%", "\\%")
        lines.append(f"  \\item{{{shown}}}{{{text}}}")
    lines += ["}", f"\\value{{{value}}}"]
    if name in EXAMPLES:
        lines.append(f"\\examples{{\n{EXAMPLES[name]}\n}}")
    return "\n".join([*lines, ""])


def commented() -> dict[str, str]:
    """Text of the pages of R/tables.R and R/objects.R, by the function that each begins with."""
    files = (PACKAGE / "R" / name for name in ("tables.R", "objects.R"))
    text = "\n".join(path.read_text("utf-8") for path in files)
    blocks = re.findall(
        r"((?:^#'.*\n)+)(\w+) <- function\(((?:[^()]|\((?:[^()]|\(\))*\))*)\)", text, re.M
    )
    comments = {name: _tags(comment) for comment, name, _ in blocks}
    signatures = {name: signature for _, name, signature in blocks}
    pages = {}
    for name, tags in comments.items():
        if "rdname" in tags:
            continue
        group = [name, *(n for n, other in comments.items() if other.get("rdname") == name)]
        items: dict[str, str] = {}
        for each in group:
            source: Any = comments[each]
            while source:
                items = source["param"] | items
                source = comments.get(source.get("inheritParams", ""))
        names = list(dict.fromkeys(a for each in group for a in arguments_of(signatures[each])))
        lines = ["% Written by tools/write_man.py", f"\\name{{{name}}}"]
        lines += [f"\\alias{{{each}}}" for each in group]
        lines += [f"\\title{{{tags['title']}}}", f"\\description{{{tags['about']}}}", "\\usage{"]
        for each in group:
            # R CMD check wants at most 90 letters; a default stays beside its argument.
            usage = f"{each}({signatures[each]})".replace(" = ", "\0=\0")
            wrapped = textwrap.wrap(usage, 90, subsequent_indent=" " * (len(each) + 1))
            lines += [line.replace("\0", " ") for line in wrapped]
        lines += ["}", "\\arguments{"]
        lines += [f"  \\item{{{a.replace('...', chr(92) + 'dots')}}}{{{items[a]}}}" for a in names]
        lines += ["}", f"\\value{{{tags['return']}}}"]
        if "examples" in tags:
            lines += [f"\\examples{{\n{tags['examples']}\n}}"]
        pages[name] = "\n".join([*lines, ""])
    return pages


def _tags(comment: str) -> dict[str, Any]:
    """What a comment of roxygen2 says: title, description, and tags."""
    text = re.sub(r"^#' ?", "", comment, flags=re.M)
    head, *rest = re.split(r"^@", text, flags=re.M)
    title, _, about = head.strip().partition("\n")
    found: dict[str, Any] = {"title": title, "about": about.strip() or f"{title}.", "param": {}}
    for part in rest:
        tag, _, said = part.partition(" ") if not part.startswith("examples") else (
            "examples", "", part.removeprefix("examples\n"))  # fmt: skip
        if tag == "param":
            name, _, meaning = said.partition(" ")
            found["param"][name] = re.sub(r"\s+", " ", meaning.strip())
        else:
            found[tag] = said.strip() if tag == "examples" else re.sub(r"\s+", " ", said.strip())
    return found


def pages() -> dict[str, str]:
    """Text of all pages of the manual, by the names of their files."""
    return {name: page(name, signature) for name, signature in functions().items()} | commented()


def declared() -> str:
    """What R must know of a job file: keys whose files it sends, and keys of the table itself.

    A hierarchy can also be a name; `protect` reads its file.
    """
    schema = Job.model_json_schema()
    paths = dict.fromkeys(_paths(schema, schema["$defs"]))
    source = [key for key in SOURCE if key not in ("data", "dimensions", "rules")]
    rows = ",\n  ".join(json.dumps(path) for path in paths)
    return f'{{"source": {json.dumps(source)},\n "paths": [\n  {rows}\n]}}\n'


def _paths(schema: Any, models: Any, above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the places that hold paths and nothing else; each entry of a list is ``*``."""
    if "$ref" in schema:
        schema = models[schema["$ref"].rpartition("/")[2]]
    choices = [one for key in ("anyOf", "oneOf") for one in schema.get(key, [])]
    is_name = any(one.get("type") == "string" and "format" not in one for one in choices)
    if schema.get("format") == "path":
        yield above
    for one in choices:
        if not (is_name and one.get("format") == "path"):
            yield from _paths(one, models, above)
    for key, below in schema.get("properties", {}).items():
        yield from _paths(below, models, (*above, key))
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from _paths(schema[key], models, (*above, "*"))


if __name__ == "__main__":
    (PACKAGE / "inst" / "job.json").write_text(declared(), encoding="utf-8")
    for name, text in pages().items():
        (PACKAGE / "man" / f"{name}.Rd").write_text(text, encoding="utf-8")

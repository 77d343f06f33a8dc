"""Draw ``way-*.svg``: for each family of methods, the way from its public function to its result.

Run from any folder: ``python docs/images/draw_ways.py``. Places are paths within the package; a
test checks that each exists, and that the pictures are those that this program draws.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path


@dataclass(frozen=True)
class Box:
    """A station of a way.

    Parameters
    ----------
    place : str
        A path within the package.
    does : tuple of str
        What happens there, in two lines.
    call : str, optional
        The public function or class that stands there; it is the first of the box.
    """

    place: str
    does: tuple[str, str]
    call: str = ""


WAYS: dict[str, tuple[str, tuple[Box, ...]]] = {
    "suppression": (
        "Suppression: from a problem to a proved pattern",
        (
            Box(
                "suppression/suppress.py", ("budget, and what the", "pattern must hold"), "suppress"
            ),
            Box(
                "tables/changes/",
                ("weights, earlier releases, sums:", "a problem made of a problem"),
            ),
            Box("suppression/attack/", ("the question: intruders,", "what each knows and reaches")),
            Box(
                "suppression/system/", ("relations, rooms, and the need", "of each sensitive cell")
            ),
            Box("suppression/search/", ("phases of schedule.py, the", "last of them for insiders")),
            Box(
                "suppression/rows/",
                ("rows that every pattern keeps:", "the lower bound on the loss"),
            ),
            Box("suppression/proof/", ("witnesses and multipliers,", "on the given problem")),
            Box("suppression/result/", ("the pattern, its certificates", "verified, its release")),
        ),
    ),
    "adjustment": (
        "Adjustment: from a problem to a verified table",
        (
            Box("cta/adjust.py", ("budget, and the task, which", "is prepared once"), "adjust"),
            Box("cta/statistics/", ("what is to be kept: means,", "regressions, covariances")),
            Box("cta/nearest.py", ("multiples of the last digit,", "real numbers, then repair")),
            Box("cta/model/", ("room of each cell, directions,", "and their program")),
            Box("cta/search/", ("whole, in parts or large;", "phases of directions.py")),
            Box("cta/first_order/", ("bound and first directions", "of larger tables")),
            Box("cta/result/", ("the table, verified against", "the problem, its release")),
            Box(
                "cta/risk/",
                ("what an intruder guesses who", "runs the method backwards"),
                "attack_adjustment",
            ),
        ),
    ),
    "rounding": (
        "Rounding: from counts to multiples that add up",
        (
            Box("cta/rounding/controlled.py", ("budget", "and task"), "controlled_rounding"),
            Box("cta/rounding/task.py", ("whole numbers, base, and", "the steps that are allowed")),
            Box(
                "cta/rounding/slabs.py",
                ("three dimensions or more and", "3,000 cells: prices, then slabs"),
            ),
            Box(
                "cta/rounding/steps.py",
                ("all others: the neighbouring", "multiples, then farther ones"),
            ),
            Box("solve/", ("linear programs and the tree,", "with its multipliers")),
            Box(
                "cta/rounding/rounded_table.py",
                ("the table, verified,", "and the proof of its bound"),
            ),
        ),
    ),
    "cell-keys": (
        "Cell keys: from records to tables with repeatable noise",
        (
            Box("cellkey/record_keys.py", ("a random key", "for each record"), "draw_record_keys"),
            Box(
                "cellkey/design.py",
                ("a perturbation table of largest", "entropy, or one from a file"),
            ),
            Box("cellkey/counts.py", ("or magnitudes.py:", "perturb_magnitudes"), "perturb_counts"),
            Box("tables/tabulation/", ("sums of contributions,", "and of record keys: cell keys")),
            Box(
                "cellkey/perturbation_table.py",
                ("the change of a cell, by", "its value and its key"),
            ),
            Box("cellkey/utility.py", ("how far values lie", "from the truth")),
            Box(
                "cellkey/attack.py",
                ("true counts that fit to", "one or several releases"),
                "attack_counts",
            ),
        ),
    ),
    "records": (
        "Records: from a frame to a release of the same kind",
        (
            Box("microdata/methods/method.py", ("one class for each", "method"), "Method.protect"),
            Box(
                "microdata/library_frames.py",
                ("pandas, Polars and Arrow", "seen alike, and given back"),
            ),
            Box("microdata/methods/", ("columns that are used and", "changed; the change itself")),
            Box(
                "microdata/anonymity/",
                ("large groups: key patterns,", "a search, all counted anew"),
            ),
            Box(
                "microdata/order.py",
                ("the order of records", "must tell nothing"),
                "in_random_order",
            ),
            Box("microdata/risk/", ("groups, linkage, uniques", "of sample and population")),
            Box("microdata/utility/", ("what analysts lose, and", "methods on one map")),
            Box(
                "microdata/assessment.py",
                ("figures of risk and utility,", "before and after"),
                "assess",
            ),
        ),
    ),
    "safe-rooms": (
        "Safe rooms: from a call of a researcher to what leaves",
        (
            Box("safe/project.py", ("the calls of one", "researcher"), "Project"),
            Box("safe/tables/", ("rules of cells, and one", "pattern for all figures")),
            Box("suppression/", ("the gaps that protect", "a table, proved")),
            Box("safe/other/", ("a class for each kind that", "is no table, checked alone")),
            Box("safe/joint/", ("all outputs together: classes", "of records, small groups")),
            Box("safe/ledger.py", ("keeps records, outputs,", "and what was found")),
            Box("safe/bundle.py", ("what the checker gets,", "with the page"), "write_bundle"),
            Box("safe/decisions.py", ("approved or rejected;", "what was approved leaves")),
        ),
    ),
}
"""Title and stations of each family."""

ACROSS = 4
"""Boxes of a row."""

WIDTH, HEIGHT, GAP, LEFT, TOP = 264, 92, 28, 20, 58
"""Size of a box, distance between boxes, and where the first one begins."""


def main() -> None:
    """Write the pictures beside this file."""
    for name in WAYS:
        Path(__file__).with_name(f"way-{name}.svg").write_text(drawing(name), encoding="utf-8")


def drawing(name: str) -> str:
    """Return the picture of a family."""
    title, boxes = WAYS[name]
    n_rows = -(-len(boxes) // ACROSS)
    width = 2 * LEFT + ACROSS * WIDTH + (ACROSS - 1) * GAP
    height = TOP + n_rows * HEIGHT + (n_rows - 1) * GAP + LEFT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        'font-family="system-ui, sans-serif" font-size="14" fill="#222222">',
        f"<title>{escape(title)}</title>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0L8 4L0 8z" fill="#555555"/></marker></defs>',
        f'<rect width="{width}" height="{height}" rx="8" fill="#fafafa"/>',
        text(LEFT, 36, title, size=18, bold=True),
    ]
    for number, box in enumerate(boxes):
        x, y = corner(number)
        lines += station(box, x, y)
        if number + 1 < len(boxes):
            lines.append(arrow(x, y, *corner(number + 1)))
    return "\n".join([*lines, "</svg>", ""])


def corner(number: int) -> tuple[int, int]:
    """Return where a box begins; each row is read from the left."""
    row, column = divmod(number, ACROSS)
    return LEFT + column * (WIDTH + GAP), TOP + row * (HEIGHT + GAP)


def station(box: Box, x: int, y: int) -> list[str]:
    """Return a box with its lines; a public function stands above its place."""
    fill = "#cfe3f5" if box.call else "#ffffff"
    heads = [text(x + 10, y + 24, box.call or box.place, bold=True)]
    first = y + 48
    if box.call:
        heads.append(text(x + 10, y + 42, box.place, size=12))
        first = y + 63
    return [
        f'<rect x="{x}" y="{y}" width="{WIDTH}" height="{HEIGHT}" rx="6" fill="{fill}" '
        'stroke="#888888"/>',
        *heads,
        *(text(x + 10, first + 18 * line, words) for line, words in enumerate(box.does)),
    ]


def arrow(x: int, y: int, next_x: int, next_y: int) -> str:
    """Return the way to the next box, round the end of a row if it stands in the next one."""
    middle = y + HEIGHT // 2
    path = f"M{x + WIDTH} {middle}H{next_x}"
    if next_y > y:
        between = y + HEIGHT + GAP // 2
        path = f"M{x + WIDTH // 2} {y + HEIGHT}V{between}H{next_x + WIDTH // 2}V{next_y}"
    return f'<path d="{path}" fill="none" stroke="#555555" marker-end="url(#end)"/>'


def text(x: int, y: int, words: str, *, size: int = 14, bold: bool = False) -> str:
    """Return one line of text."""
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x}" y="{y}" font-size="{size}"{weight}>{escape(words)}</text>'


if __name__ == "__main__":
    main()

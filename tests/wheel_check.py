"""Build the source archive and the wheel, look into them, and use the wheel as a stranger would.

    python tests/wheel_check.py                 # builds, checks, installs, runs README
    python tests/wheel_check.py --dist dist     # checks what `make dist` has built

The wheel is installed in an empty environment, away from the repository. First without extras:
a finished table is protected there, what is missing is named, and README is run but for the
commands that need an extra. Then with the extras that README tells readers to install: its Python
and its commands are run as printed, in an empty folder. Needs the network, or another index of
packages, for pip alone.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import venv
import zipfile
from pathlib import Path

import readme

ROOT = Path(__file__).resolve().parents[1]
SOURCE_FILES = {
    "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "docs", "examples",
    "pyproject.toml", "src", ".gitignore",
}  # fmt: skip
"""All that may lie at the top of the source archive."""

MOST_WHEEL_BYTES = 2_000_000
"""The wheel holds programs and pages alone; data of tests and examples stay in the repository."""

MOST_SOURCE_BYTES = 4_000_000

MOST_IMPORT_SECONDS = 0.3
"""Limit for ``import tablecloak``, unless numpy alone takes longer on this machine."""


def main() -> None:
    """Check all of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dist", type=Path, help="Folder with what was built already.")
    parser.add_argument("--readme", type=Path, default=ROOT / "README.md")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tablecloak-wheel-") as place:
        folder = Path(place)
        dist = options.dist or built(folder / "dist")
        (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
        check_wheel(wheel)
        check_source(source)
        python = new_environment(folder / "environment")
        install(python, wheel)
        (folder / "bare").mkdir()
        check_bare(python, folder / "bare")
        (folder / "main").mkdir()
        run_page(
            python, without_extras(options.readme.read_text(encoding="utf-8")), folder / "main"
        )
        check_import(python, folder / "bare")
        (folder / "readme").mkdir()
        run_readme(python, wheel, options.readme, folder / "readme")
    print("The wheel is good.")


def built(folder: Path) -> Path:
    """Build both; the wheel is made from the source archive."""
    call([sys.executable, "-m", "build", "--outdir", str(folder), str(ROOT)], quiet=True)
    return folder


def check_wheel(path: Path) -> None:
    """Look for what does not belong into the wheel, and what is missing in it."""
    version = path.name.split("-")[1]
    names = zipfile.ZipFile(path).namelist()
    tops = {name.split("/")[0] for name in names}
    require(tops == {"tablecloak", f"tablecloak-{version}.dist-info"}, f"{path.name}: {tops}")
    for name in (
        "py.typed",
        "page.css",
        "app/templates/base.html",
        "safe/check.js",
        "certificates/verify.mjs",
    ):
        require(f"tablecloak/{name}" in names, f"{path.name} lacks {name}")
    endings = {Path(name).suffix for name in names if name.startswith("tablecloak/")}
    require(
        endings <= {".py", ".pyi", ".css", ".csv", ".html", ".typed", ".js", ".mjs"},
        f"{path.name}: {endings}",
    )
    size = path.stat().st_size
    require(size <= MOST_WHEEL_BYTES, f"{path.name} has {size} bytes")
    print(f"{path.name}: {size / 1e6:.2f} MB, {len(names)} files")


def check_source(path: Path) -> None:
    """Look for what does not belong into the source archive."""
    with tarfile.open(path) as archive:
        tops = {member.name.split("/")[1] for member in archive.getmembers()}
    require(tops <= SOURCE_FILES, f"{path.name}: {tops - SOURCE_FILES}")
    size = path.stat().st_size
    require(size <= MOST_SOURCE_BYTES, f"{path.name} has {size} bytes")
    print(f"{path.name}: {size / 1e6:.2f} MB")


def new_environment(folder: Path) -> Path:
    """Make an environment with pip and nothing else, and return its Python."""
    venv.create(folder, with_pip=True)
    if sys.platform == "win32":
        return folder / "Scripts" / "python.exe"
    return folder / "bin" / "python"


def install(python: Path, wheel: Path, extras: set[str] | None = None) -> None:
    """Install the wheel with pip."""
    what = f"{wheel.resolve()}[{','.join(sorted(extras))}]" if extras else str(wheel.resolve())
    begun = time.perf_counter()
    call([str(python), "-m", "pip", "install", "--quiet", what])
    found = subprocess.run(
        [str(python), "-m", "pip", "list", "--format=freeze"],
        check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    print(f"installed {what} in {time.perf_counter() - begun:.0f} s, {len(found)} packages")


BARE = """
from pathlib import Path
import tablecloak as tc
from tablecloak.tables.formats import write_frame
assert not Path(tc.__file__).is_relative_to(ROOT), tc.__file__
problem = tc.examples.cox_rounded()
pattern = tc.suppress(problem, time_limit=10)
pattern.certificate.verify()
tc.write_problem(problem, "table.jj")
pattern.write("release.csv")
assert tc.adjust(problem, time_limit=10).release() is not None
for use in (
    lambda: pattern.plot(),
    lambda: tc.suppress(problem, solver="cbc"),
    lambda: write_frame(tc.examples.firms(), "firms.parquet"),
    lambda: __import__("tablecloak.app").app.serve(),
):
    try:
        use()
    except tc.InputError as error:
        assert "pip install" in str(error), error
    else:
        raise AssertionError("an extra was there")
"""


def check_bare(python: Path, folder: Path) -> None:
    """Protect a table with the core alone."""
    program = BARE.replace("ROOT", repr(str(ROOT)))
    call([str(python), "-I", "-W", "ignore", "-c", program], folder)
    print("Without any extra: a table was protected by two methods, and what is missing was named.")


def check_import(python: Path, folder: Path) -> None:
    """Measure ``import tablecloak`` beside ``import numpy``."""
    numpy, ours = (import_seconds(python, folder, name) for name in ("numpy", "tablecloak"))
    print(
        f"import tablecloak: {1000 * ours:.0f} ms, {ours / numpy:.2f} of import numpy "
        f"({1000 * numpy:.0f} ms)"
    )
    require(ours <= max(MOST_IMPORT_SECONDS, numpy), f"import tablecloak takes {ours:.2f} s")


def import_seconds(python: Path, folder: Path, name: str) -> float:
    """Return the least time that an import takes in several new processes."""
    program = f"import time; t = time.perf_counter(); import {name}; print(time.perf_counter() - t)"
    command = [str(python), "-I", "-c", program]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, cwd=folder).stdout)
        for _ in range(5)
    )


def run_readme(python: Path, wheel: Path, page: Path, folder: Path) -> None:
    """Install what README tells readers to install, and run it in an empty folder."""
    text = page.read_text(encoding="utf-8")
    if wanted := readme.extras(text):
        install(python, wheel, wanted)
    require(bool(readme.steps(text)), f"{page} has nothing to run")
    run_page(python, text, folder)


NEED_EXTRAS = ("tablecloak app", "--solver cbc")
"""What marks the commands of README that need an extra; its Python needs none."""


def without_extras(text: str) -> str:
    """Return README without the commands that need an extra."""
    marks = "|".join(map(re.escape, NEED_EXTRAS))
    return re.sub(rf"^tablecloak .*?(?:{marks}).*\n|^(?:{marks}).*\n", "", text, flags=re.M)


def run_page(python: Path, text: str, folder: Path) -> None:
    """Run what a page shows in an empty folder."""
    # Beside the folder, which stays empty but for what README itself writes.
    program = folder.parent / "readme.py"
    shutil.copyfile(readme.__file__, program)
    copy = folder.parent / "README.md"
    copy.write_text(text, encoding="utf-8")
    call([str(python), "-I", str(program), str(copy)], folder)


def call(command: list[str], folder: Path | None = None, *, quiet: bool = False) -> None:
    """Run a program; whatever it says is shown if it fails."""
    done = subprocess.run(
        command, check=False, cwd=folder, text=True,
        stdout=subprocess.PIPE if quiet else None, stderr=subprocess.STDOUT if quiet else None,
    )  # fmt: skip
    if done.returncode:
        shown = re.sub(r"\n.*", "", command[-1].strip(), flags=re.S)
        sys.exit(f"{done.stdout or ''}\n{command[0]} ... {shown}\nexit code {done.returncode}")


def require(holds: bool, message: str) -> None:
    """End with a message if something does not hold."""
    if not holds:
        sys.exit(message)


if __name__ == "__main__":
    main()

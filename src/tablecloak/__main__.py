"""``python -m tablecloak``: the command line, where its script is on no path."""

from __future__ import annotations

from tablecloak.cli.main import app

if __name__ == "__main__":
    app()

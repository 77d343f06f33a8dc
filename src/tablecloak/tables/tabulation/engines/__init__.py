"""Engines that read and aggregate files of microdata: one sibling for each."""

from tablecloak.tables.tabulation.engines.engine import (
    ENGINES,
    Engine,
    engine_named,
)

__all__ = ["ENGINES", "Engine", "engine_named"]

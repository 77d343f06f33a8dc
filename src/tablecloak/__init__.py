"""tablecloak: protects published statistical tables, with certificates anyone can check."""

from __future__ import annotations

__version__ = "0.1.0"

"""tablecloak: protects published statistical tables, with certificates anyone can check.

The public interface is flat: ``import tablecloak as tc``. Names are loaded when they are first
used, so that importing the package itself costs almost nothing; ``__init__.pyi`` lists them.
"""

from __future__ import annotations

from tablecloak.lazy_names import lazy_names

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)

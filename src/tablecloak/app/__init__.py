"""Pages in a browser on this machine; each choice is also shown as a job file and as Python."""

from tablecloak.app.server import create_app, serve

__all__ = ["create_app", "serve"]

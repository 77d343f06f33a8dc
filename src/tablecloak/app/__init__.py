"""A page on this machine for those who would rather click: each click is a job file."""

from tablecloak.app.server import create_app, serve

__all__ = ["create_app", "serve"]

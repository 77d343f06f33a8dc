"""Questions in JSON and their answers: over HTTP on this machine, or from file to file."""

from tablecloak.service.call import CALLS, Call
from tablecloak.service.server import create_app, serve

__all__ = ["CALLS", "Call", "create_app", "serve"]

"""The page with which anybody checks a certificate in a browser: one file, no request to anywhere.

It holds the verifier in JavaScript (``verify.mjs``) and nothing of a certificate, so that it is no
secret; what is dropped on it stays in the browser.
"""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from tablecloak.render.page import PUBLIC_STYLE

_BODY = """
<h1>Check a certificate</h1>
<p class="secret">A certificate holds the true table: it is secret. Nothing that you drop here
leaves this browser; the page works without a network.</p>
<form id="files">
<div><label for="certificate">Certificate (.npz)</label>
<input type="file" id="certificate" accept=".npz"> <span id="certificate-name"></span></div>
<div><label for="problem">Problem file (.jj, .jj.gz), to compare with</label>
<input type="file" id="problem"> <span id="problem-name"></span></div>
<p>Or drop both anywhere on the page.</p>
</form>
<main>
<div role="status" aria-live="polite"><p id="verdict">No certificate yet.</p>
<ul id="sentences"></ul></div>
<section id="cells" hidden><h2>Cells</h2>
<form id="find"><div><label for="number">Arithmetic of cell number</label>
<input type="number" id="number" min="0" step="1"> <button>Show</button></div></form>
<div id="cell" tabindex="-1"></div><div id="list"></div></section>
</main>
"""


def verify_page() -> str:
    """Return the page, HTML with its script and style inside."""
    verifier = files("tablecloak.certificates").joinpath("verify.mjs").read_text(encoding="utf-8")
    script = verifier + _part("verify_page.js")
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'; script-src 'sha256-{allowed}'\">"
        f"<title>Check a certificate</title><style>{PUBLIC_STYLE}{_part('verify_page.css')}</style>"
        f'</head><body>{_BODY}<script type="module">{script}</script></body></html>\n'
    )


def _part(name: str) -> str:
    return files("tablecloak.render").joinpath(name).read_text(encoding="utf-8")

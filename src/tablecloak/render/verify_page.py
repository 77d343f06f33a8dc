"""The page with which anybody checks a certificate in a browser: one file, no request to anywhere.

It holds the verifier in JavaScript (``verify.mjs``) and nothing of a certificate, so that it is no
secret; what is dropped on it stays in the browser.
"""

from __future__ import annotations

from tablecloak.render.page import PUBLIC_STYLE, document, text_of

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
    verifier = text_of("tablecloak.certificates", "verify.mjs")
    script = verifier + text_of("tablecloak.render", "verify_page.js")
    style = PUBLIC_STYLE + text_of("tablecloak.render", "verify_page.css")
    return document(
        "Check a certificate", style, _BODY, script=script, kind="module", has_pictures=False
    )

// A file that is dropped or chosen is opened at once.
"use strict";
const form = document.getElementById("open");
if (form) form.elements.upload.addEventListener("change", () => form.requestSubmit());

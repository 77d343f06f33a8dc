// Downloads what may be published; a refusal stands beside the button.
"use strict";

async function download(address, button, refused) {
  button.disabled = true;
  refused.textContent = "";
  const answer = await fetch(address, { method: "POST" });
  if (!answer.ok) {
    try { refused.textContent = (await answer.json()).error; } catch {
      refused.textContent = "The program could not answer. The terminal in which it runs says more.";
    }
    return false;
  }
  const link = document.createElement("a");
  link.download = address.split("/").pop();
  link.href = URL.createObjectURL(await answer.blob());
  link.click();
  button.disabled = false;
  return true;
}

for (const form of document.querySelectorAll("form.release")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    download(form.action, form.querySelector("button"), form.querySelector("span"));
  });
}

"use strict";
(() => {
  const sections = [...document.querySelectorAll("section.output")];
  const told = document.getElementById("told");
  const who = document.getElementById("who");
  let filter = "all", unsaved = false;

  const chosen = (section) => section.querySelector("input[type=radio]:checked");
  const comment = (section) => section.querySelector("textarea");
  // What was loaded or saved last: an untouched decision keeps its checker and time.
  const before = new Map();
  const isTouched = (section) => {
    const one = before.get(section) || { state: "", comment: "" };
    return one.state !== (chosen(section)?.value || "") || one.comment !== comment(section).value.trim();
  };
  const row = (section) => document.querySelector(`tr[data-row="${section.id}"]`);

  const show = () => {
    for (const section of sections) {
      const state = section.dataset.decided || "undecided";
      const fits = filter === "all" || filter === section.dataset.status || filter === state;
      section.hidden = !fits;
      row(section).hidden = !fits;
    }
  };

  const count = () => {
    const decided = sections.filter(chosen);
    for (const section of sections) {
      const state = chosen(section)?.value;
      if (state) section.dataset.decided = state; else delete section.dataset.decided;
      row(section).querySelector(".decided").textContent = state || "undecided";
    }
    document.getElementById("undecided").textContent = sections.length - decided.length;
    told.textContent = `${decided.length} of ${sections.length} outputs are decided` +
      (unsaved ? "; not saved yet" : "");
  };

  const complain = (section, text) => {
    told.textContent = text;
    section.hidden = row(section).hidden = false;
    section.scrollIntoView();
    comment(section).focus();
  };

  const save = () => {
    if (!who.value.trim() && sections.some(isTouched)) {
      told.textContent = "Say who decides: fill in the field Checker.";
      who.focus();
      return;
    }
    const bare = sections.find((section) => section.dataset.status === "fail" &&
      chosen(section)?.value === "approved" && !comment(section).value.trim());
    if (bare) {
      complain(bare, `${bare.dataset.name} failed: say in its comment why it is approved.`);
      return;
    }
    const when = new Date().toISOString().slice(0, 19) + "+00:00";
    const decisions = {};
    for (const section of sections) {
      if (isTouched(section)) {
        before.set(section, {
          state: chosen(section)?.value || "", comment: comment(section).value.trim(),
          who: who.value.trim(), when, files: JSON.parse(section.dataset.files),
        });
      }
      if (before.has(section)) decisions[section.dataset.name] = before.get(section);
    }
    const text = JSON.stringify({ decisions }, null, 2) + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    link.download = "decisions.json";
    link.click();
    URL.revokeObjectURL(link.href);
    unsaved = false;
    count();
    told.textContent += ". Put decisions.json beside this page.";
  };

  const load = async (file) => {
    let given;
    try {
      given = JSON.parse(await file.text()).decisions;
      if (typeof given !== "object" || given === null) throw new Error("no decisions");
    } catch {
      told.textContent = `${file.name} holds no decisions.`;
      return;
    }
    let taken = 0, changed = 0;
    for (const section of sections) {
      const one = given[section.dataset.name];
      if (!one) continue;
      const seen = JSON.parse(section.dataset.files);
      if (Object.keys(seen).some((name) => (one.files || {})[name] !== seen[name])) {
        changed += 1;
        continue;
      }
      for (const radio of section.querySelectorAll("input[type=radio]")) {
        radio.checked = radio.value === one.state;
      }
      comment(section).value = one.comment || "";
      before.set(section, one);
      taken += 1;
    }
    count();
    show();
    told.textContent = `${taken} decisions were taken over` +
      (changed ? `; ${changed} were about other files and are open again` : "") + ".";
  };

  for (const section of sections) {
    for (const kind of ["change", "input"]) {
      section.addEventListener(kind, () => { unsaved = true; count(); });
    }
  }
  for (const button of document.querySelectorAll("button[data-filter]")) {
    button.addEventListener("click", () => {
      filter = button.dataset.filter;
      for (const other of document.querySelectorAll("button[data-filter]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      show();
    });
  }
  document.getElementById("save").addEventListener("click", save);
  document.getElementById("load").addEventListener("change", (event) => {
    if (event.target.files.length) load(event.target.files[0]);
  });
  window.addEventListener("beforeunload", (event) => { if (unsaved) event.preventDefault(); });
  count();
})();

// The grid of the workbench. It asks this machine's server only, about the table of its address,
// and keeps nothing.
"use strict";

const page = document.getElementById("grid-page");
const mayChange = page.dataset.changing === "yes";
const table = document.getElementById("grid");
const details = document.getElementById("details");
const look = { rows: "", columns: "", at: {}, opened: {}, method: "" };
let shown = null; // what the server answered last
let chosen = -1; // number of the chosen cell
let place = [0, 0]; // row and column of the square that the keyboard is on

const element = (name, text = "", attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

async function ask(address, given) {
  const options = given === undefined ? {} : {
    method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(given),
  };
  const answer = await fetch(address, options);
  let found;
  try { found = await answer.json(); } catch {
    found = { error: answer.status === 403
      ? "The program was started anew, or forgot this browser: use the address printed in its terminal."
      : "The program could not answer. The terminal in which it runs says more; is it still running?" };
  }
  const error = document.getElementById("error");
  error.hidden = !found.error;
  error.textContent = found.error || "";
  if (!answer.ok) throw new Error(found.error);
  return found;
}

const focusedSquare = () => table.querySelector(`[data-at="${place[0]},${place[1]}"]`);

async function refresh() {
  const held = document.activeElement; // drawing anew must not send the keyboard back to the top
  shown = await ask("grid/view", look);
  Object.assign(look, shown.look);
  drawAxes();
  drawGrid();
  drawDecisions();
  drawRuns();
  drawGiven();
  const summary = document.getElementById("summary"), verdict = element("span", shown.summary);
  summary.replaceChildren(...(shown.is_old ? [element("b", `${shown.changed}\n`)] : []), verdict);
  verdict.classList.toggle("old", shown.is_old);
  if (!held.isConnected) {
    const same = held.dataset.key && page.querySelector(`[data-key="${CSS.escape(held.dataset.key)}"]`);
    (same || focusedSquare())?.focus();
  }
  drawProgress(await ask("grid/progress"));
}

function picker(label, names, current, change) {
  const wrapped = element("label", label + " ");
  const select = element("select", "", { "data-key": `axis ${label}` });
  for (const name of names) {
    const option = element("option", name, { value: name });
    option.selected = name === current;
    select.append(option);
  }
  select.addEventListener("change", () => change(select.value));
  wrapped.append(select);
  return wrapped;
}

function drawAxes() {
  const axes = document.getElementById("axes");
  axes.replaceChildren();
  axes.append(picker("Rows", shown.dimensions, look.rows, (name) => {
    if (name === look.columns) look.columns = look.rows;
    look.rows = name;
    refresh();
  }));
  if (shown.dimensions.length > 1) {
    const others = shown.dimensions.filter((name) => name !== look.rows);
    axes.append(picker("Columns", others, look.columns, (name) => { look.columns = name; refresh(); }));
  }
  for (const [name, code] of Object.entries(look.at)) {
    axes.append(picker(name, shown.codes[name], code, (given) => { look.at[name] = given; refresh(); }));
  }
}

function foldButton(dimension, codes, code) {
  if (!code.below) return element("span", "", { class: "leaf" });
  const button = element("button", code.open ? "−" : "+", {
    type: "button", "aria-expanded": String(code.open), "aria-label": `${code.open ? "fold" : "unfold"} ${code.code}`,
    "data-key": `fold ${dimension} ${code.code}`,
  });
  button.addEventListener("click", () => fold(dimension, codes, code));
  return button;
}

function fold(dimension, codes, code) {
  const open = new Set(codes.filter((each) => each.open).map((each) => each.code));
  if (code.open) open.delete(code.code); else open.add(code.code);
  look.opened[dimension] = [...open];
  refresh();
}

function heading(dimension, codes, code, scope) {
  const cell = element("th", "", { scope });
  if (scope === "row") cell.style.paddingLeft = `${0.5 + code.depth}rem`;
  cell.append(foldButton(dimension, codes, code), element("span", ` ${code.code} `), element("span", code.label, { class: "label" }));
  for (const [kind, word] of [["sensitive", "sensitive"], ["changed", "changed for others"]]) {
    if (code[kind]) cell.append(element("span", String(code[kind]), { class: `inside ${kind}`, title: `${code[kind]} ${word}, folded below ${code.code}` }));
  }
  return cell;
}

function drawGrid() {
  const side = document.getElementById("side").value;
  const head = element("thead"), top = element("tr"), body = element("tbody");
  top.append(element("td", look.columns ? `${look.rows} \\ ${look.columns}` : look.rows));
  for (const code of shown.columns) top.append(heading(look.columns, shown.columns, code, "col"));
  head.append(top);
  shown.rows.forEach((code, row) => {
    const line = element("tr", "", { "aria-level": String(code.depth + 1) });
    line.append(heading(look.rows, shown.rows, code, "row"));
    shown.squares[row].forEach((square, column) => line.append(drawSquare(square, row, column, side)));
    body.append(line);
  });
  table.replaceChildren(head, body);
}

function drawSquare(square, row, column, side) {
  const asReaders = side === "readers";
  const text = asReaders ? square.shown ?? "" : square.value;
  const drawn = element("td", text, {
    class: asReaders && square.kind !== "none" ? (square.shown === "x" ? "suppressed" : "plain") : square.kind,
    role: "gridcell", tabindex: row === place[0] && column === place[1] ? "0" : "-1",
    "aria-selected": String(square.cell === chosen && chosen >= 0),
    title: asReaders ? "" : square.word,
  });
  if (side === "both" && square.shown !== undefined && square.shown !== square.value) drawn.append(element("small", square.shown));
  if (square.decided) drawn.classList.add("decided");
  if (!asReaders) drawn.setAttribute("aria-label", `${text || "no cell"}, ${square.word}`);
  drawn.dataset.at = `${row},${column}`;
  drawn.addEventListener("click", () => { place = [row, column]; choose(square.cell); });
  return drawn;
}

function focusOn(row, column) {
  row = Math.max(0, Math.min(shown.rows.length - 1, row));
  column = Math.max(0, Math.min(shown.columns.length - 1, column));
  const old = focusedSquare();
  if (old) old.tabIndex = -1;
  place = [row, column];
  focusedSquare().tabIndex = 0;
  focusedSquare().focus();
}

page.querySelector("aside").addEventListener("keydown", (event) => {
  if (event.key === "Escape") focusedSquare()?.focus();
});

table.addEventListener("keydown", (event) => {
  if (!event.target.matches("td")) return;
  const [row, column] = place;
  const moves = {
    ArrowUp: [row - 1, column], ArrowDown: [row + 1, column], ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1],
    Home: [row, 0], End: [row, shown.columns.length - 1], PageUp: [row - 20, column], PageDown: [row + 20, column],
  };
  if (moves[event.key]) focusOn(...moves[event.key]);
  else if (event.key === "Enter" || event.key === " ") choose(shown.squares[row][column].cell, true);
  else if ((event.key === "+" || event.key === "-") && shown.rows[row].below && shown.rows[row].open === (event.key === "-")) {
    fold(look.rows, shown.rows, shown.rows[row]);
  } else return;
  event.preventDefault();
});

async function choose(cell, fromKeyboard = false) {
  if (cell < 0) return;
  chosen = cell;
  for (const square of table.querySelectorAll("[aria-selected=true]")) square.setAttribute("aria-selected", "false");
  focusedSquare()?.setAttribute("aria-selected", "true");
  const found = await ask(`grid/cell/${cell}?method=${encodeURIComponent(look.method)}`);
  const isInside = details.contains(document.activeElement);
  drawDetails(cell, found);
  if (fromKeyboard || isInside) details.querySelector("h2").focus();
}

function drawDetails(cell, found) {
  const title = element("h2", Object.values(found.place).join(" · "), { tabindex: "-1" });
  const facts = element("table");
  facts.append(factRow("is", found.word));
  for (const [name, text] of found.facts) facts.append(factRow(name, text));
  details.replaceChildren(title, facts);
  if (found.can_explain) details.append(whyButton(cell));
  if (mayChange) details.append(decisionForm(cell, found.mark));
  details.append(element("h3", "Sums"));
  for (const sum of found.sums) details.append(drawSum(sum));
}

function factRow(name, text) {
  const row = element("tr");
  row.append(element("th", name, { scope: "row" }), element("td", text));
  return row;
}

function whyButton(cell) {
  const box = element("div", "", { id: "why" });
  const button = element("button", "Why?", { type: "button" });
  button.addEventListener("click", async () => {
    button.disabled = true;
    box.append(element("p", "Searching …"));
    try {
      const found = await ask(`grid/why/${cell}?method=${encodeURIComponent(look.method)}`);
      box.replaceChildren(element("p", found.text));
    } catch { box.replaceChildren(button); button.disabled = false; }
  });
  box.append(button);
  return box;
}

function drawSum(sum) {
  const line = element("p", "", { class: "sum" });
  const part = (each) => element("span", `${each.name} (${each.shown})`);
  line.append(part(sum.total), " = ");
  sum.parts.slice(0, 40).forEach((each, number) => line.append(number ? " + " : "", part(each)));
  if (sum.parts.length > 40) line.append(` + ${sum.parts.length - 40} more`);
  return line;
}

function decisionForm(cell, mark) {
  const form = document.getElementById("decide").content.cloneNode(true).querySelector("form");
  for (const radio of form.elements.decision) radio.checked = radio.value === mark.decision;
  form.elements.level.value = mark.level;
  form.elements.cost.value = mark.cost;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    await ask("grid/decide", {
      cells: [cell], decision: form.elements.decision.value,
      level: Number(form.elements.level.value), cost: Number(form.elements.cost.value),
    });
    await refresh();
    await choose(cell);
  });
  return form;
}

function drawDecisions() {
  const list = document.getElementById("decisions");
  list.replaceChildren();
  for (const each of shown.decisions) {
    const cost = each.cost === 1 ? "" : `, cost times ${each.cost}`;
    const line = element("li", `${each.name}: ${each.decision || "as the rules say"}${cost} `);
    if (mayChange) {
      const button = element("button", "take back", { type: "button" });
      button.addEventListener("click", async () => { await ask("grid/decide", { cells: [each.cell], decision: "" }); refresh(); });
      line.append(button);
    }
    list.append(line);
  }
  if (!shown.decisions.length) list.append(element("li", "None yet."));
}

function drawRuns() {
  const list = document.getElementById("runs");
  list.replaceChildren(...shown.runs.map((run, number) => {
    const decided = run.decisions ? `, ${run.decisions} decision${run.decisions > 1 ? "s" : ""}` : "";
    const line = element("li", `${number + 1}. ${run.summary}; ${run.seconds} s${decided}${run.is_given ? ", given away" : ""} `);
    if (run.is_shown) line.append(element("b", "shown"));
    else if (mayChange) {
      const button = element("button", "show", { type: "button" });
      button.addEventListener("click", async () => {
        look.method = (await ask("grid/run", { run: number })).method;
        document.querySelector(`input[name=method][value="${look.method}"]`).checked = true;
        refresh();
      });
      line.append(button);
    }
    return line;
  }));
  if (!shown.runs.length) list.append(element("li", "None yet."));
}

function drawGiven() {
  const section = document.getElementById("given");
  section.hidden = !shown.given.length;
  section.querySelector("ul").replaceChildren(
    ...shown.given.map((each) => element("li", each.what + (each.has_left ? "" : "; nobody received it"))));
  document.getElementById("said").replaceChildren(...shown.said.map((text) => element("p", text, { class: "note" })));
  if (mayChange) document.getElementById("unsent").hidden = !shown.given.some((each) => each.has_left);
}

function drawProgress(found) {
  const state = document.getElementById("state");
  const stop = document.getElementById("stop"), solve = document.getElementById("solve");
  const numbers = [found.loss && `loss ${found.loss}`, found.bound && `at least ${found.bound}`, found.gap && `gap ${found.gap}`].filter(Boolean).join(", ");
  state.hidden = !found.running;
  Object.assign(state.querySelector("progress"), { max: found.limit || 1, value: found.seconds });
  state.querySelector("span").textContent = `${found.seconds} of ${found.limit} s, ${found.stage} ${numbers}`;
  if (stop) stop.hidden = !found.running;
  if (solve) solve.disabled = Boolean(found.running);
  if (mayChange) document.getElementById("undo").disabled = Boolean(found.running) || !(shown && shown.can_undo);
  if (mayChange) {
    const why = found.running ? "A search is running." : found.refused[look.method];
    document.getElementById("release").disabled = Boolean(why);
    document.getElementById("refused").textContent = why;
    document.getElementById("keep").hidden = !(shown && shown.can_be_near);
  }
  const error = document.getElementById("error");
  if (found.error) { error.hidden = false; error.textContent = found.error; }
}

async function follow() {
  for (;;) {
    const found = await ask("grid/progress");
    drawProgress(found);
    if (!found.running) break;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
  await refresh();
  if (chosen >= 0) choose(chosen);
}

for (const radio of document.querySelectorAll("input[name=method]")) {
  if (radio.checked) look.method = radio.value;
  radio.addEventListener("change", async () => { look.method = radio.value; await refresh(); });
}
document.getElementById("side").addEventListener("change", drawGrid);
if (mayChange) {
  document.getElementById("solve").addEventListener("click", async () => {
    await ask("grid/solve", {
      method: look.method, seconds: Number(document.getElementById("seconds").value),
      near: document.getElementById("near").checked,
    });
    follow();
  });
  const undo = async () => { await ask("grid/undo", {}); await refresh(); if (chosen >= 0) choose(chosen); };
  document.getElementById("undo").addEventListener("click", undo);
  document.addEventListener("keydown", (event) => {
    const types = event.target.matches("input:not([type=radio]), textarea");
    if (event.key === "z" && (event.ctrlKey || event.metaKey) && !types && shown.can_undo) { event.preventDefault(); undo(); }
  });
  document.getElementById("release").addEventListener("click", async (event) => {
    const refused = document.getElementById("refused");
    if (await download(`grid/release/${look.method}.zip`, event.target, refused)) await refresh();
  });
  document.getElementById("unsent").addEventListener("click", async () => { await ask("grid/unsent", {}); await refresh(); });
  document.getElementById("stop").addEventListener("click", () => ask("grid/stop", {}));
}
window.addEventListener("unhandledrejection", (event) => event.preventDefault()); // shown by `ask`
follow();

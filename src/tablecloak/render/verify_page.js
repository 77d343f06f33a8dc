/* What the page does with the verifier above, in whose module it stands: files in, verdict and arithmetic out. */

const MOST_SHOWN = 300;
const at = (id) => document.getElementById(id);
const given = { certificate: null, problem: null };
let current = null;
let turn = 0;

function element(tag, text, ...inside) {
  const made = document.createElement(tag);
  if (text !== null) made.textContent = text;
  made.append(...inside);
  return made;
}

function table(caption, head, lines) {
  const made = element("table", null, element("caption", caption));
  made.append(element("thead", null, element("tr", null, ...head.map((word) => Object.assign(element("th", word), { scope: "col" })))));
  made.append(element("tbody", null, ...lines.map((line) =>
    element("tr", null, ...line.map((word) => (word instanceof Node ? element("td", null, word) : element("td", word)))))));
  return made;
}

/** A number as it is stored: the shortest decimal one that stands for it. */
const plain = (value) => (value instanceof Fraction ? show(value, 17) : String(value).replace("Infinity", "infinite"));

/** A sum as a line: every term, and what they make. */
function sumLine(terms, total) {
  const words = terms.map(([coefficient, cell, move]) => `${plain(coefficient)} · ${plain(move)} (cell ${cell})`);
  return Object.assign(element("p", `${words.slice(0, MOST_SHOWN).join(" + ")}${words.length > MOST_SHOWN ? " + …" : ""} = ${plain(total)}`),
    { className: "sum" });
}

function witnessParts(file, title, witness, cell, needed) {
  const parts = [element("h3", `${title}: ${witness < 0 ? "none" : `witness ${witness}`}`)];
  if (witness < 0) return [...parts, element("p", `Asked: ${plain(needed)}; reached: 0.`)];
  const moves = [...slots(file.witness_starts, witness)].map((entry) => [file.witness_cells[entry], file.witness_data[entry]]);
  const own = moves.find(([other]) => other === cell)?.[1] ?? 0;
  parts.push(element("p", `Asked: ${plain(needed)}; it moves the cell by ${plain(own)}.`));
  parts.push(table("Cells that it moves: another table with the same published cells", ["cell", "true value", "moves by", "becomes", "known at least", "known at most"],
    moves.slice(0, MOST_SHOWN).map(([other, move]) => [
      String(other), plain(file.values[other]), plain(move), plain(q(file.values[other]).plus(move)),
      plain((file.known_lower ?? file.lower_bound)[other]), plain((file.known_upper ?? file.upper_bound)[other]),
    ])));
  const moved = new Map(moves);
  parts.push(element("h4", "Relations that hold these cells: each sum must be 0"));
  let shown = 0;
  file.rows.forEach((row, number) => {
    const entries = range(row.cells.length).filter((entry) => moved.has(row.cells[entry]));
    if (!entries.length || shown >= MOST_SHOWN) return;
    shown += 1;
    const terms = entries.map((entry) => [row.exact(entry), row.cells[entry], moved.get(row.cells[entry])]);
    const total = sum(terms.map(([coefficient, , move]) => coefficient.times(move)));
    parts.push(element("p", `Relation ${number}${row.decimal ? "" : " (real coefficients)"}:`), sumLine(terms, total));
  });
  return parts;
}

function patternParts(file, cell) {
  const needs = needsOf(file, cell);
  const parts = [table("Levels of the cell", ["above", "below", "width"], [[plain(needs.up), plain(needs.down), plain(needs.width)]])];
  const place = file.sensitive.indexOf(cell);
  if (place < 0 || !file.upper_witness) return [...parts, element("p", "Nothing is claimed of this cell.")];
  const [up, down] = [file.upper_witness[place], file.lower_witness[place]];
  parts.push(...witnessParts(file, "Upwards, against everybody", up, cell, needs.up));
  if (down !== up) parts.push(...witnessParts(file, "Downwards, against everybody", down, cell, needs.down ? -needs.down : 0));
  file.intruder_names.forEach((name, insider) => {
    for (const entry of slots(file.claim_starts, insider)) {
      if (file.claim_index[entry] !== place) continue;
      parts.push(...witnessParts(file, `Upwards, against ${name}`, file.claim_upper[entry], cell, needs.up),
        ...witnessParts(file, `Downwards, against ${name}`, file.claim_lower[entry], cell, needs.down ? -needs.down : 0));
    }
  });
  return parts;
}

function adjustedParts(file, cell) {
  const { changes, unit, levels, rooms } = file.adjusted;
  const parts = [table("The change of the cell", ["true value", "released", "change"],
    [[plain(file.values[cell]), plain(file.published[cell]), plain(changes[cell].times(unit))]])];
  if (levels)
    parts.push(table(`Levels and rooms, in units of ${plain(unit)}`, ["level above", "level below", "room above", "room below"],
      [[levels.up, levels.down, rooms.up, rooms.down].map((list) => plain(list[cell]))]));
  parts.push(element("h3", "Relations of the cell: coefficients times changes"));
  file.rows.forEach((row, number) => {
    if (!row.cells.includes(cell)) return;
    const terms = range(row.cells.length).map((entry) => [row.exact(entry), row.cells[entry], changes[row.cells[entry]].times(unit)]);
    parts.push(element("p", `Relation ${number}:`), sumLine(terms, sum(terms.map(([coefficient, , change]) => coefficient.times(change)))));
  });
  return parts;
}

function showCell(cell) {
  const { file } = current;
  const own = file.sensitive?.includes(cell) ? "sensitive" : { s: "safe", u: "sensitive", m: "must be hidden", z: "frozen" }[file.status[cell]];
  const parts = [element("h2", `Cell ${cell}`), table("The cell", ["true value", "status", "known at least", "known at most"],
    [[plain(file.values[cell]), own, plain(file.lower_bound[cell]), plain(file.upper_bound[cell])]])];
  try {
    if (file.hidden) parts.push(...patternParts(file, cell));
    else if (file.adjusted) parts.push(...adjustedParts(file, cell));
    else parts.push(element("p", "The check ended before this cell was looked at."));
  } catch (error) {
    parts.push(element("p", `This cannot be computed: ${error.message}`));
  }
  at("cell").replaceChildren(...parts);
  at("cell").focus();
}

function showCells() {
  const { file } = current;
  at("cells").hidden = !file?.rows;
  at("cell").replaceChildren();
  if (!file?.rows) return;
  at("number").max = String(file.cells - 1);
  const first = [...new Set([...(file.sensitive ?? []), ...range(Math.min(file.cells, 2 * MOST_SHOWN))])].slice(0, MOST_SHOWN);
  const open = (cell) => {
    const button = element("button", String(cell));
    button.type = "button";
    button.setAttribute("aria-label", `arithmetic of cell ${cell}`);
    button.addEventListener("click", () => showCell(cell));
    return button;
  };
  const released = (cell) => {
    if (file.published) return plain(file.published[cell]);
    if (file.published_lower) return `${plain(file.published_lower[cell])} to ${plain(file.published_upper[cell])}`;
    return file.suppressed[cell] ? "hidden" : "published";
  };
  at("list").replaceChildren(table(`${first.length} of ${file.cells} cells, sensitive ones first`, ["cell", "true value", "status", "released"],
    first.map((cell) => [open(cell), plain(file.values[cell]), file.status[cell], released(cell)])));
}

async function checkAgain() {
  const mine = ++turn;
  if (!given.certificate) return;
  const verdict = at("verdict");
  verdict.dataset.verdict = "";
  verdict.textContent = "Checking …";
  at("sentences").replaceChildren();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const bytes = async (file) => (file ? new Uint8Array(await file.arrayBuffer()) : null);
  const found = await verify(await bytes(given.certificate), await bytes(given.problem), given.problem?.name.endsWith(".gz"));
  if (mine !== turn) return;
  current = found;
  verdict.dataset.verdict = found.verdict;
  verdict.textContent = found.verdict + (found.code ? ` (${found.code})` : "")
    + (found.verdict === "NOT CLAIMED" ? `: protection of ${found.file.sensitive.length} sensitive cells. Proved is only:` : "");
  at("sentences").replaceChildren(...found.lines.map((line) => element("li", line)));
  showCells();
}

function take(files) {
  for (const file of files) {
    const kind = /\.npz$/i.test(file.name) ? "certificate" : "problem";
    given[kind] = file;
    at(`${kind}-name`).textContent = file.name;
  }
  checkAgain();
}

for (const kind of ["certificate", "problem"])
  at(kind).addEventListener("change", (event) => {
    given[kind] = event.target.files[0] ?? null;
    at(`${kind}-name`).textContent = "";
    checkAgain();
  });
document.addEventListener("dragover", (event) => {
  event.preventDefault();
  at("files").classList.add("over");
});
document.addEventListener("dragleave", () => at("files").classList.remove("over"));
document.addEventListener("drop", (event) => {
  event.preventDefault();
  at("files").classList.remove("over");
  take(event.dataTransfer.files);
});
at("files").addEventListener("submit", (event) => event.preventDefault());
at("find").addEventListener("submit", (event) => {
  event.preventDefault();
  const cell = at("number").valueAsNumber;
  if (current?.file && Number.isInteger(cell) && cell >= 0 && cell < current.file.cells) showCell(cell);
});

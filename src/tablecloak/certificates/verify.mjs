/* A verifier of certificates, written from docs/certificate.md (the sections and codes below are those of that page) and
   docs/theorems.md alone, so that a slip of the other verifier is not repeated here. It needs nothing but a browser or
   Node: `node verify.mjs CERTIFICATE [PROBLEM]`. Numbers are either binary64, where the page says [float], or exact
   fractions of long whole numbers. */

/** What ends a check: the code of section 14, and a reason in words. */
export class Refusal extends Error {
  constructor(code, reason) {
    super(reason);
    this.code = code;
  }
}

function must(condition, code, reason) {
  if (!condition) throw new Refusal(code, typeof reason === "function" ? reason() : reason);
}

// --- numbers (section 1) ---------------------------------------------------------------------------------------------

const INFINITE = Infinity;
const NEAR = 1 - 1e-9;
const TENS = Array.from({ length: 40 }, (_, power) => Number("1e" + power));
const bits = new DataView(new ArrayBuffer(8));

function finite(value) {
  must(Number.isFinite(value), "N1", "numbers that cannot be computed with: overflow");
  return value;
}

function number(value) {
  must(!Number.isNaN(value), "N1", "numbers that cannot be computed with: no number");
  return value;
}

function rint(value) {
  const size = Math.abs(value);
  if (!(size < 2 ** 52)) return value;
  const nearest = size + 2 ** 52 - 2 ** 52;
  return value < 0 ? -nearest : nearest;
}

function ulp(value) {
  const size = Math.abs(value);
  must(size !== Number.MAX_VALUE, "N1", "numbers that cannot be computed with: the largest one");
  if (size < 2 ** -1022) return 2 ** -1074;
  bits.setFloat64(0, size);
  const exponent = (bits.getUint16(0) >> 4) - 1023;
  return exponent - 52 >= -1074 ? 2 ** (exponent - 52) : 2 ** -1074;
}

/** The ulp of the largest finite number in absolute value. */
function ulpOfLargest(...values) {
  return ulp(Math.max(0, ...values.filter(Number.isFinite).map(Math.abs)));
}

function precision(...values) {
  const plain = (value) => !Number.isFinite(value) || (Number.isInteger(value) && Math.abs(value) < 2 ** 52);
  return values.every(plain) ? 0 : 4 * ulpOfLargest(...values);
}

function divisor(a, b) {
  while (b) [a, b] = [b, a % b];
  return a < 0n ? -a : a;
}

/** A fraction of long whole numbers; its denominator is above 0, and it need not be in lowest terms. */
class Fraction {
  constructor(above, below = 1n) {
    this.above = above;
    this.below = below;
  }
  static of(value) {
    if (value instanceof Fraction) return value;
    if (typeof value === "bigint") return new Fraction(value);
    finite(value);
    if (Number.isInteger(value)) return value >= -64 && value <= 64 ? SMALL[value + 64] : new Fraction(BigInt(value));
    bits.setFloat64(0, value);
    const word = bits.getBigUint64(0);
    const exponent = Number((word >> 52n) & 2047n);
    const mantissa = (word & ((1n << 52n) - 1n)) | (exponent ? 1n << 52n : 0n);
    const even = mantissa & -mantissa;
    const above = mantissa / even;
    return new Fraction(value < 0 ? -above : above, (1n << BigInt(1075 - Math.max(exponent, 1))) / even);
  }
  plus(other) {
    other = Fraction.of(other);
    if (this.below === other.below) return new Fraction(this.above + other.above, this.below);
    if (!other.above) return this;
    if (!this.above) return other;
    if (this.below % other.below === 0n)
      return new Fraction(this.above + other.above * (this.below / other.below), this.below);
    if (other.below % this.below === 0n)
      return new Fraction(this.above * (other.below / this.below) + other.above, other.below);
    return new Fraction(this.above * other.below + other.above * this.below, this.below * other.below).reduced();
  }
  negative() {
    return new Fraction(-this.above, this.below);
  }
  minus(other) {
    return this.plus(Fraction.of(other).negative());
  }
  times(other) {
    other = Fraction.of(other);
    if (this === ONE) return other;
    if (other === ONE) return this;
    return new Fraction(this.above * other.above, this.below * other.below);
  }
  over(other) {
    other = Fraction.of(other);
    must(other.above !== 0n, "N1", "numbers that cannot be computed with: division by 0");
    const sign = other.above < 0n ? -1n : 1n;
    return new Fraction(sign * this.above * other.below, sign * this.below * other.above).reduced();
  }
  reduced() {
    const common = divisor(this.above, this.below);
    return common > 1n ? new Fraction(this.above / common, this.below / common) : this;
  }
  get sign() {
    return this.above > 0n ? 1 : this.above < 0n ? -1 : 0;
  }
  size() {
    return this.above < 0n ? this.negative() : this;
  }
  floor() {
    const whole = this.above / this.below;
    return this.above < 0n && whole * this.below !== this.above ? whole - 1n : whole;
  }
  ceiling() {
    return -this.negative().floor();
  }
  get whole() {
    return this.above % this.below === 0n;
  }
  /** The quotient, not below the true one, and above it by less than 2^-99 of it, as a multiple of a power of two:
      sums of such numbers need no common divisors. Both are above 0. */
  overAbove(other) {
    const [above, below] = [this.above * other.below, this.below * other.above];
    const shift = BigInt(Math.max(0, 104 - 4 * above.toString(16).length + 4 * below.toString(16).length));
    return new Fraction((above << shift) / below + 1n, 1n << shift);
  }
  /** The square root, not below the true one, and above it by less than 2^-100 of it. */
  root() {
    if (!this.above) return this;
    const shift = BigInt(Math.max(0, 260 - this.above.toString(2).length + this.below.toString(2).length)) & ~1n;
    const square = (this.above << shift) / this.below + 1n;
    let guess = 1n << BigInt((square.toString(2).length >> 1) + 1);
    for (;;) {
      const next = (guess + square / guess) >> 1n;
      if (next >= guess) break;
      guess = next;
    }
    return new Fraction(guess + 1n, 1n << (shift >> 1n)).reduced();
  }
  toNumber() {
    if (!this.above) return 0;
    const long = (value) => value.toString(2).replace("-", "").length;
    const shift = 70 - long(this.above) + long(this.below);
    const quotient = shift >= 0 ? (this.above << BigInt(shift)) / this.below : this.above / (this.below << BigInt(-shift));
    const half = Math.trunc(shift / 2);
    return Number(quotient) * 2 ** -half * 2 ** -(shift - half);
  }
}

/** Whole numbers from -64 to 64: most coefficients are among them, and need no memory of their own. */
const SMALL = Array.from({ length: 129 }, (_, at) => new Fraction(BigInt(at - 64)));
const ZERO = SMALL[64];
const ONE = SMALL[65];
const q = (value) => Fraction.of(value);
/** Comparisons of fractions, numbers and infinities. */
function compare(one, other) {
  const far = (value) => typeof value === "number" && !Number.isFinite(value);
  if (far(one) || far(other)) {
    const rank = (value) => (far(value) ? number(value) : 0);
    return Math.sign(rank(one) === rank(other) ? 0 : rank(one) - rank(other));
  }
  return q(one).minus(other).sign;
}
const least = (one, other) => (compare(one, other) <= 0 ? one : other);
const largest = (one, other) => (compare(one, other) >= 0 ? one : other);
/** A product in which 0 times infinity is 0; both are not negative. */
function amount(one, other) {
  if (other === INFINITE) return q(one).sign ? INFINITE : ZERO;
  return q(one).times(other);
}
function sum(values) {
  hurry();
  let total = ZERO;
  for (const value of values) {
    if (value === INFINITE || total === INFINITE) total = INFINITE;
    else total = total.plus(value);
  }
  return total;
}

/* A small file can ask for a very long check: one minute, and one more for every 8 MiB, must do. */
const MINUTE = 60_000;
let deadline = INFINITE;
function hurry() {
  must(Date.now() < deadline, "E1", "the check takes too long");
}

/** A reason on one line of ASCII: it may hold words of the file. */
function printable(text) {
  return text.slice(0, 400).replace(/[^ -~]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/** `%.12g` of C. */
function show(value, digits = 12) {
  if (value instanceof Fraction) value = value.toNumber();
  if (!Number.isFinite(value)) return value > 0 ? "inf" : value < 0 ? "-inf" : "nan";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (power < -4 || power >= digits)
    return `${trim(mantissa)}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
  return trim(value.toFixed(Math.max(0, digits - 1 - power)));
}

// --- the file (section 2) --------------------------------------------------------------------------------------------

const CRC = Uint32Array.from({ length: 256 }, (_, byte) => {
  for (let bit = 0; bit < 8; bit++) byte = byte & 1 ? (byte >>> 1) ^ 0xedb88320 : byte >>> 1;
  return byte;
});

function checksum(data) {
  let crc = -1;
  for (let at = 0; at < data.length; at++) crc = CRC[(crc ^ data[at]) & 255] ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** Unpacks a stream of deflate or gzip, of at most so many bytes. */
async function unpacked(data, method, limit, code) {
  const reader = new Blob([data]).stream().pipeThrough(new DecompressionStream(method)).getReader();
  const parts = [];
  let length = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      length += value.length;
      if (length > limit) {
        await reader.cancel().catch(() => {});
        break;
      }
      parts.push(value);
    }
  } catch (error) {
    throw new Refusal(code, "packed data that cannot be read");
  }
  must(length <= limit, code, "more data than the file says");
  const all = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

async function unzip(data) {
  const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
  const end = data.length - 22;
  must(end >= 0 && view.getUint32(end, true) === 0x06054b50, "Z1", "no zip archive");
  const count = view.getUint16(end + 10, true);
  const start = view.getUint32(end + 16, true);
  must(
    view.getUint16(end + 4, true) === 0 && view.getUint16(end + 6, true) === 0 && view.getUint16(end + 8, true) === count
      && view.getUint16(end + 20, true) === 0 && start + view.getUint32(end + 12, true) === end,
    "Z1", "a zip archive in several parts, or with a comment",
  );
  const entries = [];
  let at = start;
  for (let index = 0; index < count; index++) {
    must(at + 46 <= end && view.getUint32(at, true) === 0x02014b50, "Z1", "a damaged directory");
    const [name, extra, comment] = [28, 30, 32].map((offset) => view.getUint16(at + offset, true));
    entries.push({
      name: String.fromCharCode(...data.subarray(at + 46, at + 46 + name)),
      flags: view.getUint16(at + 8, true),
      method: view.getUint16(at + 10, true),
      crc: view.getUint32(at + 16, true),
      packed: view.getUint32(at + 20, true),
      length: view.getUint32(at + 24, true),
      local: view.getUint32(at + 42, true),
    });
    at += 46 + name + extra + comment;
  }
  must(at === end, "Z1", "a damaged directory");
  const total = entries.reduce((bytes, entry) => bytes + entry.length, 0);
  const limit = Math.min(2 ** 31, Math.max(2 ** 26, 40 * data.length));
  must(total <= limit, "Z2", () => `${total} bytes when unpacked, more than ${limit}`);
  const members = new Map();
  for (const entry of entries) {
    must(entry.name.endsWith(".npy") && !members.has(entry.name.slice(0, -4)), "Z3",
      "an array is missing, unknown or stored twice");
    members.set(entry.name.slice(0, -4), entry);
  }
  return {
    names: [...members.keys()],
    async read(name) {
      const entry = members.get(name);
      must(entry, "Z3", "an array is missing, unknown or stored twice");
      must((entry.method === 0 || entry.method === 8) && !(entry.flags & 1), "Z4", `${name} is packed in an unknown way`);
      must(entry.local + 30 <= start && view.getUint32(entry.local, true) === 0x04034b50, "Z1", `${name} is damaged`);
      const from = entry.local + 30 + view.getUint16(entry.local + 26, true) + view.getUint16(entry.local + 28, true);
      must(from + entry.packed <= start, "Z1", `${name} is damaged`);
      const raw = data.subarray(from, from + entry.packed);
      const content = entry.method ? await unpacked(raw, "deflate-raw", entry.length, "Z1") : raw;
      must(content.length === entry.length && checksum(content) === entry.crc, "Z1", `${name} is damaged`);
      return content;
    },
  };
}

/** One array: a list, or for a single value that value. Whole numbers beyond 2^53 stay beyond it. */
function parseArray(name, data, type, single) {
  const magic = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59, 1, 0];
  must(data.length >= 10 && magic.every((byte, at) => data[at] === byte), "Z5", `${name} is no array of version 1.0`);
  const head = data[8] + 256 * data[9];
  must(head <= 1000 && data.length >= 10 + head, "Z5", `${name} is no array of version 1.0`);
  const text = String.fromCharCode(...data.subarray(10, 10 + head));
  const parts = /^\{'descr': (.+), 'fortran_order': (True|False), 'shape': \(((?:\d{1,15}, ?)*\d{0,15})\), \} *\n$/.exec(text);
  must(parts, "Z5", `${name} is no array of version 1.0`);
  const [, description, fortran, shape] = parts;
  const found = /^'(<f8|<i8|\|b1|<U(\d{1,4}))'$/.exec(description);
  const letters = found && found[2] ? Number(found[2]) : 0;
  const kinds = { f8: "<f8", i8: "<i8", b1: "|b1", U1: "<U1" };
  must(found && (type === "U" ? letters >= 1 && letters <= 200 : found[1] === kinds[type]), "Z6",
    `${name} has the type ${description}`);
  must(fortran === "False", "Z7", `${name} has a wrong shape`);
  must(single ? shape === "" : /^\d+,$/.test(shape), "Z7", `${name} has a wrong shape`);
  const count = single ? 1 : Number(shape.slice(0, -1));
  const width = { f8: 8, i8: 8, b1: 1 }[type] ?? 4 * letters;
  must(data.length === 10 + head + count * width, "Z8", `${name} is not as long as it says`);
  const view = new DataView(data.buffer, data.byteOffset + 10 + head);
  let values;
  if (type === "f8") {
    values = new Float64Array(count);
    for (let at = 0; at < count; at++) values[at] = view.getFloat64(8 * at, true);
  } else if (type === "i8") {
    values = new Float64Array(count);
    for (let at = 0; at < count; at++) values[at] = view.getInt32(8 * at + 4, true) * 2 ** 32 + view.getUint32(8 * at, true);
  } else if (type === "b1") {
    values = data.slice(10 + head);
    must(values.every((byte) => byte <= 1), "Z9", `${name} is neither true nor false`);
  } else {
    values = [];
    for (let at = 0; at < count; at++) {
      let word = "";
      for (let letter = 0; letter < letters; letter++) {
        const point = view.getUint32(at * width + 4 * letter, true);
        must(point <= 0x10ffff && !(point >= 0xd800 && point <= 0xdfff), "Z9", `${name} is no text`);
        word += String.fromCodePoint(point);
      }
      values.push(word.replace(/\0+$/, ""));
    }
  }
  return single ? values[0] : values;
}

// --- arrays (section 3) ----------------------------------------------------------------------------------------------

/* name: type, length, and words on the numbers: `positive` (>= 0), `infinite` and `nan` (are allowed), `nonzero`,
   `small` (at most 1e30), `starts of` a length, `in` a length (an index), `from -1`, `rising in` starts. */
const HEADER = { format: "U .", version: "i8 .", release: "U .", claims: "U claims" };
const PROBLEM = {
  tolerance: "f8 . positive",
  values: "f8 n", status: "U1 n",
  lower_bound: "f8 n infinite", upper_bound: "f8 n infinite",
  lower_protection: "f8 n positive", upper_protection: "f8 n positive", sliding_protection: "f8 n positive",
  relation_starts: "i8 m+1 starts=relation_entries",
  relation_cells: "i8 relation_entries in=n rising=relation_starts", relation_data: "f8 relation_entries nonzero",
  right_hand_side: "f8 m",
};
const RELEASES = {
  suppression: { requirement: "U .", suppressed: "b1 n" },
  intervals: { requirement: "U .", published_lower: "f8 n infinite", published_upper: "f8 n infinite" },
  adjustment: {
    published: "f8 n", decimals: "i8 .", sensitive_limit: "f8 . positive infinite",
    capacity_up: "f8 n positive infinite", capacity_down: "f8 n positive infinite",
  },
  rounding: { published: "f8 n", base: "i8 .", steps: "i8 ." },
  "small counts": { published: "f8 n", base: "i8 ." },
};
const WITNESSES = {
  witness_starts: "i8 w+1 starts=witness_entries",
  witness_cells: "i8 witness_entries in=n rising=witness_starts", witness_data: "f8 witness_entries nonzero",
  upper_witness: "i8 s in=w minus", lower_witness: "i8 s in=w minus",
  intruder_names: "U k", intruder_starts: "i8 k+1 starts=intruder_entries",
  intruder_cells: "i8 intruder_entries in=n rising=intruder_starts",
  intruder_lower: "f8 intruder_entries infinite nan", intruder_upper: "f8 intruder_entries infinite nan",
  claim_starts: "i8 k+1 starts=claim_entries", claim_index: "i8 claim_entries in=s rising=claim_starts",
  claim_upper: "i8 claim_entries in=w minus", claim_lower: "i8 claim_entries in=w minus",
};
const OPEN = { open_starts: "i8 k+1 starts=open_entries", open_index: "i8 open_entries in=s rising=open_starts" };
const STATISTICS = {
  statistic_kind: "U statistics", statistic_target: "f8 statistics", statistic_slack: "f8 statistics positive",
  statistic_starts: "i8 statistics+1 starts=statistic_entries",
  statistic_cells: "i8 statistic_entries in=n rising=statistic_starts", statistic_data: "f8 statistic_entries",
};
const ASSOCIATIONS = {
  association_kind: "U associations", association_tolerance: "f8 associations positive",
  association_starts: "i8 associations+1 starts=pairs",
  association_first: "i8 pairs in=n", association_second: "i8 pairs in=n",
};
const LOSS = { measure: "U .", weights: "f8 n positive", loss: "f8 . positive" };
const BOUND = {
  bound: "f8 . positive", tree_starts: "i8 trees+1 starts=nodes",
  node_parent: "i8 nodes in=nodes minus", node_cell: "i8 nodes in=n minus", node_is_lower: "b1 nodes",
  node_limit: "i8 nodes", node_proof: "i8 nodes in=proofs minus",
  proof_starts: "i8 proofs+1 starts=multipliers", proof_kind: "i8 multipliers", proof_row: "i8 multipliers",
  proof_cell: "i8 multipliers in=n minus", proof_data: "f8 multipliers nonzero small",
};
const PART = { part: "i8 n in=trees minus" };
const DIRECTION = { direction: "i8 n" };
const COMBINED = {
  combined_starts: "i8 combinations+1 starts=combined_entries",
  combined_relations: "i8 combined_entries in=m rising=combined_starts",
  combined_data: "f8 combined_entries nonzero small",
};
const CUTS = {
  cut_kind: "i8 cuts", cut_cell: "i8 cuts in=n",
  up_starts: "i8 cuts+1 starts=up_entries", up_relations: "i8 up_entries in=m rising=up_starts", up_data: "f8 up_entries small",
  down_starts: "i8 cuts+1 starts=down_entries", down_relations: "i8 down_entries in=m rising=down_starts",
  down_data: "f8 down_entries small",
};
const SUMS = {
  sum_starts: "i8 cuts+1 starts=sum_entries", sum_cuts: "i8 sum_entries in=cuts rising=sum_starts",
  sum_data: "f8 sum_entries nonzero small",
  turned_starts: "i8 cuts+1 starts=turned_entries", turned_cells: "i8 turned_entries in=n rising=turned_starts",
};
const CLAIMS = ["protection", "additivity", "statistics", "association", "loss", "bound"];
const MEASURES = {
  suppression: ["weights"], intervals: ["widths"], adjustment: ["L1", "L2", "Linf"], rounding: ["L1"], "small counts": ["L1"],
};

/** Reads the file and lets in only what has the form of sections 2 to 4. */
async function readCertificate(data) {
  const archive = await unzip(data);
  const has = (name) => archive.names.includes(name);
  const file = {};
  const read = async (name, type, single) => parseArray(name, await archive.read(name), type, single);
  const old = !has("release") || !has("claims");
  file.release = old ? "suppression" : await read("release", "U", true);
  must(Object.hasOwn(RELEASES, file.release), "K1", "unknown kind of release");
  file.claims = old ? ["protection"] : await read("claims", "U", false);
  const places = file.claims.map((claim) => CLAIMS.indexOf(claim));
  must(places.length && places.every((place, at) => place >= 0 && (!at || place > places[at - 1])), "K2",
    "unknown claims, or not in their order");
  const claims = (claim) => file.claims.includes(claim);
  const pattern = file.release === "suppression" || file.release === "intervals";
  must(!(pattern && (claims("additivity") || claims("statistics") || claims("association"))), "K3", "a claim does not fit");
  must(!(file.release === "rounding" && claims("protection")), "K3", "rounding proves no protection");
  must(file.release === "adjustment" || !(claims("statistics") || claims("association")), "K3", "only adjustments keep those");
  must(!claims("bound") || claims("loss"), "K3", "a bound on a loss that is not claimed");
  must(!has("open_starts") || (!old && pattern && claims("protection")), old ? "Z3" : "K3", "pairs of no insiders");
  must(!has("sum_starts") || (file.release === "suppression" && claims("bound")), "K3", "sums of no rows");
  must(!has("combined_starts") || (file.release === "adjustment" && claims("bound")), "K3", "combined relations of no bound");
  const declared = {
    ...(old ? { format: HEADER.format, version: HEADER.version } : HEADER), ...PROBLEM, ...RELEASES[file.release],
    ...(pattern && claims("protection") ? WITNESSES : {}), ...(has("open_starts") ? OPEN : {}),
    ...(claims("statistics") ? STATISTICS : {}), ...(claims("association") ? ASSOCIATIONS : {}),
    ...(claims("loss") ? LOSS : {}), ...(claims("bound") ? BOUND : {}),
    ...(claims("bound") && !pattern && file.release !== "rounding" ? { ...PART, ...DIRECTION } : {}),
    ...(claims("bound") && file.release === "suppression" && has("part") ? PART : {}), ...(has("combined_starts") ? COMBINED : {}),
    ...(claims("bound") && pattern ? CUTS : {}), ...(has("sum_starts") ? SUMS : {}),
  };
  const names = Object.keys(declared);
  must(names.length === archive.names.length && names.every(has), "Z3", "an array is missing, unknown or stored twice");
  for (const name of names) {
    const [type, length] = declared[name].split(" ");
    if (!(name in file)) file[name] = await read(name, type, length === ".");
  }
  file.declared = declared;
  file.version2 = old;
  checkForm(file, declared, old);
  return file;
}

/** Section 4: the codes K4 and F. */
function checkForm(file, declared, old) {
  const claims = (claim) => file.claims.includes(claim);
  must(file.format === (old ? "tablecloak suppression certificate" : "tablecloak certificate, secret"), "F1", "not a certificate");
  must(file.version === (old ? 2 : 3), "F2", "unknown version");
  const words = Object.fromEntries(Object.entries(declared).map(([name, line]) => [name, line.split(" ")]));
  const lengths = { s: file.status.filter((letter) => letter === "u").length };
  for (const [name, [, length]] of Object.entries(words)) {
    if (length === "." || (name === "claims")) continue;
    const plus = length.endsWith("+1");
    const dimension = plus ? length.slice(0, -2) : length;
    must(!plus || file[name].length >= 1, "F3", `${name} has a wrong length`);
    const value = file[name].length - (plus ? 1 : 0);
    lengths[dimension] ??= value;
    must(lengths[dimension] === value, "F3", `${name} has a wrong length`);
  }
  for (const [name, [type, length, ...marks]] of Object.entries(words)) {
    const list = length === "." ? [file[name]] : file[name];
    const every = (test, code, reason) => must(list.every(test), code, `${name} ${reason}`);
    const mark = (word) => marks.find((other) => other.startsWith(word + "="))?.slice(word.length + 1);
    if (type === "f8" && !marks.includes("nan"))
      every((value) => !Number.isNaN(value) && (marks.includes("infinite") || Number.isFinite(value)), "F4",
        "holds something that is no number");
    if (marks.includes("positive")) every((value) => value >= 0, "F5", "is negative");
    if (marks.includes("nonzero")) every((value) => value !== 0, "F6", "holds a 0");
    if (marks.includes("small")) every((value) => Math.abs(value) <= 1e30, "F12", "has a multiplier above 1e+30");
    if (mark("starts")) {
      const entries = lengths[mark("starts")];
      must(list[0] === 0 && list.at(-1) === entries && list.every((value, at) => !at || value >= list[at - 1]), "F7",
        `${name} do not increase, or leave something out`);
    }
    if (mark("in")) {
      const below = lengths[mark("in")];
      const from = marks.includes("minus") ? -1 : 0;
      every((value) => value >= from && value < below, "F8", "has a number that is out of range");
    }
  }
  for (const [name, [, , ...marks]] of Object.entries(words)) {
    const starts = file[marks.find((word) => word.startsWith("rising="))?.slice(7)];
    if (!starts) continue;
    for (let list = 0; list + 1 < starts.length; list++)
      for (let at = starts[list] + 1; at < starts[list + 1]; at++)
        must(file[name][at] > file[name][at - 1], "F9", `${name}: numbers are twice or out of order`);
  }
  const known = ["two-sided", "width", "upper"];
  must(file.requirement === undefined || known.includes(file.requirement), "F10", `unknown requirement ${file.requirement}`);
  must(file.status.every((letter) => letter !== "" && "sumz".includes(letter)), "F10", "unknown status");
  if (claims("loss")) {
    must(Object.values(MEASURES).flat().includes(file.measure), "F10", `unknown measure ${file.measure}`);
    must(MEASURES[file.release].includes(file.measure), "F10", "a loss that does not fit the release");
  }
  if (file.intruder_names)
    must(file.intruder_names.every((name) => name) && new Set(file.intruder_names).size === file.intruder_names.length, "F11",
      "two insiders have the same name");
  if (file.direction) must(file.direction.every((value) => Math.abs(value) <= 1), "F8", "direction: a number is out of range");
  if (file.cut_kind) must(file.cut_kind.every((kind) => kind >= 0 && kind <= 4), "F8", "cut_kind: a number is out of range");
  if (claims("bound")) {
    must(file.node_limit.every((limit) => Math.abs(limit) < 2 ** 53), "F12", "node_limit is out of range");
    must(new Set(file.node_proof.filter((proof) => proof >= 0)).size === lengths.proofs, "F12", "a proof that is not used");
    for (let proof = 0; proof < lengths.proofs; proof++)
      for (let at = file.proof_starts[proof] + 1; at < file.proof_starts[proof + 1]; at++) {
        const steps = [file.proof_kind, file.proof_row, file.proof_cell].map((part) => part[at] - part[at - 1]);
        must((steps.find((step) => step) ?? 0) > 0, "F12", "the multipliers of a leaf are twice or out of order");
      }
  }
  file.cells = lengths.n;
  file.relations = lengths.m;
  file.sensitive = [];
  for (let cell = 0; cell < file.cells; cell++) {
    const value = file.values[cell];
    if (file.release === "small counts" ? 0 < value && value < file.base : file.status[cell] === "u") file.sensitive.push(cell);
  }
  if (claims("bound")) {
    must(claims("protection") || !file.sensitive.length || file.release === "rounding", "K4", "a bound without its claims");
    must(claims("additivity") || !file.published, "K4", "a bound without its claims");
  }
}

const range = (count) => Array.from({ length: count }, (_, at) => at);
/** The entries from starts[list] to below starts[list + 1]. */
function* slots(starts, list) {
  for (let at = starts[list]; at < starts[list + 1]; at++) yield at;
}

// --- relations (section 5) -------------------------------------------------------------------------------------------

function places(coefficient) {
  for (let power = 0; power <= 12; power++) {
    const scaled = rint(coefficient * TENS[power]);
    if (scaled / TENS[power] === coefficient && Math.abs(scaled) < 2 ** 31) return power;
  }
  return -1;
}

function decimalsOf(value) {
  for (let power = 0; power <= 12; power++) {
    const scaled = rint(value * TENS[power]);
    if (Math.abs(scaled / TENS[power] - value) <= 2 * ulp(value) && Math.abs(scaled) < 2 ** 40) return power;
  }
  return -1;
}

/** The relations, each with its cells, stored coefficients, and if it is decimal what these stand for. */
function readRelations(file) {
  return range(file.relations).map((relation) => {
    const [from, to] = [file.relation_starts[relation], file.relation_starts[relation + 1]];
    const cells = file.relation_cells.subarray(from, to);
    const data = file.relation_data.subarray(from, to);
    let power = 0;
    let decimal = true;
    for (const coefficient of data) {
      const own = places(coefficient);
      if (own < 0) decimal = false;
      else power = Math.max(power, own);
    }
    let whole = decimal ? data.map((coefficient) => rint(coefficient * TENS[power])) : null;
    if (whole && !whole.every((coefficient) => Math.abs(coefficient) < 2 ** 31)) whole = null;
    return {
      cells, data, power, decimal: whole !== null, whole,
      /** The coefficient of an entry as an exact number. */
      exact: (entry) => (whole && power ? new Fraction(BigInt(whole[entry]), 10n ** BigInt(power)) : q(data[entry])),
    };
  });
}

/** Whether a relation of the true table is good, with what section 5 counts. */
function checkTrueRelation(relation, values, side, tolerance) {
  const { cells, data } = relation;
  let total = 0;
  let size = 0;
  for (let at = 0; at < cells.length; at++) {
    const term = data[at] * values[cells[at]];
    total += term;
    size += Math.abs(term);
  }
  const off = Math.abs(total - side);
  size += Math.abs(side);
  must(Number.isFinite(size), "T2", "the numbers of the true table are too large");
  const rounding = (cells.length + 2) * 2 ** -52 * size;
  let decimal = relation.decimal;
  let equal = true;
  const own = decimalsOf(side);
  if (decimal) {
    const digits = Array.from(cells, (cell) => {
      const value = values[cell];
      return Number.isInteger(value) && Math.abs(value) < 2 ** 53 ? 0 : decimalsOf(value);
    });
    const most = digits.reduce((one, other) => Math.max(one, other), Math.max(own, 0));
    const last = own < 0 ? most + relation.power : own;
    const right = rint(side * TENS[last]) * TENS[most + relation.power - last];
    decimal = digits.every((digit) => digit >= 0) && Math.abs(right) < (own < 0 ? 2 ** 51 : 2 ** 53);
    if (decimal) {
      let exact = 0n;
      let plain = 0;
      for (let at = 0; at < cells.length && decimal; at++) {
        const whole = rint(values[cells[at]] * TENS[digits[at]]) * TENS[most - digits[at]];
        decimal = Math.abs(whole) < 2 ** 53;
        const term = relation.whole[at] * whole;
        if (!decimal) break;
        if (Math.abs(term) + Math.abs(plain) < 2 ** 53) plain += term;
        else exact += BigInt(relation.whole[at]) * BigInt(whole);
      }
      if (decimal) equal = exact + BigInt(plain) === BigInt(right);
    }
  }
  const good = (off <= 1e-9 * size && (!decimal || equal)) || (tolerance > 0 && off <= tolerance + rounding);
  return { good, rounding, counted: (!decimal || own < 0) && off > rounding };
}

function checkTrueTable(file, sides) {
  const found = file.rows.map((row, at) => checkTrueRelation(row, file.values, sides[at], file.tolerance));
  const broken = found.filter((relation) => !relation.good).length;
  must(!broken, "T3", () => `the true table is not additive in ${broken} relations`);
  return found;
}

// --- patterns and intervals (sections 6 and 7) -----------------------------------------------------------------------

function checkHidden(file) {
  const { status, values, lower_bound: lower, upper_bound: upper } = file;
  const narrow = file.release === "intervals";
  const each = (test, code, reason) => must(range(file.cells).every(test), code, reason);
  if (narrow) {
    each((i) => file.published_lower[i] <= values[i] && values[i] <= file.published_upper[i], "R1",
      "an interval does not hold the true value");
    each((i) => status[i] !== "m" || (file.published_lower[i] === lower[i] && file.published_upper[i] === upper[i]), "R2",
      "a cell that must be hidden shows more than its external bounds");
  }
  file.hidden = range(file.cells).map((i) => (narrow ? file.published_upper[i] > file.published_lower[i] : file.suppressed[i] === 1));
  each((i) => file.hidden[i] || !(status[i] === "u" || (status[i] === "m" && !(narrow && lower[i] === upper[i]))), "R3",
    "a sensitive cell is published");
  each((i) => status[i] !== "z" || !file.hidden[i], "R4", "a frozen cell is hidden");
  file.known_lower = narrow ? lower.map((bound, i) => Math.max(bound, file.published_lower[i])) : lower;
  file.known_upper = narrow ? upper.map((bound, i) => Math.min(bound, file.published_upper[i])) : upper;
}

function needsOf(file, cell) {
  const [up, down, slide] = [file.upper_protection[cell], file.lower_protection[cell], file.sliding_protection[cell]];
  if (file.requirement === "upper") return { up, down: 0, width: 0 };
  if (file.requirement === "width") return { up: 0, down: 0, width: Math.max(slide, finite(up + down)) };
  return { up, down, width: slide };
}

const levelOf = (needs) => Math.min(...[needs.up, needs.down, needs.width].filter((need) => need > 0));

/** How far a value may go to a bound above it, with the tolerance of P4 (theorem 2); for a bound below, of both negatives. */
function reach(value, bound) {
  if (bound === INFINITE) return INFINITE;
  const distance = bound === -INFINITE ? 0 : Math.max(finite(bound - value), 0);
  return distance + Math.min(precision(value, bound), 1e-9 * distance);
}

function exactSum(terms) {
  hurry();
  let plain = 0;
  let rest = ZERO;
  for (const [one, other] of terms) {
    const term = one * other;
    if (Number.isInteger(one) && Number.isInteger(other) && Math.abs(term) + Math.abs(plain) < 2 ** 53) plain += term;
    else rest = rest.plus(q(one).times(other));
  }
  return rest.plus(plain);
}

function checkProtection(file) {
  const { values, hidden, rows } = file;
  const cells = file.sensitive;
  const needs = cells.map((cell) => needsOf(file, cell));
  const levels = needs.map(levelOf);
  cells.forEach((cell, at) =>
    must(levels[at] === INFINITE || precision(values[cell]) <= 1e-6 * levels[at], "P1",
      `the level of cell ${cell} is below the precision of its value`));
  checkPeeling(file);

  const witnesses = file.witness_starts.length - 1;
  for (const cell of file.witness_cells) must(hidden[cell], "P3", "a witness moves a published cell");
  for (let at = 0; at < file.witness_cells.length; at++) {
    const cell = file.witness_cells[at];
    const move = file.witness_data[at];
    must(move > 0 ? move <= reach(values[cell], file.known_upper[cell]) : -move <= reach(-values[cell], -file.known_lower[cell]),
      "P4", "a witness breaks an external bound");
  }
  const named = new Float64Array(witnesses).fill(INFINITE);
  const name = (witness, level) => {
    if (witness >= 0) named[witness] = Math.min(named[witness], level);
  };
  cells.forEach((_, at) => [file.upper_witness, file.lower_witness].forEach((list) => name(list[at], levels[at])));
  file.claim_index.forEach((sensitive, at) =>
    [file.claim_upper, file.claim_lower].forEach((list) => name(list[at], levels[sensitive])));
  const touched = checkWitnessRelations(file, witnesses, named);

  const moves = range(witnesses).map((witness) => {
    hurry();
    const move = new Map();
    for (const at of slots(file.witness_starts, witness)) move.set(file.witness_cells[at], file.witness_data[at]);
    return move;
  });
  file.moves = moves;
  const reached = (up, down, need, moved) =>
    need.up || need.down || need.width
      ? up >= NEAR * need.up && down >= NEAR * need.down && finite(up + down) >= NEAR * need.width
      : !moved || up !== 0 || down !== 0;
  const along = (witness, cell) => (witness < 0 ? 0 : moves[witness].get(cell) ?? 0);
  const short = cells.filter((cell, at) =>
    !reached(along(file.upper_witness[at], cell), -along(file.lower_witness[at], cell), needs[at], true)).length;
  must(!short, "P6", `${short} sensitive cells are not proved against everybody`);
  const insiders = checkInsiders(file, { needs, moves, reached, along });
  return { levels, touched, insiders };
}

/** P2: cells that follow from single relations. */
function checkPeeling(file) {
  const { hidden, rows } = file;
  const unknown = hidden.slice();
  const open = rows.map((row) => row.cells.reduce((count, cell) => count + (hidden[cell] ? 1 : 0), 0));
  const ofCell = Array.from({ length: file.cells }, () => []);
  rows.forEach((row, at) => row.cells.forEach((cell) => hidden[cell] && ofCell[cell].push(at)));
  const queue = range(rows.length).filter((row) => open[row] === 1);
  while (queue.length) {
    const row = queue.pop();
    if (open[row] !== 1) continue;
    const cell = rows[row].cells.find((other) => unknown[other]);
    unknown[cell] = false;
    for (const other of ofCell[cell]) if (--open[other] === 1) queue.push(other);
  }
  const found = file.sensitive.filter((cell) => !unknown[cell]);
  must(!found.length, "P2", () =>
    `${found.length} sensitive cells follow from single relations, the first is cell ${found[0]}: they are disclosed`);
}

/** P5: with P3 and P4 what theorem 1 asks of a witness; returns how many real relations a witness touches. */
function checkWitnessRelations(file, witnesses, named) {
  const { rows, hidden } = file;
  const ofCell = Array.from({ length: file.cells }, () => []);
  rows.forEach((row, at) => row.cells.forEach((cell, entry) => hidden[cell] && ofCell[cell].push([at, entry])));
  const touched = new Set();
  for (let witness = 0; witness < witnesses; witness++) {
    hurry();
    const terms = new Map();
    for (const at of slots(file.witness_starts, witness))
      for (const [row, entry] of ofCell[file.witness_cells[at]]) {
        if (!terms.has(row)) terms.set(row, []);
        terms.get(row).push([entry, file.witness_data[at]]);
      }
    for (const [row, entries] of terms) {
      const { whole, data, cells } = rows[row];
      const broken = () => `witness ${witness} breaks relation ${row}`;
      const total = exactSum(entries.map(([entry, move]) => [(whole ?? data)[entry], move]));
      if (whole) {
        must(total.sign === 0, "P5", broken);
        continue;
      }
      touched.add(row);
      const smallest = Math.min(...entries.map(([entry, move]) => Math.abs(data[entry] * move)));
      const scale = Math.min(1, data.reduce((most, c, entry) => (hidden[cells[entry]] ? Math.max(most, Math.abs(c)) : most), 0));
      const level = named[witness] === INFINITE ? 0 : named[witness];
      must(compare(total.size(), finite(1e-9 * Math.min(level * scale, smallest))) <= 0, "P5", broken);
    }
  }
  return touched.size;
}

function checkInsiders(file, { needs, moves, reached, along }) {
  const { values, known_lower: lower, known_upper: upper } = file;
  const facts = file.intruder_names.map((_, insider) => {
    const known = new Map();
    for (const at of slots(file.intruder_starts, insider))
      known.set(file.intruder_cells[at], [file.intruder_lower[at], file.intruder_upper[at]]);
    return known;
  });
  for (const known of facts)
    for (const [cell, [low, high]] of known) {
      must(file.hidden[cell], "P10", "an insider knows a bound on a published cell");
      must(low - values[cell] <= precision(values[cell], low) && values[cell] - high <= precision(values[cell], high), "P11",
        "an insider excludes the truth");
      must(low >= lower[cell] && high <= upper[cell], "P12", "an insider knows less than everybody");
    }
  const different = new Set();
  let cut = 0;
  let open = 0;
  facts.forEach((known, insider) => {
    hurry();
    const narrower = [...known].filter(([cell, [low, high]]) => low > lower[cell] || high < upper[cell]);
    must(narrower.length, "P13", `insider ${insider} knows nothing beyond what everybody knows`);
    const own = new Map();
    for (const at of slots(file.claim_starts, insider)) own.set(file.claim_index[at], [file.claim_upper[at], file.claim_lower[at]]);
    const left = new Set();
    if (file.open_starts) for (const at of slots(file.open_starts, insider)) left.add(file.open_index[at]);
    open += left.size;
    if (left.size < file.sensitive.length) different.add(JSON.stringify(narrower.map((fact) => fact.flat().map(String))));
    const allowed = new Map();
    const excluded = (witness) => {
      if (!allowed.has(witness)) {
        let out = false;
        const small = moves[witness].size < known.size ? moves[witness].keys() : known.keys();
        for (const cell of small) {
          if (!moves[witness].has(cell) || !known.has(cell)) continue;
          const move = moves[witness].get(cell);
          const [low, high] = known.get(cell);
          if (move > 0 ? move > reach(values[cell], high) : -move > reach(-values[cell], -low)) out = true;
        }
        allowed.set(witness, out);
      }
      return allowed.get(witness);
    };
    const move = (witness, cell) => (witness < 0 || excluded(witness) ? 0 : along(witness, cell));
    let short = 0;
    file.sensitive.forEach((cell, at) => {
      if (left.has(at)) return;
      const fact = known.get(cell);
      const above = fact ? Math.max(fact[1] - values[cell], 0) : INFINITE;
      const below = fact ? Math.max(values[cell] - fact[0], 0) : INFINITE;
      const need = needs[at];
      const rest = { up: Math.min(need.up, above), down: Math.min(need.down, below), width: Math.min(need.width, above + below) };
      if (rest.up < need.up || rest.down < need.down || rest.width < need.width) cut++;
      if (above + below === 0) return;
      const [up, down] = own.get(at) ?? [file.upper_witness[at], file.lower_witness[at]];
      if (!reached(move(up, cell), -move(down, cell), rest, true)) short++;
    });
    must(!short, "P14", `${short} sensitive cells are not proved against insider ${insider}`);
  });
  return { different: different.size, cut, open };
}

// --- adjusted and rounded tables (section 8) -------------------------------------------------------------------------

/** A number in last digits, [float]: times 10^decimals. */
const scaled = (value, decimals) => (decimals >= 0 ? value * TENS[decimals] : value / TENS[-decimals]);

function lastDigits(value, decimals, reason) {
  const whole = rint(scaled(value, decimals));
  const back = decimals >= 0 ? whole / TENS[decimals] : whole * TENS[-decimals];
  const dust = decimals === 0 ? 0 : Math.min(16 * ulp(value), Math.max(ulp(value), 0.01 / TENS[Math.abs(decimals)]));
  must(Math.abs(whole) < 2 ** 53 && Math.abs(back - value) <= dust, "D2", reason);
  return whole;
}

function roundDown(value) {
  if (!Number.isFinite(value)) return value;
  return Math.abs(rint(value) - value) <= 4 * ulp(value) ? rint(value) : Math.floor(value);
}

/** What sections 8 and 10 need of a release that moves values: the changes, units, levels and rooms. */
function checkAdjusted(file) {
  let terms = file;
  if (file.release === "small counts") {
    const { values, published, base } = file;
    const whole = (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 53;
    must(values.every(whole) && published.every(whole) && base >= 2, "C1", "small counts are whole numbers");
    const small = Array.from(values, (value) => 0 < value && value < base);
    must(published.every((value) => value === 0 || value >= base), "C2", "a small count or a negative number is released");
    must(values.every((value, i) => value !== 0 || published[i] === 0), "C3", "a zero is changed");
    must(small.every((is, i) => !is || published[i] === 0 || published[i] === base), "C4", "a small count is moved too far");
    must(small.every((is, i) => !is || file.status[i] !== "z"), "C5", "a small count must stay as it is");
    terms = {
      values, published, cells: file.cells, decimals: 0, sensitive_limit: 1,
      status: small.map((is, i) => (is ? "u" : file.status[i] === "z" || values[i] === 0 ? "z" : "s")),
      lower_protection: values.map((value, i) => (small[i] ? value : 0)),
      upper_protection: values.map((value, i) => (small[i] ? base - value : 0)),
      capacity_down: values.map((value) => (value >= base ? value - base : value)),
      capacity_up: values.map(() => INFINITE), lower_bound: values.map(() => 0), upper_bound: values.map(() => INFINITE),
    };
  }
  const { values, published, status, decimals } = terms;
  must(decimals === 99 || (Number.isInteger(decimals) && Math.abs(decimals) <= 12), "D1", "decimals out of range");
  const real = decimals === 99;
  const unit = real ? ONE : decimals >= 0 ? new Fraction(1n, 10n ** BigInt(decimals)) : new Fraction(10n ** BigInt(-decimals));
  let [before, after] = [values, published];
  if (!real) {
    before = values.map((value) => lastDigits(value, decimals, "the true table has more digits than are stated"));
    after = published.map((value) => lastDigits(value, decimals, "the released table has more digits than are stated"));
  }
  // In last digits; times the unit they are the changes z.
  const changes = Array.from(after, (value, i) => q(value).minus(before[i]));
  const level = (protection) => Array.from(protection, (amount, i) => {
    if (status[i] !== "u") return 0;
    if (real) return amount;
    const digits = finite(scaled(amount, decimals));
    const whole = Math.ceil(digits - Math.min(1e-9 * digits, 1e-3));
    return amount > 0 ? Math.max(whole, 1) : whole;
  });
  const levels = { up: level(terms.upper_protection), down: level(terms.lower_protection) };
  const limited = (amount) => (terms.sensitive_limit === INFINITE ? INFINITE : finite(terms.sensitive_limit * amount));
  const room = (i, edge, capacity, own, value, whole) => {
    if (status[i] === "z") return 0;
    let here = value;
    if (!real) {
      here = whole;
      edge = roundDown(scaled(edge, decimals));
      capacity = roundDown(scaled(capacity, decimals));
    }
    edge = Math.max(edge, here);
    let distance = Math.abs(edge - here);
    if (own - 4 * ulpOfLargest(edge, here) <= distance && distance < own) distance = own;
    const most = Math.min(distance, status[i] === "u" ? limited(own) : capacity);
    return real ? most * (1 + 2 ** -48) : Math.floor(most);
  };
  const rooms = {
    up: range(terms.cells).map((i) => room(i, terms.upper_bound[i], terms.capacity_up[i], levels.up[i], values[i], before[i])),
    down: range(terms.cells).map((i) => room(i, -terms.lower_bound[i], terms.capacity_down[i], levels.down[i], -values[i], -before[i])),
  };
  const each = (test, code, reason) => must(range(terms.cells).every(test), code, reason);
  const beyond = (over, value, bound) =>
    (bound === INFINITE || bound === -INFINITE ? over === -INFINITE : over <= 4 * ulpOfLargest(value, bound));
  each((i) => beyond(published[i] - terms.upper_bound[i], published[i], terms.upper_bound[i])
    && beyond(terms.lower_bound[i] - published[i], published[i], terms.lower_bound[i]), "D3", "adjusted values pass their bounds");
  each((i) => status[i] !== "z" || changes[i].sign === 0, "D4", "a frozen cell is changed");
  const step = unit.toNumber();
  const within = (change, capacity, own, i) => {
    const most = status[i] === "u" ? limited(finite(own * step)) : capacity;
    return most === INFINITE || compare(change.times(unit), finite(most + 1e-9 * most + 4 * ulp(published[i]))) <= 0;
  };
  each((i) => within(changes[i], terms.capacity_up[i], levels.up[i], i)
    && within(changes[i].negative(), terms.capacity_down[i], levels.down[i], i), "D5", "a cell changes more than its capacity or limit");
  if (!real)
    each((i) => compare(changes[i], rooms.up[i]) <= 0 && compare(changes[i].negative(), rooms.down[i]) <= 0, "D6",
      "a cell changes more than it may");
  return { terms, real, unit, changes, levels, rooms };
}

/** The least and largest step of each cell of a rounded table. */
function checkRounded(file) {
  const { values, published, base, steps, status } = file;
  const whole = (value) => Number.isInteger(value) && Math.abs(value) < 2 ** 53;
  must(values.every(whole) && published.every(whole), "O1", "rounding is for whole numbers");
  must(base >= 2 && steps >= 1 && BigInt(base) * BigInt(steps) <= 10n ** 15n, "O2", "base or steps out of range");
  must(published.every((value) => value % base === 0), "O3", "a value is no multiple of the base");
  must(values.every((value, i) => status[i] !== "z" || value % base === 0), "O4", "a frozen cell cannot be rounded");
  const wide = BigInt(base);
  const far = BigInt(steps) * wide - 1n;
  file.choices = Array.from(values, (value, i) => {
    const long = BigInt(value);
    if (status[i] === "z" || (steps === 1 && value % base === 0)) return [long / wide, long / wide];
    let low = new Fraction(long - far, wide).ceiling();
    let high = new Fraction(long + far, wide).floor();
    if (value >= 0 && low < 0n) low = 0n;
    if (value < 0 && high > 0n) high = 0n;
    return [low, high];
  });
  must(file.choices.every(([low, high], i) => {
    const own = BigInt(published[i]) / wide;
    return low <= own && own <= high;
  }), "O5", "a value is too far from the truth");
  return { changes: Array.from(published, (value, i) => q(value).minus(values[i])), unit: ONE, real: false };
}

function checkDistance(file) {
  const { terms, unit, changes } = file.adjusted;
  const near = range(file.cells).filter((i) => {
    if (terms.status[i] !== "u") return false;
    const change = changes[i].times(unit);
    const far = (level, move) => level > 0 && compare(move, NEAR * level) >= 0;
    return !far(terms.upper_protection[i], change) && !far(terms.lower_protection[i], change.negative());
  });
  must(!near.length, "D7", () => `${near.length} sensitive cells are too near to the truth, as ${near[0]} is`);
}

function checkAdditivity(file) {
  const { changes, unit, real } = file.adjusted;
  const broken = file.rows.filter(({ cells, data, whole }) => {
    if (whole && !real) return sum(Array.from(cells, (cell, at) => changes[cell].times(whole[at]))).sign !== 0;
    const off = sum(Array.from(cells, (cell, at) => changes[cell].times(data[at]))).times(unit);
    let size = 0;
    cells.forEach((cell, at) => {
      size += Math.abs(data[at]) * Math.max(Math.abs(file.published[cell]), Math.abs(file.values[cell]));
    });
    return compare(off.size(), finite(4 * 2 ** -52 * size)) > 0;
  }).length;
  must(!broken, "D8", `the released table breaks ${broken} relations`);
}

function centred(values) {
  const moved = values.map((value) => q(value).minus(values[0]));
  const mean = sum(moved).over(BigInt(values.length));
  return moved.map((value) => value.minus(mean));
}

function meanProduct(one, other) {
  return sum(one.map((value, at) => value.times(other[at]))).over(BigInt(one.length));
}

const distance = (one, other) => q(one).minus(other).size();

function checkStatistics(file) {
  const { changes, unit, real } = file.adjusted;
  return range(file.statistic_kind.length).map((statistic) => {
    const kind = file.statistic_kind[statistic];
    const entries = [...slots(file.statistic_starts, statistic)];
    const cells = entries.map((at) => file.statistic_cells[at]);
    const data = entries.map((at) => file.statistic_data[at]);
    const target = file.statistic_target[statistic];
    let slack = q(file.statistic_slack[statistic]);
    const title = `statistic ${statistic}`;
    must(cells.length, "S1", `${title} is of no cell`);
    const truth = () => centred(cells.map((cell) => file.values[cell]));
    if (kind === "mean" || kind === "variance")
      must(data.every((value) => value === 1) && target === 0, "S2", `${title} is no ${kind}`);
    let truths = null;
    if (kind === "slope") {
      truths = truth();
      const most = truths.map((value) => value.size()).reduce(largest);
      const dust = Math.min((cells.length + 8) * 2 ** -52, 1e-9);
      must(most.sign, "N1", "numbers that cannot be computed with: a slope on a constant");
      must(target === 0 && data.some((value) => value !== 0)
        && data.every((value, at) => compare(distance(value, truths[at].over(most)), dust) <= 0), "S2", `${title} is no slope`);
    }
    must(["mean", "slope", "variance", "covariance", "sum"].includes(kind), "S3", `${title} is unknown`);
    if (kind === "variance") {
      const square = (values) => meanProduct(values, values);
      const share = square(centred(cells.map((cell) => file.published[cell]))).over(square(truth()));
      const off = distance(share, 1);
      must(compare(off, slack.plus(1e-9)) <= 0, "S4", `${title}: the variance is not kept`);
      return `the variance of ${cells.length} cells is kept, within ${show(largest(slack, off))}`;
    }
    const terms = cells.map((cell, at) => changes[cell].times(data[at]));
    const total = sum(terms);
    const size = sum(terms.map((term) => term.size()));
    let dust = 0;
    if (real) cells.forEach((cell, at) => (dust += Math.abs(data[at]) * ulp(file.published[cell])));
    const off = distance(total, target);
    const share = real ? 1e-9 : (cells.length + 4) * 2 ** -52;
    must(compare(off.minus(slack).minus(dust), size.plus(Math.abs(target)).times(share)) <= 0, "S4", `${title}: the ${kind} is not kept`);
    slack = largest(slack, off).times(unit);
    if (kind === "mean") slack = slack.over(BigInt(cells.length));
    if (kind === "slope") slack = slack.over(sum(truths.map((value, at) => value.times(data[at]))));
    if (kind === "mean" || kind === "slope") return `the ${kind} of ${cells.length} cells is kept, within ${show(slack)}`;
    return `a sum of changes of ${cells.length} cells, with given coefficients (${kind}), is ${show(q(target).times(unit))}, within ${show(slack)}`;
  });
}

function checkAssociations(file) {
  return range(file.association_kind.length).map((association) => {
    const kind = file.association_kind[association];
    const pairs = [...slots(file.association_starts, association)];
    const first = pairs.map((at) => file.association_first[at]);
    const second = pairs.map((at) => file.association_second[at]);
    const title = `association ${association}`;
    must(pairs.length && new Set([...first, ...second]).size === 2 * pairs.length, "M1", `${title}: a cell is in two pairs`);
    must(["covariance", "correlation", "slope"].includes(kind), "M2", `${title} is unknown`);
    const measure = (values) => {
      const one = centred(first.map((cell) => values[cell]));
      const other = centred(second.map((cell) => values[cell]));
      const [both, left, right] = [meanProduct(one, other), meanProduct(one, one), meanProduct(other, other)];
      if (kind === "covariance") return [both, left.times(right).root()];
      if (kind === "correlation") return [both.over(left.times(right).root()), ONE];
      return [both.over(left), right.over(left).root()];
    };
    const [value, unit] = measure(file.values);
    const off = distance(measure(file.published)[0], value);
    const tolerance = q(file.association_tolerance[association]);
    must(compare(off, tolerance.plus(1e-9).times(unit)) <= 0, "M3", `${title}: the ${kind} is not kept`);
    return `the ${kind} of ${pairs.length} pairs of cells, ${show(value)}, is kept, within ${show(largest(tolerance.times(unit), off))}`;
  });
}

// --- loss (section 9) ------------------------------------------------------------------------------------------------

function checkLoss(file) {
  const { weights, measure } = file;
  const cells = range(file.cells);
  let loss;
  if (measure === "weights") loss = sum(cells.filter((i) => file.hidden[i]).map((i) => q(weights[i])));
  else if (measure === "widths")
    loss = sum(cells.filter((i) => file.status[i] !== "m").map((i) => {
      const [low, high] = [file.published_lower[i], file.published_upper[i]];
      if (low === high) return ZERO;
      if (Number.isFinite(low) && Number.isFinite(high)) return q(high).minus(low).times(weights[i]);
      must(weights[i] > 0, "N1", "numbers that cannot be computed with: an infinite width of no weight");
      return INFINITE;
    }));
  else {
    const { changes, unit } = file.adjusted;
    const sizes = changes.map((change) => change.times(unit).size());
    const terms = sizes.map((size, i) => (measure === "L2" ? size.times(size) : size).times(weights[i]));
    loss = measure === "Linf" ? terms.reduce(largest, ZERO) : sum(terms);
  }
  must(loss !== INFINITE && compare(distance(loss, file.loss), q(1e-9).times(file.loss)) <= 0, "L1",
    () => `the loss is ${show(loss)}, not ${show(file.loss)}`);
}

// --- bounds: trees (section 10.1, theorem 3) -------------------------------------------------------------------------

/** The bound of each tree: the least price of its leaves. `stand` is what represents a cell, `price(multipliers, box,
    costs, tree)` a lower bound on the loss in a box, and `check` what the release asks of a cell that is split. */
function treeBounds(file, { stand, check, price }) {
  const trees = file.tree_starts.length - 1;
  must(trees === 1 || file.part, "B2", "trees whose costs no parts tell apart");
  must(trees, "B9", () => `the bound ${show(file.bound)} is claimed, but without a tree nothing is proved`);
  const { node_parent: parent, node_proof: proof, node_limit: limit, node_is_lower: isLower } = file;
  const cell = Array.from(file.node_cell, (own) => (own < 0 ? -1 : stand(own)));
  const multipliers = range(file.proof_starts.length - 1).map((list) =>
    [...slots(file.proof_starts, list)].map((at) => ({
      kind: file.proof_kind[at], row: file.proof_row[at], cell: file.proof_cell[at], value: q(file.proof_data[at]),
    })));
  return range(trees).map((tree) => {
    const [first, end] = [file.tree_starts[tree], file.tree_starts[tree + 1]];
    must(first < end && parent[first] === -1 && file.node_cell[first] === -1 && !isLower[first] && limit[first] === 0, "B1",
      "a tree without a root");
    const children = Array.from({ length: end - first }, () => []);
    for (let node = first + 1; node < end; node++) {
      must(parent[node] >= first && parent[node] < node, "B1", "a node before its parent");
      children[parent[node] - first].push(node);
    }
    const boxes = [new Map()];
    let bound = INFINITE;
    for (let node = first; node < end; node++) {
      hurry();
      const pair = children[node - first];
      must((pair.length === 0) === proof[node] >= 0, "B1", "a leaf without a proof");
      if (pair.length) {
        must(pair.length === 2 && cell[pair[0]] === cell[pair[1]] && cell[pair[0]] >= 0, "B1", "a split without two sides");
        const [above, below] = isLower[pair[0]] ? pair : [pair[1], pair[0]];
        must(isLower[above] && !isLower[below] && limit[above] === limit[below] + 1, "B1",
          "a search tree that leaves something out");
        check(file.node_cell[pair[0]], file.node_cell[pair[1]]);
      }
      if (node > first) {
        const box = new Map(boxes[parent[node] - first]);
        const [low, high] = box.get(cell[node]) ?? [-INFINITE, INFINITE];
        box.set(cell[node], isLower[node] ? [Math.max(low, limit[node]), high] : [low, Math.min(high, limit[node])]);
        boxes.push(box);
      }
      if (!pair.length) {
        const [list, box] = [multipliers[proof[node]], boxes[node - first]];
        const cost = price(list, box, true, tree);
        if (cost === INFINITE || compare(price(list, box, false, tree), 0) > 0) continue;
        bound = least(bound, cost);
      }
    }
    return bound;
  });
}

function checkBound(file) {
  const bounds = { suppression: patternBound, intervals: widthBound, rounding: roundingBound };
  const found = (bounds[file.release] ?? adjustmentBound)(file);
  const proved = least(largest(found, ZERO), q(file.loss));
  must(compare(q(file.bound), q(proved).plus(q(1e-9).times(file.loss))) <= 0, "B9",
    () => `the bound ${show(file.bound)} is claimed, but only ${show(proved)} is proved`);
}

// --- bounds of rounded tables (10.2, theorem 10) ---------------------------------------------------------------------

function roundingBound(file) {
  const base = BigInt(file.base);
  const price = (multipliers, box, costs) => {
    const prices = new Map();
    for (const { kind, row, cell, value } of multipliers) {
      must(kind === 0, "B3", "an unknown kind of multiplier");
      must(row >= 0 && row < file.relations, "B3", "an unknown row");
      must(cell === -1, "B3", "a multiplier of no cell");
      const relation = file.rows[row];
      relation.cells.forEach((i, at) => prices.set(i, (prices.get(i) ?? ZERO).plus(relation.exact(at).times(value))));
    }
    let total = ZERO;
    for (let i = 0; i < file.cells; i++) {
      let [low, high] = file.choices[i];
      const limits = box.get(i);
      if (limits) {
        if (Number.isFinite(limits[0]) && BigInt(limits[0]) > low) low = BigInt(limits[0]);
        if (Number.isFinite(limits[1]) && BigInt(limits[1]) < high) high = BigInt(limits[1]);
      }
      if (low > high) return INFINITE;
      const [weight, push] = [costs ? q(file.weights[i]) : ZERO, prices.get(i) ?? ZERO];
      if (!weight.above && !push.above) continue;
      const value = BigInt(file.values[i]);
      const around = new Fraction(value, base);
      const inside = (step) => (step < low ? low : step > high ? high : step);
      const cost = (step) => {
        const move = q(step * base - value);
        return weight.times(move.size()).minus(push.times(move));
      };
      total = total.plus([low, high, inside(around.floor()), inside(around.ceiling())].map(cost).reduce(least));
    }
    return total;
  };
  return treeBounds(file, { stand: (cell) => cell, check() {}, price })[0];
}

// --- groups (10.3, theorem 8) ----------------------------------------------------------------------------------------

/** Groups of cells that move together: of each cell its group (-1: of none, still or not movable) and sign. */
function groupCells(movable, relations) {
  const group = movable.map((moves, i) => (moves ? i : -1));
  const sign = movable.map(() => 1);
  const members = movable.map((moves, i) => (moves ? [i] : []));
  const still = (which) => {
    for (const i of members[which]) group[i] = -1;
    members[which] = [];
  };
  const ofCell = new Map();
  relations.forEach((relation, at) => relation.cells.forEach((i) => {
    if (!ofCell.has(i)) ofCell.set(i, []);
    ofCell.get(i).push(at);
  }));
  const waiting = new Set(relations.keys());
  const wake = (cells) => cells.forEach((i) => (ofCell.get(i) ?? []).forEach((at) => waiting.add(at)));
  for (const at of waiting) {
    waiting.delete(at);
    const { cells, whole } = relations[at];
    must(cells.length <= 2 ** 22, "E1", "a relation too long to check"); // sums of numbers below 2^31 are exact
    const sums = new Map();
    cells.forEach((i, entry) => {
      if (group[i] >= 0) sums.set(group[i], (sums.get(group[i]) ?? 0) + sign[i] * whole[entry]);
    });
    const left = [...sums].filter(([, total]) => total !== 0);
    if (left.length === 1) {
      wake(members[left[0][0]]);
      still(left[0][0]);
    } else if (left.length === 2) {
      const [[one, mine], [other, theirs]] = left;
      if (mine !== theirs && mine !== -theirs) continue;
      // Both have the same size: mine z + theirs z' = 0.
      const turn = mine === theirs ? -1 : 1;
      const [keep, drop] = members[one].length >= members[other].length ? [one, other] : [other, one];
      for (const i of members[drop]) {
        group[i] = keep;
        sign[i] *= turn;
      }
      wake(members[drop]);
      members[keep].push(...members[drop]);
      members[drop] = [];
    }
  }
  return { group, sign };
}

/** The problem of section 10.3, in which each group of movable cells is one cell. */
function unite(file, weights) {
  const { values, lower_bound: lower, upper_bound: upper } = file;
  const n = file.cells;
  const status = file.status.slice();
  const room = (one, other) => (Number.isFinite(one) && Number.isFinite(other) ? q(one).minus(other) : INFINITE);
  const up = range(n).map((i) => room(upper[i], values[i]));
  const down = range(n).map((i) => room(values[i], lower[i]));
  const movable = range(n).map((i) => status[i] !== "z" && (compare(up[i], 0) > 0 || compare(down[i], 0) > 0));
  const plain = (c) => Number.isInteger(c) && Math.abs(c) < 2 ** 31;
  const whole = file.rows.filter((row) => row.data.every(plain)).map((row) => ({ cells: row.cells, whole: row.data }));
  const { group, sign } = groupCells(movable, whole);
  const other = new Set();
  for (const row of file.rows) if (!row.data.every(plain)) row.cells.forEach((i) => other.add(i));
  const withSensitive = new Set();
  range(n).forEach((i) => group[i] >= 0 && !other.has(i) && status[i] === "u" && withSensitive.add(group[i]));
  const needs = range(n).map((i) => needsOf(file, i));
  const total = Array.from(weights, q);
  const stand = range(n);
  const turn = range(n).map(() => 1);
  const chosen = status.map((letter) => letter === "s");
  const first = new Map();
  for (let i = 0; i < n; i++) {
    if (group[i] < 0) {
      if (movable[i] && status[i] === "s") status[i] = "z";
      continue;
    }
    if (other.has(i) || (status[i] === "m" && !withSensitive.has(group[i]))) continue;
    if (!first.has(group[i])) {
      first.set(group[i], i);
      continue;
    }
    const head = first.get(group[i]);
    stand[i] = head;
    turn[i] = sign[i] * sign[head];
    const [above, below] = turn[i] > 0 ? ["up", "down"] : ["down", "up"];
    needs[head] = {
      up: Math.max(needs[head].up, needs[i][above]), down: Math.max(needs[head].down, needs[i][below]),
      width: Math.max(needs[head].width, needs[i].width),
    };
    const rooms = { up: up[i], down: down[i] };
    up[head] = least(up[head], rooms[above]);
    down[head] = least(down[head], rooms[below]);
    total[head] = total[head].plus(total[i]);
    if (status[i] === "u") status[head] = "u";
    if (chosen[i]) chosen[head] = true;
    status[i] = "z";
  }
  const rows = file.rows.map((row) => {
    const sums = new Map();
    row.cells.forEach((i, at) => {
      const one = row.exact(at);
      sums.set(stand[i], (sums.get(stand[i]) ?? ZERO).plus(turn[i] > 0 ? one : one.negative()));
    });
    return { terms: [...sums].filter(([, value]) => value.sign), summed: row.decimal || row.data.every(Number.isInteger) };
  });
  return { status, up, down, stand, turn, chosen, needs, weights: total, rows };
}

// --- rows of patterns and intervals (10.4): capacity rows are theorem 4, bridges theorem 5, rounded sums theorem 6 ----

/** A^T gamma and blur, as a map from cells. */
function combine(file, united, list) {
  const [starts, relations, data] = [file[`${list}_starts`], file[`${list}_relations`], file[`${list}_data`]];
  return (cut) => {
    const found = new Map();
    const summed = [...slots(starts, cut)].every((at) => united.rows[relations[at]].summed);
    for (const at of slots(starts, cut))
      for (const [i, value] of united.rows[relations[at]].terms) {
        const entry = found.get(i);
        const term = value.times(data[at]);
        const size = summed ? ZERO : term.size();
        if (!entry) found.set(i, { value: term, size, terms: 1, blur: ZERO });
        else {
          entry.value = entry.value.plus(term);
          entry.size = entry.size.plus(size);
          entry.terms += 1;
        }
      }
    if (!summed) for (const entry of found.values()) entry.blur = entry.size.times(BigInt(entry.terms + 2)).times(2 ** -50);
    return found;
  };
}

/** What a capacity row says before it is cut: above and below of each cell, and the level. */
function capacity(file, united, cut, lists) {
  const kind = file.cut_kind[cut];
  const named = file.cut_cell[cut];
  const cell = united.stand[named];
  const tau = united.turn[named];
  must(united.status[cell] === "u", "B6", "a row for a cell that is not sensitive");
  const sides = [];
  for (const [list, used, direction] of [["up", kind !== 1, tau], ["down", kind !== 0, -tau]])
    if (used) sides.push([lists[list](cut), direction]);
    else must(file[`${list}_starts`][cut] === file[`${list}_starts`][cut + 1], "B6", "multipliers that a row does not use");
  const above = new Map();
  const below = new Map();
  for (const [found, direction] of sides) {
    for (const i of new Set([...found.keys(), cell])) {
      const { value, blur } = found.get(i) ?? { value: ZERO, blur: ZERO };
      const rest = (i === cell ? q(direction) : ZERO).minus(value);
      above.set(i, (above.get(i) ?? ZERO).plus(largest(rest.plus(blur), ZERO)));
      below.set(i, (below.get(i) ?? ZERO).plus(largest(blur.minus(rest), ZERO)));
    }
  }
  const need = united.needs[cell];
  const way = kind === 2 ? "width" : (kind === 0) === tau > 0 ? "up" : "down";
  let level = q(NEAR).times(need[way]);
  const own = above.get(cell).plus(below.get(cell));
  if (compare(own, 1) < 0) {
    level = level.times(ONE.minus(own));
    above.delete(cell);
  }
  for (const i of [...above.keys()]) if (united.status[i] === "z") above.delete(i);
  return { level, entries: [...above].map(([i, value]) => [i, value, below.get(i)]) };
}

const EMPTY = { terms: new Map(), side: ZERO };

function patternRows(file, united) {
  const { status } = united;
  const lists = { up: combine(file, united, "up"), down: combine(file, united, "down") };
  const free = (i) => status[i] === "s";
  const fixed = (i) => status[i] === "u" || status[i] === "m";
  const rows = [];
  for (let cut = 0; cut < file.cut_kind.length; cut++) {
    const kind = file.cut_kind[cut];
    const listed = (name) => file[name][cut] < file[name][cut + 1];
    if (kind <= 2) {
      const { level, entries } = capacity(file, united, cut, lists);
      const caps = entries.map(([i, above, below]) => [i, sum([amount(above, united.up[i]), amount(below, united.down[i])])]);
      const taken = sum(caps.filter(([i]) => fixed(i)).map(([, cap]) => cap));
      const rest = taken === INFINITE ? ZERO : level.minus(taken);
      rows.push(rest.sign <= 0 ? EMPTY : {
        terms: new Map(caps.filter(([i, cap]) => free(i) && compare(cap, 0) > 0)
          .map(([i, cap]) => [i, compare(cap, rest) >= 0 ? ONE : cap.overAbove(rest)])),
        side: ONE,
      });
    } else if (kind === 3) {
      must(!listed("down_starts"), "B6", "a bridge has one list of multipliers");
      const bridge = united.stand[file.cut_cell[cut]];
      const found = lists.up(cut);
      const own = found.get(bridge) ?? { value: ZERO, blur: ZERO };
      const others = [...found].filter(([i, { value, blur }]) => i !== bridge && (value.sign || blur.sign) && status[i] !== "z"
        && (compare(united.up[i], 0) > 0 || compare(united.down[i], 0) > 0)).map(([i]) => i);
      const holds = compare(own.value.size(), own.blur) > 0 && free(bridge) && !others.some(fixed);
      rows.push(holds ? { terms: new Map([...others.map((i) => [i, ONE]), [bridge, ONE.negative()]]), side: ZERO } : EMPTY);
    } else rows.push(roundedSum(file, united, cut, rows));
  }
  return rows;
}

function roundedSum(file, united, cut, rows) {
  must(file.sum_starts, "B6", "a sum without summands");
  const total = new Map();
  const terms = new Map();
  let side = ZERO;
  const summands = [...slots(file.sum_starts, cut)].map((at) => [file.sum_cuts[at], q(file.sum_data[at])]);
  for (const [row, by] of summands) {
    must(row < cut, "B6", "a sum of rows that come after it");
    for (const [i, value] of rows[row].terms) total.set(i, (total.get(i) ?? ZERO).plus(value.times(by)));
    side = side.plus(rows[row].side.times(by));
  }
  const turned = new Set();
  for (const at of slots(file.turned_starts, cut)) turned.add(united.stand[file.turned_cells[at]]);
  for (const i of turned) if (total.has(i)) side = side.minus(total.get(i));
  let share = side.minus(side.floor());
  if (compare(share, 2 ** -20) < 0) {
    side = q(side.floor());
    share = ONE;
  }
  let result = q(side.ceiling());
  const add = (i, value) => terms.set(i, (terms.get(i) ?? ZERO).plus(value));
  for (const [i, value] of total) {
    const own = turned.has(i) ? value.negative() : value;
    const whole = q(own.floor());
    const rounded = whole.plus(least(ONE, own.minus(whole).over(share)));
    if (turned.has(i)) {
      add(i, rounded.negative());
      result = result.minus(rounded);
    } else add(i, rounded);
  }
  for (const [row, by] of summands) {
    if (by.sign > 0) continue;
    const factor = by.size().over(share);
    for (const [i, value] of rows[row].terms) add(i, value.times(factor));
    result = result.plus(rows[row].side.times(factor));
  }
  return { terms, side: result };
}

/** What multipliers of cuts make of the rows: a side, and a price for each column. */
function addRows(multipliers, rows) {
  let side = ZERO;
  const prices = new Map();
  for (const { kind, row, cell, value } of multipliers) {
    must(kind === 0, "B3", "an unknown kind of multiplier");
    must(row >= 0 && row < rows.length, "B3", "an unknown row");
    must(cell === -1, "B3", "a multiplier of no cell");
    must(value.sign > 0, "B4", "a multiplier below 0");
    side = side.plus(rows[row].side.times(value));
    for (const [i, term] of rows[row].terms) prices.set(i, (prices.get(i) ?? ZERO).plus(term.times(value)));
  }
  return { side, prices };
}

function patternBound(file) {
  const united = unite(file, file.weights);
  const { status, weights } = united;
  const rows = patternRows(file, united);
  const counts = (i, tree) => status[i] === "s" && (!file.part || file.part[i] === tree);
  const price = (multipliers, box, costs, tree) => {
    const { side, prices } = addRows(multipliers, rows);
    let total = side;
    const columns = new Set([...prices.keys(), ...box.keys()]);
    for (const i of columns) {
      let [low, high] = status[i] === "s" ? [0, 1] : status[i] === "z" ? [0, 0] : [1, 1];
      const limits = box.get(i);
      if (limits) [low, high] = [Math.max(low, limits[0]), Math.min(high, limits[1])];
      if (low > high) return INFINITE;
      const cost = (costs && counts(i, tree) ? weights[i] : ZERO).minus(prices.get(i) ?? ZERO);
      if (cost.sign > 0 ? low : high) total = total.plus(cost);
    }
    return total;
  };
  const check = (...cells) =>
    must(cells.every((cell) => united.chosen[united.stand[cell]] && status[united.stand[cell]] !== "z"), "B5",
      "a split at a cell that is no choice");
  const bounds = treeBounds(file, { stand: (cell) => united.stand[cell], check, price });
  if (bounds.includes(INFINITE)) return INFINITE;
  const cells = range(file.cells);
  const values = bounds.map((value, tree) => {
    const isWhole = cells.every((i) => !counts(i, tree) || weights[i].whole);
    return largest(isWhole ? q(value.minus(1e-6).ceiling()) : value, ZERO);
  });
  return sum([...cells.filter((i) => status[i] === "u" || status[i] === "m").map((i) => weights[i]), ...values]);
}

function widthBound(file) {
  const united = unite(file, file.weights.map((weight, i) => (file.status[i] === "m" ? 0 : weight)));
  const { status, weights } = united;
  const lists = { up: combine(file, united, "up"), down: combine(file, united, "down") };
  // Columns are cell and side: 2 i upwards, 2 i + 1 downwards.
  const most = range(2 * file.cells).map((column) => {
    const i = column >> 1;
    if (status[i] === "z") return ZERO;
    const far = weights[i].sign ? q(1.00000001).times(file.loss).over(weights[i]) : INFINITE;
    return least(column & 1 ? united.down[i] : united.up[i], far);
  });
  const rows = range(file.cut_kind.length).map((cut) => {
    must(file.cut_kind[cut] <= 2, "B6", "a row of patterns");
    const { level, entries } = capacity(file, united, cut, lists);
    const terms = new Map();
    for (const [i, above, below] of entries) {
      if (above.sign) terms.set(2 * i, above);
      if (below.sign) terms.set(2 * i + 1, below);
    }
    return [...terms.keys()].some((column) => most[column] === INFINITE) ? EMPTY : { terms, side: level };
  });
  const price = (multipliers, box, costs) => {
    const { side, prices } = addRows(multipliers, rows);
    let total = side;
    for (const [column, push] of prices) {
      const cost = (costs ? weights[column >> 1] : ZERO).minus(push);
      if (cost.sign < 0) total = total.plus(cost.times(most[column]));
    }
    return total;
  };
  const check = () => must(false, "B5", "a split at a cell that is no choice");
  return treeBounds(file, { stand: (cell) => united.stand[cell], check, price })[0];
}

// --- bounds of adjustments and small counts (10.6): prices by theorem 7, ends of rooms theorem 9, parts theorem 11 ----

const OPPOSITE = { up: "down", down: "up" };
const WAYS = ["up", "down"];

function adjustmentGroups(file) {
  const { terms, real, unit, changes, levels, rooms } = file.adjusted;
  const { status } = terms;
  const n = file.cells;
  const square = file.measure === "L2";
  const scale = square ? unit.times(unit) : unit;
  const own = Object.fromEntries(WAYS.map((way) => [way, levels[way].map((level) => (real ? q(NEAR).times(level) : q(level)))]));
  const far = range(n).map((i) => {
    if (file.weights[i] === 0) return INFINITE;
    const most = q(1.00000001).times(file.loss).over(scale).over(file.weights[i]);
    return square ? most.root() : most;
  });
  const counted = Object.fromEntries(WAYS.map((way) => [way, range(n).map((i) => {
    const most = least(rooms[way][i], largest(far[i], own[way][i]));
    return most === INFINITE ? most : q(most);
  })]));
  const movable = range(n).map((i) => status[i] === "u" || WAYS.some((way) => rooms[way][i] > 0));
  const { group, sign } = groupCells(movable, file.rows.filter((row) => row.decimal));
  const groups = new Map();
  for (let i = 0; i < n; i++) {
    must(status[i] !== "u" || group[i] >= 0, "B5", "a sensitive cell that cannot move");
    if (group[i] < 0) continue;
    if (!groups.has(group[i]))
      groups.set(group[i], { cells: [], room: { up: INFINITE, down: INFINITE }, level: { up: ZERO, down: ZERO }, sensitive: false,
        open: { up: true, down: true } });
    const entry = groups.get(group[i]);
    entry.cells.push(i);
    for (const way of WAYS) {
      const mine = sign[i] > 0 ? way : OPPOSITE[way];
      entry.room[way] = least(entry.room[way], counted[mine][i]);
      entry.level[way] = largest(entry.level[way], own[mine][i]);
      if (status[i] === "u" && !own[mine][i].sign) entry.open[way] = false;
    }
    if (status[i] === "u") entry.sensitive = true;
  }
  for (const entry of groups.values())
    for (const way of WAYS) entry.open[way] &&= compare(entry.room[way], entry.level[way]) >= 0;
  for (let i = 0; i < n; i++) {
    const direction = file.direction[i];
    if (!direction) continue;
    must(status[i] === "u", "B5", "a direction of a cell that is not sensitive");
    must(group[i] >= 0, "B3", "a multiplier of a cell that cannot move");
    must(changes[i].sign * direction >= 0, "B5", "a direction that the release does not have");
    groups.get(group[i]).open[direction * sign[i] > 0 ? "down" : "up"] = false;
  }
  return { groups, group, sign, scale, square };
}

/** Rows between groups: maps from groups to t, of relations, statistics and combined relations. */
function adjustmentRows(file, { group, sign }) {
  const add = (terms, i, value) => {
    if (group[i] >= 0) terms.set(group[i], (terms.get(group[i]) ?? ZERO).plus(sign[i] > 0 ? value : value.negative()));
  };
  const clean = (terms) => new Map([...terms].filter(([, value]) => value.sign));
  const relations = file.rows.map((row) => {
    const terms = new Map();
    row.cells.forEach((i, at) => add(terms, i, row.exact(at)));
    return row.decimal ? clean(terms) : terms;
  });
  const statistics = range(file.statistic_kind?.length ?? 0).map((statistic) => {
    const terms = new Map();
    for (const at of slots(file.statistic_starts, statistic)) add(terms, file.statistic_cells[at], q(file.statistic_data[at]));
    return terms;
  });
  let length = 0;
  const combined = range((file.combined_starts?.length ?? 1) - 1).map((list) => {
    const terms = new Map();
    let size = ZERO;
    for (const at of slots(file.combined_starts, list)) {
      const [row, by] = [file.rows[file.combined_relations[at]], file.combined_data[at]];
      must(Number.isInteger(by) && row.data.every(Number.isInteger), "B7", "a sum of relations with terms that are not whole numbers");
      length += row.cells.length;
      must(length <= 2 ** 23, "B7", "sums of relations too long to check");
      row.cells.forEach((i, entry) => {
        const term = q(by).times(row.data[entry]);
        size = size.plus(term.size());
        add(terms, i, term);
      });
      must(compare(size, 2 ** 40) < 0, "B7", "a sum of relations with terms that are too large");
    }
    return clean(terms);
  });
  return { relations, statistics, combined };
}

/** Finite rooms in place of infinite ones, from the rooms of the others in a relation. */
function limitRooms(file, groups, relations) {
  const used = relations.filter((_, at) => file.rows[at].decimal);
  for (let round = 0; round < 30; round++) {
    const found = [];
    for (const terms of used) {
      // By the side of the relation to which a term may move it: the sum of finite ones, and how many are not.
      for (const side of [1, -1]) {
        const ways = [...terms].map(([g, value]) => [g, value, value.sign === side ? "up" : "down"]);
        const open = ways.filter(([g, , way]) => groups.get(g).room[way] === INFINITE).map(([g]) => g);
        if (open.length > 1) continue;
        let total = null;
        for (const [g, value, way] of ways) {
          if ((open.length && open[0] !== g) || groups.get(g).room[OPPOSITE[way]] !== INFINITE) continue;
          total ??= sum(ways.filter(([h]) => !open.includes(h)).map(([h, t, w]) => t.size().times(groups.get(h).room[w])));
          found.push([g, OPPOSITE[way], total.over(value.size()).times(1 + 2 ** -40)]);
        }
      }
    }
    if (!found.length) return;
    for (const [g, way, room] of found) groups.get(g).room[way] = least(groups.get(g).room[way], room);
  }
}

function adjustmentBound(file) {
  const found = adjustmentGroups(file);
  const { groups, group, sign, scale, square } = found;
  const { relations, statistics, combined } = adjustmentRows(file, found);
  const { status } = file.adjusted.terms;
  limitRooms(file, groups, relations);
  const deltas = new Map();
  const discrepancy = (row) => {
    if (!deltas.has(row)) {
      const sensitive = [...relations[row]].filter(([g]) => groups.get(g).sensitive);
      must(sensitive.length <= 14, "B7", "too many sensitive cells in a discrepancy row");
      let sums = [ZERO];
      for (const [g, value] of sensitive) {
        const { open, level } = groups.get(g);
        sums = WAYS.filter((way) => open[way]).flatMap((way) => {
          const step = value.times(way === "up" ? level.up : level.down.negative());
          return sums.map((total) => total.plus(step));
        });
      }
      deltas.set(row, sums.length ? sums.map((total) => total.size()).reduce(least) : ZERO);
    }
    return deltas.get(row);
  };
  const change = file.measure === "Linf";

  const price = (multipliers, box, costs, tree) => {
    let total = ZERO;
    let shared = ZERO;
    const [push, ease, balance, shares] = [new Map(), new Map(), new Map(), new Map()];
    const add = (map, g, value) => map.set(g, (map.get(g) ?? ZERO).plus(value));
    for (const { kind, row, cell, value } of multipliers) {
      must(kind >= 0 && kind <= 4, "B3", "an unknown kind of multiplier");
      must(!square || kind <= 1, "B3", "sums of squares have multipliers of relations and statistics only");
      must(kind === 4 ? row === -1 : row >= 0 && row < { 0: relations, 1: statistics, 2: relations }[kind]?.length
        || (kind === 3 && row >= 0 && row < relations.length + combined.length), "B3", "an unknown row");
      must(kind >= 3 ? cell >= 0 : cell === -1, "B3", "a multiplier of no cell");
      if (kind >= 3) must(group[cell] >= 0, "B3", "a multiplier of a cell that cannot move");
      must(kind <= 1 || value.sign > 0, "B4", "a multiplier below 0");
      if (kind === 0) for (const [g, term] of relations[row]) add(push, g, term.times(value));
      if (kind === 1) {
        must(file.statistic_kind[row] !== "variance", "B3", "a variance is no row");
        for (const [g, term] of statistics[row]) add(push, g, term.times(value));
        total = total.plus(value.times(file.statistic_target[row])).minus(value.size().times(file.statistic_slack[row]));
      }
      if (kind === 2) {
        total = total.plus(value.times(discrepancy(row)));
        for (const [g, term] of relations[row]) add(ease, g, term.size().times(value).negative());
      }
      if (kind === 3) {
        const terms = row < relations.length ? relations[row] : combined[row - relations.length];
        must(terms.has(group[cell]), "B3", "a balance row of another relation");
        for (const [g, term] of terms) add(balance, g, term.size().times(g === group[cell] ? value : value.negative()));
      }
      if (kind === 4) {
        must(change, "B3", "shares are for the largest change");
        add(shares, group[cell], value);
        shared = shared.plus(value);
      }
    }
    must(compare(shared, 1) <= 0, "B4", "shares of more than 1 in all");
    const closed = new Map();
    for (const [cell, [low, high]] of box) {
      if (low > high || low > 1 || high < 0) return INFINITE;
      const shut = closed.get(group[cell]) ?? { up: false, down: false };
      if (low > 0) shut[sign[cell] > 0 ? "down" : "up"] = true;
      if (high < 1) shut[sign[cell] > 0 ? "up" : "down"] = true;
      closed.set(group[cell], shut);
    }
    let cheapest = total;
    for (const [g, { cells, room, level, open }] of groups) {
      let weight = ZERO;
      if (costs) {
        const mine = cells.filter((i) => file.part[i] === tree).map((i) => q(file.weights[i]));
        weight = change ? mine.reduce(largest, ZERO).times(shares.get(g) ?? ZERO) : sum(mine);
      }
      const lean = ease.get(g) ?? ZERO;
      const base = (balance.get(g) ?? ZERO).plus(lean);
      const options = WAYS.filter((way) => open[way] && !closed.get(g)?.[way]).map((way) => {
        const drift = way === "up" ? (push.get(g) ?? ZERO).negative() : push.get(g) ?? ZERO;
        const low = level[way];
        const high = largest(room[way], low);
        if (square) {
          const at = (v) => weight.times(v).times(v).plus(drift.times(v));
          if (high === INFINITE) return drift.sign < 0 ? -INFINITE : at(low);
          if (!weight.sign) return least(at(low), at(high));
          return at(least(largest(drift.negative().over(weight.times(2)), low), q(high)));
        }
        const slope = weight.plus(base).plus(drift);
        const constant = lean.times(low).negative();
        if (slope.sign < 0) return high === INFINITE ? -INFINITE : slope.times(high).plus(constant);
        return slope.times(low).plus(constant);
      });
      if (!options.length) return INFINITE;
      const cost = options.reduce(least);
      cheapest = cheapest === -INFINITE || cost === -INFINITE ? -INFINITE : cheapest.plus(cost);
    }
    return cheapest;
  };
  const check = (...cells) => must(cells.every((cell) => status[cell] === "u"), "B5", "a split at a cell that is no choice");
  const bounds = treeBounds(file, { stand: (cell) => cell, check, price });
  const all = bounds.includes(INFINITE) ? INFINITE : bounds.includes(-INFINITE) && !change ? -INFINITE
    : change ? bounds.reduce(largest) : sum(bounds);
  return typeof all === "number" ? all : all.times(scale);
}

// --- the problem file (section 12) -----------------------------------------------------------------------------------

/** The file as lists; `counts` is told the number of cells and of relations as soon as both are read. */
function readProblem(text, counts) {
  const words = text.replace(/[():]/g, " ").split(/\s+/).filter((word) => word);
  let at = 0;
  const next = () => {
    must(at < words.length, "J1", "the problem file is cut off");
    return words[at++];
  };
  const value = () => {
    const word = next();
    must(word.length <= 400 && /^[+-]?((\d+\.?\d*|\.\d+)(e[+-]?\d+)?|inf(inity)?)$/i.test(word), "J1",
      `the problem file holds ${word} in place of a number`);
    return /inf/i.test(word) ? (word[0] === "-" ? -INFINITE : INFINITE) : Number(word);
  };
  const count = () => {
    const word = next();
    must(/^\d{1,15}$/.test(word), "J1", `the problem file counts ${word}`);
    return Number(word);
  };
  must(next() === "0", "J1", "the problem file is not a JJ file");
  const cells = count();
  const problem = { cells: [], relations: [], words: [] };
  for (let cell = 0; cell < cells; cell++) {
    must(next() === String(cell), "J1", "the cells of the problem file are misnumbered");
    problem.words.push(words[at]);
    const [own, weight] = [value(), value()];
    const status = next();
    problem.cells.push({ value: own, weight, status, lower: value(), upper: value(), down: value(), up: value(), slide: value() });
  }
  const relations = count();
  counts(cells, relations);
  for (let relation = 0; relation < relations; relation++) {
    const side = value();
    must(Number.isFinite(side), "J1", "the problem file has an infinite right-hand side");
    const terms = new Map();
    for (let left = count(); left > 0; left--) {
      const cell = count();
      const coefficient = value();
      must(Number.isFinite(coefficient), "J1", "the problem file has an infinite coefficient");
      terms.set(cell, [...(terms.get(cell) ?? []), coefficient]);
    }
    const entries = [...terms].map(([cell, list]) => [cell, list.length === 1 ? list[0] : decimalSum(list)]);
    problem.relations.push({ side, entries: entries.filter(([, c]) => c !== 0).sort((one, other) => one[0] - other[0]) });
  }
  must(at === words.length, "J1", "the problem file goes on after its last relation");
  return problem;
}

/** The sum of the shortest decimal numbers that stand for some binary64 numbers, rounded once. */
function decimalSum(values) {
  const parts = values.map((value) => {
    const [mantissa, exponent] = value.toExponential().split("e");
    const digits = mantissa.split(".")[1] ?? "";
    return [BigInt(mantissa.replace(".", "")), Number(exponent) - digits.length];
  });
  const lowest = Math.min(...parts.map(([, power]) => power));
  const total = parts.reduce((all, [digits, power]) => all + digits * 10n ** BigInt(power - lowest), 0n);
  return finite(Number(`${total}e${lowest}`));
}

function compareProblem(file, text) {
  const limit = Math.min(2 ** 31, 2 ** 24 + 1000 * (file.cells + file.relation_cells.length));
  must(text.length <= limit, "J1", `the problem file is longer than ${limit} bytes`);
  let extra;
  const problem = readProblem(text, (cells, relations) => {
    extra = file.cells - cells;
    must(extra >= 0, "J2", "the problem file has other cells");
    must(relations === file.relations - extra, "J2", "the number of relations differs");
  });
  const n = problem.cells.length;
  const m = problem.relations.length;
  const rounded = file.release === "rounding" || file.release === "small counts";
  const each = (test, code, reason) => must(problem.cells.every(test), code, reason);
  each(({ status }, i) => ["s", "u", "m", "z"].includes(status)
    && (status === file.status[i] || (file.release === "small counts" && status !== "z" && file.status[i] !== "z")), "J3", "statuses differ");
  each(({ value }, i) => value === file.values[i], "J4", "values differ");
  if (!rounded) {
    each(({ up, down, slide }, i) => up === file.upper_protection[i] && down === file.lower_protection[i]
      && slide === file.sliding_protection[i], "J4", "levels differ");
    each(({ lower }, i) => file.lower_bound[i] >= lower, "J5", "a lower bound is wider than in the problem");
    each(({ upper }, i) => file.upper_bound[i] <= upper, "J5", "an upper bound is wider than in the problem");
  }
  problem.relations.forEach(({ entries }, j) => {
    const { cells, data } = file.rows[j];
    must(entries.length === cells.length && entries.every(([cell, c], at) => cell === cells[at] && c === data[at]), "J6",
      `relation ${j} differs`);
  });
  const [sums, single] = extra ? checkFurther(file, n, m) : [0, 0];
  const sides = [...problem.relations.map(({ side }) => side), ...range(extra).map(() => 0)];
  const found = checkTrueTable(file, sides);
  sides.forEach((side, j) =>
    must(Math.abs(side - file.right_hand_side[j]) <= found[j].rounding + file.tolerance, "J8", "right-hand sides differ"));

  const lines = [];
  if (!rounded && problem.cells.some(({ lower, upper }, i) => file.lower_bound[i] > lower || file.upper_bound[i] < upper))
    lines.push("the external bounds are narrower than in the problem file");
  if (sums) lines.push(`${sums} sums of cells of the problem file are protected as well, at levels of the certificate`);
  if (single) lines.push(`${single} hidden cells of the problem file have further levels of the certificate`);
  if (extra && file.claims.includes("bound")) lines.push("the bound is for releases that protect sums too");
  const digits = (word) => {
    const [mantissa, exponent] = word.toLowerCase().split("e");
    const [whole, fraction = ""] = mantissa.split(".");
    const tail = /0*$/.exec(whole.replace(/^[+-]/, "") + fraction)[0].length;
    const length = (whole.replace(/^[+-]/, "") + fraction).length;
    return tail === length ? -INFINITE : fraction.length - tail - Number(exponent ?? 0);
  };
  if (file.release === "adjustment" && problem.words.some((word) => !/inf/i.test(word) && digits(word) > file.decimals))
    lines.push("values of the problem file are written with more digits than a release has");
  if (file.release === "small counts") {
    const sensitive = new Set(file.sensitive);
    const left = problem.cells.filter(({ status }, i) => status === "u" && !sensitive.has(i)).length;
    if (left) lines.push(`NOTHING is claimed of ${left} sensitive cells that are no small counts`);
  }
  return lines;
}

/** J7; returns the numbers of different sums of at least two hidden cells, and of hidden cells that stand alone in one. */
function checkFurther(file, n, m) {
  must(file.release === "suppression" && file.claims.includes("protection"), "J7", "further cells without a claim of protection");
  must(file.rows.slice(0, m).every((row) => row.cells.every((cell) => cell < n)), "J7", "a relation of the problem file has further cells");
  const sums = new Set();
  for (let i = 0; n + i < file.cells; i++) {
    const own = n + i;
    must(file.status[own] === "u" && levelOf(needsOf(file, own)) !== INFINITE, "J7", "a further cell that is not sensitive, or has no level");
    must(!file.weights || file.weights[own] === 0, "J7", "a further cell has a weight");
    const { cells, data } = file.rows[m + i];
    const parts = Array.from(cells).filter((cell) => cell < n);
    must(cells.every((cell, at) => (cell < n ? data[at] === 1 : cell === own && data[at] === -1)) && parts.length === cells.length - 1
      && file.right_hand_side[m + i] === 0, "J7", "a further cell is no sum of cells of the problem file");
    const hidden = parts.filter((cell) => file.hidden[cell]);
    must(hidden.length >= 1, "J7", "a further cell is no sum of cells with a hidden one");
    for (const bounds of [file.lower_bound, file.upper_bound]) {
      const far = (cell) => Math.abs(bounds[cell] - file.values[cell]);
      const place = (cell) => 4 * ulpOfLargest(bounds[cell], file.values[cell]);
      let [total, dust] = [0, 0];
      for (const cell of parts) {
        total += far(cell);
        dust += place(cell);
      }
      must(far(own) >= total - dust - place(own), "J7", "a sum with less room than its cells");
    }
    sums.add(hidden.join());
  }
  const several = [...sums].filter((cells) => cells.includes(",")).length;
  return [several, sums.size - several];
}

// --- the verdict (section 11) ----------------------------------------------------------------------------------------

/** Checks a certificate, with a problem file (its bytes, and whether they are packed by gzip) or null. Returns the verdict
    (`PROVED`, `NOT CLAIMED` or `REFUSED`), the code of a refusal, the sentences, and the arrays for whoever looks on. */
export async function verify(certificate, problem = null, gzip = false) {
  let file = null;
  deadline = Date.now() + MINUTE * (1 + certificate.length / 2 ** 23);
  try {
    file = await readCertificate(certificate);
    file.rows = readRelations(file);
    const lines = await check(file, problem, gzip);
    const open = file.sensitive.length && !file.claims.includes("protection");
    return { verdict: open ? "NOT CLAIMED" : "PROVED", code: null, lines, file };
  } catch (error) {
    if (error instanceof Refusal) return { verdict: "REFUSED", code: error.code, lines: [printable(error.message)], file };
    if (error instanceof RangeError || error instanceof TypeError)
      return { verdict: "REFUSED", code: "Z1", lines: [`a file that cannot be checked: ${error.message}`], file };
    throw error;
  }
}

async function check(file, problem, gzip) {
  const pattern = file.release === "suppression" || file.release === "intervals";
  const each = (test, code, reason) => must(range(file.cells).every(test), code, reason);
  if (pattern || file.release === "adjustment")
    each((i) => file.lower_bound[i] <= file.values[i] && file.values[i] <= file.upper_bound[i], "T1", "the true table breaks its bounds");
  if (pattern) checkHidden(file);
  else file.adjusted = file.release === "rounding" ? checkRounded(file) : checkAdjusted(file);
  const relations = checkTrueTable(file, file.right_hand_side);
  let compared = ["not checked: the problem itself was not compared, no file was given"];
  if (problem) {
    const limit = Math.min(2 ** 31, 2 ** 24 + 1000 * (file.cells + file.relation_cells.length));
    const bytes = gzip ? await unpacked(problem, "gzip", limit, "J1") : problem;
    let text;
    try {
      text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    } catch {
      throw new Refusal("J1", "the problem file is not a JJ file");
    }
    compared = compareProblem(file, text);
  }
  const lines = [];
  if (file.release === "rounding")
    lines.push(`each released value is a multiple of ${file.base}, ${file.steps === 1 ? "next to the true one" : `less than ${file.steps} steps from it`}`,
      "not checked: what the rounded table protects");
  if (file.release === "small counts") lines.push(`no released count lies between 0 and ${file.base}, and no zero is changed`);
  for (const claim of file.claims) {
    if (claim === "protection" && pattern) lines.push(...protectionLines(file, checkProtection(file)));
    else if (claim === "protection") {
      checkDistance(file);
      if (file.release === "small counts") lines.push("each small count is released as 0 or as the base, whatever its levels are");
      else
        lines.push(`${file.sensitive.length} sensitive cells: each adjusted value lies its upper level above the`,
          "true one, or its lower level below; who knows the method may know more");
    } else if (claim === "additivity") {
      checkAdditivity(file);
      const exact = file.rows.every((row) => row.decimal) && !file.adjusted.real;
      lines.push(`the released table satisfies all ${file.relations} relations, ${
        exact ? `exactly, in multiples of ${show(file.adjusted.unit)}` : "to 4 last binary places of their terms"}`);
    } else if (claim === "statistics") lines.push(...checkStatistics(file));
    else if (claim === "association") lines.push(...checkAssociations(file));
    else if (claim === "loss") {
      checkLoss(file);
      lines.push(`loss ${show(file.loss)} (${file.measure}), with the weights that the certificate holds`);
    } else {
      checkBound(file);
      lines.push(...boundLines(file));
    }
  }
  const counted = relations.filter((relation) => relation.counted).length;
  if (counted) lines.push(`${counted} relations of the true table: to 1e-09 of their terms`);
  if (file.tolerance > 0) lines.push(`additivity of the true table: within ${show(file.tolerance)}, as was stated`);
  return [...lines, ...compared];
}

function protectionLines(file, { levels, touched, insiders }) {
  const lines = [`${file.sensitive.length} sensitive cells, ${file.requirement}: the interval of each reaches`, {
    "two-sided": "its upper level above the value, its lower level below, in all its sliding level",
    width: "a width of both levels together and of its sliding level; ONE SIDE MAY BE CLOSE",
    upper: "its upper level above the value; NOTHING IS ASKED BELOW",
  }[file.requirement]];
  const none = levels.filter((level) => level === INFINITE).length;
  if (none) lines.push(`of them, ${none} have no level, and are only proved not to be known exactly`);
  lines.push(`against everybody and ${insiders.different} different insiders`);
  if (insiders.open) lines.push(`NOTHING is claimed of ${insiders.open} pairs of an insider and a sensitive cell`);
  if (insiders.cut) lines.push(`in ${insiders.cut} cases a level is cut to what insiders knew of the cell before`);
  lines.push(`if nobody learns more about the ${file.hidden.filter(Boolean).length} hidden of ${file.cells} cells`);
  if (file.intruder_names.length) lines.push("not checked: who the insiders are, and whether they know more");
  if (touched) lines.push(`${touched} relations with real coefficients: as if these were known to 9 digits`);
  if (file.release === "intervals") lines.push("the intruder uses all published intervals as bounds");
  return lines;
}

function boundLines(file) {
  const gap = file.loss > 0 ? Math.max(0, 100 * (1 - file.bound / file.loss)) : 0;
  const leaves = file.node_proof.filter((proof) => proof >= 0).length;
  const lines = [`no such release loses less than ${show(file.bound)}: gap ${show(gap, 3)} %, ${leaves} leaves`];
  if (file.adjusted?.terms) {
    const { status } = file.adjusted.terms;
    const cells = range(file.cells);
    const given = cells.filter((i) => file.direction[i]).length;
    if (given) lines.push(`the bound is for the given directions of ${given} cells`);
    const { terms, real, unit } = file.adjusted;
    if (Number.isFinite(terms.sensitive_limit)) lines.push(`sensitive cells move at most ${show(terms.sensitive_limit)} times their levels`);
    const tied = cells.filter((i) => status[i] !== "u" && (terms.capacity_up[i] < INFINITE || terms.capacity_down[i] < INFINITE)).length;
    if (tied) lines.push(`${tied} other cells move at most as far as the certificate says`);
    lines.push(real ? "the bound is for tables that satisfy relations and bounds exactly"
      : `the bound is for multiples of ${show(unit)}; levels are rounded up`);
  }
  if (file.rows.some((row) => !row.decimal)) lines.push("the bound takes real coefficients as they are stored, exactly");
  return lines;
}

// --- a command under Node --------------------------------------------------------------------------------------------

const EXIT = { PROVED: 0, REFUSED: 1, "NOT CLAIMED": 3 };

/** The verdict as text, as the other verifier prints it. */
export function verdictText({ verdict, lines, file }) {
  const open = `protection of ${file?.sensitive?.length} sensitive cells. Proved is only:`;
  return `${verdict}: ${(verdict === "NOT CLAIMED" ? [open, ...lines] : lines).join("\n  ")}`;
}

async function command(words) {
  const { readFile } = await import("node:fs/promises");
  const checkFiles = async (certificate, problem) =>
    verify(new Uint8Array(await readFile(certificate)), problem ? new Uint8Array(await readFile(problem)) : null, problem?.endsWith(".gz"));
  if (words.length === 1 && words[0] === "--lines") {
    // For tests: each line of the input is a list of a certificate and a problem file or null, each line of the output
    // a verdict.
    const { createInterface } = await import("node:readline");
    for await (const line of createInterface({ input: process.stdin })) {
      const { verdict, code, lines } = await checkFiles(...JSON.parse(line));
      process.stdout.write(JSON.stringify({ verdict, code, lines }) + "\n");
    }
    return 0;
  }
  if (words.length < 1 || words.length > 2 || words[0].startsWith("-")) {
    process.stderr.write("usage: node verify.mjs CERTIFICATE [PROBLEM]\n");
    return 2;
  }
  let found;
  try {
    found = await checkFiles(...words);
  } catch (error) {
    if (!error.syscall) throw error;
    process.stderr.write(`${error.message}\n`);
    return 2;
  }
  process.stdout.write(verdictText(found) + "\n");
  return EXIT[found.verdict];
}

if (typeof process !== "undefined" && process.versions?.node && import.meta.url.endsWith("verify.mjs") && process.argv[1]?.endsWith("verify.mjs"))
  process.exitCode = await command(process.argv.slice(2));

// The columns of a table: from a model's features to cells in their own units, and back.
// A cell is a number, the place of a level, or null where it is empty.

import { number } from "./draw.js";

const DAY = 86_400_000;

export class Table {
  constructor({ columns }) {
    this.columns = columns;
  }

  // The cells of a row of features. Of a decoded one, `absent` says what does not exist on its branch, and of which
  // columns a feature says it: other cells that were empty by chance have a value.
  cells(x, absent = null) {
    const cells = this.columns.map((c, j) => {
      if (c.flag !== null && x[c.flag] < 0.5 && (absent?.flagged.has(j) ?? true)) return null;
      return c.levels ? this.#level(c, x) : possible(backward(x[c.at] * c.scale + c.center, c), c);
    });
    absent?.signs.forEach((sign, j) => {
      cells[j] = sign;
    });
    return cells;
  }

  #level({ at, levels }, x) {
    let best = 0;
    for (let k = 1; k < levels.length; k++) if (x[at + k] > x[at + best]) best = k;
    return best;
  }

  text(j, cell, digits = 4) {
    const { kind, levels, empty } = this.columns[j];
    if (cell === null || Number.isNaN(cell)) return empty;
    if (levels) return levels[cell] ?? empty;
    if (kind === "date") return new Date(Math.round(cell * DAY)).toISOString().slice(0, 10);
    const size = Math.abs(cell);
    if (kind !== "integer" && (size < 1e4 || size >= 1e9)) return number(cell, digits);
    return (Math.round(cell) + 0).toLocaleString("en", { useGrouping: size >= 1e4 }).replace("-", "−"); // 1990 is a year
  }

  // Features of a row of texts, one for each column.
  features(texts) {
    const size = Math.max(
      ...this.columns.map((c) => Math.max(c.at + (c.levels?.length ?? 1), (c.flag ?? -1) + 1)),
    );
    const x = new Float64Array(size);
    this.columns.forEach((c, j) => {
      const text = texts[j].trim();
      const isEmpty = /^(|na|n\/a|nan|null|none|not applicable|not known|empty)$/i.test(text);
      if (c.flag !== null) x[c.flag] = isEmpty ? 0 : 1;
      if (isEmpty && c.flag !== null) return;
      if (c.levels) {
        const k = c.any && !isEmpty ? 0 : c.levels.indexOf(text);
        if (k < 0 && !isEmpty) {
          const some = c.levels.slice(0, 6).join(", ");
          throw new Error(`${c.name} must be one of ${some}${c.levels.length > 6 ? ", …" : ""}, and is "${text}"`);
        }
        if (k >= 0) x[c.at + k] = 1;
        return;
      }
      const value = c.kind === "date" ? daysOf(text) : Number(text);
      if (isEmpty || !Number.isFinite(value)) {
        const what = c.kind === "date" ? "a date such as 2024-09-24" : "a number";
        throw new Error(`${c.name} must be ${what}, and is "${text}"`);
      }
      x[c.at] = (forward(value, c) - c.center) / c.scale;
    });
    return x;
  }
}

// Whole where the column is, and not below 0 where no row is.
function possible(value, { kind, positive }) {
  const whole = kind === "integer" ? Math.round(value) : value;
  return positive ? Math.max(whole, 0) : whole;
}

// Days since 1970. Other forms are refused: in 09/08/2020 the day may come first or second.
function daysOf(text) {
  return /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) / DAY : NaN;
}

function forward(x, { transform, unit }) {
  if (transform === "log") return Math.log(Math.max(x + unit, 1e-300));
  if (transform === "root") return Math.sqrt(Math.max(x + unit, 0));
  return transform === "arcsinh" ? Math.asinh(x / unit) : x;
}

function backward(t, { transform, unit }) {
  if (transform === "log") return Math.exp(Math.min(t, 700)) - unit;
  if (transform === "root") return Math.max(t, 0) ** 2 - unit;
  return transform === "arcsinh" ? Math.sinh(Math.max(-700, Math.min(700, t))) * unit : t;
}

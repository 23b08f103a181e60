// A map of the rows: where they lie in two dimensions, colored by leaf or by a column, linked to the tree.

import { colorOf, element, fitted, isDark, number } from "./draw.js";
import { bytes } from "./model.js";

const RADIUS = 3.2;
const NEAR = 14; // pixels from a point that still select it
const MOST_IN_LEGEND = 8;
const RAMP = [
  [68, 1, 84],
  [59, 82, 139],
  [33, 145, 140],
  [94, 201, 98],
  [253, 231, 37],
];

export class Scatter {
  constructor(panel, found) {
    this.panel = panel;
    this.map = found;
    this.table = panel.painter.table;
    const positions = floats(found.positions);
    const n = found.rows.length;
    const cells = floats(found.cells);
    this.columns = this.table && cells.length ? this.table.columns : [];
    this.cells = this.columns.map((_, j) => cells.subarray(j * n, (j + 1) * n));
    this.main = [0, 1].map((k) => Float32Array.from({ length: n }, (_, i) => positions[2 * i + k]));
    this.canvas = element("canvas", { role: "img", class: "scatter" });
    this.canvas.addEventListener("click", (event) => this.#select(event));
    this.canvas.addEventListener("mousemove", (event) => this.#hover(event));
    this.canvas.addEventListener("mouseleave", () => this.#say(null));
    const { categoricals, variables } = panel.tree;
    const many = categoricals.length > 1;
    const splits = many ? categoricals.map((c) => [`c${c}`, `split: ${this.#splitName(c)}`]) : [];
    const largest = (c) => Math.max(...panel.tree.shares[c]);
    const even = categoricals.toSorted((a, b) => largest(a) - largest(b))[0];
    const important = panel.about.divisions[0] ?? (found.leaves.length > MOST_IN_LEGEND ? even : null);
    const first = many && important !== null ? `c${important}` : "leaf";
    const leaf = ["leaf", many ? "leaf of the tree" : "group"];
    const level = panel.groups ? [["level", "groups of the slider"]] : [];
    const all = variables.length && categoricals.length ? [leaf, ...level, ...splits] : [["leaf", "nothing"]];
    this.color = this.#choice("color by", all, this.columns, () => true, first);
    const directions = found.explained.map((e, k) => [`d${k}`, `main direction ${k + 1} (${Math.round(100 * e)}%)`]);
    const isNumber = ({ levels }) => !levels;
    this.axes = [0, 1].map((k) => this.#choice("xy"[k], directions, this.columns, isNumber, `d${k}`));
    this.legend = element("p", { class: "colors" });
    this.info = element("p", { class: "info dim" });
    const hint = found.leaves.length > 1 ? "; a click on a point shows its group" : "";
    const sample = n < found.n_rows ? `a random ${n.toLocaleString("en")} of ` : "";
    this.element = element(
      "section",
      { class: "card rows", "aria-label": "Map of rows" },
      element(
        "h2",
        {},
        "Map of rows ",
        element("small", {}, `${sample}${found.n_rows.toLocaleString("en")} rows${hint}`),
      ),
      element("div", { class: "choices" }, this.color.label, ...this.axes.map(({ label }) => label)),
      this.canvas,
      this.legend,
      this.info,
    );
    const { tree } = panel;
    const places = new Map(found.leaves.map((choices, k) => [choices.map((c) => c ?? "-").join(), k]));
    this.leafOf = (values) => {
      const code = tree.code(values);
      return places.get(tree.categoricals.map((i) => code[i] ?? "-").join()) ?? -1;
    };
    this.leafValues = found.leaves.map((choices) => {
      const values = tree.start();
      choices.forEach((k, i) => {
        values[tree.categoricals[i]] = k ?? 0;
      });
      return values;
    });
    new ResizeObserver(() => this.draw()).observe(this.canvas);
    this.#say(null);
  }

  #choice(name, first, columns, fits, chosen = first[0][0]) {
    const options = [
      ...first,
      ...columns.map((c, j) => [String(j), c.name, fits(c)]).filter(([, , fit]) => fit),
    ].map(([value, text]) => element("option", { value }, text));
    const select = element("select", { "aria-label": `map: ${name}`, onchange: () => this.draw() }, ...options);
    select.value = chosen;
    const label = element("label", {}, `${name} `, select);
    label.hidden = options.length < 2 || (first.length > 1 && !columns.some(fits));
    return { select, label };
  }

  // A categorical by its name, or by its options where that says nothing.
  #splitName(c) {
    const { name, options, reasons } = this.panel.tree.variables[c];
    return reasons && name.endsWith("?") ? options.join(" / ") : name;
  }

  // Which option of the categorical that colors show a row has; null if it has none.
  #option(c, i) {
    const path = this.map.paths[i];
    return path < 0 ? null : this.map.leaves[path][this.panel.tree.categoricals.indexOf(c)];
  }

  // The rows that are highlighted: those of the leaf that is shown, or of its option if colors show options.
  #isLit() {
    const { value } = this.color.select;
    let lit = (i) => this.map.paths[i] === this.leaf;
    if (value.startsWith("c")) {
      const c = Number(value.slice(1));
      const k = this.panel.tree.isActive(this.panel.values, c) ? this.panel.values[c] : null;
      lit = (i) => this.#option(c, i) === k;
    } else if (value === "level") {
      const { groups } = this.panel;
      const now = this.leaf < 0 ? -1 : groups.groupOf(this.map.leaves[this.leaf]);
      const own = this.map.leaves.map((choices) => groups.groupOf(choices) === now);
      lit = (i) => own[this.map.paths[i]] ?? false;
    }
    return this.map.leaves.length > 1 && this.map.rows.some((_, i) => lit(i)) ? lit : () => true;
  }

  // Color by the groups of the slider, which was moved.
  showLevel() {
    this.color.select.value = "level";
    this.draw();
  }

  showPath() {
    this.leaf = this.leafOf(this.panel.values);
    this.draw();
  }

  #axis(k) {
    const { value } = this.axes[k].select;
    return value.startsWith("d") ? this.main[Number(value.slice(1))] : this.cells[Number(value)];
  }

  draw() {
    if (!this.canvas.clientWidth) return;
    const { context, w, h } = fitted(this.canvas);
    const [xs, ys] = [this.#axis(0), this.#axis(1)];
    const [fx, fy] = [scale(xs, 10, w - 10), scale(ys, h - 10, 10)];
    this.at = Array.from(xs, (x, i) => [fx(x), fy(ys[i])]);
    const paint = this.#colors();
    const here = this.#isLit();
    for (const lit of [false, true]) {
      context.globalAlpha = lit ? 0.9 : 0.22;
      this.at.forEach(([x, y], i) => {
        if (here(i) !== lit || Number.isNaN(x) || Number.isNaN(y)) return;
        context.fillStyle = paint(i);
        context.beginPath();
        context.arc(x, y, lit ? RADIUS : RADIUS - 0.5, 0, 7);
        context.fill();
      });
    }
    context.globalAlpha = 1;
    this.#axes(context, w, h, xs, ys);
    const by = this.color.select.selectedOptions[0].textContent;
    const name = this.panel.tree.pathName(this.panel.values);
    this.canvas.setAttribute("aria-label", `Map of ${this.map.rows.length} rows, colored by ${by}; now at ${name}`);
  }

  // The ends of axes that are columns, in their units.
  #axes(context, w, h, xs, ys) {
    context.fillStyle = getComputedStyle(this.canvas).getPropertyValue("--dim");
    context.font = "11px system-ui, sans-serif";
    [xs, ys].forEach((values, k) => {
      const { value } = this.axes[k].select;
      if (value.startsWith("d")) return;
      const [low, high] = extent(values).map((v) => this.table.text(Number(value), v));
      context.textAlign = "left";
      if (k === 0) {
        context.fillText(low, 2, h - 2);
        context.textAlign = "right";
        context.fillText(high, w - 2, h - 2);
      } else {
        context.fillText(high, 2, 10);
        context.fillText(low, 2, h - 14);
      }
    });
  }

  // The color of a point, and what colors mean.
  #colors() {
    const { value } = this.color.select;
    const gray = isDark() ? "#5b6670" : "#b4bcc4";
    const chip = (color, text) => {
      const made = element("span", {}, element("i", {}), text);
      made.firstChild.style.background = color;
      return made;
    };
    if (value === "leaf") {
      const colors = this.leafValues.map((values) => this.panel.color(values));
      const name = (k) => this.panel.tree.pathName(this.leafValues[k], true);
      const go = (k) => this.panel.chooseLeaf(this.map.leaves[k]);
      const named = colors.map((color, k) => linked(chip(color, name(k)), k === this.leaf, () => go(k)));
      const isMany = named.length > MOST_IN_LEGEND;
      this.#legend(isMany && this.leaf >= 0 ? [named[this.leaf]] : named.length > 1 ? named : [], named.length);
      return (i) => (this.map.paths[i] < 0 ? gray : colors[this.map.paths[i]]);
    }
    if (value === "level") {
      const { groups } = this.panel;
      const group = this.map.leaves.map((choices) => groups.groupOf(choices));
      const colors = groups.groups.map((one) => groups.color(one));
      this.#legend([]); // the list of groups is one
      return (i) => (this.map.paths[i] < 0 ? gray : colors[group[this.map.paths[i]]]);
    }
    if (value.startsWith("c")) {
      const c = Number(value.slice(1));
      const { options } = this.panel.tree.variables[c];
      const now = this.panel.tree.isActive(this.panel.values, c) ? this.panel.values[c] : null;
      const go = (k) => this.panel.choose(c, k);
      const named = options.map((text, k) => linked(chip(colorOf(k), text), k === now, () => go(k)));
      const none = this.map.rows.some((_, i) => this.#option(c, i) === null);
      this.#legend([...named, ...(none ? [chip(gray, "not divided by it")] : [])]);
      return (i) => (this.#option(c, i) === null ? gray : colorOf(this.#option(c, i)));
    }
    const j = Number(value);
    const cells = this.cells[j];
    const { levels } = this.columns[j];
    const empty = cells.some(Number.isNaN) ? [chip(gray, this.table.text(j, null))] : [];
    if (levels) {
      const counts = levels.map((_, k) => cells.reduce((sum, v) => sum + (v === k), 0));
      const order = levels.map((_, k) => k).sort((a, b) => counts[b] - counts[a]);
      const rank = new Map(order.map((k, r) => [k, r]));
      this.#legend([...order.filter((k) => counts[k]).map((k) => chip(colorOf(rank.get(k)), levels[k])), ...empty]);
      return (i) => (Number.isNaN(cells[i]) ? gray : colorOf(rank.get(cells[i])));
    }
    const [low, high] = extent(cells, 0.02);
    const bar = element("i", { class: "ramp" });
    bar.style.background = `linear-gradient(90deg, ${RAMP.map((c) => `rgb(${c})`).join(",")})`;
    const range = element("span", {}, this.table.text(j, low, 3), bar, this.table.text(j, high, 3));
    this.#legend([range, ...empty]);
    return (i) => (Number.isNaN(cells[i]) ? gray : ramp((cells[i] - low) / (high - low || 1)));
  }

  #legend(parts, count = parts.length) {
    const shown = parts.slice(0, MOST_IN_LEGEND);
    const rest = count - shown.length;
    this.legend.replaceChildren(...shown, ...(rest > 0 ? [element("span", {}, `and ${rest} more`)] : []));
  }

  #nearest({ offsetX, offsetY }) {
    let [best, far] = [-1, NEAR ** 2];
    this.at?.forEach(([x, y], i) => {
      const d = (x - offsetX) ** 2 + (y - offsetY) ** 2;
      if (d < far) [best, far] = [i, d];
    });
    return best < 0 ? null : best;
  }

  #hover(event) {
    const i = this.#nearest(event);
    this.canvas.style.cursor = i === null ? "default" : "pointer";
    this.#say(i);
  }

  #say(i) {
    if (i === null) {
      this.info.textContent = "\u00a0";
      return;
    }
    const path = this.map.paths[i];
    const leaf = path < 0 ? "in no group" : this.panel.tree.pathName(this.leafValues[path], true);
    const picked = new Set([this.color, ...this.axes].map(({ select }) => select.value));
    const values = this.columns.flatMap((c, j) =>
      picked.has(String(j)) ? [`${c.name} ${this.table.text(j, nullable(this.cells[j][i]))}`] : [],
    );
    this.info.textContent = [`row ${number(this.map.rows[i], 12)}`, leaf, ...values].join(" · ");
  }

  #select(event) {
    const i = this.#nearest(event);
    if (i === null) return;
    const path = this.map.paths[i];
    if (path >= 0) this.panel.chooseLeaf(this.map.leaves[path]);
    this.#say(i);
    this.panel.page.say(this.info.textContent);
  }
}

// A part of the legend that leads to what it names.
function linked(part, isLit, go) {
  part.classList.toggle("lit", isLit);
  part.classList.add("leaf");
  part.addEventListener("click", go);
  return part;
}

function nullable(value) {
  return Number.isNaN(value) ? null : value;
}

function floats(base64) {
  return new Float32Array(bytes(base64).buffer);
}

function extent(values, tail = 0) {
  const sorted = Float32Array.from(values)
    .filter((v) => !Number.isNaN(v))
    .sort();
  if (!sorted.length) return [0, 1];
  const skip = Math.floor(tail * (sorted.length - 1));
  return [sorted[skip], sorted[sorted.length - 1 - skip]];
}

function scale(values, from, to) {
  const [low, high] = extent(values);
  return (v) => (high > low ? from + ((v - low) / (high - low)) * (to - from) : (from + to) / 2);
}

function ramp(t) {
  const at = Math.max(0, Math.min(1, t)) * (RAMP.length - 1);
  const k = Math.min(RAMP.length - 2, Math.floor(at));
  const mixed = RAMP[k].map((c, i) => Math.round(c + (at - k) * (RAMP[k + 1][i] - c)));
  return `rgb(${mixed})`;
}

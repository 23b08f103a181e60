// The tree as ribbons whose width is the share of the data, with the current path highlighted.

import { percent } from "./controls.js";
import { element, svg } from "./draw.js";

const COLUMN = 152;
const FULL = 104; // the width of a ribbon that holds all rows
const LEAF = 40; // the least height of a leaf
const LINE = 14; // of a label
const LETTERS = 18; // in a line
const LINES = 3;
const HEAD = 24; // above choices that stand below each other
const FACTOR = 60; // as FULL, for each of them

export class TreeMap {
  constructor(panel) {
    this.panel = panel;
    this.tree = panel.tree;
    this.edges = [];
    this.nodes = [];
    const choices = this.tree.group().filter((i) => this.tree.variables[i].kind === "categorical");
    this.full = choices.length > 1 ? FACTOR : FULL;
    const root = { share: 1, depth: 0, parent: null, option: null, name: "all rows" };
    const height = this.#measure(root);
    this.depth = Math.max(...this.nodes.map((n) => n.depth));
    const width = (this.depth + 1) * COLUMN;
    this.picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
    Object.assign(this.picture.style, { maxWidth: `${1.2 * width}px`, minWidth: `${0.76 * width}px` });
    this.#draw(root, 0);
    this.element = element("div", { class: "map" }, this.picture);
  }

  // Heights from the leaves up; returns that of the node.
  #measure(node) {
    this.nodes.push(node);
    const inside = this.tree.group(node.parent, node.option);
    node.categoricals = inside.filter((i) => this.tree.variables[i].kind === "categorical");
    node.text = inside.map((i) => {
      const { kind, name } = this.tree.variables[i];
      return kind === "continuous" ? `○ ${name}` : `◇ ${name.endsWith("?") ? "" : name}`.trim();
    });
    node.short = node.text.join("  ");
    if (node.short.length > 12) {
      node.short = [
        ["○", inside.length - node.categoricals.length],
        ["◇", node.categoricals.length],
      ]
        .flatMap(([sign, n]) => (n ? [`${n} ${sign}`] : []))
        .join("  ");
    }
    node.children = node.categoricals.flatMap((c) =>
      this.tree.variables[c].options.map((name, k) => ({
        name,
        parent: c,
        option: k,
        depth: node.depth + 1,
        share: this.tree.shares[c][k],
      })),
    );
    node.lines = wrapped(node.name);
    const below = node.children.reduce((sum, child) => sum + this.#measure(child), 0);
    node.isProduct = node.parent === null && node.categoricals.length > 1;
    if (node.isProduct) return (node.height = below + HEAD);
    node.height = Math.max(below, LEAF, node.share * this.full + 12, (node.lines.length + 1) * LINE + 14);
    return node.height;
  }

  #draw(node, top) {
    if (node.isProduct) {
      this.#drawFactors(node, top);
      return;
    }
    const x = node.depth * COLUMN + 2;
    const middle = top + node.height / 2;
    const size = Math.max(3, node.share * this.full);
    const total = node.children.reduce((sum, child) => sum + child.height, 0);
    const y = top + (node.height - total) / 2;
    let below = y;
    for (const c of node.categoricals) below = this.#ribbons(node, c, x, middle - size / 2, below);
    const bar = svg("rect", { x, y: middle - size / 2, width: 6, height: size, rx: 2, class: "node" });
    const label = svg("g", { class: "label" });
    const tall = (node.lines.length + 1) * LINE;
    const first = middle - tall / 2 + 11;
    const names = node.lines.map((line, i) =>
      svg("tspan", { class: "name", x: x + 12, y: first + i * LINE }, line),
    );
    const under = svg(
      "text",
      { x: x + 12, y: first + node.lines.length * LINE, class: "variables" },
      svg("tspan", { class: "share" }, percent(node.share)),
      svg("tspan", { dx: 6 }, node.short),
    );
    label.append(
      svg("rect", { class: "touch", x: x + 6, y: middle - tall / 2 - 3, width: COLUMN - 32, height: tall + 6 }),
      svg("text", {}, ...names),
      under,
    );
    label.append(svg("title", {}, `${node.name}: ${percent(node.share)} of rows\n${node.text.join("\n")}`));
    if (node.parent !== null) {
      for (const part of [bar, label])
        part.addEventListener("click", () => this.panel.choose(node.parent, node.option));
    }
    Object.assign(node, { bar, label });
    this.picture.append(bar, label);
  }

  // The ribbons from a bar to the options of a categorical, from `y` downwards; returns where they end.
  #ribbons(node, categorical, x, from, y) {
    for (const child of node.children) {
      if (child.parent !== categorical) continue;
      const thick = Math.max(1.5, child.share * this.full);
      const to = y + child.height / 2 - thick / 2;
      const end = x + COLUMN;
      const bend = x + 6 + (COLUMN - 6) / 2;
      const d = `M${x + 6} ${from}C${bend} ${from} ${bend} ${to} ${end} ${to}V${to + thick}C${bend} ${to + thick} ${bend} ${from + thick} ${x + 6} ${from + thick}Z`;
      const ribbon = svg("path", { d, class: "ribbon" });
      ribbon.addEventListener("click", () => this.panel.choose(child.parent, child.option));
      this.picture.append(ribbon);
      this.edges.push({ ribbon, child });
      this.#draw(child, y);
      y += child.height;
      from += thick;
    }
    return y;
  }

  // Independent choices: all rows once for each of them, below each other.
  #drawFactors(node, top) {
    const x = 2;
    const bar = svg("g");
    const label = svg("g", { class: "label" });
    const own = this.tree.group(null, null).filter((i) => this.tree.variables[i].kind === "continuous");
    const about = `all rows${own.length ? `: ${own.length} ○` : ""}, ${node.categoricals.length} separate choices`;
    label.append(svg("text", { class: "variables", x, y: top + 12 }, about));
    label.append(svg("title", {}, `all rows\n${node.text.join("\n")}`));
    let y = top + HEAD;
    for (const c of node.categoricals) {
      const block = node.children.reduce((sum, child) => sum + (child.parent === c ? child.height : 0), 0);
      const middle = y + block / 2;
      bar.append(svg("rect", { x, y: middle - this.full / 2, width: 6, height: this.full, rx: 2, class: "node lit" }));
      y = this.#ribbons(node, c, x, middle - this.full / 2, y);
      const lines = wrapped(this.tree.variables[c].name);
      const first = middle - (lines.length * LINE) / 2 + 11;
      const names = lines.map((line, i) =>
        svg("tspan", { class: "name", x: x + 12, y: first + i * LINE }, line),
      );
      label.append(svg("text", {}, ...names));
    }
    Object.assign(node, { bar, label });
    this.picture.append(bar, label);
  }

  showPath(color) {
    const { values } = this.panel;
    const lit = (node) =>
      node.parent === null || (values[node.parent] === node.option && this.tree.isActive(values, node.parent));
    this.picture.style.setProperty("--path", color);
    this.picture.setAttribute(
      "aria-label",
      `The tree of ${this.tree.nPaths()} leaves; now at ${this.tree.pathName(values)}`,
    );
    for (const { ribbon, child } of this.edges) ribbon.classList.toggle("lit", lit(child));
    for (const node of this.nodes)
      for (const part of [node.bar, node.label]) part.classList.toggle("lit", lit(node));
  }
}

// A name on a few lines; what does not fit is in the title.
function wrapped(text) {
  const lines = [""];
  for (const word of text.split(/(?<=[\s_/.,:=-])/)) {
    if (lines.at(-1) && (lines.at(-1) + word).trimEnd().length > LETTERS) lines.push("");
    lines[lines.length - 1] += word;
  }
  const shown = lines.slice(0, LINES).map((line) => cut(line.trim(), LETTERS));
  if (lines.length > LINES) shown[LINES - 1] = cut(`${shown[LINES - 1]} …`, LETTERS);
  return shown;
}

function cut(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

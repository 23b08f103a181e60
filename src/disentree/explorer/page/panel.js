// One model on the page: its controls, its tree, the decoded instance and the strips.

import { Controls } from "./controls.js";
import { colorOf, element } from "./draw.js";
import { Groups } from "./groups.js";
import { TreeMap } from "./map.js";
import { makeModel } from "./model.js";
import { Scatter } from "./scatter.js";
import { Stage } from "./stage.js";
import { Strips } from "./strips.js";
import { Tree } from "./tree.js";

export class Panel {
  constructor(number, about, page) {
    this.id = `m${number}`;
    this.page = page;
    this.about = about;
    this.painter = page.painter;
    this.tree = new Tree(about);
    this.model = makeModel(number, this.tree, about);
    this.values = this.tree.start();
    this.original = null; // {x, label, code}: the row that is shown with its reconstruction
    this.row = null; // its place among the rows that came with the page
    this.pins = [null, null];
    this.controls = new Controls(this);
    this.stage = new Stage(this);
    this.strips = new Strips(this);
    this.map = this.tree.categoricals.length ? new TreeMap(this) : null;
    const { steering, served } = page.content;
    const isSteered = steering && (served || steering.levels.length > 1);
    this.groups = isSteered ? new Groups(this, steering, Boolean(served)) : null;
    this.scatter = about.map ? new Scatter(this, about.map) : null;
    const isTable = Boolean(this.painter.table); // the pictures of others come first
    this.element = element(
      "article",
      { class: "panel", "aria-label": about.name },
      ...(page.isCompared ? [element("h2", { class: "run" }, about.name, element("small", {}, about.note))] : []),
      element(
        "section",
        { class: "card variables", "aria-label": "Controls" },
        element("h2", {}, "Variables"),
        this.controls.element,
      ),
      this.stage.element,
      ...(this.map
        ? [
            element(
              "section",
              { class: "card tree", "aria-label": "Tree" },
              element(
                "h2",
                {},
                "Tree ",
                element("small", {}, `share of ${this.tree.nRows.toLocaleString("en")} rows; ○ varies freely, ◇ divides into groups`),
              ),
              this.map.element,
            ),
          ]
        : []),
      ...(this.groups ? [this.groups.element] : []),
      ...(this.scatter && isTable ? [this.scatter.element] : []),
      this.stage.pinned,
      element(
        "section",
        { class: "card traversals", "aria-label": "Traversals" },
        element(
          "h2",
          {},
          "Traversals ",
          element("small", {}, "each variable from its 1st to its 99th percentile, the others as they are"),
        ),
        this.strips.element,
      ),
      ...(this.scatter && !isTable ? [this.scatter.element] : []),
    );
    this.element.classList.toggle("no-tree", !this.map);
    this.element.classList.toggle("wide-tree", this.map?.depth > 2);
    const longest = Math.max(0, ...this.tree.continuous.map((i) => this.tree.variables[i].name.length));
    this.element.style.setProperty("--name", `${Math.min(13, Math.max(3, longest + 1))}ch`);
  }

  color(values = this.values) {
    return colorOf(this.tree.pathIndex(this.tree.variables.map((_, i) => values[i] ?? 0)));
  }

  // ---------------------------------------------------------------- what moves

  set(i, value) {
    this.values[i] = value;
    this.controls.show(i);
    if (this.tree.variables[i].kind === "categorical") this.showPath();
    this.changed();
  }

  // An option of the tree: it and all that lead to it.
  choose(categorical, option) {
    for (let c = categorical, k = option; c !== null; { parent: c, option: k } = this.tree.variables[c]) {
      this.values[c] = k;
      this.controls.show(c);
    }
    this.showPath();
    this.changed();
  }

  // A leaf by the options of all categoricals, null where they are not active.
  chooseLeaf(choices) {
    choices.forEach((k, i) => {
      const c = this.tree.categoricals[i];
      if (k === null || this.values[c] === k) return;
      this.values[c] = k;
      this.controls.show(c);
    });
    this.showPath();
    this.changed();
  }

  load(code) {
    code.forEach((v, i) => {
      if (v !== null) this.values[i] = v;
    });
    this.controls.showAll();
    this.showPath();
    this.changed();
  }

  showPath() {
    const color = this.color();
    for (const part of [this.controls, this.stage, this.strips, this.map, this.groups, this.scatter]) part?.showPath(color);
  }

  // Decode what is set now, and then the strips; while that goes on only the latest change counts.
  async changed() {
    this.page.moved();
    this.dirty = true;
    if (this.busy) return;
    this.busy = true;
    try {
      while (this.dirty) {
        this.dirty = false;
        const began = performance.now();
        const [x] = await this.model.decode([this.tree.code(this.values)]);
        this.milliseconds = performance.now() - began;
        this.stage.show(x, this.color());
        this.page.tell(null);
        if (!this.dirty) await this.strips.update(() => this.dirty);
      }
    } catch (error) {
      this.page.tell(error.message);
    } finally {
      this.busy = false;
    }
  }

  // ---------------------------------------------------------------- rows and pins

  showRow(original, row = null) {
    this.original = original;
    this.row = row;
    this.load(original.code);
  }

  isAtRow() {
    return this.tree.code(this.values).every((v, i) => v === this.original.code[i]);
  }

  backToRow() {
    this.load(this.original.code);
  }

  forgetRow() {
    this.original = this.row = null;
    this.changed();
  }

  pin() {
    const free = this.pins[0] === null ? 0 : 1;
    this.pins[free] = { code: this.tree.code(this.values) };
    this.#pinsMoved();
  }

  unpin(i) {
    this.pins[i] = null;
    this.#pinsMoved();
  }

  setPins(codes) {
    this.pins = codes.map((code) => code && { code });
    this.#pinsMoved();
  }

  #pinsMoved() {
    this.page.moved();
    this.stage.showPins().catch((error) => this.page.tell(error.message));
  }

  redraw() {
    this.showPath();
    this.changed();
    this.#pinsMoved();
  }
}

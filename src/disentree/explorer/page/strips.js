// Traversal strips: what every active variable does from its 1st to its 99th percentile, the others as they are.

import { breakable, element, number } from "./draw.js";
import { Movers } from "./movers.js";

const CELLS = 7;
const AT_ONCE = 8; // strips in a request

export class Strips {
  constructor(panel) {
    this.panel = panel;
    this.tree = panel.tree;
    this.visible = new Set();
    this.rows = new Map();
    this.element = element("div", { class: `strips ${panel.painter.kind}` });
    this.observer = new IntersectionObserver((entries) => this.#seen(entries), { rootMargin: "160px" });
  }

  #row(i) {
    const { name } = this.tree.variables[i];
    const cells = element("div", { class: "cells" });
    const mark = element("i", { class: "here" });
    const low = element("span", {});
    const high = element("span", {});
    const row = element(
      "div",
      { class: "strip", "data-column": String(i) },
      element("h3", { title: name }, ...breakable(name)),
      element("div", { class: "sweep" }, cells, mark),
      element("p", { class: "ends", "aria-hidden": "true" }, low, high),
    );
    this.observer.observe(row);
    const movers = this.panel.painter.table ? new Movers(this.panel.painter) : null;
    if (movers) cells.replaceWith(movers.element);
    return { row, cells: movers?.element ?? cells, mark, low, high, canvases: [], movers };
  }

  #seen(entries) {
    let more = false;
    for (const { target, isIntersecting } of entries) {
      const i = Number(target.dataset.column);
      const strip = this.rows.get(i);
      if (isIntersecting) {
        this.visible.add(i);
        more = true;
      } else {
        this.visible.delete(i);
        if (strip.movers) continue;
        strip.cells.style.minHeight = `${strip.cells.clientHeight}px`;
        strip.cells.replaceChildren(); // canvases are large; two hundred variables have many
        strip.canvases = [];
      }
    }
    if (more) this.panel.changed();
  }

  // The strips of active variables, in the order of the columns.
  showPath(color) {
    this.element.style.setProperty("--path", color);
    for (const i of this.tree.continuous) {
      const active = this.tree.isActive(this.panel.values, i);
      if (active && !this.rows.has(i)) {
        this.rows.set(i, this.#row(i));
        const next = this.tree.continuous.find((j) => j > i && this.rows.has(j));
        this.element.insertBefore(this.rows.get(i).row, next === undefined ? null : this.rows.get(next).row);
      }
      if (this.rows.has(i)) this.rows.get(i).row.hidden = !active;
    }
  }

  async update(isStale) {
    const { values, model, painter } = this.panel;
    const code = this.tree.code(values);
    const shown = [...this.visible].filter((i) => code[i] !== null).sort((a, b) => a - b);
    for (let s = 0; s < shown.length && !isStale(); s += AT_ONCE) {
      const some = shown.slice(s, s + AT_ONCE);
      const codes = some.flatMap((i) => this.#sweep(code, i));
      const pictures = await model.decode(codes);
      if (isStale()) return;
      some.forEach((i, k) => this.#draw(i, code, pictures.slice(k * CELLS, (k + 1) * CELLS), painter));
    }
  }

  #sweep(code, i) {
    const [low, high] = this.tree.sweep(this.panel.values, i);
    return Array.from({ length: CELLS }, (_, k) => code.with(i, low + (k / (CELLS - 1)) * (high - low)));
  }

  #draw(i, code, pictures, painter) {
    const strip = this.rows.get(i);
    const [low, high] = this.tree.sweep(this.panel.values, i);
    strip.low.textContent = number(low, 3);
    strip.high.textContent = number(high, 3);
    if (strip.movers) {
      strip.movers.show(pictures, this.panel.color(code), this.tree.absent(code));
      return;
    }
    if (!strip.canvases.length) {
      strip.canvases = pictures.map((_, k) =>
        element("canvas", {
          class: painter.kind,
          "aria-hidden": "true",
          onclick: () => {
            const [from, to] = this.tree.sweep(this.panel.values, i);
            this.panel.set(i, from + (k / (CELLS - 1)) * (to - from));
          },
        }),
      );
      strip.cells.replaceChildren(...strip.canvases);
    }
    strip.canvases.forEach((canvas, k) => {
      painter.cell(canvas, pictures[k], this.panel.color(code));
      canvas.title = `${this.tree.variables[i].name} = ${number(low + (k / (CELLS - 1)) * (high - low), 3)}`;
    });
    const at = Math.min(1.02, Math.max(-0.02, (code[i] - low) / (high - low || 1)));
    strip.mark.style.left = `${(100 * (at * (CELLS - 1) + 0.5)) / CELLS}%`;
  }
}

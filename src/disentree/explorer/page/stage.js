// The decoded instance, the original with it, and two codes pinned side by side.

import { BarList } from "./barlist.js";
import { percent } from "./controls.js";
import { element, number } from "./draw.js";

const MOST_VALUES = 11; // of a pinned code that are listed

export class Stage {
  constructor(panel) {
    this.panel = panel;
    this.painter = panel.painter;
    const { kind } = this.painter;
    this.path = element("h2", { class: "path" });
    this.canvas = element("canvas", { role: "img", class: kind });
    this.bars = kind === "bars" ? new BarList(this.painter) : null;
    this.before = element("canvas", { role: "img", class: kind });
    const title = (text) => element("figcaption", {}, text);
    this.decoded = element("figure", {}, this.bars?.element ?? this.canvas, title("decoded"));
    this.original = element("figure", { class: "original" }, this.before, title("original"));
    this.original.hidden = true;
    this.legend = element("p", { class: "legend" });
    this.back = element("button", { type: "button", onclick: () => panel.backToRow() }, "back to the row");
    this.clear = element("button", { type: "button", onclick: () => panel.forgetRow() }, "hide it");
    this.status = element("p", { class: "status" });
    this.pinned = element("section", { class: "card pins", "aria-label": "Pinned codes" });
    this.pinned.hidden = true;
    const pictures = kind === "image" ? [this.original, this.decoded] : [this.decoded];
    this.element = element(
      "section",
      { class: `card stage ${kind}`, "aria-label": "Decoded instance" },
      this.path,
      element("div", { class: "pictures" }, ...pictures),
      this.legend,
      this.status,
    );
  }

  showPath(color) {
    const { tree, values } = this.panel;
    this.element.style.setProperty("--path", color);
    const part = tree.share(values);
    const share = part ? `${percent(part)} of rows` : "no row was here";
    const name = tree.categoricals.length ? tree.pathName(values) : `${tree.continuous.length} variables`;
    this.path.replaceChildren(
      element("i", { class: "chip", "aria-hidden": "true" }),
      name,
      element("small", {}, tree.categoricals.length ? share : ""),
    );
  }

  show(x, color) {
    this.x = x;
    this.color = color;
    const { original } = this.panel;
    if (this.bars) this.bars.paint(x, color, original?.x, this.panel.tree.absent(this.panel.values));
    else {
      this.painter.paint(this.canvas, x, { color, behind: original?.x });
      this.canvas.setAttribute("aria-label", `Decoded: ${this.painter.describe(x)}`);
    }
    this.#showOriginal(original, x);
  }

  #showOriginal(original, x) {
    const isImage = this.painter.kind === "image";
    this.original.hidden = !original || !isImage;
    this.legend.hidden = !original || this.painter.kind !== "line";
    this.status.hidden = !original;
    if (!original) return;
    if (isImage && this.shown !== original) {
      this.painter.paint(this.before, original.x, {});
      this.before.setAttribute("aria-label", `Original: ${this.painter.describe(original.x)}`);
    }
    if (this.shown !== original) {
      this.legend.replaceChildren(
        element("i", { class: "was" }),
        "original",
        element("i", { class: "now" }),
        "decoded",
      );
      this.fit = element("span", {});
      this.status.replaceChildren(element("b", {}, original.label), this.fit, this.back, this.clear);
      this.shown = original;
    }
    let squares = 0;
    for (let j = 0; j < x.length; j++) squares += (x[j] - original.x[j]) ** 2;
    this.fit.textContent = `error ${number(Math.sqrt(squares / x.length), 3)} per value (root mean square)`;
    this.back.hidden = this.panel.isAtRow();
  }

  async showPins() {
    const { pins, tree } = this.panel;
    this.pinned.replaceChildren();
    const shown = pins.map((pin, i) => ({ pin, i })).filter(({ pin }) => pin);
    this.pinned.hidden = !shown.length;
    const differs = (v) => pins[0] && pins[1] && pins[0].code[v] !== pins[1].code[v];
    for (const { pin, i } of shown) {
      const canvas = element("canvas", {
        class: this.painter.kind,
        role: "img",
        "aria-label": `Pinned code ${"AB"[i]}: ${tree.pathName(pin.code)}`,
      });
      const values = pin.code.flatMap((v, at) => {
        if (v === null) return [];
        const { name, kind, options } = tree.variables[at];
        return [
          element(
            "li",
            { class: differs(at) ? "differs" : "" },
            `${name} `,
            element("b", {}, kind === "categorical" ? options[v] : number(v, 3)),
          ),
        ];
      });
      const go = element("button", { type: "button", onclick: () => this.panel.load(pin.code) }, "go there");
      const away = element(
        "button",
        { type: "button", "aria-label": `remove pin ${"AB"[i]}`, onclick: () => this.panel.unpin(i) },
        "×",
      );
      this.pinned.append(
        element(
          "figure",
          { class: "pin" },
          element("h3", {}, "AB"[i], go, away),
          canvas,
          element(
            "ul",
            {},
            ...values.slice(0, MOST_VALUES),
            ...(values.length > MOST_VALUES ? [element("li", {}, `and ${values.length - MOST_VALUES} more`)] : []),
          ),
        ),
      );
      const [x] = await this.panel.model.decode([pin.code]);
      this.painter.cell(canvas, x, this.panel.color(pin.code));
    }
    const [a, b] = pins;
    if (a && b && tree.categoricals.every((c) => a.code[c] === b.code[c]))
      this.pinned.append(this.#between(a.code, b.code));
  }

  // On one leaf, every point between two codes is a code.
  #between(a, b) {
    const move = element("input", {
      type: "range",
      min: "0",
      max: "1",
      step: "0.01",
      value: "0.5",
      "aria-label": "from A to B",
      oninput: () => {
        const t = Number(move.value);
        this.panel.load(
          a.map((v, i) => (v === null || (Number.isInteger(v) && v === b[i]) ? v : v + t * (b[i] - v))),
        );
      },
    });
    return element("label", { class: "between" }, "A", move, "B");
  }
}

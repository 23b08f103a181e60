// What a variable does to the columns of a table: from the first to the last step of its sweep, the largest movers
// first, the others on request.

import { DEVIATIONS, breakable, element } from "./draw.js";

const SHOWN = 5;
const CHANGED = 2; // deviations that another category counts for
const LITTLE = 0.05; // deviations below which a column stays as it is

export class Movers {
  constructor(painter) {
    this.painter = painter;
    this.all = false;
    this.list = element("ul", {});
    this.more = element("button", {
      type: "button",
      onclick: () => {
        this.all = !this.all;
        this.#render();
      },
    });
    this.element = element("div", { class: "movers" }, this.list, this.more);
  }

  // `pictures` are the features along the sweep, `absent` what does not exist on the branch.
  show(pictures, color, absent) {
    const { table } = this.painter;
    const cells = pictures.map((x) => table.cells(x, absent));
    this.color = color;
    this.moves = table.columns
      .map(({ name, levels }, j) => {
        const [from, to] = [cells[0][j], cells.at(-1)[j]];
        const ends = levels ? null : [pictures[0], pictures.at(-1)].map((x) => this.painter.deviation(x, j));
        let size = from === to ? 0 : CHANGED;
        if (ends && from !== null && to !== null) size = Math.abs(ends[1] - ends[0]);
        return { name, ends, size, from: table.text(j, from), to: table.text(j, to), there: from !== null };
      })
      .filter(({ size }) => size > 0)
      .sort((a, b) => b.size - a.size);
    this.#render();
  }

  #render() {
    const large = this.moves.filter(({ size }) => size >= LITTLE).length;
    const few = Math.min(SHOWN, Math.max(1, large));
    const shown = this.all ? this.moves : this.moves.slice(0, few);
    this.list.replaceChildren(...shown.map((move) => this.#row(move)));
    const rest = this.moves.length - few;
    this.more.hidden = rest <= 0;
    this.more.textContent = this.all ? "fewer" : `${rest} more column${rest > 1 ? "s" : ""}`;
    if (!this.moves.length) this.list.append(element("li", { class: "dim" }, "no column changes"));
  }

  #row({ name, ends, from, to, there }) {
    const track = element("span", { class: "track" });
    if (ends && there) {
      const [a, b] = ends.map((d) => 50 + (50 * d) / DEVIATIONS);
      const bar = element("i", { class: b >= a ? "bar" : "bar down" });
      bar.style.left = `${Math.min(a, b)}%`;
      bar.style.width = `${Math.abs(b - a)}%`;
      bar.style.setProperty("--bar", this.color);
      track.append(bar);
    }
    return element(
      "li",
      {},
      element("span", { class: "column" }, ...breakable(name)),
      ends ? track : element("span", {}),
      element("span", { class: "n" }, from === to ? from : `${from} → ${to}`),
    );
  }
}

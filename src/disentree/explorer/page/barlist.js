// The decoded row of a table: names of columns, values in their own units, the original as a mark.

import { DEVIATIONS, breakable, element } from "./draw.js";

export class BarList {
  constructor(painter) {
    this.painter = painter;
    this.rows = painter.table.columns.map(({ name, levels }) => {
      const bar = element("i", { class: "bar" });
      const mark = element("i", { class: "mark" });
      const value = element("td", { class: "n" });
      const was = element("td", { class: "n was" });
      const track = element("td", { class: levels ? "" : "track" }, ...(levels ? [] : [bar, mark]));
      const row = element("tr", {}, element("th", { scope: "row" }, ...breakable(name)), track, value, was);
      return { bar, mark, value, was, row };
    });
    this.was = element("th", { class: "n was" }, "original");
    const head = element(
      "tr",
      {},
      element("th", {}, ""),
      element(
        "th",
        { class: "axis", title: `from ${DEVIATIONS} standard deviations below the mean to ${DEVIATIONS} above` },
        `mean ± ${DEVIATIONS} sd`,
      ),
      element("th", { class: "n" }, "decoded"),
      this.was,
    );
    this.element = element(
      "div",
      { class: "bar-list" },
      element("table", {}, element("thead", {}, head), element("tbody", {}, ...this.rows.map((r) => r.row))),
    );
  }

  paint(x, color, original, absent = null) {
    const { table } = this.painter;
    const values = table.cells(x, absent);
    const before = original ? table.cells(original) : null;
    this.element.classList.toggle("both", Boolean(original));
    this.rows.forEach(({ bar, mark, value, was, row }, j) => {
      const d = this.painter.deviation(x, j) / DEVIATIONS / 2;
      bar.hidden = values[j] === null;
      bar.style.left = `${50 + 100 * Math.min(0, d)}%`;
      bar.style.width = `${100 * Math.abs(d)}%`;
      bar.style.background = color;
      value.textContent = table.text(j, values[j]);
      row.classList.toggle("nothing", values[j] === null);
      mark.hidden = !original || before[j] === null;
      was.textContent = original ? table.text(j, before[j]) : "";
      if (original) mark.style.left = `${50 + (50 * this.painter.deviation(original, j)) / DEVIATIONS}%`;
    });
  }
}

// "From my data": a row that is pasted or dropped, or an image, turned into what the model takes.

import { element } from "./draw.js";

export class MyData {
  constructor(page) {
    this.page = page;
    this.painter = page.painter;
    const { data } = page.content;
    this.isImage = data.kind === "images";
    this.size = data.shape.reduce((a, b) => a * b, 1);
    this.names = this.painter.table?.columns.map(({ name }) => name) ?? [];
    this.problem = element("p", { class: "problem", role: "alert" });
    this.file = element("input", {
      type: "file",
      accept: this.isImage ? "image/*" : ".csv,.tsv,.txt,text/*",
      "aria-label": "a file",
      onchange: () => this.#take(this.file.files),
    });
    const what = this.isImage
      ? "Drop an image anywhere on the page, paste one, or choose a file. It is cut around its middle and scaled to the size of the data."
      : `Paste ${this.names.length ? "the cells of a row" : `${this.size} numbers`}, or a header and a row: columns are then found by their names. A file can be dropped anywhere on the page; its first row counts.`;
    this.text = element("textarea", {
      rows: "6",
      "aria-label": "numbers",
      placeholder: this.names.length ? this.names.join(", ") : "0.1, 0.2, …",
      spellcheck: false,
    });
    const go = element("button", { type: "submit", class: "main" }, "Show it");
    const close = element("button", { type: "button", onclick: () => this.dialog.close() }, "Close");
    const form = element(
      "form",
      {
        onsubmit: (e) => {
          e.preventDefault();
          this.#row(this.text.value);
        },
      },
      element("h2", {}, "From my data"),
      element("p", {}, what),
      ...(this.isImage ? [this.file] : [this.text, this.file]),
      this.problem,
      element("div", { class: "buttons" }, ...(this.isImage ? [] : [go]), close),
    );
    this.dialog = element("dialog", { "aria-label": "From my data" }, form);
    document.body.append(this.dialog);
    addEventListener("dragover", (e) => {
      e.preventDefault();
      document.body.classList.add("drop");
    });
    addEventListener("dragleave", (e) => {
      if (!e.relatedTarget) document.body.classList.remove("drop");
    });
    addEventListener("drop", (e) => {
      e.preventDefault();
      document.body.classList.remove("drop");
      const text = e.dataTransfer.getData("text");
      if (e.dataTransfer.files.length) this.#take(e.dataTransfer.files);
      else if (text && !this.isImage) this.#row(text);
    });
    addEventListener("paste", (e) => {
      if (e.clipboardData.files.length) this.#take(e.clipboardData.files);
      else if (!this.isImage && !e.target.closest?.("input, textarea")) this.#row(e.clipboardData.getData("text"));
    });
  }

  open() {
    this.problem.textContent = "";
    this.dialog.showModal();
  }

  async #take([file]) {
    if (!file) return;
    if (this.isImage) this.#try(async () => this.#show(await this.#pixels(file), file.name));
    else this.#try(async () => this.#row(await file.text(), file.name));
  }

  #row(text, name = "my row") {
    const { table } = this.painter;
    this.#try(async () => {
      const cells = parseRow(text, this.names.length || this.size, this.names, table);
      await this.#show(table ? table.features(cells) : Float64Array.from(this.painter.fromUnits(cells)), name);
    });
  }

  async #try(work) {
    try {
      await work();
      this.dialog.close();
    } catch (error) {
      this.problem.textContent = error.message;
      if (!this.dialog.open) this.dialog.showModal();
    } finally {
      this.file.value = "";
    }
  }

  async #show(x, label) {
    if (!this.page.panels.every((panel) => panel.model.canEncode)) {
      throw new Error(
        "this page came without the encoder, so it cannot find the code of a row; `disentree explore` can",
      );
    }
    const codes = await Promise.all(this.page.panels.map((panel) => panel.model.encode(x)));
    this.page.panels.forEach((panel, p) => panel.showRow({ x, label, code: codes[p] }));
    const alone = this.page.content.models.some(({ assigned }) => assigned);
    const by = alone ? " (by the encoder alone; `disentree apply` asks MIMOSA, which may say another path)" : "";
    this.page.say(`${label}: ${this.page.panels.map((p) => p.tree.pathName(p.values)).join("; ")}${by}`);
  }

  async #pixels(file) {
    const picture = await createImageBitmap(file).catch(() => {
      throw new Error(`${file.name} cannot be read as an image`);
    });
    const [h, w, c = 1] = this.page.content.data.shape;
    const canvas = element("canvas", { width: w, height: h });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    const scale = Math.max(w / picture.width, h / picture.height);
    const [pw, ph] = [picture.width * scale, picture.height * scale];
    context.imageSmoothingQuality = "high";
    context.imageSmoothingEnabled = scale !== 1;
    context.drawImage(picture, (w - pw) / 2, (h - ph) / 2, pw, ph);
    const { data } = context.getImageData(0, 0, w, h);
    const top = this.page.content.data.high / 255;
    return Float64Array.from({ length: this.size }, (_, i) => {
      const at = 4 * Math.floor(i / c);
      if (c >= 3) return data[at + (i % c)] * top;
      return Math.round(0.299 * data[at] + 0.587 * data[at + 1] + 0.114 * data[at + 2]) * top; // as Pillow's "L"
    });
  }
}

// The numbers of a row, in the order of the model's columns, from text with or without a header; the cells of a table
// as text.
export function parseRow(text, size, names, table = null) {
  const lines = text
    .trim()
    .split(/\r?\n/)
    .filter((line) => line.trim());
  if (!lines.length) throw new Error("there is nothing to read: paste some numbers");
  const separator = ["\t", ";", ","].find((s) => lines[0].includes(s)) ?? /\s+/;
  const cells = lines.map((line) =>
    line
      .trim()
      .split(separator)
      .map((cell) => cell.trim().replace(/^"(.*)"$/, "$1")),
  );
  const isNumber = (cell) => cell !== "" && Number.isFinite(Number(cell));
  const header = names.length && cells.length > 1 && names.every((n) => cells[0].includes(n)) ? cells[0] : null;
  let row;
  if (header) row = names.map((name) => cells[1][header.indexOf(name)] ?? "");
  else {
    const isHead = table ? cells[0].every((c) => c === "" || names.includes(c)) : !cells[0].every(isNumber);
    const first = cells.length > 1 && isHead ? 1 : 0;
    row =
      cells[first].length === size
        ? cells[first]
        : cells
            .slice(first)
            .flat()
            .filter((cell) => cell !== "");
  }
  if (row.length !== size) {
    const missing = names.length
      ? `; the columns are ${names.slice(0, 12).join(", ")}${names.length > 12 ? ", …" : ""}`
      : "";
    throw new Error(`a row has ${size} ${table ? "cells" : "numbers"}, and here are ${row.length}${missing}`);
  }
  if (table) return row;
  const bad = row.findIndex((cell) => !isNumber(cell));
  if (bad >= 0) throw new Error(`${names[bad] ?? `value ${bad + 1}`} must be a number, and is "${row[bad]}"`);
  return row.map(Number);
}

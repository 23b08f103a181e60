// The page: one or two models side by side, and what the buttons and keys do.

import { Painter, element } from "./draw.js";
import { unpackRows } from "./model.js";
import { MyData } from "./mydata.js";
import { Panel } from "./panel.js";
import { readState, writeState } from "./state.js";
import { Table } from "./table.js";
import { pick } from "./tree.js";

const KEYS = [
  ["R", "a random instance: a row that the model was not trained on"],
  ["Shift R", "one of the same leaf"],
  ["D", "a row or an image of your own"],
  ["P", "pin the present code; the second pin can be set again and again"],
  ["L", "copy a link to the present state"],
  ["T", "light or dark"],
  ["Tab, arrows", "from control to control, and along a slider or a choice"],
  ["Home, End, Page Up, Page Down", "larger steps"],
];

class Page {
  constructor(content) {
    this.content = content;
    this.isCompared = content.models.length > 1;
    this.painter = new Painter(content.data, content.data.columns?.length ? new Table(content.data) : null);
    this.rows = unpackRows(content.rows.X, content.rows.numbers.length);
    this.panels = content.models.map((about, i) => new Panel(i, about, this));
    document.title = content.title;
    byId("title").textContent = content.title;
    byId("note").textContent = this.isCompared
      ? content.models.map((m) => m.name).join(" and ")
      : content.models[0].note;
    byId("found").textContent = this.isCompared ? "" : content.models[0].found.join(" ");
    const main = byId("panels");
    main.classList.toggle("compared", this.isCompared);
    main.append(...this.panels.map((panel) => panel.element));
    this.mine = new MyData(this);
    this.#buttons();
    this.#follow(location.hash.slice(1));
    addEventListener("hashchange", () => {
      if (location.hash.slice(1) !== this.written) this.#follow(location.hash.slice(1));
    });
  }

  // ---------------------------------------------------------------- state in the address

  #follow(text) {
    const state = readState(text, this.panels);
    this.written = text;
    const row = state.row !== null && state.row < this.rows.length ? state.row : null;
    this.panels.forEach((panel, p) => {
      panel.original = row === null ? null : this.#original(row, p);
      panel.row = row;
      const { values, pins } = state.panels[p];
      if (pins.some(Boolean)) panel.setPins(pins);
      panel.load(values ?? panel.original?.code ?? panel.tree.start());
    });
  }

  moved() {
    clearTimeout(this.soon);
    this.soon = setTimeout(() => {
      this.written = writeState(this.panels);
      try {
        history.replaceState(null, "", `#${this.written}`);
      } catch {
        /* a frame in a notebook has no address of its own */
      }
    }, 150);
  }

  // ---------------------------------------------------------------- rows

  #original(row, p) {
    const { what, numbers } = this.content.rows;
    return {
      x: this.rows[row],
      label: `${what} ${numbers[row].toLocaleString("en")}`,
      code: this.content.models[p].codes[row],
    };
  }

  // A row by the share of its leaf in the data, as the first model sees it; or of the leaf that is shown.
  random(sameLeaf = false) {
    const [panel] = this.panels;
    const { tree } = panel;
    const codes = this.content.models[0].codes;
    const leaf = (values) => tree.path(values);
    let places = this.rows.map((_, i) => i).filter((i) => i !== panel.row);
    if (sameLeaf) places = places.filter((i) => leaf(codes[i]) === leaf(panel.values));
    if (!places.length) {
      if (this.rows.length > 1) this.tell("no other row of this leaf came with the page");
      else
        for (const each of this.panels) {
          each.original = each.row = null;
          each.load(each.tree.random());
        }
      return;
    }
    const count = new Map();
    for (const i of places) count.set(leaf(codes[i]), (count.get(leaf(codes[i])) ?? 0) + 1);
    const row = pick(
      places,
      places.map((i) => (leaf(codes[i])?.n_rows ?? 1) / count.get(leaf(codes[i]))),
    );
    this.panels.forEach((each, p) => each.showRow(this.#original(row, p), row));
    this.say(`${panel.original.label}: ${tree.pathName(panel.values)}`);
  }

  // ---------------------------------------------------------------- buttons and keys

  #buttons() {
    const does = {
      random: (event) => this.random(event?.shiftKey),
      mine: () => this.mine.open(),
      pin: () => this.panels.forEach((panel) => panel.pin()),
      link: () => this.#copyLink(),
      theme: () => this.#turnTheme(),
      help: () => this.#help(),
    };
    for (const [id, act] of Object.entries(does)) byId(id).addEventListener("click", act);
    const keys = { r: "random", d: "mine", p: "pin", l: "link", t: "theme", "?": "help" };
    addEventListener("keydown", (event) => {
      const typing = event.target.closest?.("textarea, dialog, input:not([type=range]):not([type=radio])");
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const id = keys[event.key.toLowerCase()];
      if (!id) return;
      event.preventDefault();
      does[id](event);
    });
    try {
      const theme = localStorage.getItem("disentree-theme");
      if (theme) document.documentElement.dataset.theme = theme;
    } catch {
      /* not in a sandbox */
    }
    const redraw = () => this.panels.forEach((panel) => panel.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth !== width) {
        width = innerWidth;
        redraw();
      }
    });
    if (!this.rows.length)
      byId("random").title = "A code drawn from the histograms (R); this page came without rows";
  }

  #turnTheme() {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
    try {
      localStorage.setItem("disentree-theme", root.dataset.theme);
    } catch {
      /* not in a sandbox */
    }
    this.panels.forEach((panel) => panel.redraw());
  }

  async #copyLink() {
    const url = `${location.href.split("#")[0]}#${writeState(this.panels)}`;
    try {
      await navigator.clipboard.writeText(url);
      this.#flash("link", "Copied");
    } catch {
      prompt("The link:", url);
    }
  }

  #flash(id, text) {
    const button = byId(id);
    const before = button.textContent;
    button.textContent = text;
    this.say(text);
    setTimeout(() => {
      button.textContent = before;
    }, 1200);
  }

  #help() {
    const list = KEYS.flatMap(([key, what]) => [
      element("dt", {}, element("kbd", {}, key)),
      element("dd", {}, what),
    ]);
    const dialog = element(
      "dialog",
      { "aria-label": "Help", onclose: () => dialog.remove() },
      element("h2", {}, "What is shown"),
      element(
        "p",
        {},
        "Every slider is a variable that the model learned, over the range it has in the data. Behind it is the histogram of its values on the current leaf of the tree; dashes mark the 1st and the 99th percentile. Radio buttons choose the branch, and open the variables that only exist on it. Double-click a slider for the median, click a picture of a strip, a branch of the tree or a point of the map to go there. Shares are those of the rows that the tree was learned from.",
      ),
      element("dl", {}, ...list),
      element("p", { class: "dim" }, `disentree ${this.content.version}`),
      element("form", { method: "dialog", class: "buttons" }, element("button", {}, "Close")),
    );
    document.body.append(dialog);
    dialog.showModal();
  }

  tell(problem) {
    const message = byId("message");
    if (!problem && message.hidden) return;
    message.hidden = !problem;
    message.textContent = problem ?? "";
  }

  say(text) {
    byId("said").textContent = text;
  }
}

function byId(id) {
  return document.getElementById(id);
}

async function start() {
  const inside = byId("content");
  try {
    const content = inside ? JSON.parse(inside.textContent) : await (await fetch("content.json")).json();
    globalThis.explorer = new Page(content);
    document.documentElement.dataset.ready = "yes";
  } catch (error) {
    const message = byId("message");
    message.hidden = false;
    message.textContent = `the page could not start: ${error.message}`;
    throw error;
  }
}

start();

// Coarser trees by a slider; and, where the page is served, the tree of the run merged, split and renamed.

import { percent } from "./controls.js";
import { colorOf, element } from "./draw.js";
import { post } from "./model.js";

const MOST = 24; // groups in the list

export class Groups {
  constructor(panel, about, isServed) {
    this.panel = panel;
    this.about = about;
    this.finest = about.levels.length - 1;
    this.level = this.finest;
    this.slider = element("input", {
      type: "range",
      min: "0",
      max: String(this.finest),
      step: "1",
      value: String(this.finest),
      "aria-label": "number of groups",
      oninput: () => this.show(Number(this.slider.value)),
    });
    this.count = element("output", { class: "count" });
    this.list = element("ul", { class: "groups" });
    this.buttons = isServed
      ? this.#buttons()
      : element("p", { class: "dim" }, "To merge, split or rename groups: ", element("code", {}, about.command));
    this.told = element("p", { class: "dim", role: "status" });
    this.element = element(
      "section",
      { class: "card levels", "aria-label": "Groups" },
      element("h2", {}, "Groups ", element("small", {}, "fewer: those that differ least are merged first")),
      element("div", { class: "level", hidden: this.finest < 1 }, this.slider, this.count),
      this.list,
      this.buttons,
      this.told,
    );
  }

  get groups() {
    return this.about.levels[this.level];
  }

  // The color of a group is that of its largest leaf, so that it stays when others are merged.
  color(group) {
    return colorOf(this.panel.tree.pathIndex(this.values(group)));
  }

  // What is set on the way to the largest leaf of a group.
  values(group) {
    const { tree } = this.panel;
    const choices = this.about.choices[this.#largest(group)];
    const values = tree.start();
    choices.forEach((k, i) => {
      values[tree.categoricals[i]] = k ?? 0;
    });
    return values;
  }

  #largest({ paths }) {
    const { tree } = this.panel;
    const rows = (path) => tree.rowsOf.get(this.about.choices[path].map((k) => k ?? "-").join()) ?? 0;
    return paths.reduce((best, path) => (rows(path) > rows(best) ? path : best));
  }

  // Which group of the level a leaf is in, given by the options that lead to it.
  groupOf(choices) {
    const key = choices.join();
    const path = this.about.choices.findIndex((own) => own.join() === key);
    return this.groups.findIndex(({ paths }) => paths.includes(path));
  }

  show(level) {
    this.level = level;
    this.panel.scatter?.showLevel();
    this.draw();
  }

  // The list, with the group of the leaf that is shown marked.
  draw() {
    const { tree, values } = this.panel;
    const code = tree.code(values);
    const now = this.groupOf(tree.categoricals.map((i) => code[i]));
    const isFinest = this.level === this.finest;
    this.count.textContent = `${this.groups.length} of ${this.about.levels[this.finest].length}`;
    this.slider.setAttribute("aria-valuetext", `${this.groups.length} groups`);
    this.boxes = [];
    const items = this.groups.slice(0, MOST).map((group, g) => {
      const chip = element("i", { class: "chip" });
      chip.style.background = this.color(group);
      const name = element(
        "button",
        { class: "name", onclick: () => this.panel.chooseLeaf(this.about.choices[this.#largest(group)]) },
        group.name,
      );
      const parts = [chip, name, ...(group.name.endsWith(" %)") ? [] : [element("small", {}, percent(group.share))])];
      if (this.isServed && isFinest) {
        const box = element("input", { type: "checkbox", "aria-label": group.name, onchange: () => this.#able() });
        this.boxes.push([box, group.paths[0]]);
        parts.unshift(box);
      }
      return element("li", { class: g === now ? "lit" : "" }, ...parts);
    });
    const left = this.groups.length - items.length;
    this.list.replaceChildren(...items, ...(left > 0 ? [element("li", {}, `and ${left} more`)] : []));
    if (this.isServed) this.#able();
  }

  showPath() {
    this.draw();
  }

  // ---------------------------------------------------------------- steering

  #buttons() {
    this.isServed = true;
    const { steps, names } = this.about;
    const button = (text, title, onclick) => element("button", { type: "button", title, onclick }, text);
    const checked = () => this.boxes.filter(([box]) => box.checked).map(([, path]) => path);
    this.checked = checked;
    this.keep = button("", "Make this the tree of the run", () => this.#steer({ cut: this.groups.length }));
    this.merge = button("Merge", "Make one group of those that are checked", () =>
      this.#steer({ merge: checked() }),
    );
    this.split = button("Split", "Undo what was merged into the checked group, or look inside it", () =>
      this.#steer({ split: checked()[0] }),
    );
    this.undo = button("Undo", steps.length ? `Undo: ${steps.at(-1)}` : "Nothing to undo", () => this.#steer(null));
    const old = element(
      "select",
      { "aria-label": "what to rename" },
      ...names.map(([key, shown]) => element("option", { value: key }, shown)),
    );
    const fresh = element("input", { type: "text", maxLength: 200, "aria-label": "new name", placeholder: "new name" });
    const rename = element(
      "form",
      {
        class: "rename",
        onsubmit: (event) => {
          event.preventDefault();
          if (fresh.value.trim()) this.#steer({ rename: { [old.value]: fresh.value.trim() } });
        },
      },
      old,
      fresh,
      element("button", {}, "Rename"),
    );
    return element("div", { class: "steer" }, this.keep, this.merge, this.split, this.undo, rename);
  }

  #able() {
    const n = this.checked().length;
    this.keep.hidden = this.level === this.finest;
    this.keep.textContent = `Keep these ${this.groups.length}`;
    this.merge.disabled = this.isBusy || n < 2;
    this.split.disabled = this.isBusy || n !== 1;
    this.undo.disabled = this.isBusy || !this.about.steps.length;
    for (const one of [this.keep, ...this.buttons.querySelectorAll(".rename > *")]) one.disabled = this.isBusy;
  }

  // Ask the server, wait until the run has its new tree and codes for it, and load the page again.
  async #steer(step) {
    const began = performance.now();
    const busy = (is) => {
      this.isBusy = is;
      this.#able();
    };
    busy(true);
    try {
      await post("api/steer", { after: this.about.steps.length, step });
      for (;;) {
        const { busy: isBusy, problem } = await (await post("api/steered", {})).json();
        if (problem) throw new Error(problem);
        if (!isBusy) break;
        const seconds = Math.round((performance.now() - began) / 1000);
        this.told.textContent = `The tree is changed, and codes for it are learned: ${seconds} s`;
        await new Promise((go) => setTimeout(go, 400));
      }
      history.replaceState(null, "", location.pathname); // a link to a code of the tree before
      location.reload();
    } catch (error) {
      this.told.textContent = "";
      this.panel.page.tell(error.message);
      busy(false);
    }
  }
}

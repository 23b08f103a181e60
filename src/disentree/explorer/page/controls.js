// The nested groups of sliders and radio buttons, which mirror the hierarchy.

import { breakable, element, number, svg } from "./draw.js";
import { short } from "./state.js";

const STILL = "On this branch it moves no column by more than 5 % of its standard deviation";
const MANY = 30; // variables, from which on there is a box to find one
const STEPS = 200;

export class Controls {
  constructor(panel) {
    this.panel = panel;
    this.tree = panel.tree;
    this.inputs = [];
    this.element = element("form", {
      class: "controls",
      "aria-label": "Variables",
      onsubmit: (e) => e.preventDefault(),
    });
    if (this.tree.variables.length > MANY) this.element.append(this.#finder());
    this.element.append(this.#group(null, null, "variables that every row has"));
    this.showAll();
  }

  #group(parent, option, label) {
    const columns = this.tree.group(parent, option);
    const isChoice = (i) => this.tree.variables[i].kind === "categorical";
    const sliders = columns.filter((i) => !isChoice(i)).map((i) => this.#slider(i));
    const choices = columns.filter(isChoice).map((i) => this.#radios(i));
    // Choices that are independent of each other stand side by side.
    const beside = choices.length > 1 ? [element("div", { class: "beside" }, ...choices)] : choices;
    return element("div", { class: "group", role: "group", "aria-label": label }, ...sliders, ...beside);
  }

  #slider(i) {
    const { name, text } = this.tree.variables[i];
    const [low, high] = this.tree.range(i);
    const id = `${this.panel.id}-v${i}`;
    const histogram = svg("svg", {
      class: "histogram",
      viewBox: "0 0 100 20",
      preserveAspectRatio: "none",
      "aria-hidden": "true",
    });
    const range = element("input", {
      type: "range",
      id,
      min: String(low),
      max: String(high),
      step: String((high - low) / STEPS),
      oninput: () => this.panel.set(i, short(Number(range.value))),
      ondblclick: () =>
        this.panel.set(i, this.tree.about(this.panel.values, i)?.percentiles[1] ?? (low + high) / 2),
    });
    const value = element("input", {
      type: "text",
      class: "value",
      inputmode: "decimal",
      "aria-label": `value of ${name}`,
      tabindex: "-1",
      spellcheck: false,
      onchange: () => {
        const typed = Number(value.value.replace("−", "-").replace(",", "."));
        if (value.value.trim() !== "" && Number.isFinite(typed)) this.panel.set(i, typed);
        else this.show(i);
      },
    });
    this.inputs[i] = { range, value, histogram };
    const track = element("div", { class: "track" }, histogram, range);
    return (this.inputs[i].slider = element(
      "div",
      { class: "slider", "data-name": name.toLowerCase() },
      element("label", { for: id, title: text ? `${name}: ${text}` : name }, ...breakable(name)),
      track,
      value,
    ));
  }

  #radios(i) {
    const { name, options, reasons, support, own_support: ownSupport } = this.tree.variables[i];
    const radios = [];
    const legend = element("legend", {}, name);
    if (ownSupport != null) legend.append(" ", supported(ownSupport));
    const isTold = reasons?.some(Boolean);
    const groups = options.map((option, k) => {
      const group = this.#group(i, k, `variables of ${name} = ${option}`);
      group.hidden = true;
      return group;
    });
    const labels = options.map((option, k) => {
      const radio = element("input", {
        type: "radio",
        name: `${this.panel.id}-v${i}`,
        value: String(k),
        onchange: () => this.panel.set(i, k),
      });
      radios.push(radio);
      const share = option.endsWith(" %)") ? [] : [element("small", {}, percent(this.tree.shares[i][k]))];
      const parts = [element("span", {}, option), ...share];
      if (support?.[k] != null) parts.push(supported(support[k]));
      if (isTold) parts.push(element("small", { class: "reason" }, reasons[k]));
      return element("label", { class: "option" }, radio, ...parts);
    });
    this.inputs[i] = { radios, groups };
    return element(
      "fieldset",
      { "data-name": name.toLowerCase(), class: isTold ? "long" : "brief" },
      legend,
      element("div", { class: isTold ? "options told" : "options" }, ...labels),
      ...groups,
    );
  }

  #finder() {
    const find = element("input", {
      type: "search",
      class: "find",
      placeholder: `find one of ${this.tree.variables.length} variables`,
      "aria-label": "find a variable",
      oninput: () => {
        const wanted = find.value.trim().toLowerCase();
        for (const row of this.element.querySelectorAll(".slider"))
          row.hidden = !row.dataset.name.includes(wanted);
      },
    });
    return find;
  }

  // Put a variable's value on its control.
  show(i) {
    const value = this.panel.values[i];
    const { radios, groups, range, value: text } = this.inputs[i];
    if (radios) {
      radios[value].checked = true;
      groups.forEach((group, k) => {
        group.hidden = k !== value;
      });
      return;
    }
    if (Number(range.value) !== value) range.value = value;
    text.value = number(value, 3);
    range.setAttribute("aria-valuetext", number(value, 4));
  }

  showAll() {
    this.tree.variables.forEach((_, i) => this.show(i));
  }

  // Histograms and percentiles of the current path, behind the sliders of active variables.
  showPath(color) {
    this.element.style.setProperty("--path", color);
    for (const i of this.tree.continuous) {
      if (!this.tree.isActive(this.panel.values, i)) continue;
      const { histogram, range, slider } = this.inputs[i];
      const isStill = this.tree.variables[i].still?.includes(this.tree.pathIndex(this.panel.values)) ?? false;
      slider.classList.toggle("still", isStill);
      slider.title = isStill ? STILL : "";
      const about = this.tree.about(this.panel.values, i);
      if (this.inputs[i].drawn === about) continue;
      this.inputs[i].drawn = about;
      const [low, high] = this.tree.range(i);
      const at = (v) => (100 * (v - low)) / (high - low);
      histogram.replaceChildren();
      if (!about) {
        range.title = "no row was on this path";
        continue;
      }
      const width = 100 / about.histogram.length;
      const top = about.histogram
        .map((n, b) => `L${b * width} ${20 - n / 5.6}L${(b + 1) * width} ${20 - n / 5.6}`)
        .join("");
      const [p1, , p99] = about.percentiles;
      histogram.append(
        svg("path", { class: "area", d: `M0 20${top}L100 20Z` }),
        ...[p1, p99].map((p) =>
          svg("path", { class: "percentile", d: `M${at(p)} 1V20`, "vector-effect": "non-scaling-stroke" }),
        ),
      );
      range.title = `1st to 99th percentile on this path: ${number(p1, 3)} to ${number(p99, 3)}; double-click for the median`;
    }
  }
}

const WEAK = 0.5; // a leaf that came back in fewer resamples is flagged

function supported(support) {
  const isWeak = support < WEAK;
  const title = "How often this group was found again when only a random part of the rows was looked at";
  const text = `${isWeak ? "weak support" : "support"} ${Math.round(100 * support)}%`;
  return element("small", { class: isWeak ? "support weak" : "support", title }, text);
}

export function percent(share) {
  if (share > 0 && share < 0.001) return "<0.1%";
  return `${(100 * share).toFixed(share === 1 ? 0 : 1)}%`;
}

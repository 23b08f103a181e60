// Drawings of an observation: a picture, a line, or bars for a table's columns.

export const DEVIATIONS = 3; // what the bars of a table reach to

const PALETTES = {
  light: ["#1b6ca8", "#c0562f", "#2e8b57", "#8e5ea2", "#b58900", "#b3446c", "#5f7f8c", "#6b7f1e"],
  dark: ["#6db3e8", "#f09468", "#66c992", "#c39bd6", "#e3bb4d", "#ea86ab", "#9dbccb", "#b3c75e"],
};
export function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function colorOf(path) {
  const palette = PALETTES[isDark() ? "dark" : "light"];
  return palette[path % palette.length];
}

export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (key in made && typeof value !== "string") made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// A name whose parts may stand on two lines: bill_length_mm.
export function breakable(text) {
  return text.split(/(?<=[_/.=:])(?=\w)/).flatMap((part, i) => (i ? [element("wbr"), part] : [part]));
}

export function svg(name, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function number(value, digits = 4) {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return value.toExponential(2).replace("-", "−");
  return String(Number(value.toPrecision(digits))).replace("-", "−");
}

export class Painter {
  constructor(data, table = null) {
    this.data = data;
    this.table = table;
    this.kind = { images: "image", series: "line", table: "bars" }[data.kind];
    const size = data.shape.reduce((a, b) => a * b, 1);
    this.center = data.center ?? new Array(size).fill(0);
    this.scale = data.scale ?? new Array(size).fill(1);
    this.middle = data.middle ?? this.center;
    this.spread = data.spread ?? this.scale;
  }

  // In the units that people know: a table's own, not those of the model.
  units(x) {
    return Array.from(x, (v, j) => v * this.scale[j] + this.center[j]);
  }

  fromUnits(x) {
    return Array.from(x, (v, j) => (v - this.center[j]) / this.scale[j]);
  }

  describe(x) {
    const values = this.units(x);
    let low = Infinity;
    let high = -Infinity;
    for (const v of values) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
    const what = {
      image: `image of ${this.data.shape.slice(0, 2).join(" by ")} pixels`,
      line: `line of ${x.length} values`,
      bars: `${x.length} columns`,
    };
    return `${what[this.kind]} from ${number(low, 3)} to ${number(high, 3)}`;
  }

  // One observation, large: with axes, and the original behind it if there is one.
  paint(canvas, x, { color, behind = null }) {
    if (this.kind === "image") this.#image(canvas, x);
    else this.#line(canvas, x, color, behind, true);
  }

  cell(canvas, x, color) {
    if (this.kind === "image") this.#image(canvas, x);
    else if (this.kind === "line") this.#line(canvas, x, color, null, false);
    else this.#smallBars(canvas, x, color);
  }

  #image(canvas, x) {
    const [h, w, c = 1] = this.data.shape;
    if (canvas.width !== w || canvas.height !== h) Object.assign(canvas, { width: w, height: h });
    const picture = new ImageData(w, h);
    const { low, high } = this.data;
    for (let i = 0; i < h * w; i++) {
      for (let k = 0; k < 3; k++) {
        const v = x[i * c + (c >= 3 ? k : 0)];
        picture.data[4 * i + k] = (255 * (v - low)) / (high - low || 1);
      }
      picture.data[4 * i + 3] = 255;
    }
    canvas.getContext("2d").putImageData(picture, 0, 0);
  }

  #line(canvas, x, color, behind, axes) {
    const { context, w, h } = fitted(canvas);
    const values = this.units(x);
    const others = behind ? this.units(behind) : [];
    let { low, high } = this.data;
    for (const v of [...values, ...others]) {
      low = Math.min(low, v);
      high = Math.max(high, v);
    }
    const pad = 0.06 * (high - low);
    [low, high] = [low - pad, high + pad];
    const left = axes ? 44 : 3;
    const bottom = axes ? 22 : 3;
    const right = axes ? 10 : 3;
    const px = (i) => left + (values.length > 1 ? i / (values.length - 1) : 0.5) * (w - left - right);
    const py = (v) => h - bottom - ((v - low) / (high - low)) * (h - bottom - 3);
    const style = getComputedStyle(canvas);
    const dim = style.getPropertyValue("--dim");
    context.lineWidth = 1;
    context.strokeStyle = style.getPropertyValue("--line");
    context.fillStyle = dim;
    context.font = "11px system-ui, sans-serif";
    if (axes) {
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (const tick of ticks(low, high, 5)) {
        stroke(context, [
          [left, py(tick)],
          [w - right, py(tick)],
        ]);
        context.fillText(number(tick, 3), left - 6, py(tick));
      }
      context.textAlign = "center";
      context.textBaseline = "top";
      for (const tick of ticks(1, values.length, 6)) {
        if (Number.isInteger(tick)) context.fillText(tick, px(tick - 1), h - bottom + 6);
      }
    } else if (low < 0 && high > 0)
      stroke(context, [
        [0, py(0)],
        [w, py(0)],
      ]);
    if (behind) {
      context.strokeStyle = dim;
      context.globalAlpha = 0.55;
      context.lineWidth = 5;
      stroke(
        context,
        others.map((v, i) => [px(i), py(v)]),
      );
      context.globalAlpha = 1;
    }
    context.strokeStyle = color;
    context.lineWidth = axes ? 2.5 : 1.6;
    stroke(
      context,
      values.map((v, i) => [px(i), py(v)]),
    );
  }

  #smallBars(canvas, x, color) {
    const { context, w, h } = fitted(canvas);
    context.fillStyle = getComputedStyle(canvas).getPropertyValue("--line");
    context.fillRect(w / 2 - 0.5, 0, 1, h);
    context.fillStyle = color;
    const numbers = this.table.columns.flatMap(({ levels }, j) => (levels ? [] : [j]));
    const step = h / numbers.length;
    numbers.forEach((column, j) => {
      const d = this.deviation(x, column);
      const length = (d / DEVIATIONS) * (w / 2 - 2);
      context.fillRect(
        w / 2 + Math.min(0, length),
        j * step + 0.1 * step,
        Math.abs(length),
        Math.max(0.5, 0.8 * step),
      );
    });
  }

  // How far a column is from its mean, in standard deviations, as far as bars reach.
  deviation(x, j) {
    const { at, levels } = this.table.columns[j];
    if (levels) return 0;
    const value = this.data.scale ? x[at] : (x[at] - this.middle[at]) / this.spread[at];
    return Math.max(-DEVIATIONS, Math.min(DEVIATIONS, value));
  }
}

export function fitted(canvas) {
  const ratio = Math.min(3, devicePixelRatio || 1);
  const [w, h] = [canvas.clientWidth || 120, canvas.clientHeight || 60];
  if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) {
    Object.assign(canvas, { width: Math.round(w * ratio), height: Math.round(h * ratio) });
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, w, h);
  context.lineJoin = "round";
  return { context, w, h };
}

function stroke(context, points) {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
  context.stroke();
}

function ticks(low, high, about) {
  const rough = (high - low) / about || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].find((s) => s * power >= rough) * power;
  const out = [];
  for (let k = Math.ceil(low / step); k * step <= high; k++) out.push(k * step);
  return out;
}

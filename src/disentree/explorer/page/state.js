// The present state as the part of the address after #, so that a link carries it.
// A variable is its id and its value; second models and pins have a prefix, other things begin with _.

export function writeState(panels) {
  const words = new URLSearchParams();
  panels.forEach((panel, p) => {
    const prefix = p ? `_${p + 1}.` : "";
    writeCode(words, prefix, panel.tree, panel.values);
    panel.pins.forEach((pin, i) => {
      if (pin) writeCode(words, `_${p + 1}${"ab"[i]}.`, panel.tree, pin.code);
    });
  });
  if (panels[0].row !== null) words.set("_row", panels[0].row);
  return words.toString();
}

function writeCode(words, prefix, tree, values) {
  tree.code(values).forEach((v, i) => {
    if (v !== null) words.set(prefix + tree.variables[i].id, short(v));
  });
}

// Codes, pins and the row of a link; null where it says nothing. What it says wrongly is left out.
export function readState(text, panels) {
  const words = new URLSearchParams(text);
  const row = words.has("_row") ? Number(words.get("_row")) : null;
  return {
    row: Number.isInteger(row) && row >= 0 ? row : null,
    panels: panels.map(({ tree }, p) => ({
      values: readCode(words, p ? `_${p + 1}.` : "", tree),
      pins: ["a", "b"].map((name) => {
        const values = readCode(words, `_${p + 1}${name}.`, tree);
        return values && tree.code(values);
      }),
    })),
  };
}

function readCode(words, prefix, tree) {
  let found = false;
  const values = tree.start();
  tree.variables.forEach((v, i) => {
    const text = words.get(prefix + v.id);
    if (text === null || text.trim() === "") return;
    const value = Number(text);
    const fits =
      v.kind === "categorical"
        ? Number.isInteger(value) && value >= 0 && value < v.options.length
        : Number.isFinite(value);
    if (!fits) return;
    values[i] = value;
    found = true;
  });
  return found ? values : null;
}

export function short(value) {
  return Number(value.toPrecision(8));
}

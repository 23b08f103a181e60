// The hierarchy as the page uses it: which variables are active for the options chosen, and what is known of them.
// A code is an array with a place for every variable: numbers, option indices, null where a variable is not active.

export class Tree {
  constructor({ variables, statistics, shares = null, presence = null, divisions = [] }) {
    this.variables = variables;
    this.statistics = statistics;
    this.presence = presence;
    const { n_rows, paths } = shares ?? statistics;
    this.nRows = n_rows;
    this.continuous = indices(variables, "continuous");
    this.categoricals = indices(variables, "categorical");
    this.byId = new Map(variables.map((v, i) => [v.id, i]));
    this.groups = new Map();
    variables.forEach((v, i) => {
      const key = `${v.parent}:${v.option}`;
      this.groups.set(key, [...(this.groups.get(key) ?? []), i]);
    });
    this.counts = new Map();
    this.paths = new Map(statistics.paths.map((p) => [p.choices.map((k) => k ?? "-").join(), p]));
    const most = this.categoricals.indexOf(divisions[0] ?? -1); // the division that matters most is open at first
    const open = most < 0 ? paths : paths.filter((p) => p.choices[most] !== null);
    this.common = open.reduce((best, p) => (p.n_rows > (best?.n_rows ?? -1) ? p : best), null);
    this.rowsOf = new Map(paths.map((p) => [p.choices.map((k) => k ?? "-").join(), p.n_rows]));
    this.shares = variables.map((v) => v.options.map(() => 0));
    for (const path of paths) {
      path.choices.forEach((k, i) => {
        if (k !== null) this.shares[this.categoricals[i]][k] += path.n_rows / Math.max(1, n_rows);
      });
    }
  }

  // The variables of a group: the root's, or those that an option opens.
  group(parent = null, option = null) {
    return this.groups.get(`${parent}:${option}`) ?? [];
  }

  isActive(values, i) {
    const { parent, option } = this.variables[i];
    return parent === null || (values[parent] === option && this.isActive(values, parent));
  }

  // What is sent to a decoder: values of active variables, null for all others.
  code(values) {
    return values.map((v, i) => (this.isActive(values, i) ? v : null));
  }

  path(values) {
    const code = this.code(values);
    return this.paths.get(this.categoricals.map((i) => code[i] ?? "-").join()) ?? null;
  }

  // The share of rows on a path; 0 where there were none.
  share(values) {
    const code = this.code(values);
    return (this.rowsOf.get(this.categoricals.map((i) => code[i] ?? "-").join()) ?? 0) / Math.max(1, this.nRows);
  }

  // The options that lead to a path, with the names of their categoricals where these say more.
  pathName(values, isShort = false) {
    const chosen = this.categoricals.filter((i) => this.isActive(values, i));
    const beside = (i) => this.group(this.variables[i].parent, this.variables[i].option);
    const shared = (i, option) => beside(i).some((j) => j !== i && this.variables[j].options.includes(option));
    const name = (i) => {
      const { name: categorical, options, reasons } = this.variables[i];
      const option = options[values[i]];
      return (isShort || reasons) && !shared(i, option) ? option : `${categorical} = ${option}`;
    };
    return chosen.map(name).join(", ") || "all";
  }

  // Columns of a table that do not exist on a path, with the value that stands for that (null: an empty cell), and
  // those of which a feature says whether they exist; null if nothing is known.
  absent(values) {
    if (!this.presence) return null;
    const { things, options, flagged } = this.presence;
    const there = new Set();
    for (const { variable, option, things: open } of options)
      if (values[variable] === option && this.isActive(values, variable)) for (const t of open) there.add(t);
    const signs = new Map();
    things.forEach(({ columns, signs: own }, t) => {
      if (!there.has(t)) columns.forEach((column, i) => signs.set(column, own[i]));
    });
    return { signs, flagged: new Set(flagged) };
  }

  // The place of a path among all leaves, the first categorical of a group varying slowest: it picks the color.
  pathIndex(values, parent = null, option = null) {
    let index = 0;
    for (const c of this.group(parent, option).filter((i) => this.variables[i].kind === "categorical")) {
      let chosen = 0;
      for (let k = 0; k < values[c]; k++) chosen += this.nPaths(c, k);
      index = index * this.nPathsOf(c) + chosen + this.pathIndex(values, c, values[c]);
    }
    return index;
  }

  nPathsOf(c) {
    return this.variables[c].options.reduce((sum, _, k) => sum + this.nPaths(c, k), 0);
  }

  nPaths(parent = null, option = null) {
    const key = `${parent}:${option}`;
    if (!this.counts.has(key)) {
      const inside = this.group(parent, option).filter((i) => this.variables[i].kind === "categorical");
      this.counts.set(
        key,
        inside.reduce((product, c) => product * this.nPathsOf(c), 1),
      );
    }
    return this.counts.get(key);
  }

  range(i) {
    return this.statistics.ranges[i];
  }

  // Percentiles and histogram of a variable on the current path; null where no row was on it.
  about(values, i) {
    return this.path(values)?.variables[i] ?? null;
  }

  // The 1st and the 99th percentile on the path, or the whole range.
  sweep(values, i) {
    const known = this.about(values, i);
    const [low, high] = known ? [known.percentiles[0], known.percentiles[2]] : this.range(i);
    return high > low ? [low, high] : this.range(i);
  }

  // A value for every variable: medians of the most common path that has it.
  start() {
    const values = this.variables.map((v, i) => {
      if (v.kind === "categorical") return 0;
      const seen = this.statistics.paths.find((p) => p.variables[i]);
      return seen ? seen.variables[i].percentiles[1] : (this.range(i)[0] + this.range(i)[1]) / 2;
    });
    this.common?.choices.forEach((k, i) => {
      if (k !== null) values[this.categoricals[i]] = k;
    });
    return values;
  }

  // A code drawn from the histograms, for models that came without rows.
  random() {
    const values = this.start();
    const { paths } = this.statistics;
    const path = pick(
      paths,
      paths.map((p) => p.n_rows),
    );
    path?.choices.forEach((k, i) => {
      if (k !== null) values[this.categoricals[i]] = k;
    });
    for (const i of this.continuous) {
      const histogram = path?.variables[i]?.histogram;
      if (!histogram) continue;
      const [low, high] = this.range(i);
      const bin = pick(
        histogram.map((_, b) => b),
        histogram,
      );
      values[i] = low + ((bin + Math.random()) / histogram.length) * (high - low);
    }
    return values;
  }

  // Options first, then continuous variables, 0 where inactive: what a decoder takes.
  toItems(code) {
    const options = this.categoricals.flatMap((i) =>
      this.variables[i].options.map((_, k) => (code[i] === k ? 1 : 0)),
    );
    return [...options, ...this.continuous.map((i) => code[i] ?? 0)];
  }

  // From what an encoder gives: continuous variables, then a logit for every option.
  fromItems(items) {
    const values = this.variables.map(() => null);
    let at = 0;
    for (const i of this.continuous) values[i] = items[at++];
    for (const i of this.categoricals) {
      const logits = items.slice(at, (at += this.variables[i].options.length));
      values[i] = logits.indexOf(Math.max(...logits));
    }
    return this.code(values);
  }
}

export function pick(things, weights) {
  let left = Math.random() * weights.reduce((a, b) => a + b, 0);
  return things.find((_, i) => (left -= weights[i]) < 0) ?? things[things.length - 1];
}

function indices(variables, kind) {
  return variables.flatMap((v, i) => (v.kind === kind ? [i] : []));
}

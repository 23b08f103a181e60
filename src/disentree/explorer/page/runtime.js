// Runs the networks of a model: a list of operations on one row of numbers, in double precision.
// The operations are those of explorer/program.py; weights are one buffer.

export class Runtime {
  constructor(program, buffer) {
    this.program = program;
    this.tensors = [];
    for (const { offset, shape, type, scales } of program.tensors) {
      const size = shape.reduce((a, b) => a * b, 1);
      this.tensors.push({ data: READ[type](buffer, offset, size, this.tensors[scales]?.data), shape });
    }
  }

  decode(items) {
    const out = this.run(this.program.decode, { data: Float64Array.from(items), shape: [items.length] }).data;
    return this.program.float64 ? out : Float32Array.from(out);
  }

  encode(row) {
    return this.run(this.program.encode, { data: Float64Array.from(row), shape: [row.length] }).data;
  }

  run(ops, x) {
    for (const op of ops) x = OPS[op.op](x, op, this);
    return x;
  }

  tensor(number) {
    return number === null || number === undefined ? null : this.tensors[number];
  }
}

// Numbers of 32 bits, of 16, and of 8 with a scale for each row.
const READ = {
  f4: (buffer, offset, size) => new Float32Array(buffer, offset, size),
  f2: (buffer, offset, size) => {
    const from = new Uint16Array(buffer, offset, size);
    const out = new Float32Array(size);
    for (let i = 0; i < size; i++) out[i] = half(from[i]);
    return out;
  },
  i1: (buffer, offset, size, scales) => {
    const from = new Int8Array(buffer, offset, size);
    const out = new Float32Array(size);
    const columns = size / scales.length;
    for (let row = 0, i = 0; row < scales.length; row++) {
      for (const end = i + columns; i < end; i++) out[i] = from[i] * scales[row];
    }
    return out;
  },
};

function half(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 31;
  const fraction = (bits & 1023) / 1024;
  return sign * (exponent ? (1 + fraction) * 2 ** (exponent - 15) : fraction * 2 ** -14);
}

const each = (f) => (x, op) => ({ data: x.data.map((v) => f(v, op)), shape: x.shape });
const sigmoid = (v) => (v >= 0 ? 1 / (1 + Math.exp(-v)) : Math.exp(v) / (1 + Math.exp(v)));

const OPS = {
  relu: each((v) => (v > 0 ? v : 0)),
  leaky: each((v, op) => (v > 0 ? v : op.slope * v)),
  silu: each((v) => v * sigmoid(v)),
  sigmoid: each(sigmoid),
  tanh: each(Math.tanh),
  gelu: each((v, op) =>
    op.tanh
      ? 0.5 * v * (1 + Math.tanh(0.7978845608028654 * (v + 0.044715 * v ** 3)))
      : 0.5 * v * (1 + erf(v / Math.SQRT2)),
  ),
  softplus: each((v, op) => (v * op.beta > op.threshold ? v : Math.log1p(Math.exp(v * op.beta)) / op.beta)),
  times: each((v, op) => v * op.by),
  clip: each((v, op) => Math.min(op.high, Math.max(op.low, v))),
  linear,
  conv,
  convt: convTransposed,
  nearness,
  path,
  leaf,
  up,
  down,
  sum(x, op, runtime) {
    const parts = op.parts.map((part) => runtime.run(part, x));
    return {
      data: parts[0].data.map((_, i) => parts.reduce((sum, p) => sum + p.data[i], 0)),
      shape: parts[0].shape,
    };
  },
  plus: (x, op, runtime) => shift(x, op, runtime, 1),
  minus: (x, op, runtime) => shift(x, op, runtime, -1),
  scale(x, op, runtime) {
    const by = runtime.tensor(op.t).data;
    return { data: x.data.map((v, i) => v * by[i]), shape: x.shape };
  },
  reshape: (x, op) => ({ data: x.data, shape: op.shape ?? [x.data.length] }),
  shuffle(x, { r }) {
    const [c, h, w] = x.shape;
    const out = image([c / (r * r), h * r, w * r]);
    moveBlocks(r, out.shape, (from, to) => {
      out.data[to] = x.data[from];
    });
    return out;
  },
  unshuffle(x, { r }) {
    const [c, h, w] = x.shape;
    const out = image([c * r * r, h / r, w / r]);
    moveBlocks(r, x.shape, (from, to) => {
      out.data[from] = x.data[to];
    });
    return out;
  },
  ends(x, { first, last }) {
    const data = Float64Array.of(...x.data.subarray(0, first), ...x.data.subarray(x.data.length - last));
    return { data, shape: [data.length] };
  },
  pad: (x, op) => copyInto(x, image([x.shape[0], x.shape[1] + op.bottom, x.shape[2] + op.right])),
  crop: (x, op) => copyInto(x, image([x.shape[0], op.height, op.width])),
  channels_first(x, op) {
    if (op.shape.length === 2) return { data: x.data, shape: [1, ...op.shape] };
    const [h, w, c] = op.shape;
    if (![1, 3, 4].includes(c)) return { data: x.data, shape: op.shape };
    const out = image([c, h, w]);
    for (let i = 0; i < h * w; i++) for (let k = 0; k < c; k++) out.data[k * h * w + i] = x.data[i * c + k];
    return out;
  },
  channels_last(x) {
    const [c, h, w] = x.shape;
    const out = image([h, w, c]);
    for (let i = 0; i < h * w; i++) for (let k = 0; k < c; k++) out.data[i * c + k] = x.data[k * h * w + i];
    return out;
  },
};

function image(shape) {
  return { data: new Float64Array(shape.reduce((a, b) => a * b, 1)), shape };
}

function shift(x, op, runtime, sign) {
  const by = runtime.tensor(op.t).data;
  const rest = runtime.tensor(op.rest)?.data;
  return { data: x.data.map((v, i) => v + sign * (by[i] + (rest ? rest[i] : 0))), shape: x.shape };
}

function linear(x, op, runtime) {
  const {
    data: w,
    shape: [rows, columns],
  } = runtime.tensor(op.w);
  const b = runtime.tensor(op.b)?.data;
  const v = x.data;
  const out = new Float64Array(op.transposed ? columns : rows);
  if (b) out.set(b);
  if (op.transposed) {
    for (let i = 0; i < rows; i++) {
      const s = v[i];
      if (s === 0) continue;
      for (let j = 0, at = i * columns; j < columns; j++, at++) out[j] += s * w[at];
    }
    return { data: out, shape: [columns] };
  }
  for (let i = 0; i < rows; i++) {
    let sum = 0;
    for (let j = 0, at = i * columns; j < columns; j++, at++) sum += v[j] * w[at];
    out[i] += sum;
  }
  return { data: out, shape: [rows] };
}

// Both convolutions add one weight times a shifted plane at a time: the inner loop runs along a line of pixels.
function conv(x, op, runtime) {
  const {
    data: w,
    shape: [n, c, kh, kw],
  } = runtime.tensor(op.w);
  const [, h, width] = x.shape;
  const { stride: s, padding: p } = op;
  const out = image([n, Math.floor((h + 2 * p - kh) / s) + 1, Math.floor((width + 2 * p - kw) / s) + 1]);
  const [, oh, ow] = out.shape;
  fillBias(out, runtime.tensor(op.b)?.data);
  const columns = Array.from({ length: kw }, (_, kx) => inside(kx - p, s, width, ow));
  const lines = Array.from({ length: kh }, (_, ky) => inside(ky - p, s, h, oh));
  const [given, sums] = [x.data, out.data];
  for (let o = 0, at = 0; o < n; o++) {
    for (let i = 0; i < c; i++) {
      for (let ky = 0; ky < kh; ky++) {
        const [y0, y1] = lines[ky];
        for (let kx = 0; kx < kw; kx++, at++) {
          const weight = w[at];
          const [x0, x1] = columns[kx];
          for (let y = y0; y < y1; y++) {
            let from = (i * h + y * s + ky - p) * width + x0 * s + kx - p;
            for (let to = (o * oh + y) * ow + x0, end = to + x1 - x0; to < end; to++, from += s) {
              sums[to] += weight * given[from];
            }
          }
        }
      }
    }
  }
  return out;
}

function convTransposed(x, op, runtime) {
  const {
    data: w,
    shape: [c, n, kh, kw],
  } = runtime.tensor(op.w);
  const [, h, width] = x.shape;
  const { stride: s, padding: p } = op;
  const out = image([n, (h - 1) * s - 2 * p + kh, (width - 1) * s - 2 * p + kw]);
  const [, oh, ow] = out.shape;
  fillBias(out, runtime.tensor(op.b)?.data);
  for (let i = 0, at = 0; i < c; i++) {
    for (let o = 0; o < n; o++) {
      for (let ky = 0; ky < kh; ky++) {
        for (let kx = 0; kx < kw; kx++, at++) {
          const weight = w[at];
          const [x0, x1] = inside(kx - p, s, ow, width);
          const [y0, y1] = inside(ky - p, s, oh, h);
          for (let y = y0; y < y1; y++) {
            let to = (o * oh + y * s + ky - p) * ow + x0 * s + kx - p;
            for (let from = (i * h + y) * width + x0, end = from + x1 - x0; from < end; from++, to += s) {
              out.data[to] += weight * x.data[from];
            }
          }
        }
      }
    }
  }
  return out;
}

// The steps k for which 0 <= k * stride + offset < size.
function inside(offset, stride, size, steps) {
  return [Math.max(0, Math.ceil(-offset / stride)), Math.min(steps, Math.floor((size - 1 - offset) / stride) + 1)];
}

function fillBias(out, bias) {
  if (!bias) return;
  const plane = out.shape[1] * out.shape[2];
  bias.forEach((b, o) => out.data.fill(b, o * plane, (o + 1) * plane));
}

// Places of the same pixel in channels (c r r, h, w) and in the larger image (c, h r, w r), whose shape is given.
function moveBlocks(r, [c, H, W], move) {
  const w = W / r;
  const plane = (H / r) * w;
  for (let k = 0, to = 0; k < c; k++) {
    for (let y = 0; y < H; y++) {
      for (let x = 0; x < W; x++, to++) {
        const channel = (k * r + (y % r)) * r + (x % r);
        move(channel * plane + Math.floor(y / r) * w + Math.floor(x / r), to);
      }
    }
  }
}

function copyInto(x, out) {
  const [, h, w] = x.shape;
  const [c, H, W] = out.shape;
  for (let k = 0; k < c; k++) {
    for (let y = 0; y < Math.min(h, H); y++) {
      const from = (k * h + y) * w;
      out.data.set(x.data.subarray(from, from + Math.min(w, W)), (k * H + y) * W);
    }
  }
  return out;
}

// How near a point is to each of some flats, as the logarithm of its distance, after the features themselves.
function nearness(x, op, runtime) {
  const {
    data: centers,
    shape: [flats, n],
  } = runtime.tensor(op.centers);
  const {
    data: bases,
    shape: [, , d],
  } = runtime.tensor(op.bases);
  const out = new Float64Array(n + flats);
  out.set(x.data);
  for (let f = 0; f < flats; f++) {
    const off = Float64Array.from({ length: n }, (_, i) => x.data[i] - centers[f * n + i]);
    const along = new Float64Array(d);
    for (let i = 0; i < n; i++) for (let k = 0; k < d; k++) along[k] += off[i] * bases[(f * n + i) * d + k];
    let square = 0;
    for (let i = 0; i < n; i++) {
      let rest = off[i];
      for (let k = 0; k < d; k++) rest -= along[k] * bases[(f * n + i) * d + k];
      square += rest * rest;
    }
    out[n + f] = (4 * Math.log(square / n + op.nearest ** 2)) / Math.log(op.nearest ** 2) - 2;
  }
  return { data: out, shape: [out.length] };
}

// The variables of the likeliest path, then for every option how likely the likeliest path is that has it.
function path(x, op, runtime) {
  const [means, roots, weights, inverses, offsets, options] = [
    "means",
    "roots",
    "log_weights",
    "inverses",
    "offsets",
    "options",
  ].map((name) => runtime.tensor(op[name]));
  const [paths, n] = means.shape;
  const [, nOptions] = options.shape;
  const [, k] = offsets.shape;
  const joint = new Float64Array(paths);
  for (let p = 0; p < paths; p++) {
    const white = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const off = x.data[i] - means.data[p * n + i];
      for (let j = 0, at = (op.root_of[p] * n + i) * n; j < n; j++, at++) white[j] += off * roots.data[at];
    }
    joint[p] = weights.data[p] - 0.5 * white.reduce((sum, v) => sum + v * v, 0);
  }
  const best = joint.indexOf(Math.max(...joint));
  const out = new Float64Array(k + nOptions);
  for (let j = 0; j < k; j++) {
    out[j] = offsets.data[best * k + j];
    for (let i = 0; i < n; i++) out[j] += x.data[i] * inverses.data[(best * n + i) * k + j];
  }
  out.fill(-Infinity, k);
  for (let p = 0; p < paths; p++) {
    for (let o = 0; o < nOptions; o++) {
      if (options.data[p * nOptions + o]) out[k + o] = Math.max(out[k + o], joint[p] - joint[best]);
    }
  }
  return { data: out, shape: [out.length] };
}

// The affine map of the path whose options are chosen.
function leaf(x, op, runtime) {
  const [options, means, directions] = ["options", "means", "directions"].map((name) => runtime.tensor(op[name]));
  const [paths, nOptions] = options.shape;
  const [, k, n] = directions.shape;
  let best = 0;
  let fewest = Infinity;
  for (let p = 0; p < paths; p++) {
    let missing = 0;
    for (let o = 0; o < nOptions; o++) missing += options.data[p * nOptions + o] * (1 - x.data[o]);
    if (missing < fewest) [best, fewest] = [p, missing];
  }
  const out = Float64Array.from(means.data.subarray(best * n, (best + 1) * n));
  for (let j = 0; j < k; j++) {
    const z = x.data[nOptions + j];
    if (z === 0) continue;
    for (let i = 0, at = (best * k + j) * n; i < n; i++, at++) out[i] += z * directions.data[at];
  }
  return { data: out, shape: [n] };
}

// Which variables of the networks are active: those of which all options above are chosen.
function active(chosen, op, runtime) {
  const {
    data: above,
    shape: [nOptions, own],
  } = runtime.tensor(op.above);
  return Array.from({ length: own }, (_, i) => {
    for (let o = 0; o < nOptions; o++) if (above[o * own + i] && chosen[o] !== 1) return false;
    return true;
  });
}

// A value along the straight lines between knots, of which the first and the last go on.
function along(v, from, to, i, n) {
  const start = i * n;
  const way = from[start] < from[start + n - 1] ? 1 : -1;
  let at = start;
  while (at < start + n - 2 && way * (v - from[at + 1]) >= 0) at++;
  return to[at] + ((to[at + 1] - to[at]) / (from[at + 1] - from[at])) * (v - from[at]);
}

// Variables of the networks as the tree has them: shared ones have the value of the branch that is chosen.
function up(x, op, runtime) {
  const [own, shared] = [runtime.tensor(op.own), runtime.tensor(op.shared)];
  const [nOwn, n] = own.shape;
  const logits = x.data.subarray(nOwn);
  const chosen = new Float64Array(logits.length);
  let first = 0;
  for (const count of op.counts) {
    let best = first;
    for (let o = first; o < first + count; o++) if (logits[o] > logits[best]) best = o;
    chosen[best] = 1;
    first += count;
  }
  const on = active(chosen, op, runtime);
  const placed = new Float64Array(Math.max(-1, ...op.target) + 1);
  for (let i = 0; i < nOwn; i++) {
    if (on[i]) placed[op.target[i]] += along(x.data[i], own.data, shared.data, i, n);
  }
  const data = Float64Array.of(...placed, ...logits);
  return { data, shape: [data.length] };
}

// And back: the variables that the networks have on the branch that is chosen.
function down(x, op, runtime) {
  const [own, shared] = [runtime.tensor(op.own), runtime.tensor(op.shared)];
  const [nOwn, n] = own.shape;
  const chosen = x.data.subarray(0, runtime.tensor(op.above).shape[0]);
  const on = active(chosen, op, runtime);
  const values = on.map((is, i) =>
    is ? along(x.data[chosen.length + op.target[i]], shared.data, own.data, i, n) : 0,
  );
  const data = Float64Array.of(...chosen, ...values);
  return { data, shape: [data.length] };
}

// The error function: its series near 0, a continued fraction beyond, to about 1e-14.
function erf(v) {
  const a = Math.abs(v);
  if (a > 6) return Math.sign(v);
  if (a < 2.5) {
    let term = a;
    let sum = a;
    for (let k = 1; k < 80 && Math.abs(term) > 1e-17 * Math.abs(sum); k++) {
      term *= (-a * a) / k;
      sum += term / (2 * k + 1);
    }
    return Math.sign(v) * 1.1283791670955126 * sum;
  }
  let fraction = 0;
  for (let k = 60; k > 0; k--) fraction = k / 2 / (a + fraction);
  return Math.sign(v) * (1 - Math.exp(-a * a) / ((a + fraction) * 1.772453850905516));
}

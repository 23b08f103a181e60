// The two ways to a model: over HTTP to the server that the page came from, or in the page itself.

import { Runtime } from "./runtime.js";

class RemoteModel {
  constructor(number, tree) {
    this.number = number;
    this.tree = tree;
    this.canEncode = true;
  }

  // Observations for codes; only active variables are sent.
  async decode(codes) {
    const { variables } = this.tree;
    const named = codes.map((code) =>
      Object.fromEntries(code.flatMap((v, i) => (v === null ? [] : [[variables[i].id, v]]))),
    );
    const answer = await post("api/decode", { model: this.number, codes: named });
    const buffer = await answer.arrayBuffer();
    const all = answer.headers.get("x-dtype") === "float64" ? new Float64Array(buffer) : new Float32Array(buffer);
    const size = all.length / codes.length;
    return codes.map((_, i) => all.subarray(i * size, (i + 1) * size));
  }

  async encode(row) {
    const { code } = await (await post("api/encode", { model: this.number, row: Array.from(row) })).json();
    return this.tree.variables.map((v) => code[v.id] ?? null);
  }
}

export async function post(url, value) {
  const headers = { "content-type": "application/json" };
  let answer;
  try {
    answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(value) });
  } catch {
    throw new Error("the server does not answer: is `disentree explore` still running?");
  }
  if (answer.ok) return answer;
  const problem = await answer.json().catch(() => ({}));
  throw new Error(problem.error ?? `the server answered ${answer.status}`);
}

class LocalModel {
  constructor(number, tree, program) {
    this.tree = tree;
    const text = document.getElementById(`weights-${number}`).textContent;
    this.runtime = new Runtime(program, bytes(text).buffer);
    this.canEncode = program.encode !== null;
  }

  async decode(codes) {
    const out = [];
    let began = performance.now();
    for (const code of codes) {
      out.push(this.runtime.decode(this.tree.toItems(code)));
      if (performance.now() - began > 12) {
        // let the page breathe
        await new Promise((go) => setTimeout(go));
        began = performance.now();
      }
    }
    return out;
  }

  async encode(row) {
    return this.tree.fromItems(Array.from(this.runtime.encode(row)));
  }
}

export function makeModel(number, tree, { program }) {
  return program ? new LocalModel(number, tree, program) : new RemoteModel(number, tree);
}

export function bytes(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  const text = atob(base64);
  const out = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) out[i] = text.charCodeAt(i);
  return out;
}

// The rows that come with the page, each a typed array.
export function unpackRows(X, count) {
  if (!X) return [];
  const kind = { uint8: Uint8Array, float32: Float32Array, float64: Float64Array }[X.dtype];
  const all = new kind(bytes(X.base64).buffer);
  const size = all.length / count;
  return Array.from({ length: count }, (_, i) => all.subarray(i * size, (i + 1) * size));
}

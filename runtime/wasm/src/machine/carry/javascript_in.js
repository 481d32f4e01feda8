((path) => {
  const { nodes, names } = JSON.parse(require("fs").readFileSync(path, "utf8"));
  const made = [];
  const bytes = text => Uint8Array.from({ length: text.length / 2 }, (_, at) => parseInt(text.slice(2 * at, 2 * at + 2), 16));
  const types = { Uint8Array, Int8Array, Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array, Int32Array, BigInt64Array, BigUint64Array,
    Float32Array, Float64Array, DataView, Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError };
  function get(value) {
    if (value === null || typeof value !== "object") return value;
    if ("u" in value) return undefined;
    if ("n" in value) return Number(value.n);
    if ("b" in value) return BigInt(value.b);
    return node(value.r);
  }
  function node(id) {
    if (id in made) return made[id];
    const [kind, ...rest] = nodes[id];
    if (kind === "a") made[id] = fill(new Array(rest[0]), rest[1], id);
    else if (kind === "o") made[id] = fill(rest[0] ? Object.create(null) : {}, rest[1], id);
    else if (kind === "m") { const map = made[id] = new Map(); for (const [key, item] of rest[0]) map.set(get(key), get(item)); }
    else if (kind === "s") { const set = made[id] = new Set(); for (const item of rest[0]) set.add(get(item)); }
    else if (kind === "d") made[id] = new Date(get(rest[0]));
    else if (kind === "x") { made[id] = new RegExp(rest[0], rest[1]); made[id].lastIndex = rest[2]; }
    else if (kind === "f") made[id] = bytes(rest[0]).buffer;
    else if (kind === "v") made[id] = new types[rest[0]](get(rest[1]), rest[2], rest[3]);
    else { made[id] = new types[rest[0]](rest[1]); made[id].stack = rest[2]; }
    return made[id];
  }
  function fill(into, fields, id) {
    made[id] = into;
    for (const [key, value] of fields) Object.defineProperty(into, key, { value: get(value), writable: true, enumerable: true, configurable: true });
    return into;
  }
  const carried = [], left = [];
  for (const [name, value] of Object.entries(names)) {
    try {
      globalThis[name] = get(value);
      carried.push(name);
    } catch (error) {
      left.push([name, String(error).slice(0, 200)]);
    }
  }
  return JSON.stringify({ carried, left });
})
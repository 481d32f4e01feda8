((read, path) => {
  const nodes = [], ids = new Map(), names = {}, left = [];
  const hex = bytes => Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("");
  const views = [Uint8Array, Int8Array, Uint8ClampedArray, Uint16Array, Int16Array, Uint32Array, Int32Array,
    BigInt64Array, BigUint64Array, Float32Array, Float64Array, DataView];
  const errors = [Error, TypeError, RangeError, SyntaxError, ReferenceError, EvalError, URIError];
  function put(value) {
    if (value === undefined) return { u: 1 };
    if (value === null || typeof value === "string" || typeof value === "boolean") return value;
    if (typeof value === "number") return Number.isFinite(value) && !Object.is(value, -0) ? value : { n: Object.is(value, -0) ? "-0" : String(value) };
    if (typeof value === "bigint") return { b: String(value) };
    if (typeof value !== "object") throw new TypeError(`a ${typeof value} cannot be carried`);
    if (ids.has(value)) return { r: ids.get(value) };
    const id = nodes.length, prototype = Object.getPrototypeOf(value);
    ids.set(value, id);
    nodes.push(null);
    const is = type => prototype === type.prototype;
    const view = views.find(is), error = errors.find(is);
    if (is(Array)) nodes[id] = ["a", value.length, fields(value)];
    else if (is(Object) || prototype === null) nodes[id] = ["o", prototype === null, fields(value)];
    else if (is(Map)) nodes[id] = ["m", [...value].map(([key, item]) => [put(key), put(item)])];
    else if (is(Set)) nodes[id] = ["s", [...value].map(put)];
    else if (is(Date)) nodes[id] = ["d", put(value.getTime())];
    else if (is(RegExp)) nodes[id] = ["x", value.source, value.flags, value.lastIndex];
    else if (is(ArrayBuffer)) nodes[id] = ["f", hex(new Uint8Array(value))];
    else if (view) nodes[id] = ["v", view.name, put(value.buffer), value.byteOffset, view === DataView ? value.byteLength : value.length];
    else if (error) nodes[id] = ["e", error.name, String(value.message), String(value.stack)];
    else throw new TypeError(`a ${value.constructor?.name || "value of an unknown class"} cannot be carried`);
    return { r: id };
  }
  function fields(value) {
    if (Object.getOwnPropertySymbols(value).length) throw new TypeError("a property that is named by a symbol cannot be carried");
    return Object.entries(Object.getOwnPropertyDescriptors(value)).filter(([, field]) => field.enumerable).map(([key, field]) => {
      if (!("value" in field)) throw new TypeError("a property that is computed cannot be carried");
      return [key, put(field.value)];
    });
  }
  for (const name of Object.keys(read)) {
    const before = nodes.length;
    try {
      const value = read[name]();
      names[name] = put(value);
    } catch (error) {
      for (const [value, id] of ids) if (id >= before) ids.delete(value);
      nodes.length = before;
      left.push([name, String(error).slice(0, 200)]);
    }
  }
  require("fs").writeFileSync(path, JSON.stringify({ nodes, names }), { flag: "wx" });
  return JSON.stringify({ carried: Object.keys(names), left });
})
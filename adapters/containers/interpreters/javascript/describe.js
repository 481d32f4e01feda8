// Part of the JavaScript interpreter: texts, kinds of values, names of classes, short texts.

// Texts. A lone surrogate becomes U+FFFD.

const wellFormed = (text) => (/[\ud800-\udfff]/.test(text) ? bufferFrom(text, 'utf8').toString('utf8') : text);

// The beginning of a text in at most `limit` bytes of UTF-8.
function cut(text, limit) {
  const whole = wellFormed(text);
  if (whole.length * 3 <= limit || byteLength(whole) <= limit) return whole;
  const bytes = bufferFrom(whole.slice(0, limit), 'utf8');
  let end = limit < bytes.length ? limit : bytes.length;
  while (end > 0 && end < bytes.length && (bytes[end] & 0xc0) === 0x80) end--;
  const head = bytes.subarray(0, end).toString('utf8');
  return head.endsWith('\ufffd') && !whole.startsWith(head) ? head.slice(0, -1) : head;
}

const quoted = (text, limit = Infinity) => stringify(limit === Infinity ? wellFormed(text) : cut(text, limit));

// Kinds of values, by their insides.

function kindOf(value) {
  if (types.isProxy(value)) return 'proxy';
  if (typeof value === 'function') return startsWith(functionText(value), 'class') ? 'class' : 'function';
  if (isArray(value)) return 'array';
  if (types.isMap(value)) return 'map';
  if (types.isSet(value)) return 'set';
  if (types.isAnyArrayBuffer(value) || ArrayBuffer.isView(value)) return 'bytes';
  if (types.isDate(value)) return 'date';
  if (types.isPromise(value)) return 'promise';
  if (types.isModuleNamespaceObject(value)) return 'namespace';
  if (iteratorName(value)) return 'iterator';
  const special = types.isNativeError(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) || types.isWeakMap(value) || types.isWeakSet(value);
  return special ? 'other' : 'plain';
}

function iteratorName(value) {
  if (types.isGeneratorObject(value)) return reaches(value, iterators[5][0]) ? 'Generator' : undefined;
  const prototype = getPrototypeOf(value);
  for (let i = 0; i < iterators.length; i++) if (iterators[i][0] === prototype) return iterators[i][1];
  return undefined;
}

function reaches(value, prototype) {
  for (let at = value, i = 0; at && i < 32; at = getPrototypeOf(at), i++) if (at === prototype) return true;
  return false;
}

const ownData = (object, name) => {
  const found = getOwnPropertyDescriptor(object, name);
  return found && hasOwn(found, 'value') ? found.value : undefined;
};

function functionName(value) {
  const name = types.isProxy(value) ? undefined : ownData(value, 'name');
  return typeof name === 'string' && name ? cut(name, LONGEST_KEY) : undefined;
}

const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

function classOf(value) {
  if (value === null) return 'null';
  if (!isObject(value)) {
    return { string: 'String', number: 'Number', boolean: 'Boolean', bigint: 'BigInt', symbol: 'Symbol' }[typeof value] || 'undefined';
  }
  const kind = kindOf(value);
  if (kind === 'proxy') return 'Proxy';
  if (kind === 'namespace') return 'Module';
  if (kind === 'class') return 'Function';
  if (kind === 'iterator') return iteratorName(value);
  for (let at = value, i = 0; at && i < 32 && !types.isProxy(at); at = getPrototypeOf(at), i++) {
    const constructor = ownData(at, 'constructor');
    const name = typeof constructor === 'function' ? functionName(constructor) : undefined;
    if (name) return name;
  }
  return 'Object';
}

function describeFunction(value, kind) {
  return `${kind === 'class' ? '[class ' : '[Function: '}${functionName(value) || '(anonymous)'}]`;
}

function promiseState(promise) {
  const { internalBinding } = require('internal/test/binding');
  return ['pending', 'fulfilled', 'rejected'][internalBinding('util').getPromiseDetails(promise)[0]];
}

// What an object says of itself, or undefined.
function describeObject(value, kind) {
  try {
    if (kind === 'function' || kind === 'class') return describeFunction(value, kind);
    if (kind === 'namespace') return '[Module]';
    if (kind === 'proxy') return undefined;
    if (kind === 'promise') return `Promise { <${promiseState(value)}> }`;
    if (kind === 'date') return Number.isNaN(+value) ? 'Invalid Date' : isoDate(value);
    const own = value.toString;
    if (typeof own !== 'function' || own === objectToString) return undefined;
    const said = call.call(own, value);
    return typeof said === 'string' ? said : undefined;
  } catch (error) {
    leave(error);
    return undefined;
  }
}

function describeShort(value) {
  if (typeof value === 'string') return `'${shortened(value)}'`;
  if (typeof value === 'symbol') return `Symbol(${shortened(value.description ?? '')})`;
  if (typeof value === 'bigint') return `${shortened(`${value}`)}n`;
  if (!isObject(value)) return `${value}`;
  const kind = kindOf(value);
  if (kind === 'function' || kind === 'class') return describeFunction(value, kind);
  const name = classOf(value);
  if (kind === 'array') return `${name}(${value.length})`;
  if (kind === 'map') return `${name}(${mapSize(value)})`;
  if (kind === 'set') return `${name}(${setSize(value)})`;
  if (kind === 'bytes') return `${name}(${value.byteLength} bytes)`;
  if (kind !== 'plain') return name;
  const names = ownKeys(value);
  const shown = names.slice(0, 8).map((key) => cut(key, 40));
  return `${name} {${shown.join(', ')}${names.length > 8 ? ', ...}' : '}'}`;
}

function shortened(text) {
  const head = cut(text, 200);
  return head.length < text.length ? `${head}...` : head;
}

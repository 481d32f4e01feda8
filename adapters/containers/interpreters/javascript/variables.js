// Part of the JavaScript interpreter: the variables; and the requests, one after another.

// Variables

const known = new Set(getOwnPropertyNames(globalThis));
for (const name of ['require', 'callTool', 'module', 'exports', '__filename', '__dirname', '__dormouse']) known.add(name);
const hidden = new Set();
defineProperty(globalThis, 'callTool', { value: callTool, writable: true, configurable: true, enumerable: false });
for (const name of ['module', 'exports', '__filename', '__dirname']) delete globalThis[name];

// The expression of a query sees no name of ours.
const query = vm.runInThisContext("(function (value) { 'use strict'; return eval(arguments[1]); })", { filename: 'dormouse:kernel' });

function globalValue(name) {
  const lexical = lexicalNames().includes(name);
  if (!lexical && !(name in globalThis)) throw new ReferenceError(`${cut(name, 128)} is not defined`);
  if (!lexical) return globalThis[name];
  const [value, error] = now(name, false);
  if (error) throw error[0];
  return value;
}

const RESERVED = new Set(
  ('await break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof ' +
    'let new null return static super switch this throw true try typeof undefined var void while with yield NaN Infinity globalThis').split(' '),
);

function setVariable({ name, json }) {
  let value;
  try {
    value = parse(json);
  } catch {
    return 'the value is not JSON';
  }
  if (!/^[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*$/.test(name)) return 'the name is not an identifier';
  if (RESERVED.has(name)) return 'the name is a reserved word';
  return bind(name, value) ? undefined : 'the snippet has made this name constant';
}

// A lexical binding would hide the global, so it is declared anew, as what it was.
function bind(name, value) {
  hidden.delete(name);
  if (!lexicalNames().includes(name)) {
    try {
      globalThis[name] = value;
      return globalThis[name] === value || Number.isNaN(value);
    } catch {
      return false;
    }
  }
  globalThis.__dormouse = value;
  const done = ['let', 'const'].some((word) => !now(`${word} ${name} = __dormouse`, true)[1]);
  delete globalThis.__dormouse;
  return done;
}

function variables(bounds) {
  const lexical = new Set(lexicalNames());
  const names = [...new Set([...lexical, ...getOwnPropertyNames(globalThis).filter((name) => !known.has(name))])].filter((name) => !hidden.has(name));
  const order = names.map((name) => [name, bufferFrom(name, 'utf8')]).sort((a, b) => Buffer.compare(a[1], b[1]));
  let out = '';
  for (const [name] of order) {
    const own = lexical.has(name) ? undefined : getOwnPropertyDescriptor(globalThis, name);
    const [value] = lexical.has(name) ? now(name, false) : [own.value];
    const [summary] = attempt(() => describeShort(value));
    const limit = bounds.string_bytes < LONGEST_SUMMARY ? bounds.string_bytes : LONGEST_SUMMARY;
    const entry = `${out ? ',' : ''}{"name":${quoted(name, 256)},"type":${quoted(classOf(value), 256)},"summary":${quoted(summary ?? '', limit)}}`;
    if (byteLength(out) + byteLength(entry) + 2 > bounds.total_bytes) break;
    out += entry;
  }
  return `[${out}]`;
}

// Names of scripts cannot be taken back; they are made undefined and are not shown.
function reset() {
  for (const name of lexicalNames()) {
    bind(name, undefined);
    hidden.add(name);
  }
  for (const name of getOwnPropertyNames(globalThis)) {
    if (known.has(name) || Reflect.deleteProperty(globalThis, name)) continue;
    bind(name, undefined);
    hidden.add(name);
  }
  sources.clear();
}

function begin(id, asked, work) {
  run = { id, bounds: asked.bounds, settled: undefined };
  exiting = undefined;
  try {
    work();
  } catch (error) {
    settle(undefined, [error]);
  }
  // So that the loop turns once more, and the run ends when it has nothing left to do.
  setImmediate(nothing);
}

function shown(names) {
  for (const name of names) hidden.delete(name);
}

// Serves until a run has begun, which goes on in the event loop.
function serve() {
  for (;;) {
    const { kind, id, payload } = receive();
    if (kind === 'I') {
      input.push(payload);
      continue;
    }
    const asked = parse(payload.toString('utf8'));
    if (kind === 'E') {
      return begin(id, asked, () => {
        surroundings(asked);
        // A name that is declared again is a variable again.
        if (hidden.size) shown([...hidden].filter((name) => asked.code.includes(name)));
        runSource(asked.code, asked.name);
      });
    }
    if (kind === 'G') {
      return begin(id, asked, () => {
        const value = globalValue(asked.name);
        took(asked.query === null ? value : query(value, asked.query));
      });
    }
    if (kind === 'S') {
      const why = setVariable(asked);
      send(why ? 'N' : 'K', id, why || '');
    } else if (kind === 'V') {
      send('V', id, variables(asked.bounds));
    } else {
      reset();
      send('K', id, '');
    }
  }
}

process.on('beforeExit', () => {
  if (run) finish();
  serve();
});
process.argv = ['javascript'];
send('H', 0, stringify({ protocol: PROTOCOL, version: process.version.slice(1) }));

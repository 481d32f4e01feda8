// Part of the JavaScript interpreter: runs, from their beginning until nothing is left to do.

// Runs

let run; // {id, bounds, promise, settled}
let exiting; // {status}, once process.exit was called
const EXIT = { toString: () => 'process.exit' };
let count = 0;

function leave(error) {
  if (error === EXIT) throw error;
}

process.exit = (status) => {
  exiting ??= { status: (status === undefined ? process.exitCode || 0 : status) | 0 };
  throw EXIT;
};

function settle(value, error) {
  if (run && !run.settled) run.settled = { value, error };
}

// A promise is waited for; anything else is the value.
function took(value, error) {
  if (error || !types.isPromise(value)) settle(value, error);
  else promiseThen(value, (inner) => settle(inner), (reason) => settle(undefined, [reason]));
}

const mayBeModule = (code) => code.includes('import') || code.includes('export');

function refused(error, script, details) {
  const source = sources.get(script);
  const line = details ? details.lineNumber + 1 - source.skipped : 1;
  if (isObject(error)) refusals.set(error, { script, name: source.name, line, column: details ? details.columnNumber + 1 : 1 });
}

function runSource(code, name) {
  const script = `dormouse:snippet-${++count}`;
  sources.set(script, { name, code, skipped: 0 });
  if (sources.size > MOST_SOURCES) sources.delete(sources.keys().next().value);
  const asModule = () => took(runModule(code, script));
  if (name.endsWith('.mjs') && name.length > 4) return asModule();
  if (importRefused && code.includes('import(')) return runRewritten(code, script);
  // The inspector takes a script's name only as its last line, a comment.
  evaluate(`${code}\n//# sourceURL=${script}`, true, (value, error) => {
    const isRefusal = error && error[1] && types.isNativeError(error[0]) && error[0] instanceof SyntaxError && error[1].exception && !prepared.has(error[0]) && !stackHasSnippet(error[0]);
    if (!isRefusal) return took(value, error && [error[0]]);
    refused(error[0], script, error[1]);
    if (error[0].message === 'Illegal return statement') return runBody(code, script, error);
    return mayBeModule(code) ? asModule() : settle(undefined, error);
  });
}

// Node 18 takes no `import()` from scripts of the inspector. A snippet that has one runs as Node's own REPL would run it.
function runRewritten(code, script) {
  try {
    const rewritten = require('internal/repl/await').processTopLevelAwait(code);
    const importModuleDynamically = (specifier) => loader().import(specifier, fromHere(), { __proto__: null });
    const value = new vm.Script(rewritten ?? code, { filename: script, importModuleDynamically }).runInThisContext();
    took(rewritten === null ? value : promiseThen(value, (box) => (box ? box.value : undefined)));
  } catch (error) {
    settle(undefined, [error]);
  }
}

const stackHasSnippet = (error) => {
  const stack = field(error, 'stack');
  return typeof stack === 'string' && /\n {4}at .*<eval>/.test(stack);
};

// A snippet with `return` at its top level is the body of a function.
function runBody(code, script, error) {
  const AsyncFunction = getPrototypeOf(async () => {}).constructor;
  try {
    const body = code.includes('await') ? new AsyncFunction(`${code}\n//# sourceURL=${script}`) : vm.compileFunction(code, [], { filename: script });
    if (code.includes('await')) sources.get(script).skipped = 2;
    try {
      took(call.call(body, globalThis));
    } catch (thrown) {
      settle(undefined, [thrown]);
    }
  } catch {
    settle(undefined, error);
  }
}

// Between two requests: what a run left undone ends here.
function finish() {
  const { id, bounds } = run;
  const ended = run.settled || { error: [new Error('the snippet awaits a promise that nothing will settle')] };
  let kind = 'R';
  let text = '';
  try {
    if (!exiting) {
      if (ended.error) [kind, text] = ['X', encodeError(ended.error[0], bounds)];
      else if (process.exitCode) exiting = { status: process.exitCode | 0 };
      else text = encode(ended.value, bounds);
    }
  } catch (error) {
    if (error !== EXIT) [kind, text] = ['X', stringify({ class: 'Error', message: 'this exception could not be described' })];
  }
  if (exiting) [kind, text] = ['Q', `${exiting.status}`];
  exiting = undefined;
  process.exitCode = undefined;
  run = undefined;
  send(kind, id, text);
}

// The streams are every call's: their end is that of what is written.
for (const stream of [process.stdout, process.stderr]) {
  stream.end = (...given) => {
    const done = given.find((item) => typeof item === 'function');
    if (given.length && given[0] !== done) stream.write(given[0]);
    if (done) process.nextTick(done);
    return stream;
  };
  stream.destroy = () => stream;
}

process.on('uncaughtException', (error) => settle(undefined, [error]));
process.on('unhandledRejection', (reason) => settle(undefined, [reason]));

// Standard input is one file, read by the descriptor's own place: what is left of it is passed over, the new text added.
const input = [];
function feed() {
  const scrap = Buffer.allocUnsafe(65536);
  try {
    while (reads(0, scrap, 0, scrap.length, null)) continue;
  } catch {
    // There is none.
  }
  const data = Buffer.concat(input);
  input.length = 0;
  let stream;
  defineProperty(process, 'stdin', {
    configurable: true,
    enumerable: true,
    get: () => (stream ??= new fs.ReadStream('', { fd: 0, autoClose: false })),
  });
  if (!data.length) return;
  const file = fs.openSync('/proc/self/fd/0', 'a');
  for (let at = 0; at < data.length; ) at += writes(file, data, at);
  fs.closeSync(file);
}

function surroundings(asked) {
  feed();
  for (const [name, value] of asked.environment || []) process.env[name] = value;
  process.argv = ['javascript', ...(asked.arguments || [])];
  if (asked.directory !== null && asked.directory !== undefined) process.chdir(asked.directory);
  globalThis.require = createRequire(fromHere());
}

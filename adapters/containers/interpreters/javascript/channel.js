// Part of the JavaScript interpreter: messages, the inspector, modules.

// Messages

const reads = fs.readSync;
const writes = fs.writeSync;

function exactly(count) {
  const bytes = Buffer.allocUnsafe(count);
  for (let at = 0; at < count; ) {
    const got = reads(3, bytes, at, count - at, null);
    if (!got) process.reallyExit(0);
    at += got;
  }
  return bytes;
}

function receive() {
  const head = exactly(9);
  return { kind: String.fromCharCode(head[4]), id: head.readUInt32BE(5), payload: exactly(head.readUInt32BE(0)) };
}

function send(kind, id, payload) {
  const bytes = typeof payload === 'string' ? bufferFrom(payload, 'utf8') : payload;
  const head = Buffer.allocUnsafe(9);
  head.writeUInt32BE(bytes.length, 0);
  head[4] = kind.charCodeAt(0);
  head.writeUInt32BE(id, 5);
  const whole = Buffer.concat([head, bytes]);
  for (let at = 0; at < whole.length; ) at += writes(3, whole, at);
}

// callTool(name, arguments): a function of the embedder.
function callTool(name, given) {
  if (typeof name !== 'string') throw new TypeError("callTool needs the tool's name");
  const json = stringify(given === undefined ? {} : given);
  if (typeof json !== 'string') throw new TypeError("callTool's arguments must be an object");
  const tool = bufferFrom(cut(name, 4096), 'utf8');
  const text = bufferFrom(json, 'utf8');
  if (text.length > MOST_ARGUMENTS) throw new Error(`the arguments have ${text.length} bytes, at most ${MOST_ARGUMENTS} are taken`);
  if (!run) throw new Error('tools can be called during a run only');
  const head = Buffer.allocUnsafe(2);
  head.writeUInt16BE(tool.length, 0);
  send('C', run.id, Buffer.concat([head, tool, text]));
  const answer = receive().payload;
  const told = answer.subarray(1).toString('utf8');
  if (answer[0] !== 1) throw new Error(told);
  return parse(told);
}

// The inspector

const session = new Session();
session.connect();
const post = session.post.bind(session);
let stashed;
const stash = (value) => {
  stashed = value;
};
let storeId;
globalThis.__dormouse = stash;
post('Runtime.evaluate', { expression: '__dormouse' }, (_, answer) => (storeId = answer.result.objectId));
delete globalThis.__dormouse;

// The value that the inspector speaks of.
function valueOf(remote) {
  if (remote.type === 'undefined') return undefined;
  if (remote.subtype === 'null') return null;
  const given = remote.objectId ? { objectId: remote.objectId } : remote.unserializableValue ? { unserializableValue: remote.unserializableValue } : { value: remote.value };
  post('Runtime.callFunctionOn', { functionDeclaration: 'function (store, value) { store(value) }', objectId: storeId, arguments: [{ objectId: storeId }, given] }, nothing);
  const value = stashed;
  stashed = undefined;
  if (remote.objectId) post('Runtime.releaseObject', { objectId: remote.objectId }, nothing);
  return value;
}

// Evaluates in the global namespace; calls back with [value, error], at once unless it awaits.
function evaluate(expression, replMode, done) {
  post('Runtime.evaluate', { expression, replMode, silent: true }, (failure, answer) => {
    if (failure) done(undefined, [new Error(failure.message)]);
    else if (answer.exceptionDetails) done(undefined, [answer.exceptionDetails.exception ? valueOf(answer.exceptionDetails.exception) : undefined, answer.exceptionDetails]);
    else done(valueOf(answer.result));
  });
}

function lexicalNames() {
  let names = [];
  post('Runtime.globalLexicalScopeNames', {}, (_, answer) => (names = answer ? answer.names : []));
  return names;
}

function now(expression, replMode) {
  let found = [undefined, [new Error('not evaluated')]];
  evaluate(expression, replMode, (value, error) => (found = [value, error]));
  return found;
}

// Modules

const fromHere = () => pathToFileURL(path.join(process.cwd(), 'snippet.js')).href;

function loader() {
  try {
    return require('internal/modules/esm/loader').getOrInitializeCascadedLoader();
  } catch {
    return require('internal/process/esm_loader').esmLoader;
  }
}

// Node refuses `import()` in scripts of the inspector, since it does not know whose they are.
function allowImport() {
  const { internalBinding } = require('internal/test/binding');
  internalBinding('module_wrap').setImportModuleDynamicallyCallback((_, specifier, attributes, ...rest) => {
    const names = rest.filter((item) => typeof item === 'string');
    const referrer = names.length ? names[names.length - 1] : '';
    const base = startsWith(referrer, 'file:') ? referrer : path.isAbsolute(referrer) ? pathToFileURL(referrer).href : fromHere();
    return loader().import(specifier, base, attributes && typeof attributes === 'object' ? attributes : { __proto__: null });
  });
}
const importRefused = parseInt(process.versions.node, 10) < 20;
try {
  allowImport();
} catch {
  // This Node has other insides: `import()` of a script says why it cannot.
}

async function runModule(code, script) {
  const base = fromHere();
  const load = (specifier) => loader().import(specifier, base, { __proto__: null });
  const module = new vm.SourceTextModule(code, {
    identifier: script,
    importModuleDynamically: load,
    initializeImportMeta(meta) {
      meta.url = base;
    },
  });
  await module.link(async (specifier) => {
    const namespace = await load(specifier);
    const names = getOwnPropertyNames(namespace);
    const synthetic = new vm.SyntheticModule(names, () => names.forEach((name) => synthetic.setExport(name, namespace[name])));
    return synthetic;
  });
  await module.evaluate();
  return module.namespace.default;
}

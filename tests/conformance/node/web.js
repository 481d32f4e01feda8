// Runs a file of web-platform-tests: the harness, the scripts that its head names, and the file. Prints a line of JSON for each
// test in it: how it ended, its name, and what was wrong; at the end a line `["end", how the harness ended, why]`.
const { readFileSync } = require('fs');
const { dirname, join } = require('path');
const { runInThisContext } = require('vm');

const ROOT = '/tests/fixtures/wpt';
const [, , FILE] = process.argv;
const path = join(ROOT, FILE);
const load = (script) => runInThisContext(readFileSync(script, 'utf8'), script);
const found = (name) => (name[0] === '/' ? join(ROOT, name) : join(dirname(path), name));
const define = (name, value) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });

define('self', globalThis);
define('GLOBAL', { isWindow: () => false, isWorker: () => false, isShadowRealm: () => false });
define('location', { href: `http://wpt.test/${FILE}`, search: '' });
// Data that tests fetch lies beside them.
define('fetch', async (name) => new Response(readFileSync(found(`${name}`.replace(/^http:\/\/wpt\.test/, '')))));

load(join(ROOT, 'resources/testharness.js'));
const { add_completion_callback: atEnd, add_result_callback: atResult } = globalThis;
const tell = (...line) => console.log(JSON.stringify(line));
atResult(({ status, name, message }) => tell(status, name, message ?? ''));
atEnd((_tests, { status, message }) => tell('end', status, message ?? ''));

const source = readFileSync(path, 'utf8');
for (const [, script] of source.matchAll(/^\/\/ META: script=(.+)$/gm)) load(found(script.trim()));
load(path);
globalThis.done?.();

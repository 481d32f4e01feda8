// The tools that a sandbox can call: `await tools.SERVER.TOOL({argument: value})`.
'use strict';

const { JSON, Promise, Proxy, Reflect, TypeError } = globalThis;
const { parse, stringify } = JSON;
const { beginCall, cancelCall } = native;

class ToolError extends Error {
  get name() {
    return 'ToolError';
  }
}

function call(name, given = {}, { signal } = {}) {
  if (name === '') throw new TypeError('name a tool: `tools.SERVER.TOOL({argument: value})`; `tools.search("words")` finds one');
  const wanted = typeof given !== 'string' ? given : name === 'search' ? { text: given } : name === 'describe' ? { name: given } : given;
  if (wanted === null || typeof wanted !== 'object') throw new TypeError(`tools.${name} takes one object: \`tools.${name}({argument: value})\``);
  const text = stringify(wanted);
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let stop;
    const id = beginCall(
      (done, answer) => {
        if (stop) signal.removeEventListener('abort', stop);
        if (done) resolve(parse(answer));
        else reject(new ToolError(answer));
      },
      name,
      text,
    );
    if (!signal) return;
    stop = () => {
      cancelCall(id);
      reject(signal.reason);
    };
    signal.addEventListener('abort', stop, { once: true });
  });
}

function at(path) {
  return new Proxy(function tool() {}, {
    // An object that is awaited is asked for `then`.
    get: (target, name) => (name === Symbol.toPrimitive ? () => `tools.${path}` : typeof name === 'symbol' || name === 'then' || name === 'toJSON' ? undefined : at(path === '' ? name : `${path}.${name}`)),
    apply: (target, self, given) => call(path, ...given),
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    has: (target, name) => typeof name === 'string' && name !== 'then',
    ownKeys: () => Reflect.ownKeys(function tool() {}).filter((name) => name === 'prototype'),
  });
}

module.exports = { ToolError, tools: at('') };

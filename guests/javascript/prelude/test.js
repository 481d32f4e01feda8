// node:test: tests run one after another in the order in which they were made, and what came of each is told.
(function (native, shared) {
  'use strict';
  const { modules, inspect } = shared;

  const newSuite = (name, parent, options = {}) => ({
    name,
    parent,
    options,
    entries: [],
    hooks: { before: [], after: [], beforeEach: [], afterEach: [] },
  });

  let root = newSuite('', undefined);
  // The suite whose function is running now: what is made meanwhile is its own.
  let collecting = root;
  // All that was asked for so far is over when it is.
  let tail = Promise.resolve();
  let waiting = 0;
  let results = [];
  let suites = 0;
  let begun = performance.now();
  // The file that is being loaded, when a list of files is run.
  let file;
  let isDriven = false;

  // name, options and function, each of which may be left out.
  function read(values) {
    const name = typeof values[0] === 'string' ? values.shift() : undefined;
    const options = typeof values[0] === 'object' && values[0] !== null ? values.shift() : {};
    const work = typeof values[0] === 'function' ? values[0] : undefined;
    return { name: name ?? (work?.name || '<anonymous>'), options, work };
  }

  function pathOf(suite, name) {
    const names = [name];
    for (let each = suite; each?.name; each = each.parent) names.unshift(each.name);
    return names;
  }

  function tell(depth, mark, name, note) {
    console.log(`${'  '.repeat(depth)}${mark} ${name}${note}`);
  }

  const time = (since) => ` (${(performance.now() - since).toFixed(3)}ms)`;

  function note(suite, name, status, { error, since = performance.now(), reason } = {}) {
    const names = pathOf(suite, name);
    const shown = error === undefined ? undefined : inspect(error);
    results.push({ name: names.join(' > '), file, status, error, shown, duration: performance.now() - since });
    const depth = names.length - 1;
    const why = typeof reason === 'string' ? ` # ${reason}` : '';
    if (status === 'passed') tell(depth, '✔', name, time(since));
    else if (status === 'failed') {
      tell(depth, '✖', name, time(since));
      console.log(shown.replace(/^/gm, '  '.repeat(depth + 1)));
      globalThis.process.exitCode = 1;
    } else tell(depth, status === 'todo' ? '⚠' : '﹣', name, ` # ${status === 'todo' ? status.toUpperCase() : 'SKIP'}${why}`);
  }

  // Calls a function that may take a context and a callback.
  function called(work, context, limit) {
    const done = new Promise((resolve, reject) => {
      if (work.length < 2) {
        resolve(work.call(context, context));
        return;
      }
      const answer = work.call(context, context, (error) => (error ? reject(error) : resolve()));
      if (typeof answer?.then === 'function') reject(new Error('passed a callback but also returned a Promise'));
    });
    if (!Number.isFinite(limit)) return done;
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new Error(`test timed out after ${limit}ms`)), limit);
    });
    return Promise.race([done, late]).finally(() => clearTimeout(timer));
  }

  async function hooks(list, context) {
    for (const { work, options } of list) await called(work, context, options.timeout);
  }

  // The suites around an entry, the outermost first.
  function around(suite) {
    const all = [];
    for (let each = suite; each; each = each.parent) all.unshift(each);
    return all;
  }

  function contextOf(suite, name, state) {
    const own = state.own;
    const hook = (kind) => (work, options = {}) => void own.hooks[kind].push({ work, options });
    return {
      name,
      fullName: pathOf(suite, name).join(' > '),
      signal: new AbortController().signal,
      assert: modules.assert,
      mock,
      diagnostic: (message) => console.log(`ℹ ${message}`),
      skip: (reason) => void (state.skipped = reason ?? true),
      todo: (reason) => void (state.todo = reason ?? true),
      test(...values) {
        const inner = read(values);
        const done = (state.last = state.last.then(() => runTest(own, inner)));
        done.then((passed) => (state.failed += passed ? 0 : 1));
        return done.then(() => undefined);
      },
      before: hook('before'),
      after: hook('after'),
      beforeEach: hook('beforeEach'),
      afterEach: hook('afterEach'),
    };
  }

  // Runs a test with all that is around it; whether it did not fail.
  async function runTest(suite, { name, options, work }) {
    const since = performance.now();
    if (options.skip || !work) {
      note(suite, name, options.todo ? 'todo' : 'skipped', { reason: options.skip || options.todo });
      return true;
    }
    const own = newSuite(name, suite);
    const state = { own, last: Promise.resolve(), failed: 0, skipped: false, todo: options.todo ?? false };
    const context = contextOf(suite, name, state);
    let error;
    const attempt = async (work) => {
      try {
        await work();
      } catch (thrown) {
        error ??= { value: thrown };
      }
    };
    const suites = around(suite);
    await attempt(async () => {
      for (const each of suites) await hooks(each.hooks.beforeEach, context);
      await called(work, context, options.timeout);
    });
    await state.last;
    await attempt(() => hooks(own.hooks.after, context));
    for (const each of suites.reverse()) await attempt(() => hooks(each.hooks.afterEach, context));
    if (!error && state.failed) error = { value: new Error(`${state.failed} subtest${state.failed > 1 ? 's' : ''} failed`) };
    if (state.todo) note(suite, name, 'todo', { reason: state.todo });
    else if (error) note(suite, name, 'failed', { error: error.value ?? new Error(`thrown: ${inspect(error.value)}`), since });
    else if (state.skipped) note(suite, name, 'skipped', { reason: state.skipped });
    else note(suite, name, 'passed', { since });
    return !error || Boolean(state.todo);
  }

  async function runSuite(suite) {
    suites++;
    const depth = pathOf(suite.parent, suite.name).length - 1;
    if (suite.options.skip) {
      tell(depth, '﹣', suite.name, ' # SKIP');
      for (const entry of suite.entries) if (!entry.entries) note(suite, entry.name, 'skipped');
      return;
    }
    tell(depth, '▶', suite.name, '');
    try {
      if (suite.error) throw suite.error.value;
      await hooks(suite.hooks.before);
      for (const entry of suite.entries) await (entry.entries ? runSuite(entry) : runTest(suite, entry));
    } catch (error) {
      note(suite.parent, suite.name, 'failed', { error });
    }
    try {
      await hooks(suite.hooks.after);
    } catch (error) {
      note(suite.parent, suite.name, 'failed', { error });
    }
  }

  // Runs something when all before it is over. The last of a program says what came of all.
  function later(work) {
    waiting++;
    const started = root;
    const done = (tail = tail.then(async () => {
      if (!started.isBegun) {
        started.isBegun = true;
        try {
          await hooks(started.hooks.before);
        } catch (error) {
          note(undefined, 'before', 'failed', { error });
        }
      }
      await work();
    }));
    done.then(() => {
      waiting--;
      if (!isDriven) setImmediate(() => waiting === 0 && results.length > 0 && finish());
    });
    return done.then(() => undefined);
  }

  function test(...values) {
    const entry = read(values);
    if (collecting === root) return later(() => runTest(root, entry));
    entry.options = { ...entry.options };
    collecting.entries.push(entry);
    return Promise.resolve();
  }

  function describe(...values) {
    const { name, options, work } = read(values);
    const suite = newSuite(name, collecting, options);
    const outer = collecting;
    collecting = suite;
    try {
      work?.call(suite, { name });
    } catch (value) {
      suite.error = { value };
    } finally {
      collecting = outer;
    }
    if (outer === root) return later(() => runSuite(suite));
    outer.entries.push(suite);
    return Promise.resolve();
  }

  const marked = (make, mark) =>
    function (...values) {
      const { name, options, work } = read(values);
      return make(name, { ...options, ...mark }, work);
    };
  for (const make of [test, describe]) {
    Object.assign(make, { skip: marked(make, { skip: true }), todo: marked(make, { todo: true }), only: marked(make, {}) });
  }

  const hookOf = (kind) => (work, options = {}) => {
    if (typeof work !== 'function') throw new TypeError(`${kind} needs a function`);
    collecting.hooks[kind].push({ work, options });
  };

  function count(status) {
    return results.filter((result) => result.status === status).length;
  }

  // The end of a program or of a list of files.
  async function finish() {
    const done = root;
    root = newSuite('', undefined);
    collecting = root;
    try {
      await hooks(done.hooks.after);
    } catch (error) {
      note(undefined, 'after', 'failed', { error });
    }
    const lines = { tests: results.length, suites, pass: count('passed'), fail: count('failed'), cancelled: 0 };
    Object.assign(lines, { skipped: count('skipped'), todo: count('todo'), duration_ms: performance.now() - begun });
    for (const [name, value] of Object.entries(lines)) console.log(`ℹ ${name} ${value}`);
    const all = results;
    [results, suites, begun] = [[], 0, performance.now()];
    return all;
  }

  const isTest = (path) =>
    /\.[cm]?js$/.test(path) &&
    (/(^|\/)test\.[cm]?js$/.test(path) || /(^|\/)test-[^/]*$/.test(path) || /[._-]test\.[cm]?js$/.test(path) || /(^|\/)test\//.test(path));

  // The files that hold tests, by their names, below a folder.
  function found(folder, at = '') {
    const all = [];
    for (const entry of modules.fs.readdirSync(folder, { withFileTypes: true })) {
      const path = at ? `${at}/${entry.name}` : entry.name;
      if (entry.isDirectory()) {
        if (entry.name !== 'node_modules' && entry.name[0] !== '.') all.push(...found(`${folder}/${entry.name}`, path));
      } else if (isTest(path)) all.push(path);
    }
    return all.sort();
  }

  // Runs files, one after another in this one interpreter. After each, `report` gets what came of all so far.
  async function runFiles(files, report) {
    isDriven = true;
    begun = performance.now();
    const folder = globalThis.process.cwd();
    const paths = (files.length ? files : found(folder)).map((path) => modules.path.resolve(folder, path));
    for (const path of paths) {
      file = path;
      const before = results.length;
      try {
        await import(path);
      } catch (error) {
        note(undefined, path, 'failed', { error });
      }
      await tail;
      // As in Node, a file without tests is one that passes.
      if (results.length === before) note(undefined, path, 'passed');
      report?.(results, false);
    }
    const all = await finish();
    report?.(all, true);
    isDriven = false;
    file = undefined;
    return all;
  }

  const mocked = new Set();
  const mock = {
    // A function that remembers its calls.
    fn(original = function () {}, implementation = original) {
      let current = implementation;
      const once = new Map();
      const calls = [];
      const state = {
        get calls() {
          return [...calls];
        },
        callCount: () => calls.length,
        resetCalls: () => void (calls.length = 0),
        mockImplementation: (next) => void (current = next),
        mockImplementationOnce: (next, at = calls.length) => void once.set(at, next),
        restore: () => void (current = original),
      };
      const replaced = function (...values) {
        const call = { arguments: values, this: this, target: new.target, result: undefined, error: undefined };
        const work = once.get(calls.length) ?? current;
        once.delete(calls.length);
        calls.push(call);
        try {
          call.result = new.target ? Reflect.construct(work, values, new.target) : Reflect.apply(work, this, values);
          return call.result;
        } catch (error) {
          call.error = error;
          throw error;
        }
      };
      Object.defineProperty(replaced, 'mock', { value: state });
      mocked.add(state);
      return replaced;
    },
    method(object, name, implementation) {
      const own = Object.getOwnPropertyDescriptor(object, name);
      const original = object[name];
      if (typeof original !== 'function') throw new TypeError(`there is no method '${String(name)}' to mock`);
      const replaced = mock.fn(original, typeof implementation === 'function' ? implementation : original);
      const { restore } = replaced.mock;
      replaced.mock.restore = () => {
        restore();
        if (own) Object.defineProperty(object, name, own);
        else delete object[name];
      };
      Object.defineProperty(object, name, { value: replaced, writable: true, configurable: true, enumerable: own?.enumerable ?? false });
      return replaced;
    },
    reset() {
      mock.restoreAll();
      mocked.clear();
    },
    restoreAll() {
      for (const state of mocked) state.restore();
    },
  };

  const suite = describe;
  const [before, after, beforeEach, afterEach] = ['before', 'after', 'beforeEach', 'afterEach'].map(hookOf);
  Object.assign(test, { test, it: test, describe, suite, before, after, beforeEach, afterEach, mock });
  Object.defineProperty(test, Symbol.for('dormouse.runFiles'), { value: runFiles });
  modules['node:test'] = test;
})

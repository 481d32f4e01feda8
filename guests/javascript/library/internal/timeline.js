// What `performance` keeps: marks, measures and calls of timed functions, and who observes them.
'use strict';
const { received } = require('internal/received');
const { inspect } = shared;
const { performance, setImmediate, structuredClone } = globalThis;

const failure = (Kind, code, message) => Object.assign(new Kind(message), { code });
const wrongType = (name, expected, value) => failure(TypeError, 'ERR_INVALID_ARG_TYPE', `The ${name} must be ${expected}. Received ${received(value)}`);
const now = () => performance.now();

let isMaking = false;
function make(Kind, ...values) {
  isMaking = true;
  try {
    return new Kind(...values);
  } finally {
    isMaking = false;
  }
}
function needMaking() {
  if (!isMaking) throw failure(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
}

class PerformanceEntry {
  #fields;
  constructor(name, entryType, startTime, duration, detail) {
    needMaking();
    this.#fields = { name, entryType, startTime, duration, detail };
  }
  get name() {
    return this.#fields.name;
  }
  get entryType() {
    return this.#fields.entryType;
  }
  get startTime() {
    return this.#fields.startTime;
  }
  get duration() {
    return this.#fields.duration;
  }
  get detail() {
    return this.#fields.detail;
  }
  toJSON() {
    return { ...this.#fields };
  }
  [inspect.custom](_depth, options) {
    return `${this.constructor.name} ${inspect(this.toJSON(), options)}`;
  }
}

class PerformanceMark extends PerformanceEntry {
  constructor(name, options = {}) {
    name = `${name}`;
    const { startTime = now(), detail } = options ?? {};
    if (typeof startTime !== 'number') throw wrongType('"startTime" argument', 'of type number', startTime);
    if (startTime < 0) throw failure(TypeError, 'ERR_PERFORMANCE_INVALID_TIMESTAMP', `${startTime} is not a valid timestamp`);
    if (Object.hasOwn(milestones, name)) throw failure(TypeError, 'ERR_INVALID_ARG_VALUE', `The argument 'name' is invalid. Received '${name}'`);
    isMaking = true;
    super(name, 'mark', startTime, 0, detail === undefined || detail === null ? null : structuredClone(detail));
    isMaking = false;
  }
}
class PerformanceMeasure extends PerformanceEntry {}
for (const Kind of [PerformanceEntry, PerformanceMark, PerformanceMeasure]) Object.defineProperty(Kind.prototype, Symbol.toStringTag, { value: Kind.name, configurable: true });

// Of Node.js's own start, all of which was over when the program began.
const milestones = { nodeStart: 0, v8Start: 0, environment: 0, bootstrapComplete: 0, loopStart: 0, loopExit: -1 };
const nodeTiming = { name: 'node', entryType: 'node', startTime: 0, get duration() { return now(); }, ...milestones, idleTime: 0 };

let entries = [];
const byTime = (list) => list.toSorted((a, b) => a.startTime - b.startTime);
const observers = new Set();

function enqueue(entry, isKept = true) {
  if (isKept) entries.push(entry);
  for (const observer of observers) tell(observer, entry);
}

function timeOf(mark) {
  if (typeof mark === 'number') {
    if (mark < 0) throw failure(TypeError, 'ERR_PERFORMANCE_INVALID_TIMESTAMP', `${mark} is not a valid timestamp`);
    return mark;
  }
  mark = `${mark}`;
  if (Object.hasOwn(milestones, mark)) return milestones[mark];
  const found = entries.findLast(({ entryType, name }) => entryType === 'mark' && name === mark);
  if (!found) throw new DOMException(`The "${mark}" performance mark has not been set`, 'SyntaxError');
  return found.startTime;
}

function mark(name, options) {
  const entry = new PerformanceMark(name, options);
  enqueue(entry);
  return entry;
}

function measure(name, from, to) {
  if (typeof name !== 'string') throw wrongType('"name" argument', 'of type string', name);
  const { start, end, duration, detail } = typeof from === 'object' && from !== null ? from : { start: from, end: to };
  const last = end !== undefined ? timeOf(end) : start !== undefined && duration !== undefined ? timeOf(start) + duration : now();
  const first = start !== undefined ? timeOf(start) : duration !== undefined ? last - duration : 0;
  const entry = make(PerformanceMeasure, name, 'measure', first, last - first, detail === undefined || detail === null ? null : structuredClone(detail));
  enqueue(entry);
  return entry;
}

function clear(type) {
  return (name) => {
    const wanted = name === undefined ? undefined : `${name}`;
    entries = entries.filter((entry) => entry.entryType !== type || (wanted !== undefined && entry.name !== wanted));
  };
}

function needArgument(values, name) {
  if (values.length === 0) throw failure(TypeError, 'ERR_MISSING_ARGS', `The "${name}" argument must be specified`);
}
// The questions that lists of entries answer.
const questions = (list) => ({
  getEntries: () => list(),
  getEntriesByName(...values) {
    needArgument(values, 'name');
    const [name, type] = values;
    return list().filter((entry) => entry.name === `${name}` && (type === undefined || entry.entryType === type));
  },
  getEntriesByType(...values) {
    needArgument(values, 'type');
    return list().filter(({ entryType }) => entryType === `${values[0]}`);
  },
});

class PerformanceObserverEntryList {
  constructor(list) {
    needMaking();
    Object.assign(this, questions(() => list));
  }
}

const supported = ['function', 'mark', 'measure'];
class PerformanceObserver {
  static get supportedEntryTypes() {
    return supported;
  }
  #callback;
  #types = new Set();
  #waiting = [];
  #isScheduled = false;
  constructor(callback) {
    if (typeof callback !== 'function') throw wrongType('"callback" argument', 'of type function', callback);
    this.#callback = callback;
  }
  observe(options = {}) {
    if (typeof options !== 'object' || options === null) throw wrongType('"options" argument', 'of type object', options);
    const { entryTypes, type, buffered } = options;
    if (entryTypes === undefined && type === undefined) throw failure(TypeError, 'ERR_MISSING_ARGS', 'The "options.entryTypes" or "options.type" argument must be specified');
    if (entryTypes !== undefined && !Array.isArray(entryTypes)) throw wrongType('"options.entryTypes" property', 'an instance of string[]', entryTypes);
    if (entryTypes) this.#types.clear();
    for (const each of entryTypes ?? [type]) if (supported.includes(each)) this.#types.add(each);
    if (!this.#types.size) return;
    observers.add(this);
    if (buffered && type) for (const entry of byTime(entries)) if (entry.entryType === type) this.#take(entry);
  }
  disconnect() {
    observers.delete(this);
    this.#types.clear();
    this.#waiting = [];
  }
  takeRecords() {
    const list = byTime(this.#waiting);
    this.#waiting = [];
    return list;
  }
  #take(entry) {
    if (!this.#types.has(entry.entryType)) return;
    this.#waiting.push(entry);
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      if (this.#waiting.length) this.#callback.call(this, make(PerformanceObserverEntryList, this.takeRecords()), this);
    });
  }
  static tell(observer, entry) {
    observer.#take(entry);
  }
}
const { tell } = PerformanceObserver;
delete PerformanceObserver.tell;

function timerify(work, options = {}) {
  if (typeof work !== 'function') throw wrongType('"fn" argument', 'of type function', work);
  if (typeof options !== 'object' || options === null) throw wrongType('"options" argument', 'of type object', options);
  const { histogram } = options;
  if (histogram !== undefined && typeof histogram?.record !== 'function') throw wrongType('"options.histogram" property', 'an instance of RecordableHistogram', histogram);
  const done = (start, values) => {
    const duration = now() - start;
    histogram?.record(Math.max(1, Math.ceil(duration * 1e6)));
    const entry = make(PerformanceEntry, work.name, 'function', start, duration, values);
    enqueue(Object.assign(entry, values), false);
  };
  function timerified(...values) {
    const start = now();
    const result = new.target ? Reflect.construct(work, values, work) : Reflect.apply(work, this, values);
    if (!new.target && typeof result?.finally === 'function') return result.finally(() => done(start, values));
    done(start, values);
    return result;
  }
  return Object.defineProperties(timerified, { length: { value: work.length, configurable: true }, name: { value: `timerified ${work.name}`, configurable: true } });
}

const methods = {
  clearMarks: clear('mark'),
  clearMeasures: clear('measure'),
  // There are no resources, because there is no network.
  clearResourceTimings() {},
  markResourceTiming() {},
  setResourceTimingBufferSize() {},
  eventLoopUtilization: () => ({ idle: 0, active: 0, utilization: 0 }),
  ...questions(() => byTime(entries)),
  mark,
  measure,
  timerify,
  nodeTiming,
};

module.exports = { PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver, PerformanceObserverEntryList, methods };

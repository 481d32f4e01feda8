// AssertionError, whose message shows where two values differ.
'use strict';
const { received } = require('internal/received');
const { inspect } = shared;

// Of lines and characters that are shown.
const MOST_LINES = 50;
const SHORT = 12;
const LONG = 488;
const LINE = 80;

const words = {
  deepStrictEqual: 'Expected values to be strictly deep-equal:',
  strictEqual: 'Expected values to be strictly equal:',
  strictEqualObject: 'Expected "actual" to be reference-equal to "expected":',
  deepEqual: 'Expected values to be loosely deep-equal:',
  notDeepStrictEqual: 'Expected "actual" not to be strictly deep-equal to:',
  notStrictEqual: 'Expected "actual" to be strictly unequal to:',
  notStrictEqualObject: 'Expected "actual" not to be reference-equal to "expected":',
  notDeepEqual: 'Expected "actual" not to be loosely deep-equal to:',
  notIdentical: 'Values have same structure but are not reference-equal:',
  notDeepEqualUnequal: 'Expected values not to be loosely deep-equal:',
};

const textOf = (value) => inspect(value, { colors: false, compact: false, customInspect: false, depth: 1000, maxArrayLength: Infinity, maxStringLength: Infinity, showHidden: false, showProxy: false, sorted: true, getters: true });
const isObject = (value) => typeof value === 'object' && value !== null;
const bothAre = (test, ...values) => values.every(test);
const isFunction = (value) => typeof value === 'function';

// Two lines count as one when only a comma at the end tells them apart.
function common(left, right) {
  if (left === right || left === `${right},`) return left;
  return right === `${left},` ? right : undefined;
}

// Lines of both until the end that is the same; `skipped` says whether some of it is left out.
function cutEnd(left, right) {
  const end = [];
  let first;
  while (left.length && right.length && left.at(-1) === right.at(-1)) {
    first = left.pop();
    right.pop();
    if (end.length < 3) end.unshift(`  ${first}`);
    else if (end.length === 3) end.unshift('...');
  }
  const skipped = end[0] === '...';
  if (skipped) end.unshift(`  ${first}`);
  return { end, skipped };
}

// The lines before one that differs: all of few, and the last two of many.
function before(lines, at, same) {
  if (same <= 2) return [];
  const shown = same === 5 ? 3 : Math.min(same - 2, 2);
  const list = lines.slice(at - shown, at).map((line) => `  ${line}`);
  return same > 5 ? ['...', ...list] : list;
}

function compareLines(left, right) {
  const { end, skipped: isEndSkipped } = cutEnd(left, right);
  const output = [];
  let waiting = [];
  let same = 0;
  let printed = 0;
  let skipped = isEndSkipped;
  const longer = left.length >= right.length ? left : right;
  const add = (...lines) => {
    output.push(...lines);
    printed += lines.length;
  };
  for (let i = 0; i < longer.length; i++) {
    const line = i < left.length && i < right.length ? common(left[i], right[i]) : undefined;
    if (line !== undefined) {
      output.push(...waiting);
      waiting = [];
      if (++same <= 2) add(`  ${line}`);
    } else {
      skipped ||= same > 5;
      add(...before(longer, i, same));
      same = 0;
      if (i < left.length) add(`+ ${left[i]}`);
      if (i < right.length) {
        waiting.push(`- ${right[i]}`);
        printed++;
      }
    }
    if (printed > MOST_LINES && i < longer.length - 2) return { lines: [...output, '...', ...waiting, '...'], skipped: true };
  }
  return { lines: [...output, ...waiting, ...end], skipped };
}

function shortened(lines) {
  return lines.length > MOST_LINES ? [...lines.slice(0, MOST_LINES - 4), '...'] : lines;
}

// Where two lines differ first, when the eye might miss it.
function pointer(left, right) {
  if (left.length + right.length >= LINE) return [];
  let at = 0;
  while (left[at] === right[at]) at++;
  return at > 2 ? [`${' '.repeat(at + 2)}^`] : [];
}

function difference(actual, expected, operator, message) {
  const isOfReferences = operator === 'strictEqual' && (bothAre(isObject, actual, expected) || bothAre(isFunction, actual, expected));
  const title = message ?? words[isOfReferences ? 'strictEqualObject' : operator];
  const [left, right] = [textOf(actual).split('\n'), textOf(expected).split('\n')];
  if (left.join() === right.join()) return `${message ?? words.notIdentical}\n\n${shortened(left).join('\n')}\n`;
  const isLine = left.length === 1 && right.length === 1;
  const isShort = isLine && left[0].length + right[0].length <= SHORT;
  if (isShort && !isObject(actual) && !isObject(expected) && (actual !== 0 || expected !== 0)) return `${title}\n\n${left[0]} !== ${right[0]}\n`;
  const end = isLine && !isShort && !isOfReferences ? pointer(left[0], right[0]) : [];
  const { lines, skipped } = compareLines(left, right);
  return `${title}\n+ actual - expected${skipped ? ' ... Lines skipped' : ''}\n\n${[...lines, ...end].join('\n')}`;
}

function unwanted(actual, operator) {
  const lines = shortened(textOf(actual).split('\n'));
  const title = words[operator === 'notStrictEqual' && (isObject(actual) || isFunction(actual)) ? 'notStrictEqualObject' : operator];
  if (lines.length > 1) return `${title}\n\n${lines.join('\n')}\n`;
  return `${title}${lines[0].length > 5 ? '\n\n' : ' '}${lines[0]}`;
}

const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 3)}...` : text);
function comparison(actual, expected, operator) {
  const [left, right] = [textOf(actual), textOf(expected)];
  if (operator === 'notDeepEqual' && left === right) return cut(`${words.notDeepEqual}\n\n${left}`, 1024);
  const [first, second] = [cut(left, 512), cut(right, 512)];
  if (operator === 'deepEqual') return `${words.deepEqual}\n\n${first}\n\nshould loosely deep-equal\n\n${second}`;
  if (operator === 'notDeepEqual') return `${words.notDeepEqualUnequal}\n\n${first}\n\nshould not loosely deep-equal\n\n${second}`;
  return `${first} ${operator} ${second}`;
}

// An error without its stack.
function bare(error) {
  const copy = Object.assign(Object.create(Object.getPrototypeOf(error)), error);
  return Object.defineProperties(copy, { message: { value: error.message }, stack: { value: undefined } });
}

function messageOf({ actual, expected, message, operator }) {
  if (actual instanceof Error && expected instanceof Error) [actual, expected] = [bare(actual), bare(expected)];
  const isDifference = operator === 'deepStrictEqual' || operator === 'strictEqual';
  if (message !== undefined && message !== null) return isDifference ? difference(actual, expected, operator, String(message)) : String(message);
  if (isDifference) return difference(actual, expected, operator);
  return operator === 'notDeepStrictEqual' || operator === 'notStrictEqual' ? unwanted(actual, operator) : comparison(actual, expected, operator);
}

function ellipsis(text) {
  const lines = text.split('\n', 11);
  if (lines.length > 10) return `${lines.slice(0, 10).join('\n')}\n...`;
  return text.length > LONG ? `${text.slice(0, LONG)}...` : text;
}

class AssertionError extends Error {
  constructor(options) {
    if (!isObject(options)) throw Object.assign(new TypeError(`The "options" argument must be of type object. Received ${received(options)}`), { code: 'ERR_INVALID_ARG_TYPE' });
    const { actual, expected, message, operator, stackStartFn, stackStartFunction } = options;
    super(messageOf(options));
    this.generatedMessage = !message;
    Object.defineProperty(this, 'name', { __proto__: null, value: 'AssertionError [ERR_ASSERTION]', writable: true, configurable: true });
    this.code = 'ERR_ASSERTION';
    Object.assign(this, { actual, expected, operator });
    Error.captureStackTrace?.(this, stackStartFn ?? stackStartFunction);
    // Reading it makes its first line, with the name that it has now.
    void this.stack;
    this.name = 'AssertionError';
  }
  toString() {
    return `${this.name} [${this.code}]: ${this.message}`;
  }
  [inspect.custom](_depth, options) {
    const { actual, expected } = this;
    for (const [name, value] of Object.entries({ actual, expected })) if (typeof value === 'string') this[name] = ellipsis(value);
    const text = inspect(this, { ...options, customInspect: false, depth: 0 });
    Object.assign(this, { actual, expected });
    return text;
  }
}

module.exports = AssertionError;

// Histograms of `perf_hooks`: how often which numbers were recorded.
'use strict';
const { received } = require('internal/received');
const { inspect } = shared;
const { performance } = globalThis;

const failure = (Kind, code, message) => Object.assign(new Kind(message), { code });
const wrongType = (name, expected, value) => failure(TypeError, 'ERR_INVALID_ARG_TYPE', `The ${name} must be ${expected}. Received ${received(value)}`);
const outOfRange = (name, range, value) => failure(RangeError, 'ERR_OUT_OF_RANGE', `The value of "${name}" is out of range. It must be ${range}. Received ${inspect(value)}`);
const LEAST = 9223372036854775807n;

let isMaking = false;
class Histogram {
  // The numbers that were recorded, each with how often.
  #counts = new Map();
  #count = 0;
  #exceeds = 0;
  constructor() {
    if (!isMaking) throw failure(TypeError, 'ERR_ILLEGAL_CONSTRUCTOR', 'Illegal constructor');
  }
  get #sorted() {
    return [...this.#counts].sort(([a], [b]) => a - b);
  }
  get count() {
    return this.#count;
  }
  get countBigInt() {
    return BigInt(this.#count);
  }
  get exceeds() {
    return this.#exceeds;
  }
  get exceedsBigInt() {
    return BigInt(this.#exceeds);
  }
  get min() {
    return this.#count ? this.#sorted[0][0] : Number(LEAST);
  }
  get minBigInt() {
    return this.#count ? BigInt(this.min) : LEAST;
  }
  get max() {
    return this.#count ? this.#sorted.at(-1)[0] : 0;
  }
  get maxBigInt() {
    return BigInt(this.max);
  }
  get mean() {
    return this.#sum((value) => value) / this.#count;
  }
  get stddev() {
    const { mean } = this;
    return Math.sqrt(this.#sum((value) => (value - mean) ** 2) / this.#count);
  }
  #sum(of) {
    return [...this.#counts].reduce((sum, [value, times]) => sum + of(value) * times, 0);
  }
  percentile(percent) {
    if (typeof percent !== 'number') throw wrongType('"percentile" argument', 'of type number', percent);
    if (!(percent > 0 && percent <= 100)) throw outOfRange('percentile', '> 0 && <= 100', percent);
    let left = Math.ceil((percent / 100) * this.#count);
    for (const [value, times] of this.#sorted) if ((left -= times) <= 0) return value;
    return 0;
  }
  percentileBigInt(percent) {
    return BigInt(this.percentile(percent));
  }
  get percentiles() {
    return new Map([0.001, 50, 75, 87.5, 93.75, 96.875, 98.4375, 99.21875, 100].map((percent) => [percent === 0.001 ? 0 : percent, this.percentile(percent)]));
  }
  get percentilesBigInt() {
    return new Map([...this.percentiles].map(([percent, value]) => [percent, BigInt(value)]));
  }
  reset() {
    this.#counts.clear();
    this.#count = this.#exceeds = 0;
  }
  toJSON() {
    const { count, min, max, mean, exceeds, stddev, percentiles } = this;
    return { count, min, max, mean, exceeds, stddev, percentiles: Object.fromEntries(percentiles) };
  }
  [inspect.custom](depth, options) {
    if (depth < 0) return `[${this.constructor.name}]`;
    const { min, max, mean, exceeds, stddev, count, percentiles } = this;
    return `Histogram ${inspect({ min, max, mean, exceeds, stddev, count, percentiles }, options)}`;
  }
  static put(histogram, value, times = 1) {
    histogram.#counts.set(value, (histogram.#counts.get(value) ?? 0) + times);
    histogram.#count += times;
  }
  static take(histogram, other) {
    for (const [value, times] of other.#counts) put(histogram, value, times);
  }
  static is = (value) => typeof value === 'object' && value !== null && #counts in value;
}
const { is, put, take } = Histogram;
for (const name of ['is', 'put', 'take']) delete Histogram[name];

class RecordableHistogram extends Histogram {
  #last;
  record(value) {
    if (typeof value !== 'bigint' && typeof value !== 'number') throw wrongType('"val" argument', 'of type bigint or integer', value);
    const number = Number(value);
    if (!Number.isSafeInteger(number) || number < 1) throw outOfRange('val', `>= 1 && <= ${Number.MAX_SAFE_INTEGER}`, value);
    put(this, number);
  }
  recordDelta() {
    const now = performance.now();
    if (this.#last !== undefined) put(this, Math.max(1, Math.round((now - this.#last) * 1e6)));
    this.#last = now;
  }
  add(other) {
    if (!is(other)) throw wrongType('"other" argument', 'an instance of RecordableHistogram', other);
    take(this, other);
  }
}

// Nothing but the program itself holds up the loop, which is not watched.
class IntervalHistogram extends Histogram {
  #isEnabled = false;
  enable() {
    return !this.#isEnabled && (this.#isEnabled = true);
  }
  disable() {
    return this.#isEnabled && !(this.#isEnabled = false);
  }
}

function make(Kind) {
  isMaking = true;
  try {
    return new Kind();
  } finally {
    isMaking = false;
  }
}

function createHistogram(options = {}) {
  if (typeof options !== 'object' || options === null) throw wrongType('"options" argument', 'of type object', options);
  const { lowest = 1, highest = Number.MAX_SAFE_INTEGER, figures = 3 } = options;
  for (const [name, value] of Object.entries({ lowest, highest })) if (typeof value !== 'number' && typeof value !== 'bigint') throw wrongType(`"options.${name}" property`, 'of type bigint or number', value);
  if (typeof figures !== 'number') throw wrongType('"options.figures" property', 'of type number', figures);
  if (!Number.isInteger(figures) || figures < 1 || figures > 5) throw outOfRange('options.figures', '>= 1 && <= 5', figures);
  if (Number(highest) < 2 * Number(lowest)) throw outOfRange('options.highest', `>= ${2 * Number(lowest)}`, highest);
  return make(RecordableHistogram);
}

function monitorEventLoopDelay(options = {}) {
  if (typeof options !== 'object' || options === null) throw wrongType('"options" argument', 'of type object', options);
  const { resolution = 10 } = options;
  if (typeof resolution !== 'number') throw wrongType('"options.resolution" property', 'of type number', resolution);
  if (!Number.isInteger(resolution) || resolution < 1) throw outOfRange('options.resolution', '>= 1 && <= 9007199254740991', resolution);
  return make(IntervalHistogram);
}

module.exports = { createHistogram, monitorEventLoopDelay };

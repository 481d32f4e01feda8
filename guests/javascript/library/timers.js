// The module `timers`: the globals, and what older programs make timers of their own objects with.
'use strict';
const { received } = require('internal/received');
const { deprecate } = require('util');
const { Timeout, functions } = shared.timers;

const refuse = (Kind, code, message) => {
  throw Object.assign(new Kind(message), { code });
};

// The timers of objects that were enrolled.
const started = new WeakMap();

function unenroll(item) {
  functions.clearTimeout(started.get(item));
  started.delete(item);
  functions.clearTimeout(item);
  item._idleTimeout = -1;
}

function enroll(item, delay) {
  if (typeof delay !== 'number') refuse(TypeError, 'ERR_INVALID_ARG_TYPE', `The "msecs" argument must be of type number. Received ${received(delay)}`);
  if (delay < 0 || !Number.isFinite(delay)) refuse(RangeError, 'ERR_OUT_OF_RANGE', `The value of "msecs" is out of range. It must be a non-negative finite number. Received ${delay}`);
  if (started.has(item)) unenroll(item);
  if (delay > 2 ** 31 - 1) process.emitWarning(`${delay} does not fit into a 32-bit signed integer.\nTimer duration was truncated to 2147483647.`, 'TimeoutOverflowWarning');
  item._idleTimeout = Math.min(delay, 2 ** 31 - 1);
}

function start(item, isWaitedFor) {
  if (!(item._idleTimeout >= 0)) return;
  functions.clearTimeout(started.get(item));
  const fire = () => {
    started.delete(item);
    item._onTimeout?.();
  };
  const timer = new Timeout(fire, item._idleTimeout, [], false, isWaitedFor);
  started.set(item, timer);
  item._idleStart = Math.trunc(performance.now());
  item._idlePrev = item._idleNext = timer;
}

module.exports = {
  ...functions,
  enroll: deprecate(enroll, 'timers.enroll() is deprecated. Please use setTimeout instead.', 'DEP0095'),
  unenroll: deprecate(unenroll, 'timers.unenroll() is deprecated. Please use clearTimeout instead.', 'DEP0096'),
  active: deprecate((item) => start(item, true), 'timers.active() is deprecated. Please use timeout.refresh() instead.', 'DEP0126'),
  _unrefActive: deprecate((item) => start(item, false), 'timers._unrefActive() is deprecated. Please use timeout.refresh() instead.', 'DEP0127'),
  get promises() {
    return require('timers/promises');
  },
};

// What is told of promises: listeners with `init(promise, parent)`, `before(promise)`, `after(promise)` and `settled(promise)`.
'use strict';
const { nextTick, setPromiseHook } = native;

// In the order of the engine's numbers.
const kinds = ['init', 'before', 'after', 'settled'];
let listeners = [];

// What a listener throws is nobody's but the program's.
function raise(error) {
  throw error;
}

function tell(event, promise, parent) {
  for (const listener of listeners) {
    try {
      listener[kinds[event]]?.(promise, parent);
    } catch (error) {
      nextTick(raise, error);
    }
  }
}

function change(list) {
  if (!list.length !== !listeners.length) setPromiseHook(list.length ? tell : undefined);
  listeners = list;
}

// What it gives back ends that.
module.exports = function listen(listener) {
  change([...listeners, listener]);
  return () => change(listeners.filter((each) => each !== listener));
};

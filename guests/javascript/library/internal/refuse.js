// What is not there says so where it is used, in the words of the sandbox.
'use strict';

// A function that refuses: with an error that it throws, or that a callback at the end gets.
function refusing(what, code, message) {
  const failure = () => Object.assign(new Error(message), { code, syscall: what });
  return function (...values) {
    const callback = values.at(-1);
    if (typeof callback !== 'function') throw failure();
    queueMicrotask(() => callback(failure()));
    return undefined;
  };
}

const refuseListening = () => Object.assign(new Error('nothing can listen in this sandbox: its programs connect to others, and nobody connects to them'), { code: 'EACCES', errno: -13, syscall: 'listen' });

module.exports = { refuseListening, refusing };

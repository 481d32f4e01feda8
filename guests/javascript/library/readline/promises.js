// The module `readline/promises`.
'use strict';
const readline = require('readline');

class Interface extends readline.Interface {
  question(query, options) {
    return new Promise((resolve, reject) => {
      options?.signal?.addEventListener('abort', () => reject(options.signal.reason), { once: true });
      super.question(query, resolve);
    });
  }
}

module.exports = { Interface, createInterface: (...values) => new Interface(...values) };

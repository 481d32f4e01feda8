// The global `navigator` (WinterTC's Minimum Common API).
'use strict';

class Navigator {
  get hardwareConcurrency() {
    return 1;
  }
  get language() {
    return 'en-US';
  }
  get languages() {
    return Object.freeze(['en-US']);
  }
  get platform() {
    return 'linux';
  }
  get userAgent() {
    return 'Dormouse';
  }
  get onLine() {
    return false;
  }
  get [Symbol.toStringTag]() {
    return 'Navigator';
  }
}

module.exports = new Navigator();

// The module `inspector`: there is none.
'use strict';
const { refusing } = require('internal/refuse');
const refuse = (what) => refusing(what, 'ERR_INSPECTOR_NOT_AVAILABLE', 'Inspector is not available');
class Session {
  constructor() {
    refuse('Session')();
  }
}
module.exports = { Session, open: refuse('open'), close() {}, url: () => undefined, waitForDebugger: refuse('waitForDebugger'), console };

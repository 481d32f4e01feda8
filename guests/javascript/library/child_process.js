// The module `child_process`: there are no processes.
'use strict';
const EventEmitter = require('events');
const { noProcess } = require('internal/refuse');

class ChildProcess extends EventEmitter {}

module.exports = { ChildProcess };
for (const name of ['exec', 'execFile', 'spawn', 'fork', 'execSync', 'execFileSync', 'spawnSync']) module.exports[name] = noProcess(name);

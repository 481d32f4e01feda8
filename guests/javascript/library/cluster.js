// The module `cluster`: this is the only process.
'use strict';
const EventEmitter = require('events');
const { refusing } = require('internal/refuse');

module.exports = Object.assign(new EventEmitter(), { isMaster: true, isPrimary: true, isWorker: false, workers: {}, settings: {}, schedulingPolicy: 2, SCHED_NONE: 1, SCHED_RR: 2, setupPrimary() {}, setupMaster() {}, fork: refusing('fork', 'ENOSYS', 'no processes in this sandbox: cluster.fork cannot start a program') });

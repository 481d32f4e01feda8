// The harmless part of the module `worker_threads`: this is the only thread.
'use strict';
const EventEmitter = require('events');
const { MessageChannel, MessagePort, BroadcastChannel, receive } = require('internal/messages');

class Worker extends EventEmitter {
  constructor() {
    super();
    throw Object.assign(new Error('no threads in this sandbox: a Worker cannot be started'), { code: 'ERR_WORKER_INIT_FAILED' });
  }
}

const data = new Map();

module.exports = {
  isMainThread: true,
  isInternalThread: false,
  parentPort: null,
  threadId: 0,
  workerData: null,
  resourceLimits: {},
  SHARE_ENV: Symbol.for('nodejs.worker_threads.SHARE_ENV'),
  Worker,
  MessageChannel,
  MessagePort,
  BroadcastChannel,
  receiveMessageOnPort: receive,
  markAsUntransferable() {},
  isMarkedAsUntransferable: () => false,
  moveMessagePortToContext: (port) => port,
  getEnvironmentData: (key) => data.get(key),
  setEnvironmentData: (key, value) => void (value === undefined ? data.delete(key) : data.set(key, value)),
};

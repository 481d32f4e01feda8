// The module `perf_hooks`.
'use strict';
const { methods, ...classes } = require('internal/timeline');
const { createHistogram, monitorEventLoopDelay } = require('internal/histogram');

module.exports = {
  ...classes,
  performance: globalThis.performance,
  constants: {},
  createHistogram,
  eventLoopUtilization: methods.eventLoopUtilization,
  monitorEventLoopDelay,
  timerify: methods.timerify,
};

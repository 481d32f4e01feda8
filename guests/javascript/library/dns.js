// The module `dns`: there is no network. What asks is checked as in Node.js before it is refused.
'use strict';
const { error, need, needFunction, wrongType } = require('internal/arguments');
const { noNetwork } = require('internal/refuse');
const { isIP, isIPv4 } = require('net');

const queries = ['resolve', 'resolve4', 'resolve6', 'resolveAny', 'resolveCaa', 'resolveCname', 'resolveMx', 'resolveNaptr', 'resolveNs', 'resolvePtr', 'resolveSoa', 'resolveSrv', 'resolveTxt', 'reverse'];
const names = ['lookup', 'lookupService', ...queries];
const codes = { NODATA: 'ENODATA', FORMERR: 'EFORMERR', SERVFAIL: 'ESERVFAIL', NOTFOUND: 'ENOTFOUND', NOTIMP: 'ENOTIMP', REFUSED: 'EREFUSED', BADQUERY: 'EBADQUERY', BADNAME: 'EBADNAME', BADFAMILY: 'EBADFAMILY', BADRESP: 'EBADRESP', CONNREFUSED: 'ECONNREFUSED', TIMEOUT: 'ETIMEOUT', EOF: 'EOF', FILE: 'EFILE', NOMEM: 'ENOMEM', DESTRUCTION: 'EDESTRUCTION', BADSTR: 'EBADSTR', BADFLAGS: 'EBADFLAGS', NONAME: 'ENONAME', BADHINTS: 'EBADHINTS', NOTINITIALIZED: 'ENOTINITIALIZED', LOADIPHLPAPI: 'ELOADIPHLPAPI', ADDRGETNETWORKPARAMS: 'EADDRGETNETWORKPARAMS', CANCELLED: 'ECANCELLED' };

const isQuery = (name) => queries.includes(name);

function call(name) {
  const refuse = noNetwork(name);
  return function (...values) {
    if (isQuery(name)) {
      need('string', 'name', values[0]);
      needFunction('callback', values.at(-1));
    }
    return refuse(...values);
  };
}

// What is wrong is thrown at once; that there is no network is the promise's.
function promise(name) {
  const refuse = noNetwork(name);
  return function (...values) {
    if (isQuery(name)) need('string', 'name', values[0]);
    return Promise.resolve().then(() => refuse());
  };
}

// An address with a port or without one, as it was written, if it is one.
function serverOf(text, at) {
  need('string', `servers[${at}]`, text);
  const [, inner, address] = /^\[([^[\]]*)\](?::\d+)?$/.exec(text) ?? /^()([^:]*)(?::\d+)?$/.exec(text) ?? [];
  if (!isIP(inner || address || '') && !isIP(text)) throw error(TypeError, 'ERR_INVALID_IP_ADDRESS', `Invalid IP address: ${text}`);
  return text.replace(/^\[([^\]]*)\](?::53)?$/, '$1').replace(/^([\d.]+):53$/, '$1');
}

function needServers(servers) {
  if (!Array.isArray(servers)) throw wrongType('servers', 'an instance of Array', servers);
  return servers.map(serverOf);
}

function checkLocal(first, second) {
  need('string', 'ipv4', first);
  if (second !== undefined) need('string', 'ipv6', second);
  const given = second === undefined ? [first] : [first, second];
  if (!given.every((address) => isIP(address)) || (given.length === 2 && isIPv4(first) === isIPv4(second))) throw error(Error, 'ERR_INVALID_ARG_VALUE', 'Invalid IP address.');
}

// What the calls of the module itself were told; each resolver has its own.
function settings() {
  let servers = ['127.0.0.1'];
  return {
    getServers: () => [...servers],
    setServers(given) {
      servers = needServers(given);
    },
  };
}

let order = 'verbatim';
const orders = {
  getDefaultResultOrder: () => order,
  setDefaultResultOrder(given) {
    if (!['verbatim', 'ipv4first', 'ipv6first'].includes(given)) throw require('internal/arguments').wrongValue('dnsOrder', given, "must be one of: 'verbatim', 'ipv4first', 'ipv6first'");
    order = given;
  },
};

const calls = Object.fromEntries(names.map((name) => [name, call(name)]));
const promised = Object.fromEntries(names.map((name) => [name, promise(name)]));

function resolver(functions) {
  class Resolver {
    constructor() {
      const { getServers, setServers } = settings();
      Object.defineProperties(this, { getServers: { value: getServers, configurable: true }, setServers: { value: setServers, configurable: true } });
    }
    cancel() {}
    setLocalAddress(first, second) {
      checkLocal(first, second);
    }
  }
  for (const name of queries) Resolver.prototype[name] = functions[name];
  return Resolver;
}

const common = { ...settings(), ...orders, ...codes };
module.exports = { ...calls, ...common, ADDRCONFIG: 32, V4MAPPED: 8, ALL: 16, Resolver: resolver(calls), promises: { ...promised, ...common, Resolver: resolver(promised) } };

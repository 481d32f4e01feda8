// The module `dns`. The host looks names up, when a connection is made; here a name has an address of its own, which leads to it
// (internal/names.js). Nothing else is known of names. What asks is checked as in Node.js before it is refused.
'use strict';
const { error, need, needFunction, wrongType } = require('internal/arguments');
const { refusing } = require('internal/refuse');
const { isIP, isIPv4 } = require('net');

const queries = ['resolve', 'resolve4', 'resolve6', 'resolveAny', 'resolveCaa', 'resolveCname', 'resolveMx', 'resolveNaptr', 'resolveNs', 'resolvePtr', 'resolveSoa', 'resolveSrv', 'resolveTxt', 'reverse'];
const names = ['lookup', 'lookupService', ...queries];
const codes = { NODATA: 'ENODATA', FORMERR: 'EFORMERR', SERVFAIL: 'ESERVFAIL', NOTFOUND: 'ENOTFOUND', NOTIMP: 'ENOTIMP', REFUSED: 'EREFUSED', BADQUERY: 'EBADQUERY', BADNAME: 'EBADNAME', BADFAMILY: 'EBADFAMILY', BADRESP: 'EBADRESP', CONNREFUSED: 'ECONNREFUSED', TIMEOUT: 'ETIMEOUT', EOF: 'EOF', FILE: 'EFILE', NOMEM: 'ENOMEM', DESTRUCTION: 'EDESTRUCTION', BADSTR: 'EBADSTR', BADFLAGS: 'EBADFLAGS', NONAME: 'ENONAME', BADHINTS: 'EBADHINTS', NOTINITIALIZED: 'ENOTINITIALIZED', LOADIPHLPAPI: 'ELOADIPHLPAPI', ADDRGETNETWORKPARAMS: 'EADDRGETNETWORKPARAMS', CANCELLED: 'ECANCELLED' };

const isQuery = (name) => queries.includes(name);
const noDns = (name) => refusing(name, 'EREFUSED', `${name} EREFUSED: a sandbox asks no DNS; the host looks names up, when a connection is made`);

const unknown = (syscall, hostname) => Object.assign(new Error(`${syscall} ENOTFOUND ${hostname}`), { code: 'ENOTFOUND', errno: -3008, syscall, hostname });

// The addresses of a name; throws if it is none.
function addressesOf(name, family) {
  const kind = isIP(name);
  if (kind) return [{ address: name, family: kind }];
  const address = family === 6 ? undefined : require('internal/names').addressOf(name);
  if (!address) throw unknown('getaddrinfo', name);
  return [{ address, family: 4 }];
}

function needFamily(given) {
  const family = { IPv4: 4, IPv6: 6 }[given] ?? given ?? 0;
  if (![0, 4, 6].includes(family)) throw require('internal/arguments').wrongValue('options.family', given, 'must be one of: 0, 4, 6');
  return family;
}

// What a look-up gives: addresses, or one.
function find(name, options) {
  const { all = false, family: given } = typeof options === 'object' && options !== null ? options : { family: options };
  if (name && typeof name !== 'string') throw wrongType('hostname', 'of type string', name);
  const family = needFamily(given);
  return () => {
    if (!name) return all ? [] : [{ address: null, family: family || 4 }];
    const found = addressesOf(name, family);
    return all ? found : found.slice(0, 1);
  };
}

const isAll = (options) => Boolean(options?.all);

function lookup(name, options, callback) {
  if (typeof options === 'function') [options, callback] = [undefined, options];
  needFunction('callback', callback);
  const act = find(name, options);
  process.nextTick(() => {
    let found;
    try {
      found = act();
    } catch (failure) {
      callback(failure);
      return;
    }
    if (isAll(options)) callback(null, found);
    else callback(null, found[0].address, found[0].family);
  });
  return {};
}

function lookupPromise(name, options) {
  const act = find(name, options);
  return Promise.resolve().then(() => (isAll(options) ? act() : act()[0]));
}

function call(name) {
  const refuse = noDns(name);
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
  const refuse = noDns(name);
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

const calls = { ...Object.fromEntries(names.map((name) => [name, call(name)])), lookup };
const promised = { ...Object.fromEntries(names.map((name) => [name, promise(name)])), lookup: lookupPromise };
Object.defineProperty(lookup, Symbol.for('nodejs.util.promisify.custom'), { value: lookupPromise, configurable: true });

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

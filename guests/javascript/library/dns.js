// The module `dns`: there is no network.
'use strict';
const { noNetwork } = require('internal/refuse');

const names = ['lookup', 'lookupService', 'resolve', 'resolve4', 'resolve6', 'resolveAny', 'resolveCaa', 'resolveCname', 'resolveMx', 'resolveNaptr', 'resolveNs', 'resolvePtr', 'resolveSoa', 'resolveSrv', 'resolveTxt', 'reverse'];
const settings = { getServers: () => [], setServers() {}, getDefaultResultOrder: () => 'verbatim', setDefaultResultOrder() {} };
const codes = { NODATA: 'ENODATA', FORMERR: 'EFORMERR', SERVFAIL: 'ESERVFAIL', NOTFOUND: 'ENOTFOUND', NOTIMP: 'ENOTIMP', REFUSED: 'EREFUSED', TIMEOUT: 'ETIMEOUT', CANCELLED: 'ECANCELLED' };

const calls = Object.fromEntries(names.map((name) => [name, noNetwork(name)]));
const promised = Object.fromEntries(names.map((name) => [name, async (...values) => calls[name](...values.filter((each) => typeof each !== 'function'))]));

class Resolver {
  cancel() {}
}
Object.assign(Resolver.prototype, calls, settings);
class PromisesResolver {
  cancel() {}
}
Object.assign(PromisesResolver.prototype, promised, settings);

module.exports = { ...calls, ...settings, ...codes, ADDRCONFIG: 32, V4MAPPED: 8, ALL: 16, Resolver, promises: { ...promised, ...settings, ...codes, Resolver: PromisesResolver } };

// URL and URLSearchParams, over the records of `url_record.js`.
(function (native, shared) {
  'use strict';
  const { changeHost, changePort, escape, escapeForm, hrefOf, isSpecial, parse, parsePath, pathOf, ports, sets, unescapeForm } =
    shared.url;

  const { getOwnPropertyDescriptor, getPrototypeOf, defineProperty } = Object;
  const iteratorPrototype = getPrototypeOf(getPrototypeOf([][Symbol.iterator]()));
  const wrong = () => shared.library('internal/arguments');

  function textOf(value) {
    if (typeof value === 'symbol') throw new TypeError('Cannot convert a Symbol value to a string');
    return `${value}`.toWellFormed();
  }

  // As the web's interfaces have it: what has a name is enumerable.
  const hidden = new Set(['constructor', 'prototype', 'name', 'length']);
  function expose(target) {
    for (const name of Object.getOwnPropertyNames(target)) if (!hidden.has(name)) defineProperty(target, name, { enumerable: true });
  }

  // Entries in one line, or each in its own if that were too long.
  function shown(name, parts, options) {
    const length = parts.reduce((sum, part) => sum + part.length + 2, -2);
    return length <= (options?.breakLength ?? 80) ? `${name} { ${parts.join(', ')} }` : `${name} {\n  ${parts.join(',\n  ')} }`;
  }

  function pairsOf(init) {
    const make = init[Symbol.iterator];
    if (make === null || make === undefined) {
      const keys = Reflect.ownKeys(init).filter((key) => getOwnPropertyDescriptor(init, key)?.enumerable);
      return [...new Map(keys.map((key) => [textOf(key), init[key]]))];
    }
    if (typeof make !== 'function') throw wrong().error(TypeError, 'ERR_ARG_NOT_ITERABLE', 'Query pairs must be iterable');
    return Array.from(init, (pair) => {
      const isList = (typeof pair === 'object' && pair !== null || typeof pair === 'function') && typeof pair[Symbol.iterator] === 'function';
      const list = isList ? [...pair] : [];
      if (list.length !== 2) throw wrong().error(TypeError, 'ERR_INVALID_TUPLE', 'Each query pair must be an iterable [name, value] tuple');
      return list;
    });
  }

  let owner;
  let listOf;
  class URLSearchParams {
    #list = [];
    #url = owner;
    constructor(init = undefined) {
      if (init === undefined || init === null) return;
      if (typeof init !== 'object' && typeof init !== 'function') this.#read(textOf(init).replace(/^\?/, ''));
      else this.#list = pairsOf(init).map(([name, value]) => [textOf(name), textOf(value)]);
    }
    static {
      listOf = (params) => params.#list;
    }
    static refresh(params, text) {
      params.#read(text);
    }
    #read(text) {
      this.#list = text.split('&').filter(Boolean).map((part) => {
        const equals = part.indexOf('=');
        if (equals < 0) return [unescapeForm(part), ''];
        return [unescapeForm(part.slice(0, equals)), unescapeForm(part.slice(equals + 1))];
      });
    }
    #changed() {
      this.#url?.(this.toString());
    }
    // The receiver, if it is one of these and was given its arguments.
    static #of(self, given = 0, ...names) {
      if (typeof self !== 'object' || self === null || !(#list in self)) throw wrong().wrongThis('URLSearchParams');
      if (given < names.length) throw wrong().missing(...names);
      return self;
    }
    get size() {
      return URLSearchParams.#of(this).#list.length;
    }
    append(name, value) {
      URLSearchParams.#of(this, arguments.length, 'name', 'value').#list.push([textOf(name), textOf(value)]);
      this.#changed();
    }
    delete(name, value = undefined) {
      URLSearchParams.#of(this, arguments.length, 'name');
      const wanted = textOf(name);
      const text = value === undefined ? undefined : textOf(value);
      this.#list = this.#list.filter(([key, item]) => key !== wanted || (text !== undefined && item !== text));
      this.#changed();
    }
    get(name) {
      URLSearchParams.#of(this, arguments.length, 'name');
      const wanted = textOf(name);
      return this.#list.find(([key]) => key === wanted)?.[1] ?? null;
    }
    getAll(name) {
      URLSearchParams.#of(this, arguments.length, 'name');
      const wanted = textOf(name);
      return this.#list.filter(([key]) => key === wanted).map(([, value]) => value);
    }
    has(name, value = undefined) {
      URLSearchParams.#of(this, arguments.length, 'name');
      const wanted = textOf(name);
      const text = value === undefined ? undefined : textOf(value);
      return this.#list.some(([key, item]) => key === wanted && (text === undefined || item === text));
    }
    set(name, value) {
      URLSearchParams.#of(this, arguments.length, 'name', 'value');
      const wanted = textOf(name);
      const text = textOf(value);
      const first = this.#list.find(([key]) => key === wanted);
      if (!first) this.#list.push([wanted, text]);
      else {
        first[1] = text;
        this.#list = this.#list.filter((pair) => pair === first || pair[0] !== wanted);
      }
      this.#changed();
    }
    sort() {
      URLSearchParams.#of(this).#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed();
    }
    forEach(callback, self = undefined) {
      URLSearchParams.#of(this);
      wrong().needFunction('callback', callback);
      for (let at = 0; at < this.#list.length; at++) callback.call(self, this.#list[at][1], this.#list[at][0], this);
    }
    entries() {
      return new ParamsIterator(URLSearchParams.#of(this), ([name, value]) => [name, value]);
    }
    keys() {
      return new ParamsIterator(URLSearchParams.#of(this), ([name]) => name);
    }
    values() {
      return new ParamsIterator(URLSearchParams.#of(this), ([, value]) => value);
    }
    toString() {
      return URLSearchParams.#of(this).#list.map(([name, value]) => `${escapeForm(name)}=${escapeForm(value)}`).join('&');
    }
    get [Symbol.toStringTag]() {
      return 'URLSearchParams';
    }
    [shared.inspect.custom](depth, options, inspect) {
      URLSearchParams.#of(this);
      if (typeof depth === 'number' && depth < 0) return '[Object]';
      const pairs = this.#list.map(([name, value]) => `${inspect(name, options)} => ${inspect(value, options)}`);
      return pairs.length ? shown('URLSearchParams', pairs, options) : 'URLSearchParams {}';
    }
  }
  const { refresh } = URLSearchParams;
  delete URLSearchParams.refresh;
  URLSearchParams.prototype[Symbol.iterator] = URLSearchParams.prototype.entries;
  defineProperty(URLSearchParams.prototype, Symbol.iterator, { enumerable: false });
  expose(URLSearchParams.prototype);

  // Goes through the list as it is at each step.
  class ParamsIterator {
    #params;
    #pick;
    #at = 0;
    constructor(params, pick) {
      this.#params = params;
      this.#pick = pick;
    }
    static #of(self) {
      if (typeof self !== 'object' || self === null || !(#params in self)) throw wrong().wrongThis('URLSearchParamsIterator');
      return self;
    }
    next() {
      const list = listOf(ParamsIterator.#of(this).#params);
      if (this.#at >= list.length) return { value: undefined, done: true };
      return { value: this.#pick(list[this.#at++]), done: false };
    }
    [shared.inspect.custom](depth, options, inspect) {
      ParamsIterator.#of(this);
      if (typeof depth === 'number' && depth < 0) return '[Object]';
      const parts = listOf(this.#params).slice(this.#at).map((pair) => inspect(this.#pick(pair), options));
      return shown('URLSearchParams Iterator', parts, options);
    }
  }
  Object.setPrototypeOf(ParamsIterator.prototype, iteratorPrototype);
  delete ParamsIterator.prototype.constructor;
  defineProperty(ParamsIterator.prototype, Symbol.toStringTag, { value: 'URLSearchParams Iterator', configurable: true });
  expose(ParamsIterator.prototype);

  function invalid(input, base) {
    const error = Object.assign(new TypeError('Invalid URL'), { code: 'ERR_INVALID_URL', input });
    if (base !== undefined) error.base = base;
    return error;
  }

  const withoutBreaks = (value) => textOf(value).replace(/[\t\n\r]/g, '');
  // Whether a URL may have a user and a port.
  const hasAuthority = ({ hostname, protocol }) => Boolean(hostname) && protocol !== 'file:';

  // Spaces at the end of a path that is opaque would be lost when the URL is read again.
  function trim(url) {
    if (url.opaque !== null && url.query === null && url.fragment === null) url.opaque = url.opaque.replace(/ +$/, '');
  }

  function recordOf(input, base) {
    const against = base === undefined ? undefined : parse(base);
    return against === null ? null : parse(input, against);
  }

  class URL {
    #url;
    #params;
    constructor(input, base = undefined) {
      if (arguments.length === 0) throw wrong().missing('url');
      const text = textOf(input);
      const from = base === undefined ? undefined : textOf(base);
      this.#url = recordOf(text, from);
      if (!this.#url) throw invalid(text, from);
    }
    static canParse(input, base = undefined) {
      if (arguments.length === 0) throw wrong().missing('url');
      return recordOf(textOf(input), base === undefined ? undefined : textOf(base)) !== null;
    }
    static parse(input, base = undefined) {
      if (arguments.length === 0) throw wrong().missing('url');
      try {
        return new URL(input, base);
      } catch (error) {
        if (error.code !== 'ERR_INVALID_URL') throw error;
        return null;
      }
    }
    static createObjectURL(blob) {
      return shared.library('internal/object_urls').create(blob);
    }
    static revokeObjectURL(url) {
      if (arguments.length === 0) throw wrong().missing('url');
      shared.library('internal/object_urls').revoke(textOf(url));
    }
    get href() {
      return hrefOf(this.#url);
    }
    set href(value) {
      const record = recordOf(textOf(value));
      if (!record) throw invalid(textOf(value));
      this.#url = record;
      if (this.#params) refresh(this.#params, this.#url.query ?? '');
    }
    get origin() {
      const { protocol, hostname, port, opaque } = this.#url;
      if (protocol === 'blob:' && /^https?:/i.test(opaque ?? '')) return recordOf(opaque) ? new URL(opaque).origin : 'null';
      if (!isSpecial(protocol) || protocol === 'file:') return 'null';
      return `${protocol}//${hostname}${port ? `:${port}` : ''}`;
    }
    get protocol() {
      return this.#url.protocol;
    }
    set protocol(value) {
      const name = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:|$)/.exec(withoutBreaks(value))?.[0].toLowerCase();
      const { protocol, username, password, port, hostname } = this.#url;
      if (!name || isSpecial(`${name}:`) !== isSpecial(protocol)) return;
      if (name === 'file' && (username || password || port)) return;
      if (protocol === 'file:' && !hostname) return;
      this.#url.protocol = `${name}:`;
      if (port === ports[this.#url.protocol]) this.#url.port = '';
    }
    get username() {
      return this.#url.username;
    }
    set username(value) {
      const text = textOf(value);
      if (hasAuthority(this.#url)) this.#url.username = escape(text, sets.userinfo);
    }
    get password() {
      return this.#url.password;
    }
    set password(value) {
      const text = textOf(value);
      if (hasAuthority(this.#url)) this.#url.password = escape(text, sets.userinfo);
    }
    get host() {
      return (this.#url.hostname ?? '') + (this.#url.port ? `:${this.#url.port}` : '');
    }
    set host(value) {
      const text = textOf(value);
      if (this.#url.opaque === null) changeHost(this.#url, text, true);
    }
    get hostname() {
      return this.#url.hostname ?? '';
    }
    set hostname(value) {
      const text = textOf(value);
      if (this.#url.opaque === null) changeHost(this.#url, text, false);
    }
    get port() {
      return this.#url.port;
    }
    set port(value) {
      const text = withoutBreaks(value);
      if (!hasAuthority(this.#url)) return;
      if (text === '') this.#url.port = '';
      else changePort(this.#url, text);
    }
    get pathname() {
      return pathOf(this.#url);
    }
    set pathname(value) {
      const text = withoutBreaks(value);
      if (this.#url.opaque !== null) return;
      const { protocol, hostname } = this.#url;
      const special = isSpecial(protocol);
      this.#url.path = text === '' && !special && hostname !== null ? [] : parsePath(text.replace(special ? /^[/\\]/ : /^\//, ''), special, protocol);
    }
    get search() {
      return this.#url.query ? `?${this.#url.query}` : '';
    }
    set search(value) {
      const text = withoutBreaks(value);
      const set = isSpecial(this.#url.protocol) ? sets.specialQuery : sets.query;
      this.#url.query = text === '' ? null : escape(text.replace(/^\?/, ''), set);
      trim(this.#url);
      if (this.#params) refresh(this.#params, this.#url.query ?? '');
    }
    get searchParams() {
      if (!this.#params) {
        owner = (text) => {
          this.#url.query = text === '' ? null : text;
          trim(this.#url);
        };
        this.#params = new URLSearchParams();
        owner = undefined;
        refresh(this.#params, this.#url.query ?? '');
      }
      return this.#params;
    }
    get hash() {
      return this.#url.fragment ? `#${this.#url.fragment}` : '';
    }
    set hash(value) {
      const text = withoutBreaks(value);
      this.#url.fragment = text === '' ? null : escape(text.replace(/^#/, ''), sets.fragment);
      trim(this.#url);
    }
    toString() {
      return hrefOf(this.#url);
    }
    toJSON() {
      return hrefOf(this.#url);
    }
    get [Symbol.toStringTag]() {
      return 'URL';
    }
    [shared.inspect.custom](depth, options, inspect) {
      const { name } = getPrototypeOf(this)?.constructor ?? URL;
      if (typeof depth === 'number' && depth < 0) return `${name} {}`;
      const names = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash'];
      const lines = names.map((each) => `  ${each}: ${inspect(this[each], options).replaceAll('\n', '\n  ')}`);
      return `${name} {\n${lines.join(',\n')}\n}`;
    }
  }

  expose(URL.prototype);
  expose(URL);

  shared.define('URL', URL);
  shared.define('URLSearchParams', URLSearchParams);
})

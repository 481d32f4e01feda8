// URL and URLSearchParams, over the records of `url_record.js`.
(function (native, shared) {
  'use strict';
  const { escape, escapeForm, hrefOf, isSpecial, parse, parseAuthority, parseHost, parsePath, pathOf, ports, sets, unescapeForm } =
    shared.url;

  let owner;
  class URLSearchParams {
    #list = [];
    #url = owner;
    constructor(init = '') {
      if (typeof init === 'object' && init !== null) {
        const pairs = typeof init[Symbol.iterator] === 'function' ? [...init] : Object.entries(init);
        for (const pair of pairs) {
          const [name, value, ...more] = [...pair];
          if (value === undefined || more.length) throw new TypeError('each pair must have a name and a value');
          this.#list.push([`${name}`.toWellFormed(), `${value}`.toWellFormed()]);
        }
      } else {
        this.#read(`${init}`.replace(/^\?/, ''));
      }
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
    static refresh(params, text) {
      params.#read(text);
    }
    get size() {
      return this.#list.length;
    }
    append(name, value) {
      this.#list.push([`${name}`, `${value}`]);
      this.#changed();
    }
    delete(name, value) {
      this.#list = this.#list.filter(([key, item]) => key !== `${name}` || (value !== undefined && item !== `${value}`));
      this.#changed();
    }
    get(name) {
      return this.#list.find(([key]) => key === `${name}`)?.[1] ?? null;
    }
    getAll(name) {
      return this.#list.filter(([key]) => key === `${name}`).map(([, value]) => value);
    }
    has(name, value) {
      return this.#list.some(([key, item]) => key === `${name}` && (value === undefined || item === `${value}`));
    }
    set(name, value) {
      const first = this.#list.find(([key]) => key === `${name}`);
      if (!first) this.#list.push([`${name}`, `${value}`]);
      else {
        first[1] = `${value}`;
        this.#list = this.#list.filter((pair) => pair === first || pair[0] !== `${name}`);
      }
      this.#changed();
    }
    sort() {
      this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed();
    }
    forEach(callback, self) {
      for (const [name, value] of this.#list) callback.call(self, value, name, this);
    }
    *entries() {
      for (const pair of this.#list) yield [...pair];
    }
    *keys() {
      for (const [name] of this.#list) yield name;
    }
    *values() {
      for (const [, value] of this.#list) yield value;
    }
    toString() {
      return this.#list.map(([name, value]) => `${escapeForm(name)}=${escapeForm(value)}`).join('&');
    }
    [Symbol.iterator]() {
      return this.entries();
    }
    [shared.inspect.custom](depth, options, inspect) {
      const pairs = this.#list.map(([name, value]) => `${inspect(name)} => ${inspect(value)}`);
      return `URLSearchParams {${pairs.length ? ` ${pairs.join(', ')} ` : ''}}`;
    }
  }
  const { refresh } = URLSearchParams;
  delete URLSearchParams.refresh;

  class URL {
    #url;
    #params;
    constructor(input, base = undefined) {
      const against = base === undefined ? undefined : parse(`${base}`);
      this.#url = against === null ? null : parse(`${input}`.toWellFormed(), against);
      if (!this.#url) {
        const error = new TypeError('Invalid URL');
        error.code = 'ERR_INVALID_URL';
        error.input = `${input}`;
        throw error;
      }
    }
    static canParse(input, base = undefined) {
      return URL.parse(input, base) !== null;
    }
    static parse(input, base = undefined) {
      try {
        return new URL(input, base);
      } catch {
        return null;
      }
    }
    get href() {
      return hrefOf(this.#url);
    }
    set href(value) {
      this.#url = new URL(value).#url;
      if (this.#params) refresh(this.#params, this.#url.query ?? '');
    }
    get origin() {
      const { protocol, hostname, port } = this.#url;
      if (!isSpecial(protocol) || protocol === 'file:') return 'null';
      return `${protocol}//${hostname}${port ? `:${port}` : ''}`;
    }
    get protocol() {
      return this.#url.protocol;
    }
    set protocol(value) {
      const protocol = /^[a-zA-Z][a-zA-Z0-9+.-]*(?=:|$)/.exec(`${value}`)?.[0].toLowerCase();
      if (!protocol || isSpecial(`${protocol}:`) !== isSpecial(this.#url.protocol)) return;
      this.#url.protocol = `${protocol}:`;
      if (this.#url.port === ports[this.#url.protocol]) this.#url.port = '';
    }
    get username() {
      return this.#url.username;
    }
    set username(value) {
      if (this.#url.hostname) this.#url.username = escape(`${value}`, sets.userinfo);
    }
    get password() {
      return this.#url.password;
    }
    set password(value) {
      if (this.#url.hostname) this.#url.password = escape(`${value}`, sets.userinfo);
    }
    get host() {
      return (this.#url.hostname ?? '') + (this.#url.port ? `:${this.#url.port}` : '');
    }
    set host(value) {
      const changed = { ...this.#url };
      const text = `${value}`.split(/[/?#]/)[0];
      if (this.#url.opaque !== null || !parseAuthority(changed, text, isSpecial(changed.protocol))) return;
      this.#url.hostname = changed.hostname;
      if (/:[0-9]+$/.test(text)) this.#url.port = changed.port;
    }
    get hostname() {
      return this.#url.hostname ?? '';
    }
    set hostname(value) {
      if (this.#url.opaque !== null) return;
      const host = parseHost(`${value}`, isSpecial(this.#url.protocol));
      if (host !== null) this.#url.hostname = host;
    }
    get port() {
      return this.#url.port;
    }
    set port(value) {
      if (!this.#url.hostname || this.#url.protocol === 'file:') return;
      const digits = /^[0-9]*/.exec(`${value}`)[0];
      if (`${value}` === '') this.#url.port = '';
      else if (digits && Number(digits) <= 65535) {
        this.#url.port = String(Number(digits)) === ports[this.#url.protocol] ? '' : String(Number(digits));
      }
    }
    get pathname() {
      return pathOf(this.#url);
    }
    set pathname(value) {
      if (this.#url.opaque !== null) return;
      const special = isSpecial(this.#url.protocol);
      this.#url.path = parsePath(`${value}`.replace(special ? /^[/\\]/ : /^\//, ''), special, this.#url.protocol);
    }
    get search() {
      return this.#url.query ? `?${this.#url.query}` : '';
    }
    set search(value) {
      const text = `${value}`.replace(/^\?/, '');
      const set = isSpecial(this.#url.protocol) ? sets.specialQuery : sets.query;
      this.#url.query = `${value}` === '' ? null : escape(text, set);
      if (this.#params) refresh(this.#params, this.#url.query ?? '');
    }
    get searchParams() {
      if (!this.#params) {
        owner = (text) => {
          this.#url.query = text === '' ? null : text;
        };
        this.#params = new URLSearchParams(this.#url.query ?? '');
        owner = undefined;
      }
      return this.#params;
    }
    get hash() {
      return this.#url.fragment ? `#${this.#url.fragment}` : '';
    }
    set hash(value) {
      this.#url.fragment = `${value}` === '' ? null : escape(`${value}`.replace(/^#/, ''), sets.fragment);
    }
    toString() {
      return hrefOf(this.#url);
    }
    toJSON() {
      return hrefOf(this.#url);
    }
    [shared.inspect.custom](depth, options, inspect) {
      const names = ['href', 'origin', 'protocol', 'username', 'password', 'host', 'hostname', 'port', 'pathname', 'search', 'searchParams', 'hash'];
      const lines = names.map((name) => `  ${name}: ${inspect(this[name])}`);
      return `URL {\n${lines.join(',\n')}\n}`;
    }
  }

  shared.define('URL', URL);
  shared.define('URLSearchParams', URLSearchParams);
})

// The parser and the serializer of URLs, after the WHATWG's standard: http(s), ws(s), ftp, file and opaque schemes.
(function (native, shared) {
  'use strict';
  const { encodeUtf8, decodeUtf8 } = native;
  const ports = { 'http:': '80', 'https:': '443', 'ws:': '80', 'wss:': '443', 'ftp:': '21', 'file:': '' };
  const isSpecial = (protocol) => Object.hasOwn(ports, protocol);

  // Each set names the ASCII characters that are escaped besides controls and what is not ASCII.
  const sets = {
    fragment: ' "<>`',
    query: ' "#<>',
    specialQuery: ' "#<>\'',
    path: ' "#<>?`{}',
    userinfo: ' "#<>?`{}/:;=@[\\]^|',
    component: ' "#<>?`{}/:;=@[\\]^|$%&+,',
  };

  function escapeByte(byte) {
    return `%${byte < 16 ? '0' : ''}${byte.toString(16).toUpperCase()}`;
  }

  function escape(text, set) {
    let result = '';
    for (const character of text) {
      const code = character.codePointAt(0);
      if (code > 0x1f && code < 0x7f && !set.includes(character)) result += character;
      else for (const byte of new Uint8Array(encodeUtf8(character))) result += escapeByte(byte);
    }
    return result;
  }

  function unescapeBytes(text) {
    const bytes = new Uint8Array(encodeUtf8(text));
    const result = [];
    for (let i = 0; i < bytes.length; i++) {
      const hex = bytes[i] === 0x25 ? String.fromCharCode(bytes[i + 1], bytes[i + 2]) : '';
      if (/^[0-9a-fA-F]{2}$/.test(hex)) {
        result.push(parseInt(hex, 16));
        i += 2;
      } else {
        result.push(bytes[i]);
      }
    }
    return new Uint8Array(result);
  }
  const unescape = (text) => decodeUtf8(unescapeBytes(text), false, false);

  function parseIPv4(host) {
    const parts = host.split('.');
    if (parts.at(-1) === '' && parts.length > 1) parts.pop();
    if (!/^(0[xX][0-9a-fA-F]*|[0-9]+)$/.test(parts.at(-1))) return undefined;
    if (parts.length > 4) return null;
    let value = 0;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i];
      let number = NaN;
      if (/^0[xX][0-9a-fA-F]*$/.test(part)) number = part.length === 2 ? 0 : parseInt(part, 16);
      else if (/^0[0-7]+$/.test(part)) number = parseInt(part, 8);
      else if (/^(0|[1-9][0-9]*)$/.test(part)) number = parseInt(part, 10);
      const last = i === parts.length - 1;
      if (!(number < (last ? 256 ** (5 - parts.length) : 256))) return null;
      value += last ? number : number * 256 ** (3 - i);
    }
    return [24, 16, 8, 0].map((shift) => Math.floor(value / 2 ** shift) % 256).join('.');
  }

  function parseIPv6(text) {
    const embedded = /^(.*:)([0-9]+\.[0-9]+\.[0-9]+\.[0-9]+)$/.exec(text);
    if (embedded) {
      const bytes = embedded[2].split('.').map(Number);
      if (bytes.some((byte) => byte > 255)) return null;
      text = `${embedded[1]}${(bytes[0] * 256 + bytes[1]).toString(16)}:${(bytes[2] * 256 + bytes[3]).toString(16)}`;
    }
    const halves = text.split('::');
    if (halves.length > 2) return null;
    const [left, right] = halves.map((half) => (half === '' ? [] : half.split(':')));
    const missing = 8 - left.length - (right?.length ?? 0);
    if (halves.length === 2 ? missing < 1 : missing !== 0) return null;
    const pieces = [...left, ...Array(halves.length === 2 ? missing : 0).fill('0'), ...(right ?? [])];
    if (pieces.some((piece) => !/^[0-9a-fA-F]{1,4}$/.test(piece))) return null;
    const numbers = pieces.map((piece) => parseInt(piece, 16));
    let best = [0, 1];
    for (let i = 0; i < 8; i++) {
      let end = i;
      while (end < 8 && numbers[end] === 0) end++;
      if (end - i > best[1]) best = [i, end - i];
    }
    const hex = (list) => list.map((number) => number.toString(16)).join(':');
    if (best[1] < 2) return hex(numbers);
    return `${hex(numbers.slice(0, best[0]))}::${hex(numbers.slice(best[0] + best[1]))}`;
  }

  // The host in its written form, or null.
  function parseHost(text, special) {
    if (text[0] === '[') {
      const address = text.endsWith(']') ? parseIPv6(text.slice(1, -1)) : null;
      return address === null ? null : `[${address}]`;
    }
    if (!special) return /[\0\t\n\r #/:<>?@[\\\]^|]/.test(text) ? null : escape(text, '');
    const plain = unescape(text);
    const isAscii = !/[^\0-\x7f]|(^|\.)xn--/i.test(plain);
    const host = isAscii ? plain.toLowerCase() : shared.library('internal/idna').toASCII(plain);
    if (host === null || host === '' || /[\0-\x20#%/:<>?@[\\\]^|\x7f]/.test(host)) return null;
    const address = parseIPv4(host);
    return address === undefined ? host : address;
  }

  const isDot = (part) => part === '.' || part.toLowerCase() === '%2e';
  const isDoubleDot = (part) => /^(\.|%2e){2}$/i.test(part);
  const isDrive = (part) => /^[a-zA-Z][:|]$/.test(part);
  const beginsWithDrive = (text) => /^[a-zA-Z][:|](?:[/\\?#]|$)/.test(text);

  function parsePath(text, special, protocol, start = []) {
    const path = start;
    const parts = text.split(special ? /[/\\]/ : '/');
    parts.forEach((part, i) => {
      const last = i === parts.length - 1;
      if (isDoubleDot(part)) {
        if (!(protocol === 'file:' && path.length === 1 && /^[a-zA-Z]:$/.test(path[0]))) path.pop();
        if (last) path.push('');
      } else if (isDot(part)) {
        if (last) path.push('');
      } else {
        if (protocol === 'file:' && path.length === 0 && isDrive(part)) part = `${part[0]}:`;
        path.push(escape(part, sets.path));
      }
    });
    return path;
  }

  function parseAuthority(url, text, special) {
    const at = text.lastIndexOf('@');
    if (at >= 0) {
      const [, user, password] = /^([^:]*)(?::([^]*))?$/.exec(text.slice(0, at));
      url.username = escape(user, sets.userinfo);
      url.password = escape(password ?? '', sets.userinfo);
      text = text.slice(at + 1);
      if (text === '') return false;
    }
    const match = /^(\[[^\]]*\]|[^:]*)(?::([0-9]*))?$/.exec(text);
    if (!match || (special && match[1] === '') || (match[1] === '' && match[2] !== undefined)) return false;
    url.hostname = match[1] === '' ? '' : parseHost(match[1], special);
    if (url.hostname === null) return false;
    if (match[2] && Number(match[2]) > 65535) return false;
    url.port = match[2] ? String(Number(match[2])) : '';
    if (url.port === ports[url.protocol]) url.port = '';
    return true;
  }

  // Changes the host, and the port where it may, as the setters of a URL do.
  function changeHost(url, value, withPort) {
    const special = isSpecial(url.protocol);
    const [text] = value.replace(/[\t\n\r]/g, '').split(special ? /[/\\?#]/ : /[/?#]/, 1);
    const [, name, port] = url.protocol === 'file:' ? [text, text] : /^((?:\[[^\]]*\]?|[^:[])*)(?::([^]*))?$/.exec(text) ?? [text, ''];
    if (port !== undefined && (name === '' || !withPort)) return;
    if (name === '' && url.protocol !== 'file:' && (special || url.username || url.password || url.port)) return;
    const host = name === '' ? '' : parseHost(name, special);
    if (host === null) return;
    url.hostname = url.protocol === 'file:' && host === 'localhost' ? '' : host;
    changePort(url, port ?? '');
  }

  function changePort(url, text) {
    const digits = /^[0-9]*/.exec(text)[0];
    if (!digits || Number(digits) > 65535) return;
    url.port = String(Number(digits)) === ports[url.protocol] ? '' : String(Number(digits));
  }

  // The record of an absolute or relative URL, or null.
  function parse(input, base) {
    input = input.replace(/^[\0-\x20]+|[\0-\x20]+$/g, '').replace(/[\t\n\r]/g, '');
    const url = { protocol: '', username: '', password: '', hostname: null, port: '', path: [], opaque: null, query: null, fragment: null };
    const hash = input.indexOf('#');
    if (hash >= 0) {
      url.fragment = escape(input.slice(hash + 1), sets.fragment);
      input = input.slice(0, hash);
    }
    const scheme = /^[a-zA-Z][a-zA-Z0-9+.-]*:/.exec(input)?.[0];
    url.protocol = scheme ? scheme.toLowerCase() : (base?.protocol ?? '');
    let rest = scheme ? input.slice(scheme.length) : input;
    if (!scheme && !base) return null;
    const special = isSpecial(url.protocol);
    const slash = special ? /^[/\\]/ : /^\//;
    const double = special ? /^[/\\]{2}/ : /^\/\//;
    const absolute = scheme && !(base && special && base.protocol === url.protocol && !double.test(rest));
    if (!absolute && base.opaque !== null) {
      if (rest !== '' || hash < 0) return null;
      return { ...base, fragment: url.fragment };
    }
    const mark = rest.indexOf('?');
    if (mark >= 0) {
      url.query = escape(rest.slice(mark + 1), special ? sets.specialQuery : sets.query);
      rest = rest.slice(0, mark);
    }
    if (absolute && !special && !rest.startsWith('/')) {
      url.opaque = escape(rest, '');
      return url;
    }
    if (url.protocol === 'file:') return parseFile(url, rest, base?.protocol === 'file:' ? base : null, mark >= 0);
    if (double.test(rest) || (absolute && special)) {
      const body = rest.replace(special ? /^[/\\]+/ : /^\/\//, '');
      const end = body.search(special ? /[/\\]/ : /\//);
      if (!parseAuthority(url, end < 0 ? body : body.slice(0, end), special)) return null;
      url.path = end < 0 ? (special ? [''] : []) : parsePath(body.slice(end + 1), special, url.protocol);
      return url;
    }
    if (!absolute) Object.assign(url, { username: base.username, password: base.password, hostname: base.hostname, port: base.port });
    if (slash.test(rest)) url.path = parsePath(rest.slice(1), special, url.protocol);
    else if (rest === '') Object.assign(url, { path: [...base.path], query: mark >= 0 ? url.query : base.query });
    else url.path = parsePath(rest, special, url.protocol, base.path.slice(0, -1));
    return url;
  }

  const shortened = (path) => (path.length === 1 && /^[a-zA-Z]:$/.test(path[0]) ? [...path] : path.slice(0, -1));

  function parseFile(url, rest, base, hasQuery) {
    url.hostname = '';
    if (/^[/\\]{2}/.test(rest)) {
      const body = rest.slice(2);
      const end = body.search(/[/\\]/);
      const host = end < 0 ? body : body.slice(0, end);
      if (isDrive(host)) {
        url.path = parsePath(body, true, 'file:');
        return url;
      }
      if (host !== '') url.hostname = parseHost(host, true);
      if (url.hostname === null) return null;
      if (url.hostname === 'localhost') url.hostname = '';
      url.path = end < 0 ? [''] : parsePath(body.slice(end + 1), true, 'file:');
    } else if (/^[/\\]/.test(rest)) {
      const keepsDrive = base && !beginsWithDrive(rest.slice(1)) && /^[a-zA-Z]:$/.test(base.path[0]);
      url.path = parsePath(rest.slice(1), true, 'file:', keepsDrive ? [base.path[0]] : []);
      if (base) url.hostname = base.hostname;
    } else if (base) {
      url.hostname = base.hostname;
      if (rest === '') Object.assign(url, { path: [...base.path], query: hasQuery ? url.query : base.query });
      else url.path = parsePath(rest, true, 'file:', beginsWithDrive(rest) ? [] : shortened(base.path));
    } else {
      url.path = parsePath(rest, true, 'file:');
    }
    return url;
  }

  const pathOf = (url) => url.opaque ?? url.path.map((part) => `/${part}`).join('');

  function hrefOf(url) {
    let text = url.protocol;
    if (url.hostname !== null) {
      text += '//';
      if (url.username || url.password) text += `${url.username}${url.password ? `:${url.password}` : ''}@`;
      text += url.hostname + (url.port ? `:${url.port}` : '');
    } else if (url.opaque === null && url.path.length > 1 && url.path[0] === '') {
      text += '/.';
    }
    text += pathOf(url);
    if (url.query !== null) text += `?${url.query}`;
    if (url.fragment !== null) text += `#${url.fragment}`;
    return text;
  }

  const escapeForm = (text) => escape(text, sets.component + "!'()~").replaceAll('%20', '+');
  const unescapeForm = (text) => unescape(text.replaceAll('+', ' '));

  shared.url = { changeHost, changePort, escape, escapeForm, hrefOf, isSpecial, parse, parsePath, pathOf, ports, sets, unescapeForm };
})

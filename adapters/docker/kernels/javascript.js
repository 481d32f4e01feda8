// The JavaScript kernel: serves requests on descriptor 3 (src/kernel.rs). Node 18 and later.
//
// Snippets are run by the inspector's `Runtime.evaluate` in REPL mode: scripts of one global namespace whose `let`, `const`
// and `class` may be declared anew, with top-level `await`. A snippet's own name is put in the place of its script's.
'use strict';
require('vm').runInThisContext('(function (require) {' + program.toString() + '\nprogram(require); })', { filename: 'dormouse:kernel' })(require);

function program(require) {
  const fs = require('fs');
  const util = require('util');
  const vm = require('vm');
  const path = require('path');
  const { createRequire } = require('module');
  const { pathToFileURL } = require('url');
  const { Session } = require('inspector');

  const PROTOCOL = 1;
  const MOST_ARGUMENTS = 1 << 20;
  const LONGEST_KEY = 256;
  const LONGEST_SUMMARY = 200;
  const LONGEST_TRACE = 8192;
  const LONGEST_EXCERPT = 400;
  const MOST_CAUSES = 10;
  const MOST_SOURCES = 64;
  const MARKER_ROOM = 160;
  const END_ROOM = 96;

  // Taken before a snippet can replace them.
  const call = Function.prototype.call;
  const bound = (method) => call.bind(method);
  const { types } = util;
  const { stringify, parse } = JSON;
  const { isArray } = Array;
  const { isInteger } = Number;
  const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertyNames, keys: ownKeys, defineProperty, hasOwn } = Object;
  const { byteLength } = Buffer;
  const bufferFrom = Buffer.from;
  const functionText = bound(Function.prototype.toString);
  const startsWith = bound(String.prototype.startsWith);
  const isoDate = bound(Date.prototype.toISOString);
  const objectToString = Object.prototype.toString;
  const objectPrototype = Object.prototype;
  const mapSize = bound(getOwnPropertyDescriptor(Map.prototype, 'size').get);
  const setSize = bound(getOwnPropertyDescriptor(Set.prototype, 'size').get);
  const mapEntries = bound(Map.prototype.entries);
  const setValues = bound(Set.prototype.values);
  const mapNext = bound(getPrototypeOf(new Map().entries()).next);
  const setNext = bound(getPrototypeOf(new Set().values()).next);
  const promiseThen = bound(Promise.prototype.then);
  const generatorPrototype = getPrototypeOf(getPrototypeOf((function* () {})()).constructor ? getPrototypeOf(function* () {}).prototype : {});
  const iterators = [
    [getPrototypeOf([].values()), 'Array Iterator'],
    [getPrototypeOf(new Map().entries()), 'Map Iterator'],
    [getPrototypeOf(new Set().values()), 'Set Iterator'],
    [getPrototypeOf(''[Symbol.iterator]()), 'String Iterator'],
    [getPrototypeOf('a'.matchAll(/a/g)), 'RegExp String Iterator'],
    [getPrototypeOf(function* () {}).prototype, 'Generator'],
  ];
  const helper = typeof Iterator === 'function' && Iterator.prototype.map ? getPrototypeOf([].values().map((x) => x)) : undefined;
  if (helper) iterators.push([helper, 'Iterator Helper']);
  const nothing = () => {};

  // Texts. A lone surrogate becomes U+FFFD.

  const wellFormed = (text) => (/[\ud800-\udfff]/.test(text) ? bufferFrom(text, 'utf8').toString('utf8') : text);

  // The beginning of a text in at most `limit` bytes of UTF-8.
  function cut(text, limit) {
    const whole = wellFormed(text);
    if (whole.length * 3 <= limit || byteLength(whole) <= limit) return whole;
    const bytes = bufferFrom(whole.slice(0, limit), 'utf8');
    let end = limit < bytes.length ? limit : bytes.length;
    while (end > 0 && end < bytes.length && (bytes[end] & 0xc0) === 0x80) end--;
    const head = bytes.subarray(0, end).toString('utf8');
    return head.endsWith('\ufffd') && !whole.startsWith(head) ? head.slice(0, -1) : head;
  }

  const quoted = (text, limit = Infinity) => stringify(limit === Infinity ? wellFormed(text) : cut(text, limit));

  // Kinds of values, by their insides.

  function kindOf(value) {
    if (types.isProxy(value)) return 'proxy';
    if (typeof value === 'function') return startsWith(functionText(value), 'class') ? 'class' : 'function';
    if (isArray(value)) return 'array';
    if (types.isMap(value)) return 'map';
    if (types.isSet(value)) return 'set';
    if (types.isAnyArrayBuffer(value) || ArrayBuffer.isView(value)) return 'bytes';
    if (types.isDate(value)) return 'date';
    if (types.isPromise(value)) return 'promise';
    if (types.isModuleNamespaceObject(value)) return 'namespace';
    if (iteratorName(value)) return 'iterator';
    const special = types.isNativeError(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) || types.isWeakMap(value) || types.isWeakSet(value);
    return special ? 'other' : 'plain';
  }

  function iteratorName(value) {
    if (types.isGeneratorObject(value)) return reaches(value, iterators[5][0]) ? 'Generator' : undefined;
    const prototype = getPrototypeOf(value);
    for (let i = 0; i < iterators.length; i++) if (iterators[i][0] === prototype) return iterators[i][1];
    return undefined;
  }

  function reaches(value, prototype) {
    for (let at = value, i = 0; at && i < 32; at = getPrototypeOf(at), i++) if (at === prototype) return true;
    return false;
  }

  const ownData = (object, name) => {
    const found = getOwnPropertyDescriptor(object, name);
    return found && hasOwn(found, 'value') ? found.value : undefined;
  };

  function functionName(value) {
    const name = types.isProxy(value) ? undefined : ownData(value, 'name');
    return typeof name === 'string' && name ? cut(name, LONGEST_KEY) : undefined;
  }

  const isObject = (value) => (typeof value === 'object' && value !== null) || typeof value === 'function';

  function classOf(value) {
    if (value === null) return 'null';
    if (!isObject(value)) {
      return { string: 'String', number: 'Number', boolean: 'Boolean', bigint: 'BigInt', symbol: 'Symbol' }[typeof value] || 'undefined';
    }
    const kind = kindOf(value);
    if (kind === 'proxy') return 'Proxy';
    if (kind === 'namespace') return 'Module';
    if (kind === 'class') return 'Function';
    if (kind === 'iterator') return iteratorName(value);
    for (let at = value, i = 0; at && i < 32 && !types.isProxy(at); at = getPrototypeOf(at), i++) {
      const constructor = ownData(at, 'constructor');
      const name = typeof constructor === 'function' ? functionName(constructor) : undefined;
      if (name) return name;
    }
    return 'Object';
  }

  function describeFunction(value, kind) {
    return `${kind === 'class' ? '[class ' : '[Function: '}${functionName(value) || '(anonymous)'}]`;
  }

  // What an object says of itself, or undefined.
  function describeObject(value, kind) {
    try {
      if (kind === 'function' || kind === 'class') return describeFunction(value, kind);
      if (kind === 'namespace') return '[Module]';
      if (kind === 'proxy') return undefined;
      if (kind === 'promise') return /^Promise \{ (<pending>|<rejected>)/.exec(util.inspect(value, { depth: -1 }))?.[0].concat(' }') ?? 'Promise { <fulfilled> }';
      if (kind === 'date') return Number.isNaN(+value) ? 'Invalid Date' : isoDate(value);
      const own = value.toString;
      if (typeof own !== 'function' || own === objectToString) return undefined;
      const said = call.call(own, value);
      return typeof said === 'string' ? said : undefined;
    } catch (error) {
      leave(error);
      return undefined;
    }
  }

  function describeShort(value) {
    if (typeof value === 'string') return `'${shortened(value)}'`;
    if (typeof value === 'symbol') return `Symbol(${shortened(value.description ?? '')})`;
    if (typeof value === 'bigint') return `${shortened(`${value}`)}n`;
    if (!isObject(value)) return `${value}`;
    const kind = kindOf(value);
    if (kind === 'function' || kind === 'class') return describeFunction(value, kind);
    const name = classOf(value);
    if (kind === 'array') return `${name}(${value.length})`;
    if (kind === 'map') return `${name}(${mapSize(value)})`;
    if (kind === 'set') return `${name}(${setSize(value)})`;
    if (kind === 'bytes') return `${name}(${value.byteLength} bytes)`;
    if (kind !== 'plain') return name;
    const names = ownKeys(value);
    const shown = names.slice(0, 8).map((key) => cut(key, 40));
    return `${name} {${shown.join(', ')}${names.length > 8 ? ', ...}' : '}'}`;
  }

  function shortened(text) {
    const head = cut(text, 200);
    return head.length < text.length ? `${head}...` : head;
  }

  // Typed values (docs/values.md), within bounds, as the Wasm guest's encode.c writes them.

  class Encoder {
    constructor(bounds) {
      this.bounds = bounds;
      this.out = '';
      this.length = 0;
      this.reserved = MARKER_ROOM;
      this.full = false;
      this.open = undefined;
      this.ids = new Map();
    }

    add(text) {
      this.out += text;
      this.length += byteLength(text);
    }

    mark() {
      return [this.out, this.length];
    }

    back([out, length]) {
      this.out = out;
      this.length = length;
    }

    over() {
      return this.length + this.reserved > this.bounds.total_bytes;
    }

    idOf(object) {
      let id = this.ids.get(object);
      if (!id) this.ids.set(object, (id = this.ids.size + 1));
      return id;
    }

    classField(value) {
      this.add(`,"class":${quoted(classOf(value), LONGEST_KEY)}`);
    }

    raised(value, error) {
      leave(error);
      let reason = classOf(error);
      try {
        if (types.isNativeError(error) && typeof error.message === 'string') reason += `: ${cut(error.message, 400)}`;
      } catch {
        // Its class will do.
      }
      this.add('{"type":"unknown"');
      this.classField(value);
      this.add(`,"reason":${quoted(reason, LONGEST_KEY)}}`);
    }

    value(value, level) {
      const before = this.mark();
      if (typeof value === 'number') this.number(value);
      else if (typeof value === 'string') this.string(value);
      else if (typeof value === 'boolean') this.add(`{"type":"bool","value":${value}}`);
      else if (value === null) this.add('{"type":"null","value":null}');
      else if (typeof value === 'bigint') this.big(value);
      else if (typeof value === 'symbol') {
        this.add(`{"type":"object","class":"Symbol","id":${this.idOf({})},"properties":{},"repr":${quoted(describeShort(value), this.bounds.string_bytes)}}`);
      } else if (isObject(value)) this.object(value, level);
      else this.add('{"type":"null","value":null,"undefined":true}');
      if (!this.over()) return;
      this.full = true;
      this.back(before);
      this.add(`{"type":"unknown","class":${quoted(classOf(value), 40)},"reason":"value too large"}`);
    }

    number(value) {
      if (Number.isSafeInteger(value) && !Object.is(value, -0)) this.add(`{"type":"int","value":${value}}`);
      else if (Number.isFinite(value) && value !== 0) this.add(`{"type":"float","value":${value}}`);
      else this.add(`{"type":"float","value":"${Object.is(value, -0) ? '-0' : value}"}`);
    }

    big(value) {
      const digits = `${value}`;
      if (digits.length > this.bounds.string_bytes && digits.length > 16) {
        this.add('{"type":"unknown","class":"BigInt","reason":"value too large"}');
        return;
      }
      const quote = value >= -9007199254740991n && value <= 9007199254740991n ? '' : '"';
      this.add(`{"type":"int","value":${quote}${digits}${quote},"big":true}`);
    }

    string(value) {
      const limit = this.bounds.string_bytes;
      const head = cut(value, limit);
      const whole = value.length > limit || head.length < value.length ? byteLength(wellFormed(value)) : 0;
      this.add(`{"type":"string","value":${stringify(head)}${whole > limit ? `,"truncated":true,"length":${whole}` : ''}}`);
    }

    bytes(value) {
      const all = ArrayBuffer.isView(value) ? bufferFrom(value.buffer, value.byteOffset, value.byteLength) : bufferFrom(value);
      const shown = all.subarray(0, this.bounds.string_bytes);
      this.add(`{"type":"bytes","value":"${shown.toString('base64')}","length":${all.length}${shown.length < all.length ? ',"truncated":true' : ''}}`);
    }

    // One item of a container; false when it had to be left out.
    item(first, value, level, head = '', error = undefined) {
      const before = this.mark();
      this.add((first ? '' : ',') + head);
      if (error) this.raised(value, error[0]);
      else this.value(value, level + 1);
      if (this.over()) this.full = true;
      if (!this.full || !this.over()) return true;
      this.back(before);
      return false;
    }

    object(value, level) {
      for (let open = this.open; open; open = open.outer) {
        if (open.value !== value) continue;
        open.id = this.idOf(value);
        this.add('{"type":"reference"');
        this.classField(value);
        this.add(`,"id":${open.id}}`);
        return;
      }
      const self = { value, id: 0, outer: this.open };
      this.open = self;
      this.reserved += END_ROOM;
      const opened = level <= this.bounds.depth;
      const kind = kindOf(value);
      const data = kind === 'plain' && [null, objectPrototype].includes(getPrototypeOf(value));
      const before = this.mark();
      try {
        if (kind === 'array') this.array(value, level, opened);
        else if (kind === 'map') this.map(value, level, opened);
        else if (kind === 'set') this.set(value, level, opened);
        else if (kind === 'iterator') this.iterator(value, level, opened);
        else if (kind === 'bytes') this.bytes(value);
        else this.properties(value, level, opened, kind, data);
      } catch (error) {
        this.back(before);
        this.raised(value, error);
      }
      this.reserved -= END_ROOM;
      this.open = self.outer;
      // Something inside refers back to it. An object has said its id already.
      if (self.id && (data || ['array', 'map', 'set', 'iterator'].includes(kind)) && this.out.endsWith('}')) {
        this.out = `${this.out.slice(0, -1)},"id":${self.id}}`;
        this.length += 6 + `${self.id}`.length;
      }
    }

    array(value, level, opened) {
      const count = value.length;
      this.add('{"type":"array"');
      const name = classOf(value);
      if (name !== 'Array' && name !== 'Object') this.classField(value);
      this.add(`,"is_list":true,"count":${count}`);
      const first = level === 1 ? this.bounds.offset : 0;
      let shown = 0;
      if (opened) {
        this.add(',"value":[');
        for (let i = first; i < count && shown < this.bounds.items && !this.full; i++, shown++) {
          const [item, error] = attempt(() => value[i]);
          if (!this.item(shown === 0, error ? value : item, level, '', error)) break;
        }
        this.add(']');
      }
      this.add(!opened || this.full || first + shown < count ? ',"truncated":true}' : '}');
    }

    // The shown entries of a collection, copied before any is encoded: a getter may change it.
    entries(iterator, next, level) {
      let skip = level === 1 ? this.bounds.offset : 0;
      const found = [];
      for (let step = next(iterator); !step.done; step = next(iterator)) {
        if (skip) skip--;
        else if (found.length === this.bounds.items) return [found, true];
        else defineProperty(found, found.length, { value: step.value, enumerable: true, writable: true, configurable: true });
      }
      return [found, false];
    }

    map(value, level, opened) {
      this.add('{"type":"array"');
      this.classField(value);
      this.add(`,"is_list":false,"count":${mapSize(value)}`);
      let more = true;
      if (opened) {
        const [entries, rest] = this.entries(mapEntries(value), mapNext, level);
        more = rest;
        this.add(',"entries":[');
        for (let i = 0; i < entries.length && !this.full; i++) {
          const before = this.mark();
          this.add(i ? ',[' : '[');
          if (this.item(true, entries[i][0], level) && this.item(false, entries[i][1], level)) this.add(']');
          else this.back(before);
        }
        this.add(']');
      }
      this.add(more || this.full ? ',"truncated":true}' : '}');
    }

    beginIterable(value, opened) {
      this.add('{"type":"iterable"');
      this.classField(value);
      if (opened) this.add(',"preview":[');
    }

    set(value, level, opened) {
      this.beginIterable(value, opened);
      if (opened) {
        const [items, more] = this.entries(setValues(value), setNext, level);
        for (let i = 0; i < items.length && !this.full; i++) this.item(i === 0, items[i], level);
        this.add(`],"exhausted":${!(more || this.full)}`);
      } else {
        this.add(',"exhausted":false');
      }
      this.add(`,"size_hint":${setSize(value)}${opened ? '' : ',"truncated":true'}}`);
    }

    iterator(value, level, opened) {
      this.beginIterable(value, opened);
      if (!opened) {
        this.add(',"exhausted":false,"truncated":true}');
        return;
      }
      const next = value.next;
      let exhausted = false;
      for (let skip = level === 1 ? this.bounds.offset : 0, shown = 0; !exhausted && !this.full && (skip || shown < this.bounds.items); ) {
        const step = call.call(next, value);
        exhausted = !!step.done;
        if (!exhausted && !skip && !this.item(shown++ === 0, step.value, level)) this.full = true;
        if (skip) skip--;
      }
      this.add(`],"exhausted":${exhausted}}`);
    }

    properties(value, level, opened, kind, data) {
      const bare = kind === 'function' || kind === 'class' || kind === 'namespace';
      const names = bare ? [] : ownKeys(value);
      const count = names.length;
      if (data) {
        this.add(`{"type":"array","is_list":false,"count":${count}${opened ? ',"value":' : ''}`);
      } else {
        this.add('{"type":"object"');
        this.classField(value);
        this.add(`,"id":${this.idOf(value)}${opened || bare ? ',"properties":' : ''}`);
      }
      let whole = bare;
      if (bare) this.add('{}');
      else if (opened) whole = this.fields(value, names, level);
      if (!data && (opened || bare) && !this.full) {
        const before = this.mark();
        const own = describeObject(value, kind);
        if (own !== undefined) this.add(`,"repr":${quoted(own, this.bounds.string_bytes)}`);
        // A text that is too long is dropped, not cut to pieces.
        if (this.over()) this.back(before);
      }
      this.add(whole ? '}' : ',"truncated":true}');
    }

    fields(value, names, level) {
      const first = level === 1 && this.bounds.offset ? (this.bounds.offset < names.length ? this.bounds.offset : names.length) : 0;
      let shown = 0;
      this.add('{');
      for (let i = first; i < names.length && shown < this.bounds.items && !this.full; i++, shown++) {
        const [item, error] = attempt(() => value[names[i]]);
        if (!this.item(shown === 0, error ? value : item, level, `${quoted(names[i], LONGEST_KEY)}:`, error)) break;
      }
      this.add('}');
      return first + shown >= names.length && !this.full;
    }
  }

  function attempt(read) {
    try {
      return [read(), undefined];
    } catch (error) {
      return [undefined, [error]];
    }
  }

  function encode(value, bounds) {
    const encoder = new Encoder(bounds);
    encoder.value(value, 1);
    return encoder.out;
  }

  // Exceptions, as the guest's raise.c writes them.

  const sources = new Map(); // script's name -> {name, code, lines}
  const SCRIPT = /dormouse:snippet-(\d+)/g;

  const shownName = (script) => (sources.has(script) ? sources.get(script).name : script);

  // V8's frames as the guest's: without the kernel's and Node's own, the top level by its name.
  function frameText(site) {
    let text = `${site}`;
    const script = site.getScriptNameOrSourceURL() || '';
    if (startsWith(script, 'node:') || script === 'dormouse:kernel') return undefined;
    const source = sources.get(script);
    if (!source) return text;
    const place = `${source.name}:${site.getLineNumber() - source.skipped}:${site.getColumnNumber()}`;
    const open = text.lastIndexOf(' (');
    return `${open > 0 ? text.slice(0, open) : '<eval>'} (${place})`;
  }

  const prepared = new WeakMap(); // error -> the script where it was made
  function prepareStackTrace(error, sites) {
    let head;
    try {
      head = call.call(Error.prototype.toString, error);
    } catch {
      head = '<error>';
    }
    let text = head;
    for (let i = 0; i < sites.length; i++) {
      const frame = frameText(sites[i]);
      const script = sites[i].getScriptNameOrSourceURL();
      if (frame && !prepared.has(error) && sources.has(script)) prepared.set(error, script);
      if (frame) text += `\n    at ${frame}`;
    }
    return text;
  }
  defineProperty(Error, 'prepareStackTrace', { value: prepareStackTrace, writable: true, configurable: true, enumerable: false });

  const field = (object, name) => {
    try {
      return isObject(object) ? object[name] : undefined;
    } catch (error) {
      leave(error);
      return undefined;
    }
  };

  function readFrame(line) {
    if (!startsWith(line, '    at ')) return undefined;
    const text = line.slice(7);
    const open = text.lastIndexOf(' (');
    const inner = open > 0 && text.endsWith(')');
    const place = /^(.*?)(?::(\d+))?(?::(\d+))?$/.exec(inner ? text.slice(open + 2, -1) : text);
    const number = (digits) => (digits ? Number(digits) : 0);
    const [first, second] = [number(place[2]), number(place[3])];
    return { function: inner ? text.slice(0, open) : undefined, file: shownName(place[1]), line: first, column: second };
  }

  function readClass(thrown) {
    const name = classOf(thrown);
    if (name !== 'Error' && name !== 'DOMException') return name;
    const own = field(thrown, 'name');
    return typeof own === 'string' && own ? cut(own, 256) : name;
  }

  function readCode(thrown) {
    const code = field(thrown, 'code');
    if (typeof code === 'string') return quoted(code, 256);
    return typeof code === 'number' && code === (code | 0) ? `${code}` : 'null';
  }

  // Where the parser refused the text; V8 says so beside the error.
  const refusals = new WeakMap();

  function framesOf(thrown, name) {
    const stack = field(thrown, 'stack');
    const found = [];
    const lines = typeof stack === 'string' ? stack.split('\n') : [];
    const refusal = isObject(thrown) ? refusals.get(thrown) : undefined;
    if (refusal) return [{ file: refusal.name, line: refusal.line, column: refusal.column }];
    for (let i = 0; i < lines.length; i++) {
      const frame = readFrame(lines[i]);
      // The constructor of the error's own class is where it was made, not where it was raised.
      if (frame && (found.length || frame.function !== `new ${name}`)) found.push(frame);
    }
    return found;
  }

  function excerptOf(thrown, raised) {
    const refusal = isObject(thrown) ? refusals.get(thrown) : undefined;
    const script = refusal ? refusal.script : isObject(thrown) ? prepared.get(thrown) : undefined;
    const source = sources.get(script);
    if (!raised || !source || source.name !== raised.file) return undefined;
    return source.code.split('\n')[raised.line - 1];
  }

  function encodeOne(thrown, limits, outermost) {
    const name = readClass(thrown);
    const said = typeof thrown === 'string' ? thrown : field(thrown, 'message');
    const message = typeof said === 'string' ? wellFormed(said) : describeShort(thrown);
    const frames = framesOf(thrown, name);
    const raised = frames.find((frame) => frame.line && frame.file !== '<anonymous>');
    const named = frames.filter((frame) => frame.function);
    const shown = named.slice(0, limits.frames).map((frame) => quoted(`${cut(frame.function, 200)} (${cut(frame.file, 200)}${frame.line ? `:${frame.line}` : ''})`));
    if (named.length > limits.frames) shown.push('"...(truncated)"');
    const head = cut(message, limits.string_bytes);
    const place = raised ? `"file":${quoted(raised.file, 256)},"line":${raised.line},"column":${raised.column}` : '"file":null,"line":null,"column":null';
    let out = `{"class":${quoted(name, 256)},"message":${quoted(head.length < message.length ? `${head}...(truncated)` : head)},"code":${readCode(thrown)},${place},"stack_trace":[${shown.join(',')}]`;
    if (outermost) {
      const excerpt = excerptOf(thrown, raised);
      if (excerpt !== undefined) out += `,"excerpt":${quoted(excerpt, LONGEST_EXCERPT)}`;
      out += `,"traceback":${quoted(traceOf(name, message, frames))}`;
    }
    return out;
  }

  // `Class: message` and the frames, cut in the middle, where deep recursion repeats itself.
  function traceOf(name, message, frames) {
    let whole = `${name}${message ? `: ${message}` : ''}\n`;
    for (const frame of frames) {
      const place = `${frame.file}${frame.line ? `:${frame.line}:${frame.column}` : ''}`;
      whole += frame.function ? `    at ${frame.function} (${place})\n` : `    at ${place}\n`;
    }
    const bytes = bufferFrom(whole, 'utf8');
    if (bytes.length <= LONGEST_TRACE) return whole;
    let tail = bytes.length - LONGEST_TRACE / 2;
    while (tail < bytes.length && (bytes[tail] & 0xc0) === 0x80) tail++;
    return `${cut(whole, LONGEST_TRACE / 2 - 8)}\n...\n${bytes.subarray(tail).toString('utf8')}`;
  }

  function causesOf(thrown) {
    const causes = [];
    for (let at = field(thrown, 'cause'); at !== undefined && causes.length < MOST_CAUSES; at = field(at, 'cause')) {
      if (isObject(at) && (at === thrown || causes.includes(at))) break;
      causes.push(at);
    }
    const members = types.isNativeError(thrown) ? field(thrown, 'errors') : undefined;
    for (let i = 0; isArray(members) && i < members.length && causes.length < MOST_CAUSES; i++) causes.push(field(members, i));
    return causes;
  }

  function encodeError(thrown, bounds) {
    const limits = { string_bytes: bounds.string_bytes, frames: bounds.frames };
    const causes = causesOf(thrown);
    for (;;) {
      const previous = causes.map((cause) => `${encodeOne(cause, limits, false)}}`);
      const out = `${encodeOne(thrown, limits, true)},"previous":[${previous.join(',')}]}`;
      if (byteLength(out) <= bounds.total_bytes || limits.string_bytes < 64) return out;
      limits.string_bytes >>= 2;
      limits.frames >>= 1;
    }
  }

  // Messages

  const reads = fs.readSync;
  const writes = fs.writeSync;

  function exactly(count) {
    const bytes = Buffer.allocUnsafe(count);
    for (let at = 0; at < count; ) {
      const got = reads(3, bytes, at, count - at, null);
      if (!got) process.reallyExit(0);
      at += got;
    }
    return bytes;
  }

  function receive() {
    const head = exactly(9);
    return { kind: String.fromCharCode(head[4]), id: head.readUInt32BE(5), payload: exactly(head.readUInt32BE(0)) };
  }

  function send(kind, id, payload) {
    const bytes = typeof payload === 'string' ? bufferFrom(payload, 'utf8') : payload;
    const head = Buffer.allocUnsafe(9);
    head.writeUInt32BE(bytes.length, 0);
    head[4] = kind.charCodeAt(0);
    head.writeUInt32BE(id, 5);
    const whole = Buffer.concat([head, bytes]);
    for (let at = 0; at < whole.length; ) at += writes(3, whole, at);
  }

  // callTool(name, arguments): a function of the embedder.
  function callTool(name, given) {
    if (typeof name !== 'string') throw new TypeError("callTool needs the tool's name");
    const json = stringify(given === undefined ? {} : given);
    if (typeof json !== 'string') throw new TypeError("callTool's arguments must be an object");
    const tool = bufferFrom(cut(name, 4096), 'utf8');
    const text = bufferFrom(json, 'utf8');
    if (text.length > MOST_ARGUMENTS) throw new Error(`the arguments have ${text.length} bytes, at most ${MOST_ARGUMENTS} are taken`);
    if (!run) throw new Error('tools can be called during a run only');
    const head = Buffer.allocUnsafe(2);
    head.writeUInt16BE(tool.length, 0);
    send('C', run.id, Buffer.concat([head, tool, text]));
    const answer = receive().payload;
    const told = answer.subarray(1).toString('utf8');
    if (answer[0] !== 1) throw new Error(told);
    return parse(told);
  }

  // The inspector

  const session = new Session();
  session.connect();
  const post = session.post.bind(session);
  let stashed;
  const stash = (value) => {
    stashed = value;
  };
  let storeId;
  globalThis.__dormouse = stash;
  post('Runtime.evaluate', { expression: '__dormouse' }, (_, answer) => (storeId = answer.result.objectId));
  delete globalThis.__dormouse;

  // The value that the inspector speaks of.
  function valueOf(remote) {
    if (remote.type === 'undefined') return undefined;
    if (remote.subtype === 'null') return null;
    const given = remote.objectId ? { objectId: remote.objectId } : remote.unserializableValue ? { unserializableValue: remote.unserializableValue } : { value: remote.value };
    post('Runtime.callFunctionOn', { functionDeclaration: 'function (store, value) { store(value) }', objectId: storeId, arguments: [{ objectId: storeId }, given] }, nothing);
    const value = stashed;
    stashed = undefined;
    if (remote.objectId) post('Runtime.releaseObject', { objectId: remote.objectId }, nothing);
    return value;
  }

  // Evaluates in the global namespace; calls back with [value, error], at once unless it awaits.
  function evaluate(expression, replMode, done) {
    post('Runtime.evaluate', { expression, replMode, silent: true }, (failure, answer) => {
      if (failure) done(undefined, [new Error(failure.message)]);
      else if (answer.exceptionDetails) done(undefined, [answer.exceptionDetails.exception ? valueOf(answer.exceptionDetails.exception) : undefined, answer.exceptionDetails]);
      else done(valueOf(answer.result));
    });
  }

  function lexicalNames() {
    let names = [];
    post('Runtime.globalLexicalScopeNames', {}, (_, answer) => (names = answer ? answer.names : []));
    return names;
  }

  function now(expression, replMode) {
    let found = [undefined, [new Error('not evaluated')]];
    evaluate(expression, replMode, (value, error) => (found = [value, error]));
    return found;
  }

  // Modules

  const fromHere = () => pathToFileURL(path.join(process.cwd(), 'snippet.js')).href;

  function loader() {
    try {
      return require('internal/modules/esm/loader').getOrInitializeCascadedLoader();
    } catch {
      return require('internal/process/esm_loader').esmLoader;
    }
  }

  // Node refuses `import()` in scripts of the inspector, since it does not know whose they are.
  function allowImport() {
    const { internalBinding } = require('internal/test/binding');
    internalBinding('module_wrap').setImportModuleDynamicallyCallback((_, specifier, attributes, ...rest) => {
      const names = rest.filter((item) => typeof item === 'string');
      const referrer = names.length ? names[names.length - 1] : '';
      const base = startsWith(referrer, 'file:') ? referrer : path.isAbsolute(referrer) ? pathToFileURL(referrer).href : fromHere();
      return loader().import(specifier, base, attributes && typeof attributes === 'object' ? attributes : { __proto__: null });
    });
  }
  try {
    allowImport();
  } catch {
    // This Node has other insides: `import()` of a script says why it cannot.
  }

  async function runModule(code, script) {
    const base = fromHere();
    const load = (specifier) => loader().import(specifier, base, { __proto__: null });
    const module = new vm.SourceTextModule(code, {
      identifier: script,
      importModuleDynamically: load,
      initializeImportMeta(meta) {
        meta.url = base;
      },
    });
    await module.link(async (specifier) => {
      const namespace = await load(specifier);
      const names = getOwnPropertyNames(namespace);
      const synthetic = new vm.SyntheticModule(names, () => names.forEach((name) => synthetic.setExport(name, namespace[name])));
      return synthetic;
    });
    await module.evaluate();
    return module.namespace.default;
  }

  // Runs

  let run; // {id, bounds, promise, settled}
  let exiting; // {status}, once process.exit was called
  const EXIT = { toString: () => 'process.exit' };
  let count = 0;

  function leave(error) {
    if (error === EXIT) throw error;
  }

  process.exit = (status) => {
    exiting ??= { status: (status === undefined ? process.exitCode || 0 : status) | 0 };
    throw EXIT;
  };

  function settle(value, error) {
    if (run && !run.settled) run.settled = { value, error };
  }

  // A promise is waited for; anything else is the value.
  function took(value, error) {
    if (error || !types.isPromise(value)) settle(value, error);
    else promiseThen(value, (inner) => settle(inner), (reason) => settle(undefined, [reason]));
  }

  const mayBeModule = (code) => code.includes('import') || code.includes('export');

  function refused(error, script, details) {
    const source = sources.get(script);
    const line = details ? details.lineNumber + 1 - source.skipped : 1;
    if (isObject(error)) refusals.set(error, { script, name: source.name, line, column: details ? details.columnNumber + 1 : 1 });
  }

  function runSource(code, name) {
    const script = `dormouse:snippet-${++count}`;
    sources.set(script, { name, code, skipped: 0 });
    if (sources.size > MOST_SOURCES) sources.delete(sources.keys().next().value);
    const asModule = () => took(runModule(code, script));
    if (name.endsWith('.mjs') && name.length > 4) return asModule();
    // The inspector takes a script's name only as its last line, a comment.
    evaluate(`${code}\n//# sourceURL=${script}`, true, (value, error) => {
      const isRefusal = error && error[1] && types.isNativeError(error[0]) && error[0] instanceof SyntaxError && error[1].exception && !prepared.has(error[0]) && !stackHasSnippet(error[0]);
      if (!isRefusal) return took(value, error && [error[0]]);
      refused(error[0], script, error[1]);
      if (error[0].message === 'Illegal return statement') return runBody(code, script, error);
      return mayBeModule(code) ? asModule() : settle(undefined, error);
    });
  }

  const stackHasSnippet = (error) => {
    const stack = field(error, 'stack');
    return typeof stack === 'string' && /\n {4}at .*<eval>/.test(stack);
  };

  // A snippet with `return` at its top level is the body of a function.
  function runBody(code, script, error) {
    const AsyncFunction = getPrototypeOf(async () => {}).constructor;
    try {
      const body = code.includes('await') ? new AsyncFunction(`${code}\n//# sourceURL=${script}`) : vm.compileFunction(code, [], { filename: script });
      if (code.includes('await')) sources.get(script).skipped = 2;
      try {
        took(call.call(body, globalThis));
      } catch (thrown) {
        settle(undefined, [thrown]);
      }
    } catch {
      settle(undefined, error);
    }
  }

  // Between two requests: what a run left undone ends here.
  function finish() {
    const { id, bounds } = run;
    const ended = run.settled || { error: [new Error('the snippet awaits a promise that nothing will settle')] };
    let kind = 'R';
    let text = '';
    try {
      if (!exiting) {
        if (ended.error) [kind, text] = ['X', encodeError(ended.error[0], bounds)];
        else if (process.exitCode) exiting = { status: process.exitCode | 0 };
        else text = encode(ended.value, bounds);
      }
    } catch (error) {
      if (error !== EXIT) [kind, text] = ['X', stringify({ class: 'Error', message: 'this exception could not be described' })];
    }
    if (exiting) [kind, text] = ['Q', `${exiting.status}`];
    exiting = undefined;
    process.exitCode = undefined;
    run = undefined;
    send(kind, id, text);
  }

  process.on('uncaughtException', (error) => settle(undefined, [error]));
  process.on('unhandledRejection', (reason) => settle(undefined, [reason]));

  // Standard input is one file, read by the descriptor's own place: what is left of it is passed over, the new text added.
  const input = [];
  function feed() {
    const scrap = Buffer.allocUnsafe(65536);
    try {
      while (reads(0, scrap, 0, scrap.length, null)) continue;
    } catch {
      // There is none.
    }
    const data = Buffer.concat(input);
    input.length = 0;
    let stream;
    defineProperty(process, 'stdin', {
      configurable: true,
      enumerable: true,
      get: () => (stream ??= new fs.ReadStream('', { fd: 0, autoClose: false })),
    });
    if (!data.length) return;
    const file = fs.openSync('/proc/self/fd/0', 'a');
    for (let at = 0; at < data.length; ) at += writes(file, data, at);
    fs.closeSync(file);
  }

  function surroundings(asked) {
    feed();
    for (const [name, value] of asked.environment || []) process.env[name] = value;
    process.argv = ['javascript', ...(asked.arguments || [])];
    if (asked.directory !== null && asked.directory !== undefined) process.chdir(asked.directory);
    globalThis.require = createRequire(fromHere());
  }

  // Variables

  const known = new Set(getOwnPropertyNames(globalThis));
  for (const name of ['require', 'callTool', 'module', 'exports', '__filename', '__dirname', '__dormouse']) known.add(name);
  const hidden = new Set();
  defineProperty(globalThis, 'callTool', { value: callTool, writable: true, configurable: true, enumerable: false });
  for (const name of ['module', 'exports', '__filename', '__dirname']) delete globalThis[name];

  // The expression of a query sees no name of ours.
  const query = vm.runInThisContext("(function (value) { 'use strict'; return eval(arguments[1]); })", { filename: 'dormouse:kernel' });

  function globalValue(name) {
    const lexical = lexicalNames().includes(name);
    if (!lexical && !(name in globalThis)) throw new ReferenceError(`${cut(name, 128)} is not defined`);
    if (!lexical) return globalThis[name];
    const [value, error] = now(name, false);
    if (error) throw error[0];
    return value;
  }

  const RESERVED = new Set(
    ('await break case catch class const continue debugger default delete do else enum export extends false finally for function if import in instanceof ' +
      'let new null return static super switch this throw true try typeof undefined var void while with yield NaN Infinity globalThis').split(' '),
  );

  function setVariable({ name, json }) {
    let value;
    try {
      value = parse(json);
    } catch {
      return 'the value is not JSON';
    }
    if (!/^[A-Za-z_$\u0080-\uffff][\w$\u0080-\uffff]*$/.test(name)) return 'the name is not an identifier';
    if (RESERVED.has(name)) return 'the name is a reserved word';
    return bind(name, value) ? undefined : 'the snippet has made this name constant';
  }

  // A lexical binding would hide the global, so it is declared anew, as what it was.
  function bind(name, value) {
    hidden.delete(name);
    if (!lexicalNames().includes(name)) {
      try {
        globalThis[name] = value;
        return globalThis[name] === value || Number.isNaN(value);
      } catch {
        return false;
      }
    }
    globalThis.__dormouse = value;
    const done = ['let', 'const'].some((word) => !now(`${word} ${name} = __dormouse`, true)[1]);
    delete globalThis.__dormouse;
    return done;
  }

  function variables(bounds) {
    const lexical = new Set(lexicalNames());
    const names = [...new Set([...lexical, ...getOwnPropertyNames(globalThis).filter((name) => !known.has(name))])].filter((name) => !hidden.has(name));
    const order = names.map((name) => [name, bufferFrom(name, 'utf8')]).sort((a, b) => Buffer.compare(a[1], b[1]));
    let out = '';
    for (const [name] of order) {
      const own = lexical.has(name) ? undefined : getOwnPropertyDescriptor(globalThis, name);
      const [value] = lexical.has(name) ? now(name, false) : [own.value];
      const [summary] = attempt(() => describeShort(value));
      const limit = bounds.string_bytes < LONGEST_SUMMARY ? bounds.string_bytes : LONGEST_SUMMARY;
      const entry = `${out ? ',' : ''}{"name":${quoted(name, 256)},"type":${quoted(classOf(value), 256)},"summary":${quoted(summary ?? '', limit)}}`;
      if (byteLength(out) + byteLength(entry) + 2 > bounds.total_bytes) break;
      out += entry;
    }
    return `[${out}]`;
  }

  // Names of scripts cannot be taken back; they are made undefined and are not shown.
  function reset() {
    for (const name of lexicalNames()) {
      bind(name, undefined);
      hidden.add(name);
    }
    for (const name of getOwnPropertyNames(globalThis)) {
      if (known.has(name) || Reflect.deleteProperty(globalThis, name)) continue;
      bind(name, undefined);
      hidden.add(name);
    }
    sources.clear();
  }

  function begin(id, asked, work) {
    run = { id, bounds: asked.bounds, settled: undefined };
    exiting = undefined;
    try {
      work();
    } catch (error) {
      settle(undefined, [error]);
    }
    // So that the loop turns once more, and the run ends when it has nothing left to do.
    setImmediate(nothing);
  }

  function shown(names) {
    for (const name of names) hidden.delete(name);
  }

  // Serves until a run has begun, which goes on in the event loop.
  function serve() {
    for (;;) {
      const { kind, id, payload } = receive();
      if (kind === 'I') {
        input.push(payload);
        continue;
      }
      const asked = parse(payload.toString('utf8'));
      if (kind === 'E') {
        return begin(id, asked, () => {
          surroundings(asked);
          // A name that is declared again is a variable again.
          if (hidden.size) shown([...hidden].filter((name) => asked.code.includes(name)));
          runSource(asked.code, asked.name);
        });
      }
      if (kind === 'G') {
        return begin(id, asked, () => {
          const value = globalValue(asked.name);
          took(asked.query === null ? value : query(value, asked.query));
        });
      }
      if (kind === 'S') {
        const why = setVariable(asked);
        send(why ? 'N' : 'K', id, why || '');
      } else if (kind === 'V') {
        send('V', id, variables(asked.bounds));
      } else {
        reset();
        send('K', id, '');
      }
    }
  }

  process.on('beforeExit', () => {
    if (run) finish();
    serve();
  });
  process.argv = ['javascript'];
  send('H', 0, stringify({ protocol: PROTOCOL, version: process.version.slice(1) }));
}

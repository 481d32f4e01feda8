// Part of the JavaScript interpreter.

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

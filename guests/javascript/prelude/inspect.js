// inspect: values as text, in the form that Node.js prints them.
(function (native, shared) {
  'use strict';
  const custom = Symbol.for('nodejs.util.inspect.custom');
  const { getOwnPropertyDescriptor, getOwnPropertyNames, getOwnPropertySymbols, getPrototypeOf, hasOwn, keys: keysOf, prototype: objectPrototype } = Object;
  const { propertyIsEnumerable } = objectPrototype;
  const { colors, coloured, escaped, join, plain, primitive, quote, styles, widthOf } = shared.layout;
  // Of properties that are another object's, which are shown as their values.
  const liveGetters = (shared.liveGetters = new WeakSet());
  const presets = { showHidden: false, depth: 2, colors: false, customInspect: true, showProxy: false, maxArrayLength: 100, maxStringLength: 10000, breakLength: 80, compact: 3, sorted: false, getters: false, numericSeparator: false };
  // Characters of all texts of one indentation after which nothing more is looked into.
  const BUDGET = 2 ** 24;
  const bare = /^[a-zA-Z_][a-zA-Z_0-9]*$/;
  const isIndex = (key) => /^(0|[1-9][0-9]*)$/.test(key) && Number(key) < 4294967295;

  const { Error } = globalThis;
  const getter = (prototype, name) => getOwnPropertyDescriptor(prototype, name).get;
  const call = Function.prototype.call.bind(Function.prototype.call);
  const setSize = getter(Set.prototype, 'size');
  const mapSize = getter(Map.prototype, 'size');
  const { values: setValues } = Set.prototype;
  const { entries: mapEntries } = Map.prototype;
  const classOfView = getter(getPrototypeOf(Uint8Array.prototype), Symbol.toStringTag);
  const bufferSize = getter(ArrayBuffer.prototype, 'byteLength');
  const { toISOString, getTime, toString: dateToString } = Date.prototype;
  const { toString: regexpToString } = RegExp.prototype;
  const { toString: functionToString } = Function.prototype;
  const { toString: errorToString } = Error.prototype;
  const boxes = [[String, 'String'], [Number, 'Number'], [Boolean, 'Boolean'], [BigInt, 'BigInt'], [Symbol, 'Symbol']].map(([{ prototype }, name]) => [prototype.valueOf, name]);

  function isBufferOf(value) {
    try {
      call(bufferSize, value);
      return true;
    } catch {
      return false;
    }
  }

  // What a boxed value holds, and of which kind it is.
  function unboxed(value) {
    for (const [valueOf, name] of boxes) {
      try {
        return [call(valueOf, value), name];
      } catch {}
    }
  }

  function isInstance(value, constructor) {
    try {
      return value instanceof constructor;
    } catch {
      return false;
    }
  }

  // The name of the nearest constructor in a chain of prototypes.
  function constructorOf(value) {
    // A proxy could make the chain endless.
    for (let at = value, left = 1000; at !== null && left; at = getPrototypeOf(at), left--) {
      const descriptor = getOwnPropertyDescriptor(at, 'constructor');
      const constructor = descriptor?.value;
      if (typeof constructor === 'function' && constructor.name !== '' && isInstance(value, constructor)) return String(constructor.name);
    }
    return null;
  }

  function nameOf(context, value, own, depth) {
    const name = constructorOf(value);
    const prototype = name === null ? getPrototypeOf(value) : null;
    if (prototype === null) return name;
    if (context.depth !== null && depth > context.depth) return `${own} <Complex prototype>`;
    return `${own} <${inspect(prototype, { ...context, customInspect: false, depth: -1 })}>`;
  }

  // With `showHidden`, getters of a class are shown with its instances.
  const builtIn = new Set(getOwnPropertyNames(globalThis).filter((name) => /^[A-Z][a-zA-Z0-9]+$/.test(name)));
  function inheritedKeys(value, keys) {
    const found = [];
    let at = getPrototypeOf(value);
    for (let level = 0; level < 3 && at !== null; level++, at = getPrototypeOf(at)) {
      const constructor = getOwnPropertyDescriptor(at, 'constructor')?.value;
      if (typeof constructor === 'function' && builtIn.has(constructor.name)) break;
      for (const key of Reflect.ownKeys(at)) {
        if (key === 'constructor' || hasOwn(value, key) || keys.includes(key) || found.some(([other]) => other === key)) continue;
        const descriptor = getOwnPropertyDescriptor(at, key);
        if (typeof descriptor.value !== 'function') found.push([key, descriptor]);
      }
    }
    return found;
  }

  function tagOf(context, value) {
    const tag = value[Symbol.toStringTag];
    if (typeof tag !== 'string' || tag === '') return '';
    const isShown = context.showHidden ? hasOwn(value, Symbol.toStringTag) : call(propertyIsEnumerable, value, Symbol.toStringTag);
    return isShown ? '' : tag;
  }

  function prefixOf(name, tag, expected, size = '') {
    if (name === null) return tag && tag !== expected ? `[${expected}${size}: null prototype] [${tag}] ` : `[${expected}${size}: null prototype] `;
    return tag && tag !== name ? `${name}${size} [${tag}] ` : `${name}${size} `;
  }

  function classText(value, name, tag) {
    let text = `class ${(hasOwn(value, 'name') && value.name) || '(anonymous)'}`;
    if (name !== 'Function' && name !== null) text += ` [${name}]`;
    if (tag && name !== tag) text += ` [${tag}]`;
    if (name === null) return `[${text} extends null]`;
    const parent = getPrototypeOf(value)?.name;
    return parent ? `[${text} extends ${parent}]` : `[${text}]`;
  }

  function functionText(value, name, tag, kind) {
    if (kind === 'class') return classText(value, name, tag);
    const type = /^(Async)?(Generator)?Function$/.test(tag) ? tag : 'Function';
    let text = `[${type}`;
    if (name === null) text += ' (null prototype)';
    text += value.name === '' || value.name === undefined ? ' (anonymous)' : `: ${typeof value.name === 'string' ? value.name : String(value.name)}`;
    text += ']';
    if (name !== type && name !== null) text += ` ${name}`;
    return tag && name !== tag ? `${text} [${tag}]` : text;
  }

  function boxedText(context, value, name, tag, keys) {
    const [inner, type] = unboxed(value);
    if (type === 'String') keys.splice(0, inner.length);
    let text = `[${type}`;
    if (type !== name) text += name === null ? ' (null prototype)' : ` (${name})`;
    text += `: ${primitive({ ...context, stylize: plain }, inner)}]`;
    if (tag && tag !== name) text += ` [${tag}]`;
    return keys.length ? text : context.stylize(text, type.toLowerCase());
  }

  // The class tells more than the name that an error has from its parent.
  function headOf(stack, name, constructor, tag) {
    let { length } = name;
    const isNamed = name.endsWith('Error') && stack.startsWith(name) && [undefined, ':', '\n'].includes(stack[length]);
    if (constructor !== null && !isNamed) return stack;
    let fallback = 'Error';
    if (constructor === null) {
      const start = /^([A-Z][a-z_ A-Z0-9[\]()-]+)(?::|\n\s+at)/.exec(stack) ?? /^([a-z_A-Z0-9-]*Error)$/.exec(stack);
      ({ length } = start?.[1] ?? '');
      fallback = start?.[1] || 'Error';
    }
    const prefix = prefixOf(constructor, tag, fallback).slice(0, -1);
    if (name === prefix) return stack;
    if (!prefix.includes(name)) return `${prefix} [${name}]${stack.slice(length)}`;
    return length === 0 ? `${prefix}: ${stack}` : prefix + stack.slice(length);
  }

  const isOfLibrary = (line) => line.includes('(dormouse:');
  function stackOf(error) {
    const { stack } = error;
    if (!stack) return call(errorToString, error);
    const text = String(stack).split('\n').filter((line) => !isOfLibrary(line)).join('\n');
    return text.startsWith('    at ') ? `${call(errorToString, error)}\n${text}` : text;
  }

  // Lines of a cause that its error has, too, are said once.
  function framesOf(error, frames) {
    if (!('cause' in error) || !isError(error.cause)) return frames;
    const of = stackOf(error.cause).split('\n').filter((line) => line.startsWith('    at '));
    for (let at = 0; at < frames.length - 3; at++) {
      const from = of.indexOf(frames[at]);
      if (from < 0) continue;
      let same = 0;
      while (at + same < frames.length && of[from + same] === frames[at + same]) same++;
      if (same > 3) return [...frames.slice(0, at + 1), `    ... ${same - 2} lines matching cause stack trace ...`, ...frames.slice(at + same - 1)];
    }
    return frames;
  }
  const isError = (value) => typeof value === 'object' && value !== null && native.details(value)[0] === 'error';

  function errorText(context, error, constructor, tag, keys) {
    const name = error.name === undefined || error.name === null ? 'Error' : String(error.name);
    let stack = stackOf(error);
    if (!context.showHidden) {
      for (const key of ['name', 'message', 'stack']) {
        const at = keys.indexOf(key);
        if (at >= 0 && (typeof error[key] !== 'string' || stack.includes(error[key]))) keys.splice(at, 1);
      }
    }
    if ('cause' in error && !keys.includes('cause')) keys.push('cause');
    if (Array.isArray(error.errors) && !keys.includes('errors')) keys.push('errors');
    stack = headOf(stack, name, constructor, tag);
    const from = error.message ? stack.indexOf(error.message) : -1;
    const start = stack.indexOf('\n    at', from < 0 ? 0 : from + String(error.message).length);
    if (start < 0) stack = `[${stack}]`;
    else stack = [stack.slice(0, start), ...framesOf(error, stack.slice(start + 1).split('\n'))].join('\n');
    return context.indent ? stack.replaceAll('\n', `\n${' '.repeat(context.indent)}`) : stack;
  }

  function circular(context, value) {
    let index = context.circular.get(value);
    if (!index) context.circular.set(value, (index = context.circular.size + 1));
    return context.stylize(`[Circular *${index}]`, 'special');
  }

  // What a function of a value's own is given: the options as they are.
  function optionsFor(context) {
    const { seen, circular, budget, indent, current, given, ...options } = context;
    return { ...options, ...given };
  }

  function proxyText(context, [, , target, handler], depth) {
    if (depth > context.depth && context.depth !== null) return context.stylize('Proxy [Array]', 'special');
    context.indent += 2;
    const parts = [format(context, target, depth + 1), format(context, handler, depth + 1)];
    context.indent -= 2;
    return join(context, parts, '', ['Proxy [', ']'], depth + 1, true);
  }

  function format(context, value, depth, isTyped) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return primitive(context, value);
    const given = value;
    let details = native.details(value);
    while (details[0] === 'proxy') {
      if (details[2] === null) return context.stylize('<Revoked Proxy>', 'special');
      if (context.showProxy) return proxyText(context, details, depth);
      value = details[2];
      details = native.details(value);
    }
    if (context.customInspect) {
      const own = value[custom];
      if (typeof own === 'function' && own !== inspect && !(value.constructor && value.constructor.prototype === value)) {
        const text = call(own, given, context.depth === null ? null : context.depth - depth, optionsFor(context), inspect);
        if (text !== given) return typeof text === 'object' && text !== null ? format(context, text, depth) : String(text).replaceAll('\n', `\n${' '.repeat(context.indent)}`);
      }
    }
    if (context.seen.includes(value)) return circular(context, value);
    return formatObject(context, value, depth, details, isTyped);
  }

  function keysToShow(context, value, skipIndexes) {
    let keys;
    const symbols = getOwnPropertySymbols(value);
    if (context.showHidden) {
      keys = getOwnPropertyNames(value);
      if (symbols.length) keys.push(...symbols);
    } else {
      try {
        keys = keysOf(value);
      } catch {
        keys = getOwnPropertyNames(value);
      }
      for (const symbol of symbols) if (call(propertyIsEnumerable, value, symbol)) keys.push(symbol);
    }
    return skipIndexes ? keys.filter((key) => typeof key !== 'string' || !isIndex(key)) : keys;
  }

  // What an object of a kind looks like: a text before its braces, the braces, and what is inside before its properties.
  function shapeOf(context, value, depth, [kind, own, state, settled], name, tag, keys) {
    const items = (list) => within(context, () => cut(context, list, (item) => format(context, item, depth + 1)));
    const list = (prefix, fill, emptyText) => ({ braces: [`${prefix}[`, ']'], list: true, fill, emptyText: emptyText ?? `${prefix}[]` });
    const braced = (prefix, fill) => ({ braces: [`${prefix}{`, '}'], fill, emptyText: fill ? undefined : `${prefix}{}` });
    const based = (text, style) => ({ base: text, braces: ['{', '}'], emptyText: style ? context.stylize(text, style) : text });
    const prefixed = (text, expected) => {
      const prefix = prefixOf(name, tag, expected);
      return prefix === `${expected} ` ? text : prefix + text;
    };
    if (Array.isArray(value)) {
      const prefix = name === 'Array' && !tag ? '' : prefixOf(name, tag, 'Array', `(${value.length})`);
      return list(prefix, value.length ? () => arrayItems(context, value, depth) : undefined);
    }
    switch (kind) {
      case 'set':
        return braced(prefixOf(name, tag, 'Set', `(${call(setSize, value)})`), call(setSize, value) ? () => items([...call(setValues, value)]) : undefined);
      case 'map':
        return braced(prefixOf(name, tag, 'Map', `(${call(mapSize, value)})`), call(mapSize, value) ? () => within(context, () => cut(context, [...call(mapEntries, value)], ([key, item]) => `${format(context, key, depth + 1)} => ${format(context, item, depth + 1)}`)) : undefined);
      case 'iterator':
        if (Array.isArray(settled)) return { braces: [`[${state ? `${tag.split(' ')[0]} Entries` : tag}] {`, '}'], list: state, fill: () => rest(context, settled, state, depth) };
        break;
      case 'function':
      case 'class':
        return based(functionText(value, name, tag, kind), 'special');
      case 'regexp':
        return based(prefixed(call(regexpToString, value), 'RegExp'), 'regexp');
      case 'date':
        return based(prefixed(Number.isNaN(call(getTime, value)) ? call(dateToString, value) : call(toISOString, value), 'Date'), 'date');
      case 'error':
        return based(errorText(context, value, name, tag, keys));
      case 'boxed':
        return based(boxedText(context, value, name, tag, keys));
      case 'promise':
        return braced(prefixOf(name, tag, 'Promise'), () => within(context, () => (state === 0 ? [context.stylize('<pending>', 'special')] : [`${state === 2 ? `${context.stylize('<rejected>', 'special')} ` : ''}${format(context, settled, depth + 1)}`])));
      case 'module':
        return braced(prefixOf(name, tag, 'Module'), () => []);
      case 'bytes':
        return bytesShape(context, value, depth, name, tag, keys, list, braced);
    }
    if (kind === 'array') return braced('[Arguments] ');
    if (value instanceof Error) return based(errorText(context, value, name, tag, keys));
    if (value instanceof WeakMap || value instanceof WeakSet) return braced(prefixOf(name, tag, own), () => [context.stylize('<items unknown>', 'special')]);
    const prefix = kind === 'iterator' && name !== null ? `Object [${tag || own}] ` : prefixOf(name, tag, 'Object');
    return braced(prefix === 'Object ' ? '' : prefix);
  }

  function bytesShape(context, value, depth, name, tag, keys, list, braced) {
    const own = ArrayBuffer.isView(value) ? call(classOfView, value) : undefined;
    if (own !== undefined) {
      const prefix = prefixOf(name, tag, name === null ? own : '', `(${value.length})`);
      return list(prefix, value.length || context.showHidden ? () => viewItems(context, value, depth) : undefined);
    }
    if (ArrayBuffer.isView(value)) {
      keys.unshift('byteLength', 'byteOffset', 'buffer');
      return braced(prefixOf(name, tag, 'DataView'), () => []);
    }
    keys.unshift('byteLength');
    return braced(prefixOf(name, tag, isBufferOf(value) ? 'ArrayBuffer' : 'SharedArrayBuffer'), () => [contents(context, value)]);
  }

  function contents(context, value) {
    const bytes = new Uint8Array(value);
    const shown = Math.min(Math.max(0, context.maxArrayLength), bytes.length);
    const hex = Array.from(bytes.subarray(0, shown), (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const more = bytes.length - shown;
    return `${context.stylize('[Uint8Contents]', 'special')}: <${hex}${more ? ` ... ${more} more byte${more > 1 ? 's' : ''}` : ''}>`;
  }

  function within(context, work) {
    context.indent += 2;
    const done = work();
    context.indent -= 2;
    return done;
  }

  const moreItems = (count) => `... ${count} more item${count > 1 ? 's' : ''}`;
  function cut(context, list, show) {
    const most = Math.max(0, context.maxArrayLength);
    if (list.length <= most) return list.map(show);
    return [...list.slice(0, most).map(show), moreItems(list.length - most)];
  }

  function rest(context, list, pairs, depth) {
    if (!pairs) return within(context, () => cut(context, list, (item) => format(context, item, depth + 1)));
    const both = list.flatMap((_, i) => (i % 2 ? [] : [[list[i], list[i + 1]]]));
    return within(context, () => cut(context, both, (pair) => join(context, pair.map((item) => format(context, item, depth + 1)), '', ['[', ']'], depth, true, pair)));
  }

  function arrayItems(context, value, depth) {
    const output = [];
    const most = Math.min(Math.max(0, context.maxArrayLength), value.length);
    let index = 0;
    while (index < value.length && output.length < most) {
      if (hasOwn(value, index)) {
        output.push(property(context, value, depth, `${index++}`, true));
        continue;
      }
      const start = index;
      while (index < value.length && !hasOwn(value, index) && index - start < 1e6) index++;
      if (index < value.length && !hasOwn(value, index)) index = keysOf(value).map(Number).find((key) => key > index) ?? value.length;
      output.push(context.stylize(`<${index - start} empty item${index - start > 1 ? 's' : ''}>`, 'undefined'));
    }
    if (index < value.length) output.push(moreItems(value.length - index));
    return output;
  }

  function viewItems(context, value, depth) {
    const output = cut(context, value.length > context.maxArrayLength ? Array.from({ length: value.length }, (_, i) => (i < context.maxArrayLength ? value[i] : 0)) : Array.from(value), (item) => primitive(context, item));
    if (context.showHidden) {
      within(context, () => {
        for (const key of ['BYTES_PER_ELEMENT', 'length', 'byteLength', 'byteOffset', 'buffer']) output.push(`[${key}]: ${format(context, value[key], depth + 1, true)}`);
      });
    }
    return output;
  }

  function formatObject(context, value, depth, details, isTyped) {
    const name = nameOf(context, value, details[1], depth);
    const tag = tagOf(context, value);
    const isView = ArrayBuffer.isView(value) && call(classOfView, value) !== undefined;
    const keys = keysToShow(context, value, Array.isArray(value) || isView);
    const inherited = context.showHidden && constructorOf(value) !== null ? inheritedKeys(value, keys) : [];
    if (isTyped && isBufferOf(value) && !keys.length) return `${prefixOf(name, tag, 'ArrayBuffer')}{ byteLength: ${primitive(context, call(bufferSize, value))} }`;
    const shape = shapeOf(context, value, depth, details, name, tag, keys);
    const { base = '', braces, list = false, fill, emptyText } = shape;
    if (!fill && !keys.length && !inherited.length) return emptyText;
    if (context.depth !== null && depth > context.depth) {
      if (details[0] === 'regexp') return emptyText;
      const text = prefixOf(name, tag, Array.isArray(value) ? 'Array' : 'Object').slice(0, -1);
      return context.stylize(name === null ? text : `[${text}]`, 'special');
    }
    context.seen.push(value);
    context.current = depth;
    let output;
    try {
      output = fill ? fill() : [];
      for (const key of keys) output.push(property(context, value, depth, key));
      for (const [key, descriptor] of inherited) output.push(property(context, value, depth, key, false, { ...descriptor, enumerable: false }));
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      return context.stylize(`[${prefixOf(name, tag, 'Object').slice(0, -1)}: Inspection interrupted prematurely. Maximum call stack size exceeded.]`, 'special');
    }
    context.seen.pop();
    return finish(context, value, depth, base, braces, list, output, keys.length);
  }

  function finish(context, value, depth, base, braces, list, output, count) {
    const index = context.circular.get(value);
    if (index) {
      const reference = context.stylize(`<ref *${index}>`, 'special');
      if (context.compact === true) braces[0] = `${reference} ${braces[0]}`;
      else base = base ? `${reference} ${base}` : reference;
    }
    if (context.sorted) {
      const order = context.sorted === true ? undefined : context.sorted;
      if (!list) output.sort(order);
      else if (count > 1) output.push(...output.splice(-count).sort(order));
    }
    const text = join(context, output, base, braces, depth, list, value);
    const used = (context.budget[context.indent] ?? 0) + text.length;
    context.budget[context.indent] = used;
    if (used > BUDGET) context.depth = -1;
    return text;
  }

  function getterText(context, value, depth, descriptor) {
    const label = descriptor.set ? 'Getter/Setter' : 'Getter';
    const { getters, stylize } = context;
    if (!(getters === true || (getters === 'get' && !descriptor.set) || (getters === 'set' && descriptor.set))) return stylize(`[${label}]`, 'special');
    try {
      const found = call(descriptor.get, value);
      return within(context, () => {
        if (typeof found === 'object' && found !== null) return `${stylize(`[${label}]`, 'special')} ${format(context, found, depth + 1)}`;
        return `${stylize(`[${label}:`, 'special')} ${typeof found === 'function' ? format(context, found, depth + 1) : primitive(context, found)}${stylize(']', 'special')}`;
      });
    } catch (error) {
      return `<Inspection threw (${error?.message})>`;
    }
  }

  function property(context, value, depth, key, isItem = false, descriptor = getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true }) {
    const isWide = context.compact === true && !isItem && !Array.isArray(value);
    let text;
    let space = ' ';
    if (liveGetters.has(descriptor.get)) descriptor = { value: descriptor.get(), enumerable: descriptor.enumerable };
    if (descriptor.value !== undefined) {
      context.indent += isWide ? 3 : 2;
      text = format(context, descriptor.value, depth + 1);
      if (isWide && context.breakLength < widthOf(text)) space = `\n${' '.repeat(context.indent)}`;
      context.indent -= isWide ? 3 : 2;
    } else if (descriptor.get) text = getterText(context, value, depth, descriptor);
    else text = descriptor.set ? context.stylize('[Setter]', 'special') : context.stylize('undefined', 'undefined');
    return isItem ? text : `${keyText(context, key, descriptor.enumerable)}:${space}${text}`;
  }

  function keyText(context, key, isEnumerable) {
    if (typeof key === 'symbol') return `[${context.stylize(escaped(Symbol.prototype.toString.call(key), ''), 'symbol')}]`;
    if (key === '__proto__') return "['__proto__']";
    if (isEnumerable === false) return `[${escaped(key, '')}]`;
    return bare.test(key) ? context.stylize(key, 'name') : context.stylize(quote(key), 'string');
  }

  function inspect(value, options, ...older) {
    const context = { ...presets, seen: [], circular: new Map(), budget: [], indent: 0, current: 0, stylize: plain, given: undefined };
    if (typeof options === 'boolean' || older.length) {
      context.showHidden = options;
      if (older[0] !== undefined) context.depth = older[0];
      if (older[1] !== undefined) context.colors = older[1];
    } else if (options) {
      context.given = {};
      for (const key of keysOf(options)) {
        if (hasOwn(presets, key) || key === 'stylize') context[key] = options[key];
        else if (!hasOwn(context, key)) context.given[key] = options[key];
      }
    }
    if (context.colors && context.stylize === plain) context.stylize = coloured;
    if (context.depth === Infinity) context.depth = null;
    context.maxArrayLength ??= Infinity;
    context.maxStringLength ??= Infinity;
    return format(context, value, 0);
  }
  inspect.custom = custom;
  inspect.colors = colors;
  inspect.styles = styles;
  Object.defineProperty(inspect, 'defaultOptions', {
    get: () => presets,
    set(options) {
      if (typeof options === 'object' && options !== null) {
        Object.assign(presets, options);
        return;
      }
      throw Object.assign(new TypeError(`The "options" argument must be of type object. Received ${shared.library('internal/received').received(options)}`), { code: 'ERR_INVALID_ARG_TYPE' });
    },
    enumerable: true,
    configurable: true,
  });

  shared.define = (name, value) => {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true });
  };
  shared.modules = Object.create(null);
  shared.builtIn = builtIn;
  shared.inspect = inspect;
})

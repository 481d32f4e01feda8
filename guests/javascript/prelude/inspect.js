// inspect and format: values as text, in the form that Node prints them.
(function (native, shared) {
  'use strict';
  const custom = Symbol.for('nodejs.util.inspect.custom');
  const { getOwnPropertyDescriptor, getPrototypeOf } = Object;
  const { ownKeys } = Reflect;
  // Of properties that are another object's, which are shown as their values.
  const liveGetters = (shared.liveGetters = new WeakSet());
  const breakLength = 80;
  const compact = 3;
  const mostItems = 100;
  const mostKeys = 1000;
  const longestString = 10000;
  const bare = /^[a-zA-Z_][a-zA-Z_0-9]*$/;

  function quote(text) {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') ? '`' : "'";
    let result = mark;
    for (const character of text) {
      const code = character.codePointAt(0);
      if (character === mark || character === '\\') result += '\\' + character;
      else if (code === 10) result += '\\n';
      else if (code === 13) result += '\\r';
      else if (code === 9) result += '\\t';
      else if (code < 32 || code === 127) result += '\\x' + code.toString(16).toUpperCase().padStart(2, '0');
      else if (code >= 0xd800 && code <= 0xdfff) result += '\\u' + code.toString(16).toUpperCase();
      else result += character;
    }
    return result + mark;
  }

  function primitive(value) {
    switch (typeof value) {
      case 'string':
        if (value.length > longestString) {
          return `${quote(value.slice(0, longestString))}... ${value.length - longestString} more characters`;
        }
        return quote(value);
      case 'number':
        return Object.is(value, -0) ? '-0' : `${value}`;
      case 'bigint':
        return `${value}n`;
      case 'symbol':
        return value.toString();
      default:
        return `${value}`;
    }
  }

  function functionText(value, kind) {
    const name = getOwnPropertyDescriptor(value, 'name')?.value;
    if (kind === 'class') {
      const parent = getPrototypeOf(value)?.name;
      return `[class ${name || '(anonymous)'}${parent ? ` extends ${parent}` : ''}]`;
    }
    const tag = getPrototypeOf(value)?.[Symbol.toStringTag] ?? 'Function';
    return name ? `[${tag}: ${name}]` : `[${tag} (anonymous)]`;
  }

  function errorText(error) {
    let { stack } = error;
    let head = String(Error.prototype.toString.call(error));
    const name = error.constructor?.name;
    const { name: own } = error;
    // The class tells more than the name that it has from its parent.
    const isNamed = typeof name !== 'string' || !name || own !== 'Error' || name === own;
    const better = isNamed ? own : name.endsWith('Error') ? name : `${name} [${own}]`;
    const improved = (text) => (isNamed || !text.startsWith(own) ? text : better + text.slice(own.length));
    if (typeof stack !== 'string' || !stack) return `[${improved(head)}]`;
    stack = stack.split('\n').filter((line) => !line.includes('(dormouse:')).join('\n');
    if (!/^ {4}at /m.test(stack)) return `[${improved(stack)}]`;
    return improved(stack.startsWith('    at ') ? `${head}\n${stack}` : stack);
  }

  function circular(context, value) {
    let index = context.circular.get(value);
    if (!index) context.circular.set(value, (index = context.circular.size + 1));
    return `[Circular *${index}]`;
  }

  function format(context, value, depth) {
    if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return primitive(value);
    if (context.seen.includes(value)) return circular(context, value);
    if (typeof value[custom] === 'function' && value[custom] !== inspect) {
      const text = value[custom](context.depth === null ? null : context.depth - depth, context.options, inspect);
      return typeof text === 'string' ? text : format(context, text, depth);
    }
    return formatObject(context, value, depth);
  }

  function prefixOf(name, tag, expected, size) {
    const count = size === undefined ? '' : `(${size})`;
    const label = tag && tag !== name ? ` [${tag}]` : '';
    return `${name ?? `[${expected}: null prototype]`}${count}${label} `;
  }

  function formatObject(context, value, depth) {
    const [kind, own, state, settled] = native.details(value);
    const nameless = kind !== 'proxy' && getPrototypeOf(value) === null;
    const name = nameless ? null : own;
    let tag = kind === 'proxy' ? undefined : value[Symbol.toStringTag];
    if (typeof tag !== 'string' || !tag) tag = undefined;
    let base = '';
    let braces = ['{', '}'];
    let list = false;
    let fill = () => [];
    let skipIndexes = false;
    if (Array.isArray(value) && kind !== 'proxy') {
      const prefix = name === 'Array' && !tag ? '' : prefixOf(name, tag, 'Array', value.length);
      braces = [`${prefix}[`, ']'];
      list = skipIndexes = true;
      fill = () => formatArray(context, value, depth);
    } else if (kind === 'set') {
      braces[0] = `${prefixOf(name, tag, 'Set', setSize(value))}{`;
      fill = () => [...setValues(value)].slice(0, mostItems).map((item) => nested(context, item, depth));
    } else if (kind === 'map') {
      braces[0] = `${prefixOf(name, tag, 'Map', mapSize(value))}{`;
      fill = () =>
        [...mapEntries(value)]
          .slice(0, mostItems)
          .map(([key, item]) => `${nested(context, key, depth)} => ${nested(context, item, depth)}`);
    } else if (ArrayBuffer.isView(value) && !(value instanceof DataView)) {
      braces = [`${prefixOf(name, tag === name ? undefined : tag, own, value.length)}[`, ']'];
      list = skipIndexes = true;
      fill = () => {
        const shown = Array.from(value.subarray(0, mostItems), primitive);
        if (value.length > mostItems) shown.push(more(value.length - mostItems));
        return shown;
      };
    } else if (kind === 'bytes') {
      braces[0] = `${prefixOf(name, tag, own)}{`;
      fill = () => {
        const buffer = value instanceof DataView ? value.buffer : value;
        const bytes = new Uint8Array(buffer).subarray(0, 50);
        const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
        const rest = buffer.byteLength > 50 ? ` ... ${buffer.byteLength - 50} more bytes` : '';
        return [`[Uint8Contents]: <${hex}${rest}>`, `byteLength: ${value.byteLength}`];
      };
    } else if (kind === 'function' || kind === 'class') {
      base = functionText(value, kind);
    } else if (kind === 'regexp') {
      base = RegExp.prototype.toString.call(value);
    } else if (kind === 'date') {
      base = Number.isNaN(Date.prototype.getTime.call(value)) ? 'Invalid Date' : Date.prototype.toISOString.call(value);
    } else if (kind === 'error') {
      base = errorText(value);
    } else if (kind === 'boxed') {
      const inner = value.valueOf();
      base = `[${own}: ${primitive(inner)}]`;
      skipIndexes = typeof inner === 'string';
    } else if (kind === 'promise') {
      braces[0] = `${prefixOf(name, tag, 'Promise')}{`;
      fill = () => [
        state === 0 ? '<pending>' : `${state === 2 ? '<rejected> ' : ''}${nested(context, settled, depth)}`,
      ];
    } else if (value instanceof WeakMap || value instanceof WeakSet) {
      braces[0] = `${prefixOf(name, tag, own)}{`;
      fill = () => ['<items unknown>'];
    } else if (kind === 'module') {
      braces[0] = '[Module: null prototype] {';
    } else {
      const prefix = kind === 'iterator' ? `Object [${own}] ` : prefixOf(name, tag, 'Object');
      braces[0] = prefix === 'Object ' ? '{' : `${prefix}{`;
    }
    const isEmpty = kind === 'object' ? true : kind === 'set' ? setSize(value) === 0 : kind === 'map' ? mapSize(value) === 0 : Array.isArray(value) && value.length === 0;
    if (isEmpty && !base && !keysOf(value, kind, skipIndexes).length) return `${braces[0]}${braces[1]}`;
    if (context.depth !== null && depth > context.depth) {
      if (base) return base;
      return `[${Array.isArray(value) ? 'Array' : (name ?? `${own}: null prototype`)}]`;
    }
    context.seen.push(value);
    context.current = depth;
    const output = fill();
    for (const key of keysOf(value, kind, skipIndexes)) {
      if (output.length >= mostKeys) {
        output.push('...');
        break;
      }
      output.push(formatProperty(context, value, depth, key));
    }
    context.seen.pop();
    const index = context.circular.get(value);
    if (index) {
      const reference = `<ref *${index}> `;
      if (base) base = reference + base;
      else braces[0] = reference + braces[0];
    }
    if (base && output.length === 0) return base;
    if (output.length === 0) return `${braces[0]}${braces[1]}`;
    return join(context, output, base, braces, depth, list, value);
  }

  const setSize = (value) => Object.getOwnPropertyDescriptor(Set.prototype, 'size').get.call(value);
  const mapSize = (value) => Object.getOwnPropertyDescriptor(Map.prototype, 'size').get.call(value);
  const setValues = (value) => Set.prototype.values.call(value);
  const mapEntries = (value) => Map.prototype.entries.call(value);
  const more = (count) => `... ${count} more item${count > 1 ? 's' : ''}`;

  function keysOf(value, kind, skipIndexes) {
    let keys;
    try {
      keys = ownKeys(value);
    } catch {
      return [];
    }
    const hidden = kind === 'error' ? new Set(['stack', 'message', 'cause', 'errors']) : undefined;
    const shown = keys.filter((key) => {
      if (skipIndexes && typeof key === 'string' && /^(0|[1-9][0-9]*)$/.test(key)) return false;
      if (hidden?.has(key)) return (key === 'cause' || key === 'errors') && value[key] !== undefined;
      return getOwnPropertyDescriptor(value, key)?.enumerable;
    });
    return shown;
  }

  function nested(context, value, depth) {
    context.indent += 2;
    const text = format(context, value, depth + 1);
    context.indent -= 2;
    return text;
  }

  function formatArray(context, value, depth) {
    const output = [];
    let index = 0;
    while (index < value.length && output.length < mostItems) {
      if (Object.hasOwn(value, index)) {
        output.push(nested(context, value[index++], depth));
        continue;
      }
      const start = index;
      while (index < value.length && !Object.hasOwn(value, index) && index - start < 1e6) index++;
      output.push(`<${index - start} empty item${index - start > 1 ? 's' : ''}>`);
    }
    if (index < value.length) output.push(more(value.length - index));
    return output;
  }

  function formatProperty(context, value, depth, key) {
    const descriptor = getOwnPropertyDescriptor(value, key) ?? { value: value[key], enumerable: true };
    let text;
    if ('value' in descriptor) text = nested(context, descriptor.value, depth);
    else if (liveGetters.has(descriptor.get)) text = nested(context, descriptor.get(), depth);
    else if (descriptor.get) text = descriptor.set ? '[Getter/Setter]' : '[Getter]';
    else text = descriptor.set ? '[Setter]' : 'undefined';
    let name = typeof key === 'symbol' ? `[${key.toString()}]` : bare.test(key) ? key : quote(key);
    if (!descriptor.enumerable) name = `[${name}]`;
    return `${name}: ${text}`;
  }

  // Arrays of more than six short items are laid out in columns.
  function group(context, output, value) {
    const rest = value.length > mostItems ? 1 : 0;
    const count = output.length - rest;
    const lengths = [];
    let total = 0;
    let longest = 0;
    for (let i = 0; i < count; i++) {
      lengths[i] = output[i].length;
      total += lengths[i] + 2;
      if (longest < lengths[i]) longest = lengths[i];
    }
    const width = longest + 2;
    if (!(width * 3 + context.indent < breakLength && (total / width > 5 || longest <= 6))) return output;
    const biased = Math.max(width - 3 - Math.sqrt(width - total / output.length), 1);
    const columns = Math.min(
      Math.round(Math.sqrt(2.5 * biased * count) / biased),
      Math.floor((breakLength - context.indent) / width),
      compact * 4,
      15,
    );
    if (columns <= 1) return output;
    const widths = [];
    for (let i = 0; i < columns; i++) {
      let widest = 0;
      for (let j = i; j < count; j += columns) widest = Math.max(widest, lengths[j]);
      widths.push(widest + 2);
    }
    const numeric = value.every?.((item) => typeof item === 'number' || typeof item === 'bigint');
    const rows = [];
    for (let i = 0; i < count; i += columns) {
      const end = Math.min(i + columns, count);
      let row = '';
      for (let j = i; j < end - 1; j++) {
        row += numeric ? `${output[j]}, `.padStart(widths[j - i]) : `${output[j]}, `.padEnd(widths[j - i]);
      }
      row += numeric ? output[end - 1].padStart(widths[end - 1 - i] - 2) : output[end - 1];
      rows.push(row);
    }
    if (rest) rows.push(output[count]);
    return rows;
  }

  function join(context, output, base, braces, depth, list, value) {
    const count = output.length;
    if (list && count > 6) output = group(context, output, value);
    const head = base ? `${base} ` : '';
    if (context.current - depth < compact && count === output.length) {
      const start = output.length + context.indent + braces[0].length + base.length + 10;
      const total = output.reduce((sum, text) => sum + text.length, output.length + start);
      if (total <= breakLength && !base.includes('\n')) {
        const line = output.join(', ');
        if (!line.includes('\n')) return `${head}${braces[0]} ${line} ${braces[1]}`;
      }
    }
    const indentation = `\n${' '.repeat(context.indent)}`;
    return `${head}${braces[0]}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${braces[1]}`;
  }

  function inspect(value, options) {
    const depth = options?.depth === undefined ? 2 : options.depth === Infinity ? null : options.depth;
    const context = { depth, options: options ?? {}, seen: [], circular: new Map(), indent: 0, current: 0 };
    return format(context, value, 0);
  }
  inspect.custom = custom;

  function substitute(letter, value) {
    switch (letter) {
      case 's':
        if (typeof value === 'bigint' || Object.is(value, -0)) return primitive(value);
        if (typeof value !== 'object' || value === null) return String(value);
        return inspect(value, { depth: 0 });
      case 'd':
        return typeof value === 'bigint' ? `${value}n` : typeof value === 'object' ? 'NaN' : String(Number(value));
      case 'i':
        return typeof value === 'bigint' ? `${value}n` : typeof value === 'object' ? 'NaN' : String(parseInt(value, 10));
      case 'f':
        return String(parseFloat(value));
      case 'j':
        return JSON.stringify(value);
      case 'o':
        return inspect(value, { depth: 4 });
      case 'O':
        return inspect(value);
      case 'c':
        return '';
    }
  }

  // What console.log prints for its arguments.
  function formatArguments(values) {
    let next = 0;
    let text = '';
    if (typeof values[0] === 'string') {
      next = 1;
      text = values[0];
      if (values.length > 1 && text.includes('%')) {
        text = text.replace(/%[sdifjoOc%]/g, (code) => {
          if (code === '%%') return '%';
          return next < values.length ? substitute(code[1], values[next++]) : code;
        });
      }
    }
    for (let i = next; i < values.length; i++) {
      if (i > 0) text += ' ';
      text += typeof values[i] === 'string' ? values[i] : inspect(values[i]);
    }
    return text;
  }

  // What V8's frames of `Error.prepareStackTrace` have besides.
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_error, frames) => frames;
  const [frame] = new Error().stack;
  Error.prepareStackTrace = prepareStackTrace;
  const answers = { isEval: false, isToplevel: true, isConstructor: false, isAsync: false, isPromiseAll: false, getEvalOrigin: undefined, getTypeName: null, getMethodName: null, getThis: undefined, getPromiseIndex: null };
  for (const [name, answer] of Object.entries(answers)) {
    if (!(name in frame)) Object.defineProperty(getPrototypeOf(frame), name, { value: () => answer, writable: true, configurable: true });
  }

  shared.define = (name, value) => {
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  };
  shared.modules = Object.create(null);
  shared.inspect = inspect;
  shared.format = formatArguments;
})

// format: what console.log prints for its arguments; and what V8's frames of stacks have besides.
(function (native, shared) {
  'use strict';
  const { builtIn, inspect } = shared;
  const { bigint, number } = shared.layout;
  const { getOwnPropertyDescriptor, getPrototypeOf, hasOwn } = Object;

  // Whether a value's text is the one that all objects of its built-in class have, which says less than `inspect`.
  function hasPlainText(value) {
    let details = native.details(value);
    while (details[0] === 'proxy' && details[2] !== null) details = native.details((value = details[2]));
    if (details[0] === 'proxy') return true;
    if (details[0] !== 'date' && details[0] !== 'boxed' && typeof value[Symbol.toPrimitive] === 'function') return false;
    if (typeof value.toString !== 'function') return true;
    if (hasOwn(value, 'toString')) return false;
    let owner = getPrototypeOf(value);
    for (let left = 1000; left && owner !== null && !hasOwn(owner, 'toString'); left--) owner = getPrototypeOf(owner);
    const constructor = owner && getOwnPropertyDescriptor(owner, 'constructor')?.value;
    return typeof constructor === 'function' && builtIn.has(constructor.name);
  }

  function asJson(value) {
    try {
      return JSON.stringify(value);
    } catch (error) {
      if (error instanceof TypeError && /circular/.test(error.message)) return '[Circular]';
      throw error;
    }
  }

  const asNumber = (value, convert, separated) => (typeof value === 'symbol' ? 'NaN' : number(convert(value), separated));

  function substitute(letter, value, options) {
    const separated = options?.numericSeparator ?? inspect.defaultOptions.numericSeparator;
    switch (letter) {
      case 's':
        if (typeof value === 'number') return number(value, separated);
        if (typeof value === 'bigint') return bigint(value, separated);
        if (typeof value !== 'object' || value === null || !hasPlainText(value)) return String(value);
        return inspect(value, { ...options, depth: 0, colors: false, compact: 3 });
      case 'd':
        return typeof value === 'bigint' ? bigint(value, separated) : asNumber(value, Number, separated);
      case 'i':
        return typeof value === 'bigint' ? bigint(value, separated) : asNumber(value, parseInt, separated);
      case 'f':
        return asNumber(value, parseFloat, separated);
      case 'j':
        return asJson(value);
      case 'o':
        return inspect(value, { ...options, showHidden: true, showProxy: true, depth: 4 });
      case 'O':
        return inspect(value, options);
      case 'c':
        return '';
    }
  }

  function formatArguments(values, options) {
    let next = 0;
    let text = '';
    if (typeof values[0] === 'string') {
      next = 1;
      text = values[0];
      if (values.length > 1 && text.includes('%')) {
        text = text.replace(/%[sdifjoOc%]/g, (code) => {
          if (code === '%%') return '%';
          return next < values.length ? substitute(code[1], values[next++], options) : code;
        });
      }
    }
    for (let i = next; i < values.length; i++) {
      if (i > 0) text += ' ';
      text += typeof values[i] === 'string' ? values[i] : inspect(values[i], options);
    }
    return text;
  }

  // What V8's frames of `Error.prepareStackTrace` have besides.
  const { prepareStackTrace } = Error;
  Error.prepareStackTrace = (_error, frames) => frames;
  const [frame] = new Error().stack;
  Error.prepareStackTrace = prepareStackTrace;
  Object.defineProperty(getPrototypeOf(frame), 'toString', {
    value() {
      const place = this.isNative() ? 'native' : `${this.getFileName()}:${this.getLineNumber()}:${this.getColumnNumber()}`;
      const name = this.getFunctionName();
      return name ? `${name} (${place})` : place;
    },
    writable: true,
    configurable: true,
  });
  const answers = { isEval: false, isToplevel: true, isConstructor: false, isAsync: false, isPromiseAll: false, getEvalOrigin: undefined, getTypeName: null, getMethodName: null, getThis: undefined, getPromiseIndex: null };
  for (const [name, answer] of Object.entries(answers)) {
    if (!(name in frame)) Object.defineProperty(getPrototypeOf(frame), name, { value: () => answer, writable: true, configurable: true });
  }

  shared.format = formatArguments;
})

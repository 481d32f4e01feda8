// How texts of values look: quotes, digits, colours, and the lines that they are laid out in.
(function (native, shared) {
  'use strict';
  // Arrays of at most this many columns.
  const MOST_COLUMNS = 15;
  const colours = {
    reset: [0, 0], bold: [1, 22], dim: [2, 22], italic: [3, 23], underline: [4, 24], blink: [5, 25], inverse: [7, 27], hidden: [8, 28], strikethrough: [9, 29], doubleunderline: [21, 24],
    black: [30, 39], red: [31, 39], green: [32, 39], yellow: [33, 39], blue: [34, 39], magenta: [35, 39], cyan: [36, 39], white: [37, 39],
    bgBlack: [40, 49], bgRed: [41, 49], bgGreen: [42, 49], bgYellow: [43, 49], bgBlue: [44, 49], bgMagenta: [45, 49], bgCyan: [46, 49], bgWhite: [47, 49],
    framed: [51, 54], overlined: [53, 55], gray: [90, 39], redBright: [91, 39], greenBright: [92, 39], yellowBright: [93, 39], blueBright: [94, 39], magentaBright: [95, 39], cyanBright: [96, 39], whiteBright: [97, 39],
    bgGray: [100, 49], bgRedBright: [101, 49], bgGreenBright: [102, 49], bgYellowBright: [103, 49], bgBlueBright: [104, 49], bgMagentaBright: [105, 49], bgCyanBright: [106, 49], bgWhiteBright: [107, 49],
  };
  const alike = { grey: 'gray', blackBright: 'gray', bgGrey: 'bgGray', bgBlackBright: 'bgGray', faint: 'dim', crossedout: 'strikethrough', strikeThrough: 'strikethrough', crossedOut: 'strikethrough', conceal: 'hidden', swapColors: 'inverse', swapcolors: 'inverse', doubleUnderline: 'doubleunderline' };
  const colors = Object.assign(Object.create(null), colours);
  for (const [name, other] of Object.entries(alike)) Object.defineProperty(colors, name, { get: () => colors[other], set: (value) => void (colors[other] = value), configurable: true });
  const styles = Object.assign(Object.create(null), { special: 'cyan', number: 'yellow', bigint: 'yellow', boolean: 'yellow', undefined: 'grey', null: 'bold', string: 'green', symbol: 'green', date: 'magenta', regexp: 'red', module: 'underline' });

  const plain = (text) => text;
  function coloured(text, style) {
    const codes = colors[styles[style]];
    return codes ? `\u001b[${codes[0]}m${text}\u001b[${codes[1]}m` : text;
  }
  // Escapes of a terminal: colours, and what moves the cursor.
  const escapes = /[\u001b\u009b](?:\][^\u0007\u001b\u009c]*(?:\u0007|\u001b\\|\u009c)|[[\]()#;?]*(?:\d{1,4}(?:[;:]\d{0,4})*)?[\dA-PR-TZcf-nq-uy=><~])/g;
  const withoutEscapes = (text) => (/[\u001b\u009b]/.test(text) ? text.replace(escapes, '') : text);

  // Each first and last code point of those that are twice as wide as a letter.
  const wide = [[0x1100, 0x115f], [0x2329, 0x232a], [0x2e80, 0x3247], [0x3250, 0x4dbf], [0x4e00, 0xa4c6], [0xa960, 0xa97c], [0xac00, 0xd7a3], [0xf900, 0xfaff], [0xfe10, 0xfe19], [0xfe30, 0xfe6b], [0xff01, 0xff60], [0xffe0, 0xffe6], [0x1b000, 0x1b001], [0x1f200, 0x1f251], [0x1f300, 0x1f64f], [0x1f680, 0x1f6ff], [0x1f900, 0x1f9ff], [0x20000, 0x3fffd]];
  const nothing = /^[\p{Mn}\p{Me}\p{Cf}\p{Cc}]$/u;
  // How many columns of a terminal a text takes.
  function widthOf(text) {
    if (/^[\x20-\x7e]*$/.test(text)) return text.length;
    let width = 0;
    for (const character of withoutEscapes(text).normalize('NFC')) {
      const code = character.codePointAt(0);
      if (wide.some(([first, last]) => code >= first && code <= last)) width += 2;
      else if (!nothing.test(character)) width++;
    }
    return width;
  }

  const short = { '\b': '\\b', '\t': '\\t', '\n': '\\n', '\f': '\\f', '\r': '\\r', '\\': '\\\\' };
  function escaped(text, mark) {
    return text.replace(/[\x00-\x1f'\\\x7f-\x9f]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, (character) => {
      if (character === "'") return mark === "'" ? "\\'" : character;
      const code = character.charCodeAt(0);
      return short[character] ?? (code > 0xff ? `\\u${code.toString(16)}` : `\\x${code.toString(16).toUpperCase().padStart(2, '0')}`);
    });
  }
  function quote(text) {
    const mark = !text.includes("'") ? "'" : !text.includes('"') ? '"' : !text.includes('`') && !text.includes('${') ? '`' : "'";
    return mark + escaped(text, mark) + mark;
  }

  const inThrees = (digits) => digits.replace(/(?<=\d)(?=(?:\d{3})+$)/g, '_');
  function number(value, separated) {
    const text = Object.is(value, -0) ? '-0' : `${value}`;
    if (!separated || !/^-?\d+(\.\d+)?$/.test(text)) return text;
    const [whole, rest] = text.split('.');
    return rest === undefined ? inThrees(whole) : `${inThrees(whole)}.${rest.replace(/\d{3}(?=\d)/g, '$&_')}`;
  }
  const bigint = (value, separated) => `${separated ? inThrees(`${value}`) : value}n`;

  // A text that is too long for its line is shown line by line.
  function string(context, value) {
    let rest = '';
    if (value.length > context.maxStringLength) {
      const more = value.length - context.maxStringLength;
      value = value.slice(0, context.maxStringLength);
      rest = `... ${more} more character${more > 1 ? 's' : ''}`;
    }
    if (context.compact !== true && value.length > 16 && value.length > context.breakLength - context.indent - 4) {
      const lines = value.split(/(?<=\n)/);
      return lines.map((line) => context.stylize(quote(line), 'string')).join(` +\n${' '.repeat(context.indent + 2)}`) + rest;
    }
    return context.stylize(quote(value), 'string') + rest;
  }

  function primitive(context, value) {
    switch (typeof value) {
      case 'string':
        return string(context, value);
      case 'number':
        return context.stylize(number(value, context.numericSeparator), 'number');
      case 'bigint':
        return context.stylize(bigint(value, context.numericSeparator), 'bigint');
      case 'symbol':
        return context.stylize(Symbol.prototype.toString.call(value), 'symbol');
      case 'boolean':
        return context.stylize(`${value}`, 'boolean');
      default:
        return context.stylize(`${value}`, value === null ? 'null' : 'undefined');
    }
  }

  const isNumeric = (value) => typeof value === 'number' || typeof value === 'bigint';

  // Arrays of more than six short items are laid out in columns.
  function inColumns(context, output, value) {
    const count = output.length - (context.maxArrayLength < output.length ? 1 : 0);
    const lengths = output.slice(0, count).map(widthOf);
    const total = lengths.reduce((sum, length) => sum + length + 2, 0);
    const longest = Math.max(0, ...lengths);
    const width = longest + 2;
    const { breakLength, compact, indent } = context;
    if (!(width * 3 + indent < breakLength && (total / width > 5 || longest <= 6))) return output;
    const biased = Math.max(width - 3 - Math.sqrt(width - total / output.length), 1);
    const columns = Math.min(Math.round(Math.sqrt(2.5 * biased * count) / biased), Math.floor((breakLength - indent) / width), compact * 4, MOST_COLUMNS);
    if (columns <= 1) return output;
    const widths = Array.from({ length: columns }, (_, i) => lengths.reduce((widest, length, j) => (j % columns === i && length > widest ? length : widest), 0) + 2);
    const isRight = value !== undefined && output.every((_, i) => isNumeric(value[i]));
    const padded = (text, length, i) => {
      const space = ' '.repeat(widths[i] - length);
      return isRight ? space + text : text + space;
    };
    const rows = [];
    for (let first = 0; first < count; first += columns) {
      const end = Math.min(first + columns, count);
      let row = '';
      for (let i = first; i < end - 1; i++) row += padded(`${output[i]}, `, lengths[i] + 2, i - first);
      row += isRight ? ' '.repeat(widths[end - 1 - first] - 2 - lengths[end - 1]) + output[end - 1] : output[end - 1];
      rows.push(row);
    }
    if (count < output.length) rows.push(output[count]);
    return rows;
  }

  function fits(context, output, start, base) {
    let total = output.length + start;
    if (total + output.length > context.breakLength) return false;
    for (const text of output) {
      total += (context.colors ? withoutEscapes(text) : text).length;
      if (total > context.breakLength) return false;
    }
    return !base.includes('\n');
  }

  function join(context, output, base, braces, depth, list, value) {
    const indentation = `\n${' '.repeat(context.indent)}`;
    if (context.compact === true) {
      if (fits(context, output, 0, base)) return `${braces[0]}${base && ` ${base}`} ${output.join(', ')} ${braces[1]}`;
      const line = base === '' && braces[0].length === 1 ? ' ' : `${base && ` ${base}`}${indentation}  `;
      return `${braces[0]}${line}${output.join(`,${indentation}  `)} ${braces[1]}`;
    }
    const head = base && `${base} `;
    if (context.compact >= 1) {
      const count = output.length;
      if (list && count > 6) output = inColumns(context, output, value);
      if (context.current - depth < context.compact && count === output.length && fits(context, output, output.length + context.indent + braces[0].length + base.length + 10, base)) {
        const line = output.join(', ');
        if (!line.includes('\n')) return `${head}${braces[0]} ${line} ${braces[1]}`;
      }
    }
    return `${head}${braces[0]}${indentation}  ${output.join(`,${indentation}  `)}${indentation}${braces[1]}`;
  }

  shared.layout = { bigint, coloured, colors, escaped, join, number, plain, primitive, quote, styles, widthOf, withoutEscapes };
})

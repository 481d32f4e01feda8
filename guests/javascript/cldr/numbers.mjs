// The parts of numbers, currencies and units.

// Patterns by plural category, `other` alone as the text itself.
export function counted(source, prefix) {
  const found = {};
  for (const [name, value] of Object.entries(source)) {
    if (name.startsWith(`${prefix}-count-`) && !name.includes('-alt-')) found[name.slice(prefix.length + 7)] = value;
  }
  const texts = Object.values(found);
  return texts.every((text) => text === found.other) ? found.other : found;
}

const SYMBOLS = ['decimal', 'group', 'percentSign', 'plusSign', 'minusSign', 'exponential', 'infinity', 'nan', 'timeSeparator', 'currencyDecimal', 'currencyGroup'];

// Patterns of compact notation: by the number of digits after the first.
function compact(source) {
  if (!source) return undefined;
  const found = {};
  for (const name of Object.keys(source)) {
    const digits = /^(10+)-count-other$/.exec(name);
    if (digits) found[digits[1].length - 1] = counted(source, digits[1]);
  }
  return found;
}

function alpha(source) {
  if (!source) return undefined;
  const found = {};
  for (const [name, value] of Object.entries(source)) {
    if (name.endsWith('-alt-alphaNextToNumber')) found[name.slice(0, -'-alt-alphaNextToNumber'.length)] = value;
  }
  return compact(found);
}

export function numberPart(get) {
  const { numbers } = get('numbers', 'numbers');
  const systems = {};
  for (const name of Object.keys(numbers)) {
    const system = /^symbols-numberSystem-(\w+)$/.exec(name)?.[1];
    if (!system) continue;
    const symbols = numbers[name];
    const decimal = numbers[`decimalFormats-numberSystem-${system}`];
    const currency = numbers[`currencyFormats-numberSystem-${system}`];
    const misc = numbers[`miscPatterns-numberSystem-${system}`];
    systems[system] = {
      symbols: Object.fromEntries(SYMBOLS.filter((key) => symbols[key] !== undefined).map((key) => [key, symbols[key]])),
      decimal: decimal.standard,
      percent: numbers[`percentFormats-numberSystem-${system}`].standard,
      scientific: numbers[`scientificFormats-numberSystem-${system}`].standard,
      currency: currency.standard,
      accounting: currency.accounting,
      currencyAlpha: currency['standard-alphaNextToNumber'],
      accountingAlpha: currency['accounting-alphaNextToNumber'],
      before: currency.currencySpacing?.beforeCurrency?.insertBetween,
      after: currency.currencySpacing?.afterCurrency?.insertBetween,
      named: counted(currency, 'unitPattern'),
      short: compact(decimal.short?.decimalFormat),
      long: compact(decimal.long?.decimalFormat),
      shortCurrency: compact(currency.short?.standard),
      shortCurrencyAlpha: alpha(currency.short?.standard),
      range: misc?.range,
      approximately: misc?.approximately,
      approximatelySign: symbols.approximatelySign,
    };
  }
  return {
    system: numbers.defaultNumberingSystem,
    native: numbers.otherNumberingSystems.native,
    least: Number(numbers.minimumGroupingDigits),
    systems,
  };
}

// [symbol, narrow symbol, name, names by category]; what is as the code, or as the name, is left out at the end.
export function currencyPart(get) {
  const { currencies } = get('numbers', 'currencies').numbers;
  const found = {};
  for (const [code, entry] of Object.entries(currencies)) {
    const named = counted(entry, 'displayName');
    const row = [entry.symbol ?? code, entry['symbol-alt-narrow'] ?? 0, entry.displayName ?? code, named ?? 0];
    if (row[3] === row[2]) row[3] = 0;
    if (row[1] === row[0]) row[1] = 0;
    if (row[0] === code) row[0] = 0;
    while (row.length && row.at(-1) === 0) row.pop();
    found[code] = row;
  }
  return found;
}

// Those that ECMA-402 has.
const UNITS =
  'acre bit byte celsius centimeter day degree fahrenheit fluid-ounce foot gallon gigabit gigabyte gram hectare hour inch kilobit kilobyte kilogram kilometer liter megabit megabyte meter microsecond mile mile-scandinavian milliliter millimeter millisecond minute month nanosecond ounce percent petabyte pound second stone terabit terabyte week yard year'.split(
    ' ',
  );

export function unitPart(get) {
  const { units } = get('units', 'units');
  const found = {};
  for (const style of ['long', 'short', 'narrow']) {
    const into = (found[style] = { per: units[style].per.compoundUnitPattern });
    for (const [key, entry] of Object.entries(units[style])) {
      const name = key.replace(/^[a-z]+-/, '');
      const [unit, below] = name.split('-per-');
      if (!entry.displayName || !UNITS.includes(unit) || (below && !UNITS.includes(below))) continue;
      into[name] = [counted(entry, 'unitPattern'), entry.perUnitPattern ?? 0];
      if (!into[name][1]) into[name].pop();
    }
  }
  return found;
}

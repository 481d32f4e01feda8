// Part of the JavaScript interpreter.

// Exceptions, as the guest's raise.c writes them.

const sources = new Map(); // script's name -> {name, code, lines}
const SCRIPT = /dormouse:snippet-(\d+)/g;

const shownName = (script) => (sources.has(script) ? sources.get(script).name : script);

// V8's frames as the guest's: without the interpreter's and Node's own, the top level by its name.
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

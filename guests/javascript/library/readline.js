// The module `readline`: lines of a stream. There is no terminal.
'use strict';
const EventEmitter = require('events');
const { error, wrongType, wrongValue } = require('internal/arguments');
const { StringDecoder } = require('string_decoder');

class Interface extends EventEmitter {
  #rest = '';
  #decoder = new StringDecoder('utf8');
  // Lines that are there, and questions that wait for one. A pause holds the input, not lines that came before.
  #lines = [];
  #questions = [];
  #paused = false;
  #ended = false;
  #prompt;
  #iterator;
  #onData = (chunk) => this.#take(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk));
  #onEnd = () => {
    const last = this.#rest + this.#decoder.end();
    if (last) this.#lines.push(last.replace(/\r$/, ''));
    this.#rest = '';
    this.#ended = true;
    this.#tell();
  };
  closed = false;
  terminal = false;
  line = '';
  constructor(given, output) {
    super();
    const options = given?.input ? given : { input: given, output };
    this.input = options.input;
    this.output = options.output;
    this.#prompt = options.prompt ?? '> ';
    this.escapeCodeTimeout = timeoutOf(options.escapeCodeTimeout);
    if (typeof this.input?.on !== 'function') throw wrongType('input', 'a stream', this.input);
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
    this.input.on('data', this.#onData);
    this.input.on('error', (error) => this.emit('error', error));
    this.input.on('end', this.#onEnd);
  }
  #take(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    this.#lines.push(...lines);
    this.#tell();
  }
  #tell() {
    while (this.#lines.length && !this.closed) {
      const line = this.#lines.shift();
      const question = this.#questions.shift();
      if (question) question(line);
      else this.emit('line', line);
    }
    if (this.#ended && !this.#lines.length) this.close();
  }
  close() {
    if (this.closed) return;
    this.closed = true;
    // Another interface may take over.
    this.input.removeListener?.('data', this.#onData);
    this.input.removeListener?.('end', this.#onEnd);
    this.input.pause?.();
    this.emit('close');
  }
  pause() {
    this.#paused = true;
    this.input.pause?.();
    this.emit('pause');
    return this;
  }
  resume() {
    this.#paused = false;
    this.input.resume?.();
    this.emit('resume');
    this.#tell();
    return this;
  }
  question(query, options, callback = options) {
    if (this.closed) throw closedError();
    (this.output ?? process.stdout).write(query);
    this.#questions.push(callback);
    this.#tell();
  }
  setPrompt(prompt) {
    this.#prompt = prompt;
  }
  getPrompt() {
    return this.#prompt;
  }
  prompt() {
    this.output?.write(this.#prompt);
  }
  // As if it had been read.
  write(text) {
    if (this.closed) throw closedError();
    if (this.#paused) this.resume();
    if (text !== undefined && text !== null) this.#take(typeof text === 'string' ? text : this.#decoder.write(text));
  }
  [Symbol.dispose]() {
    this.close();
  }
  [Symbol.asyncIterator]() {
    return (this.#iterator ??= iterate(this));
  }
}

const closedError = () => error(Error, 'ERR_USE_AFTER_CLOSE', 'readline was closed');

function timeoutOf(given) {
  if (given === undefined) return 500;
  if (!Number.isFinite(given)) throw wrongValue('input.escapeCodeTimeout', given);
  return given;
}

// Lines as they are asked for. When many wait, the input is paused until they are taken.
function iterate(from) {
  const lines = [];
  const waiting = [];
  const mark = { low: 1, high: 1024, isPaused: false, get size() {
    return lines.length;
  } };
  let failure;
  function take() {
    const line = lines.shift();
    if (mark.isPaused && lines.length < mark.low) {
      mark.isPaused = false;
      from.resume();
    }
    return line;
  }
  function settle() {
    while (waiting.length) {
      const { resolve, reject } = waiting[0];
      if (lines.length) resolve({ value: take(), done: false });
      else if (failure) reject(failure.error);
      else if (from.closed) resolve({ value: undefined, done: true });
      else return;
      waiting.shift();
    }
    if (!mark.isPaused && lines.length > mark.high) {
      mark.isPaused = true;
      from.pause();
    }
  }
  from.on('line', (line) => (lines.push(line), settle()));
  from.on('close', settle);
  from.on('error', (error) => {
    failure = { error };
    settle();
  });
  return {
    next() {
      const asked = Promise.withResolvers();
      waiting.push(asked);
      settle();
      return asked.promise;
    },
    return: async () => {
      from.close();
      return { value: undefined, done: true };
    },
    [Symbol.for('nodejs.watermarkData')]: mark,
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

const done = (...values) => {
  const callback = values.at(-1);
  if (typeof callback === 'function') callback();
  return true;
};

module.exports = {
  Interface,
  createInterface: (...values) => new Interface(...values),
  clearLine: done,
  clearScreenDown: done,
  cursorTo: done,
  moveCursor: done,
  emitKeypressEvents() {},
  get promises() {
    return require('readline/promises');
  },
};

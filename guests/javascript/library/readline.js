// The module `readline`: lines of a stream. There is no terminal.
'use strict';
const EventEmitter = require('events');
const { StringDecoder } = require('string_decoder');

class Interface extends EventEmitter {
  #rest = '';
  #decoder = new StringDecoder('utf8');
  // Lines that nobody has had, while it is paused, and questions that wait for one.
  #lines = [];
  #questions = [];
  #paused = false;
  #ended = false;
  #prompt;
  closed = false;
  terminal = false;
  line = '';
  constructor(given, output) {
    super();
    const options = given?.input ? given : { input: given, output };
    this.input = options.input;
    this.output = options.output;
    this.#prompt = options.prompt ?? '> ';
    if (typeof this.input?.on !== 'function') throw Object.assign(new TypeError('The "input" argument must be a stream'), { code: 'ERR_INVALID_ARG_TYPE' });
    options.signal?.addEventListener('abort', () => this.close(), { once: true });
    this.input.on('data', (chunk) => this.#take(typeof chunk === 'string' ? chunk : this.#decoder.write(chunk)));
    this.input.on('error', (error) => this.emit('error', error));
    this.input.on('end', () => {
      const last = this.#rest + this.#decoder.end();
      if (last) this.#lines.push(last.replace(/\r$/, ''));
      this.#rest = '';
      this.#ended = true;
      this.#tell();
    });
  }
  #take(text) {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop();
    this.#lines.push(...lines);
    this.#tell();
  }
  #tell() {
    while (this.#lines.length && !this.#paused && !this.closed) {
      const line = this.#lines.shift();
      const question = this.#questions.shift();
      if (question) question(line);
      else this.emit('line', line);
    }
    if (this.#ended && !this.#lines.length && !this.#paused) this.close();
  }
  close() {
    if (this.closed) return;
    this.closed = true;
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
    if (this.closed) throw Object.assign(new Error('readline was closed'), { code: 'ERR_USE_AFTER_CLOSE' });
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
  write() {}
  [Symbol.dispose]() {
    this.close();
  }
  [Symbol.asyncIterator]() {
    const lines = [];
    const waiting = [];
    let failure;
    const settle = () => {
      while (waiting.length) {
        const [resolve, reject] = waiting[0];
        if (lines.length) resolve({ value: lines.shift(), done: false });
        else if (failure) reject(failure.error);
        else if (this.closed) resolve({ value: undefined, done: true });
        else return;
        waiting.shift();
      }
    };
    this.on('line', (line) => (lines.push(line), settle()));
    this.on('close', settle);
    this.on('error', (error) => {
      failure = { error };
      settle();
    });
    return {
      next: () =>
        new Promise((resolve, reject) => {
          waiting.push([resolve, reject]);
          settle();
        }),
      return: async () => {
        this.close();
        return { value: undefined, done: true };
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    };
  }
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

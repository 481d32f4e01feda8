// EventSource (the HTML standard): events that a server sends, over `fetch`.
'use strict';
const { Buffer } = require('buffer');
const { MessageEvent, handlers } = require('internal/events');
const fetch = require('internal/fetching');

// Milliseconds before a connection that ended is made anew, unless the server says how many.
const PAUSE = 3000;
// Characters of one event.
const MOST = 16 << 20;

// Events in pieces of text: `tell` is told of each, `pause` of the milliseconds that the server wishes.
class EventReader {
  #text = '';
  // Whether the last line ended with a carriage return, after which a line feed is no line.
  #isReturned = false;
  #fields = { data: [], type: '' };
  #on;
  lastEventId = '';
  constructor(on) {
    this.#on = on;
  }
  push(text) {
    if (!text) return;
    this.#text += this.#isReturned && text[0] === '\n' ? text.slice(1) : text;
    this.#isReturned = text.endsWith('\r');
    const lines = this.#text.split(/\r\n|\n|\r/);
    this.#text = lines.pop();
    for (const line of lines) this.#take(line);
    if (this.#text.length > MOST) throw new Error(`an event has more than ${MOST} characters`);
  }
  #take(line) {
    if (line === '') return void this.#end();
    const [, name, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line);
    if (name === 'data') this.#fields.data.push(value);
    else if (name === 'event') this.#fields.type = value;
    else if (name === 'id' && !value.includes('\0')) this.lastEventId = value;
    else if (name === 'retry' && /^\d+$/.test(value)) this.#on.pause(Number(value));
  }
  #end() {
    const { data, type } = this.#fields;
    this.#fields = { data: [], type: '' };
    if (data.length) this.#on.tell(type || 'message', data.join('\n'));
  }
}

class EventSource extends EventTarget {
  #url;
  #withCredentials;
  #state = EventSource.CONNECTING;
  #pause = PAUSE;
  #lastEventId = '';
  #stop = new AbortController();
  constructor(url, { withCredentials = false } = {}) {
    super();
    try {
      this.#url = new URL(url).href;
    } catch {
      throw new DOMException(`${url} is no URL`, 'SyntaxError');
    }
    this.#withCredentials = Boolean(withCredentials);
    this.#connect();
  }
  static {
    for (const [at, name] of ['CONNECTING', 'OPEN', 'CLOSED'].entries()) {
      for (const place of [this, this.prototype]) Object.defineProperty(place, name, { value: at, enumerable: true });
    }
  }
  get url() {
    return this.#url;
  }
  get withCredentials() {
    return this.#withCredentials;
  }
  get readyState() {
    return this.#state;
  }
  close() {
    this.#state = EventSource.CLOSED;
    this.#stop.abort();
  }
  async #connect() {
    const headers = { accept: 'text/event-stream' };
    if (this.#lastEventId) headers['last-event-id'] = Buffer.from(this.#lastEventId).toString('latin1');
    try {
      const response = await fetch(this.#url, { headers, cache: 'no-store', signal: this.#stop.signal });
      if (response.status !== 200 || !/^text\/event-stream(;|$)/i.test(response.headers.get('content-type') ?? '')) {
        response.body?.cancel();
        return void this.#fail();
      }
      this.#state = EventSource.OPEN;
      this.dispatchEvent(new Event('open'));
      await this.#read(response);
    } catch (error) {
      // What the host does not allow it will not allow later.
      if (error?.cause?.code === 'EACCES') return void this.#fail(error);
    }
    this.#again();
  }
  async #read(response) {
    const { origin } = new URL(response.url);
    const reader = new EventReader({
      tell: (type, data) => {
        this.#lastEventId = reader.lastEventId;
        if (this.#state === EventSource.OPEN) this.dispatchEvent(new MessageEvent(type, { data, origin, lastEventId: this.#lastEventId }));
      },
      pause: (milliseconds) => (this.#pause = milliseconds),
    });
    reader.lastEventId = this.#lastEventId;
    const decoder = new TextDecoder();
    for await (const piece of response.body) reader.push(decoder.decode(piece, { stream: true }));
  }
  #fail(error) {
    if (this.#state === EventSource.CLOSED) return;
    this.close();
    this.dispatchEvent(Object.assign(new Event('error'), error ? { message: error.cause.message } : {}));
  }
  #again() {
    if (this.#state === EventSource.CLOSED) return;
    this.#state = EventSource.CONNECTING;
    this.dispatchEvent(new Event('error'));
    const begin = () => this.#state === EventSource.CONNECTING && this.#connect();
    const timer = setTimeout(begin, this.#pause);
    this.#stop.signal.addEventListener('abort', () => clearTimeout(timer), { once: true });
  }
}
handlers(EventSource, 'open', 'message', 'error');
Object.defineProperty(EventSource.prototype, Symbol.toStringTag, { value: 'EventSource', configurable: true });

module.exports = { EventSource };

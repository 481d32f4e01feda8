// Forms: FormData, and forms as bodies of messages (multipart/form-data).
'use strict';
const custom = Symbol.for('nodejs.util.inspect.custom');
const { Buffer } = require('buffer');
const { Blob, File, bytesOf } = require('internal/blob');

class FormData {
  [custom](_depth, options) {
    return `FormData ${shared.inspect([...this], options)}`;
  }
  #entries = [];
  constructor(form) {
    if (form !== undefined) throw new TypeError('There are no forms of documents here');
  }
  static #entry(name, value, filename) {
    if (!(value instanceof Blob)) return [`${name}`, `${value}`];
    const file = value instanceof File && filename === undefined ? value : new File([value], filename ?? value.name ?? 'blob', { type: value.type });
    return [`${name}`, file];
  }
  append(name, value, filename) {
    this.#entries.push(FormData.#entry(name, value, filename));
  }
  set(name, value, filename) {
    const at = this.#entries.findIndex(([each]) => each === `${name}`);
    const entry = FormData.#entry(name, value, filename);
    if (at < 0) this.#entries.push(entry);
    else this.#entries = this.#entries.filter(([each], place) => place <= at || each !== `${name}`).with(at, entry);
  }
  get(name) {
    return this.#entries.find(([each]) => each === `${name}`)?.[1] ?? null;
  }
  getAll(name) {
    return this.#entries.filter(([each]) => each === `${name}`).map(([, value]) => value);
  }
  has(name) {
    return this.#entries.some(([each]) => each === `${name}`);
  }
  delete(name) {
    this.#entries = this.#entries.filter(([each]) => each !== `${name}`);
  }
  forEach(callback, self) {
    for (const [name, value] of this) callback.call(self, value, name, this);
  }
  *entries() {
    yield* this.#entries;
  }
  *keys() {
    for (const [name] of this.#entries) yield name;
  }
  *values() {
    for (const [, value] of this.#entries) yield value;
  }
  get [Symbol.toStringTag]() {
    return 'FormData';
  }
}
FormData.prototype[Symbol.iterator] = FormData.prototype.entries;

const quoted = (text) => text.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22');

function multipart(form) {
  const boundary = `----formdata-${crypto.randomUUID()}`;
  const parts = [];
  for (const [name, value] of form) {
    const head = `--${boundary}\r\nContent-Disposition: form-data; name="${quoted(name)}"`;
    if (typeof value === 'string') parts.push(`${head}\r\n\r\n${value.replace(/\r\n|\r|\n/g, '\r\n')}\r\n`);
    else parts.push(`${head}; filename="${quoted(value.name)}"\r\nContent-Type: ${value.type || 'application/octet-stream'}\r\n\r\n`, value, '\r\n');
  }
  parts.push(`--${boundary}--\r\n`);
  return { bytes: bytesOf(new Blob(parts)), type: `multipart/form-data; boundary=${boundary}` };
}

function parseMultipart(bytes, boundary) {
  const form = new FormData();
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  for (const part of text.split(`--${boundary}`).slice(1, -1)) {
    const at = part.indexOf('\r\n\r\n');
    if (at < 0) throw new TypeError('The body is no multipart/form-data');
    const head = Buffer.from(part.slice(2, at), 'latin1').toString();
    const content = Buffer.from(part.slice(at + 4, -2), 'latin1');
    const name = /;\s*name="([^"]*)"/i.exec(head)?.[1];
    const filename = /;\s*filename="([^"]*)"/i.exec(head)?.[1];
    if (name === undefined) throw new TypeError('A part of the body has no name');
    if (filename === undefined) form.append(name, content.toString());
    else form.append(name, new File([content], filename, { type: /content-type:\s*(.+)/i.exec(head)?.[1].trim() ?? '' }));
  }
  return form;
}

module.exports = { FormData, multipart, parseMultipart };

// Part of the JavaScript interpreter (src/interpreter/programs.rs): all parts are the body of one function, one behind the other. Node 18 and
// later.
//
// Snippets are run by the inspector's `Runtime.evaluate` in REPL mode: scripts of one global namespace whose `let`, `const` and
// `class` may be declared anew, with top-level `await`. A snippet's own name is put in the place of its script's.
const fs = require('fs');
const util = require('util');
const vm = require('vm');
const path = require('path');
const { createRequire } = require('module');
const { pathToFileURL } = require('url');
const { Session } = require('inspector');

const PROTOCOL = 1;
const MOST_ARGUMENTS = 1 << 20;
const LONGEST_KEY = 256;
const LONGEST_SUMMARY = 200;
const LONGEST_TRACE = 8192;
const LONGEST_EXCERPT = 400;
const MOST_CAUSES = 10;
const MOST_SOURCES = 64;
const MARKER_ROOM = 160;
const END_ROOM = 96;

// Taken before a snippet can replace them.
const call = Function.prototype.call;
const bound = (method) => call.bind(method);
const { types } = util;
const { stringify, parse } = JSON;
const { isArray } = Array;
const { isInteger } = Number;
const { getPrototypeOf, getOwnPropertyDescriptor, getOwnPropertyNames, keys: ownKeys, defineProperty, hasOwn } = Object;
const { byteLength } = Buffer;
const bufferFrom = Buffer.from;
const functionText = bound(Function.prototype.toString);
const startsWith = bound(String.prototype.startsWith);
const isoDate = bound(Date.prototype.toISOString);
const objectToString = Object.prototype.toString;
const objectPrototype = Object.prototype;
const mapSize = bound(getOwnPropertyDescriptor(Map.prototype, 'size').get);
const setSize = bound(getOwnPropertyDescriptor(Set.prototype, 'size').get);
const mapEntries = bound(Map.prototype.entries);
const setValues = bound(Set.prototype.values);
const mapNext = bound(getPrototypeOf(new Map().entries()).next);
const setNext = bound(getPrototypeOf(new Set().values()).next);
const promiseThen = bound(Promise.prototype.then);
const iterators = [
  [getPrototypeOf([].values()), 'Array Iterator'],
  [getPrototypeOf(new Map().entries()), 'Map Iterator'],
  [getPrototypeOf(new Set().values()), 'Set Iterator'],
  [getPrototypeOf(''[Symbol.iterator]()), 'String Iterator'],
  [getPrototypeOf('a'.matchAll(/a/g)), 'RegExp String Iterator'],
  [getPrototypeOf(function* () {}).prototype, 'Generator'],
];
const helper = typeof Iterator === 'function' && Iterator.prototype.map ? getPrototypeOf([].values().map((x) => x)) : undefined;
if (helper) iterators.push([helper, 'Iterator Helper']);
const nothing = () => {};

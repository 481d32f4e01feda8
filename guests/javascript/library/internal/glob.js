// Whether a path matches a pattern: `*`, `?`, `[a-z]`, `{a,b}`, and `**` for folders of any depth.
'use strict';

const WORDS = /\[[!^]?\]?[^\]/]*\]|\*+|[{},?]|[^*?[{},]+|\[/g;

function segment(text) {
  let depth = 0;
  const parts = text.match(WORDS) ?? [];
  return parts.map((part) => {
    if (part[0] === '*') return '[^/]*';
    if (part === '?') return '[^/]';
    if (part === '{') return depth++, '(?:';
    if (part === '}') return depth ? (depth--, ')') : '\\}';
    if (part === ',') return depth ? '|' : ',';
    if (part[0] === '[' && part.length > 2) return `[${part.slice(1, -1).replace(/^[!^]/, '^').replace(/[\\\]]|(?!^)\^/g, '\\$&')}]`;
    return part.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&');
  }).join('') + ')'.repeat(depth);
}

function expression(pattern) {
  const parts = pattern.split('/');
  return parts.map((part, index) => {
    const isLast = index === parts.length - 1;
    if (part !== '**') return segment(part) + (isLast ? '' : '/');
    return isLast ? '.*' : '(?:[^/]+/)*';
  }).join('');
}

module.exports = (path, pattern) => new RegExp(`^${expression(pattern)}$`, 's').test(path);

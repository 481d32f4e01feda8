// URLs of blobs (`URL.createObjectURL`), by their name.
'use strict';
const { Blob } = require('buffer');
const { wrongType } = require('internal/arguments');

const known = new Map();
const prefix = 'blob:nodedata:';

function create(blob) {
  if (!(blob instanceof Blob)) throw wrongType('obj', 'an instance of Blob', blob);
  const url = prefix + crypto.randomUUID();
  known.set(url, blob);
  return url;
}

module.exports = {
  create,
  revoke: (url) => void known.delete(url),
  resolve: (url) => known.get(`${url}`),
};

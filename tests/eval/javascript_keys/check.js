// Whether keys, signatures and ciphertexts that Node.js 20 made are read, written and found right here. `made` is the list of them: what it
// could not confirm is the value. The same file runs in Node.js, over what the sandbox has made.
const c = require('crypto');
const data = Buffer.from('the quick brown fox');
const wrong = [];
let right = 0;
const ok = (value, what) => (value ? right++ : wrong.push(what));
const options = (given) => (given.oaepLabel ? { ...given, oaepLabel: Buffer.from(given.oaepLabel) } : given);
for (const e of made) {
  const name = `${e.type} ${e.details}`;
  const [pub, priv] = [c.createPublicKey(e.pub), c.createPrivateKey(e.priv)];
  ok(pub.equals(c.createPublicKey(priv)), `${name}: the public key of a private one`);
  ok(pub.asymmetricKeyType === e.type, `${name}: type`);
  ok(priv.equals(c.createPrivateKey({ key: e.jwk, format: 'jwk' })), `${name}: private JWK`);
  ok(pub.equals(c.createPublicKey({ key: e.pubjwk, format: 'jwk' })), `${name}: public JWK`);
  ok(JSON.stringify(Object.entries(priv.export({ format: 'jwk' })).sort()) === JSON.stringify(Object.entries(e.jwk).sort()), `${name}: written JWK`);
  ok(priv.export({ type: 'pkcs8', format: 'pem' }) === e.priv, `${name}: written PKCS #8`);
  ok(pub.export({ type: 'spki', format: 'pem' }) === e.pub, `${name}: written SPKI`);
  if (e.sec1) ok(priv.equals(c.createPrivateKey(e.sec1)) && priv.export({ type: 'sec1', format: 'pem' }) === e.sec1, `${name}: SEC 1`);
  if (e.pkcs1) {
    ok(priv.equals(c.createPrivateKey(e.pkcs1)), `${name}: PKCS #1`);
    ok(pub.equals(c.createPublicKey({ key: Buffer.from(e.pubpkcs1, 'hex'), format: 'der', type: 'pkcs1' })), `${name}: public PKCS #1`);
  }
  for (const [digest, how, signature] of e.sigs) {
    const key = { key: e.pub, ...how };
    const bytes = Buffer.from(signature, 'hex');
    const what = `${name}: signature with ${digest} ${JSON.stringify(how)}`;
    ok(c.verify(digest, data, key, bytes) === true, what);
    ok(c.verify(digest, Buffer.from('other'), key, bytes) === false, `${what}, of another text`);
    bytes[bytes.length - 3] ^= 1;
    ok(c.verify(digest, data, key, bytes) === false, `${what}, changed`);
  }
  for (const [how, text] of e.enc ?? []) ok(c.privateDecrypt({ key: e.priv, ...options(how) }, Buffer.from(text, 'hex')).equals(data), `${name}: decrypted with ${JSON.stringify(how)}`);
  if (e.ecdh) {
    const [own, other] = [c.createECDH(e.details), c.createECDH(e.details)];
    own.setPrivateKey(e.ecdh[1], 'hex');
    other.generateKeys();
    ok(own.getPublicKey('hex') === e.ecdh[0] && own.getPublicKey('hex', 'compressed') === e.ecdh[2], `${name}: point`);
    ok(other.computeSecret(e.ecdh[2], 'hex', 'hex') === own.computeSecret(other.getPublicKey(), null, 'hex'), `${name}: common secret`);
  }
}
[right, wrong];

[{ get a() { throw new Error("no a"); }, b: 1 }, new Proxy({}, { ownKeys() { throw new TypeError("no keys"); } })]

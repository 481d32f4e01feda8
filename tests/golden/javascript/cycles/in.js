const a = { name: "a" };
const b = { name: "b", a };
a.b = b;
const shared = [1];
[a, shared, shared]

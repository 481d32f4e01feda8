// What test262 wants of a host (its INTERPRETING.md), as far as a sandbox can offer it. Runs before each test, in front
// of the test's own helpers.
var print = console.log.bind(console);

var $262 = {
  global: globalThis,
  detachArrayBuffer(buffer) { structuredClone(buffer, { transfer: [buffer] }); },
};

// The last line of each test in the copy that is used here.
var reportCompare = (function (print) {
  return function () { print("Test262:Evaluated"); };
})(print);

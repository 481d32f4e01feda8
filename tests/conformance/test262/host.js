// What test262 wants of a host (its INTERPRETING.md), as far as a sandbox can offer it. Runs before each test, in front
// of the test's own helpers.
var print = (function (log) {
  return function print(text) { log(String(text)); };
})(console.log.bind(console));

var $262 = {
  global: globalThis,
  detachArrayBuffer(buffer) { structuredClone(buffer, { transfer: [buffer] }); },
};

// At the end of each test of the copy that is used here.
function reportCompare() {}

function $DONE(error) {
  if (error) {
    var named = typeof error === "object" && error !== null && "name" in error;
    print("Test262:AsyncTestFailure:" + (named ? error.name + ": " + error.message : "Test262Error: " + String(error)));
  } else {
    print("Test262:AsyncTestComplete");
  }
}

// What an asynchronous test of test262 calls at its end. Runs after host.js, before asynchronous tests only.
function $DONE(error) {
  if (error) {
    var named = typeof error === "object" && error !== null && "name" in error;
    print("Test262:AsyncTestFailure:" + (named ? error.name + ": " + error.message : "Test262Error: " + String(error)));
  } else {
    print("Test262:AsyncTestComplete");
  }
}

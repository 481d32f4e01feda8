// Evaluates the expression of a query, in which `value` is the variable's value. The expression is the second argument,
// so that this function's scope holds no other name.
(function (native, shared) {
  shared.evaluate = function (value) {
    'use strict';
    return eval(arguments[1]);
  };
})

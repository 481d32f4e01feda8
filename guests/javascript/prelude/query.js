// Evaluates the expression of a query, in which `value` is the variable's value. The expression is the second
// argument, and this is not nested in another function, so that the expression sees no name of ours.
(function (value) {
  'use strict';
  return eval(arguments[1]);
})

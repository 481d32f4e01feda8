function divide(a, b) {
  if (b === 0) throw new RangeError("division by zero");
  return a / b;
}

console.log("before");
divide(1, 0);

console.log("x".repeat(30));
console.log("é".repeat(30));

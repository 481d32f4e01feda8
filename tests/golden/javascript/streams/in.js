console.log("to standard output");
console.error("to standard error");
process.stdout.write("no newline");

console.log("leaving");
process.exit(3);

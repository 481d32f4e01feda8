const fs = require("fs");
({
  input: fs.readFileSync(0, "utf8"),
  environment: { ...process.env },
  arguments: process.argv,
  folder: process.cwd(),
  file: fs.readFileSync("in.txt", "utf8"),
})

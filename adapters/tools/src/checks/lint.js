// Parses JavaScript files without running them. Fed to `node -` with the path of a job, as tests.js is.
const { readFileSync, writeFileSync } = require('node:fs');
const { checkSyntax } = require('node:module');
const job = JSON.parse(readFileSync(require('node:process').argv.at(-1), 'utf8'));
const failures = [];
for (const file of job.files) {
  try {
    checkSyntax(file);
  } catch (error) {
    const place = /:(\d+)(?::\d+)?\)?\s*$/m.exec(`${error.stack}`.replaceAll(file, ''));
    failures.push({ name: 'lint', file, line: place ? Number(place[1]) : null, message: `${error.name}: ${error.message}`.slice(0, 2000) });
  }
}
const notes = ['only the syntax was checked'];
const result = { complete: true, tool: 'builtin', notes, problems: failures.length, failures: failures.slice(0, 200) };
writeFileSync(job.result, JSON.stringify(result));
undefined;

// Runs tests of files with node:test. It is fed to `node -` with the path of a job; what came of it is written to the job's
// result after each file, so that one that ends the program leaves it.
const { readFileSync, writeFileSync } = require('node:fs');
const { chdir, argv } = require('node:process');
const job = JSON.parse(readFileSync(argv.at(-1), 'utf8'));
const MOST_FAILURES = 50;
const MOST_MESSAGE = 2000;

function failure({ name, file, error, shown }) {
  const stack = `${error?.stack ?? ''}`;
  const places = [...stack.matchAll(/\(?(\/[^():\n]+):(\d+)/g)].map(([, path, line]) => ({ path, line: Number(line) }));
  const place = places.find(({ path }) => path === file) ?? places[0];
  const raised = places[0] && place !== places[0] ? `\nraised at ${places[0].path}:${places[0].line}` : '';
  const message = error instanceof Error ? `${error.name}: ${error.message}` : shown;
  return { name, file: place?.path ?? file, line: place?.line ?? null, message: message.slice(0, MOST_MESSAGE - raised.length) + raised };
}

function report(results, complete) {
  const count = (...statuses) => results.filter(({ status }) => statuses.includes(status)).length;
  const tests = { total: results.length, passed: count('passed'), failed: count('failed'), errors: 0, skipped: count('skipped', 'todo') };
  const failures = results.filter(({ status }) => status === 'failed').slice(0, MOST_FAILURES).map(failure);
  writeFileSync(job.result, JSON.stringify({ complete, tool: 'node:test', notes: [], tests, failures }));
}

report([], false);
chdir(job.folder);
await require('node:test')[Symbol.for('dormouse.runFiles')](job.files, report);
undefined;

// Ours, the package for Node.js, for dormouse-bench: one JSON command a line in, one JSON answer a line out.
// Arguments: the folder of node_modules.
import { createRequire } from 'node:module'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { pathToFileURL } from 'node:url'

const require = createRequire(path.join(process.argv[2], 'index.js'))
const main = path.join(path.dirname(require.resolve('dormouse-sandbox/package.json')), 'dist/index.js')
const begun = performance.now()
const { run, VERSION } = await import(pathToFileURL(main))
const imported = performance.now() - begun
const CALLS = 100

async function clock(work) {
  const begin = performance.now()
  await work()
  return performance.now() - begin
}

async function repeat(times, work) {
  const ms = []
  for (let time = 0; time < times; time++) ms.push(await work())
  return { ms }
}

const verbs = {
  fresh: ({ code, times }) =>
    repeat(times, () => clock(async () => (await run(code, { language: 'javascript' })).value)),
  callback: ({ code, times }) =>
    repeat(times, async () => {
      const callbacks = { f: () => 1 }
      const many = await clock(async () => (await run(code.replace('CALLS', CALLS), { callbacks })).value)
      const none = await clock(async () => (await run(code.replace('CALLS', 0), { callbacks })).value)
      return (many - none) / CALLS
    }),
  import: () => ({ ms: [imported] }),
  version: () => ({ version: VERSION }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: verb, ...rest } = JSON.parse(line)
  let answer
  try {
    answer = await verbs[verb](rest)
  } catch (error) {
    answer = { error: String(error?.message ?? error).slice(0, 300) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}

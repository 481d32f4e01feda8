// The peer isolated-vm, for dormouse-bench: one JSON command a line in, one JSON answer a line out.
// Arguments: the folder of node_modules.
import { createRequire } from 'node:module'
import path from 'node:path'
import { createInterface } from 'node:readline'

const require = createRequire(path.join(process.argv[2], 'index.js'))
const ivm = require('isolated-vm')

async function once(code) {
  const begin = performance.now()
  const isolate = new ivm.Isolate({ memoryLimit: 128 })
  const context = await isolate.createContext()
  await context.eval(code)
  isolate.dispose()
  return performance.now() - begin
}

const verbs = {
  async fresh({ code, times }) {
    const ms = []
    for (let time = 0; time < times; time++) ms.push(await once(code))
    return { ms }
  },
  version: () => ({ version: require('isolated-vm/package.json').version }),
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

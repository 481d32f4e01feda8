// The peer quickjs-emscripten, for dormouse-bench: one JSON command a line in, one JSON answer a line out.
// Times are taken here, inside the peer's own process, in milliseconds. Arguments: the folder of node_modules.
import { createRequire } from 'node:module'
import path from 'node:path'
import { createInterface } from 'node:readline'

const require = createRequire(path.join(process.argv[2], 'index.js'))
const { getQuickJS, shouldInterruptAfterDeadline } = require('quickjs-emscripten')
const quickjs = await getQuickJS()

function clock(work) {
  const begin = performance.now()
  const result = work()
  return [performance.now() - begin, result]
}

function evaluate(context, code) {
  const result = context.evalCode(code)
  if (result.error) {
    const text = JSON.stringify(context.dump(result.error))
    result.error.dispose()
    throw new Error(text)
  }
  const value = context.dump(result.value)
  result.value.dispose()
  return value
}

function freshly(code) {
  const context = quickjs.newContext()
  try {
    return evaluate(context, code)
  } finally {
    context.dispose()
  }
}

function printing(context) {
  let out = ''
  const log = context.newFunction('log', (...values) => {
    out += values.map((value) => context.getString(value)).join(' ') + '\n'
  })
  const console = context.newObject()
  context.setProp(console, 'log', log)
  context.setProp(context.global, 'console', console)
  console.dispose()
  log.dispose()
  return () => out
}

const repeat = (times, work) => ({ ms: Array.from({ length: times }, () => clock(work)[0]) })
let kept

const verbs = {
  fresh: ({ code, times }) => repeat(times, () => freshly(code)),
  warm({ code, times }) {
    kept ??= quickjs.newContext()
    return repeat(times, () => evaluate(kept, code))
  },
  run({ code }) {
    const context = quickjs.newContext()
    const out = printing(context)
    const [ms] = clock(() => evaluate(context, `{${code}\n}`))
    const text = out()
    context.dispose()
    return { ms: [ms], out: text }
  },
  throughput({ code, seconds }) {
    const begin = performance.now()
    let count = 0
    while (performance.now() - begin < seconds * 1000) {
      freshly(code)
      count++
    }
    return { rate: (count * 1000) / (performance.now() - begin) }
  },
  late({ code, limit_ms }) {
    const context = quickjs.newContext()
    const [ms, stopped] = clock(() => {
      context.runtime.setInterruptHandler(shouldInterruptAfterDeadline(Date.now() + limit_ms))
      try {
        evaluate(context, code)
      } catch (error) {
        return error.message.includes('interrupted')
      }
    })
    context.dispose()
    if (!stopped) throw new Error('the limit did not end it')
    return { ms: [ms - limit_ms] }
  },
  version: () => ({ version: require('quickjs-emscripten/package.json').version }),
}

for await (const line of createInterface({ input: process.stdin })) {
  const { do: verb, ...rest } = JSON.parse(line)
  let answer
  try {
    answer = verbs[verb](rest)
  } catch (error) {
    answer = { error: String(error?.message ?? error).slice(0, 300) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}

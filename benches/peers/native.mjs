// Native node, for dormouse-bench: one JSON command a line in, one JSON answer a line out.
import { createInterface } from 'node:readline'
import vm from 'node:vm'

function run(code) {
  let out = ''
  const console = { log: (...values) => (out += values.join(' ') + '\n') }
  const script = new vm.Script(`(function (console) {${code}\n})`)
  const begin = performance.now()
  script.runInThisContext()(console)
  return { ms: [performance.now() - begin], out }
}

for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line)
  let answer
  try {
    answer = command.do === 'run' ? run(command.code) : { version: process.versions.node }
  } catch (error) {
    answer = { error: String(error?.message ?? error).slice(0, 300) }
  }
  process.stdout.write(JSON.stringify(answer) + '\n')
}

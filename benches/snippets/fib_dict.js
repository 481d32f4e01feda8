// Calls, small integers, string building, property updates.
function fib(n) {
  if (n < 2) return n
  return fib(n - 1) + fib(n - 2)
}

function tally(steps) {
  const seen = {}
  for (let step = 0; step < steps; step++) {
    const key = 'key' + String(step % 1000)
    seen[key] = (seen[key] ?? 0) + (key + String(step)).length
  }
  return seen
}

const counts = Object.values(tally(200000))
console.log(fib(27), counts.length, counts.reduce((sum, count) => sum + count, 0))

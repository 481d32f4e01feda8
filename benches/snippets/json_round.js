// About 1 MB of JSON, written and read 20 times.
let tree = {
  rows: Array.from({ length: 15000 }, (_, i) => ({
    id: i,
    title: 'row ' + i,
    labels: ['red', 'green', 'blue'],
    weight: i * 0.25,
  })),
}
let total = 0
for (let round = 0; round < 20; round++) {
  const text = JSON.stringify(tree)
  tree = JSON.parse(text)
  total += text.length
}
console.log(total)

function* endless() {
  for (let n = 0; ; n++) yield n;
}
[endless(), new Set("ab"), new Map([["a", 1]]).entries(), [1, 2].values(), new Map([[{}, 1]]), "ab"[Symbol.iterator]()]

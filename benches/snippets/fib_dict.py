# Calls, small integers, string building, dictionary updates.
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def tally(steps):
    seen = {}
    for step in range(steps):
        key = "key" + str(step % 1000)
        seen[key] = seen.get(key, 0) + len(key + str(step))
    return seen


seen = tally(200_000)
print(fib(27), len(seen), sum(seen.values()))

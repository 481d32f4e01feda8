def endless():
    n = 0
    while True:
        yield n
        n += 1


[endless(), range(3), {"a": 1}.items(), map(str, [1]), iter([1, 2]), set(), (c for c in "ab")]

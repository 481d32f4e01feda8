list(range(100))

Array.from({ length: 100 }, (_, n) => n)

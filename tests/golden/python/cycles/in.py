a = {"name": "a"}
b = {"name": "b", "a": a}
a["b"] = b
shared = [1]
[a, shared, shared]

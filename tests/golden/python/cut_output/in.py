print("x" * 30)
print("é" * 30)

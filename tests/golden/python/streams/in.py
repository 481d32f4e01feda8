import sys
print("to standard output")
print("to standard error", file=sys.stderr)
print("no newline", end="")

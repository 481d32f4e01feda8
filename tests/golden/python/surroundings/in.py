import os, sys
{
    "input": sys.stdin.read(),
    "environment": dict(os.environ),
    "arguments": sys.argv,
    "folder": os.getcwd(),
    "file": open("in.txt").read(),
}

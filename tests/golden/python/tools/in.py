try:
    call_tool("fail", why="closed")
except RuntimeError as error:
    print(type(error).__name__, error)
call_tool("echo", number=1, text="ü", nested={"list": [1, None]})

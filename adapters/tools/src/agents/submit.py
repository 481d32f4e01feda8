def _bind():
    import builtins
    import sys

    import dormouse

    def submit(**outputs):
        """Ends the task: keeps these outputs as variables."""
        dormouse.call_tool("submit", types={name: type(value).__name__ for name, value in outputs.items()})
        sys.modules["__main__"].__dict__.update(outputs)

    submit.__code__ = submit.__code__.replace(co_filename="/<dormouse>/submit.py")
    submit.__qualname__ = "submit"
    builtins.submit = submit


_bind()
del _bind

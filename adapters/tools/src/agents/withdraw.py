def _withdraw():
    import builtins

    builtins.__dict__.pop("submit", None)


_withdraw()
del _withdraw

"""What the modules of `library` have in common."""


def record(module, name, fields, doc):
    """A class of tuples with named fields, as the system's own records are."""
    fields = tuple(fields.split())

    def shown(self):
        return f"{module}.{name}({', '.join(f'{field}={value!r}' for field, value in zip(fields, self))})"

    body = {field: property(lambda self, at=at: self[at]) for at, field in enumerate(fields)}
    body |= {"__slots__": (), "__module__": module, "__doc__": doc, "__match_args__": fields, "__repr__": shown,
             "n_fields": len(fields), "n_sequence_fields": len(fields), "n_unnamed_fields": 0}
    return type(name, (tuple,), body)


def descriptor(file):
    """The number of an open file, which may be given as an object that has one."""
    if not isinstance(file, int) and not hasattr(file, "fileno"):
        raise TypeError("argument must be an int, or have a fileno() method.")
    number = file if isinstance(file, int) else file.fileno()
    if number < 0:
        raise ValueError(f"file descriptor cannot be a negative integer ({number})")
    return number

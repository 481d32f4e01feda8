# How a variable of Python is looked at: an expression that the host calls with its arguments. It names nothing that a snippet
# can have bound anew but `__import__`, reads no more than it shows, and takes nothing out of an iterator, however deep it lies.
(lambda variable, query, offset, page, depth, items, strings, total: (lambda b, values, session: (
    value := session.get(variable, query),
    kind := b.type(value),
    text := b.next((base for base in (b.str, b.bytes, b.bytearray) if b.issubclass(kind, base)), None) if page else None,
    shown := text.__getitem__(value, b.slice(offset, offset + page)) if text else value,
    quiet := b.type("Quiet", (values.Encoder,), {"iterable": lambda self, kind, value, level: (
        # Those that are used up by looking are shown as what they are, and ranges are short.
        values.Encoder.object if b.hasattr(kind, "__next__") or kind is b.range else values.Encoder.iterable
    )(self, kind, value, level)}),
    typed := quiet(depth, items, 4 * page if text else strings, total, 0 if text else offset).text(shown),
    # How much there is of a text, and after a space what was seen.
    (b.str(text.__len__(value)) if text else "") + " " + typed,
)[-1])(
    __import__("builtins"),
    __import__("_dormouse.values", fromlist=["Encoder"]),
    __import__("_dormouse.session", fromlist=["get"]),
))

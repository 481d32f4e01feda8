# The interpreter


class Gone(Exception):
    """The relay asks no more."""


class Channel:
    """Messages to and from the host."""

    def __init__(self, requests, messages):
        self.requests, self.messages = requests, messages
        self.request = 0  # the number of the request that is being served
        self.lock = _thread.allocate_lock()
        self.owner = os.getpid()

    def receive(self):
        length, kind, request = struct.unpack(">IcI", self.exactly(9))
        return kind, request, self.exactly(length)

    def exactly(self, count):
        parts = []
        while count:
            part = os.read(self.requests, min(count, 1 << 20))
            if not part:
                raise Gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def send(self, kind, payload, request=None):
        request = self.request if request is None else request
        write_all(self.messages, struct.pack(">IcI", len(payload), kind, request) + payload)

    def call_tool(self, name, arguments):
        """Whether the host's function did it, and its answer."""
        if os.getpid() != self.owner:
            return False, "only the interpreter's own process can call tools"
        name, arguments = name.encode("utf-8", "replace"), arguments.encode()
        if len(arguments) > MOST_ARGUMENTS:
            return False, f"the arguments have {len(arguments)} bytes, at most {MOST_ARGUMENTS} are taken"
        with self.lock:
            if not self.request:
                return False, "tools can be called during a run only"
            name = name[:4096].decode("utf-8", "ignore").encode()
            self.send(b"C", struct.pack(">H", len(name)) + name + arguments)
            _, _, answer = self.receive()
        return answer[:1] == b"\x01", answer[1:].decode("utf-8", "replace")


class Sources:
    """The sources of snippets whose code lives on, by the identity of their names: every code object made from a snippet
    refers to the one `str` that is its name."""

    def __init__(self):
        self.known = {}
        self.room = 16

    def add(self, name, text):
        if len(self.known) >= self.room:
            self.forget_unused()
            self.room = max(16, 2 * len(self.known))
        self.known[id(name)] = [name, text]

    def forget_unused(self):
        for entry in list(self.known.values()):
            # In the entry, and as the argument. The name of one character is everybody's.
            if sys.getrefcount(entry[0]) <= 2:
                del self.known[id(entry[0])]

    def find(self, name):
        entry = self.known.get(id(name))
        return entry[1] if entry else None


def utf8_length(text):
    """The length in UTF-8, where a lone surrogate counts as the U+FFFD that replaces it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def references(value):
    return sys.getrefcount(value)


def alone():
    value = []
    return references(value)


def counted(container, begin, end):
    """The identities of some items of a list, tuple or dict, with how many references to them there are."""
    kind = next(kind for kind in (dict, list, tuple) if isinstance(container, kind))
    items = dict.values(container) if kind is dict else kind.__iter__(container)
    return [(id(item), sys.getrefcount(item)) for item in itertools.islice(items, begin, end) if gc.is_tracked(item)]


# What is counted of a value that its caller alone holds, and of an item that its container alone holds. It depends on the
# version of Python.
ALONE, SOLE = alone(), counted([[]], 0, 1)[0][1]


def sole(container, begin, end):
    """The identities of those items that nothing else holds."""
    return {identity for identity, count in counted(container, begin, end) if count <= SOLE}


def eval_query(expression, names):
    if "\0" in expression:
        raise SyntaxError("source code string cannot contain null bytes")
    code = compile(expression.lstrip(" \t"), "<string>", "eval", dont_inherit=True)
    return eval(code, names, names)


def load_shared(channel, sources):
    """The guest's modules, as they are."""
    host = types.ModuleType("_dormouse_host")
    host.utf8_length, host.eval_query, host.sole = utf8_length, eval_query, sole
    host.call_tool, host.source_of = channel.call_tool, sources.find
    sys.modules["_dormouse_host"] = host
    for name in ("_dormouse", "_dormouse.text", "_dormouse.values", "_dormouse.errors", "_dormouse.packages",
                 "_dormouse.world", "_dormouse.waiting", "dormouse", "_dormouse.session", "_dormouse.kept"):
        module = types.ModuleType(name)
        if name == "_dormouse":
            module.__path__ = []
        sys.modules[name] = module
        parent, _, own = name.rpartition(".")
        if parent:
            setattr(sys.modules[parent], own, module)
        if name == "_dormouse.errors" and sys.version_info < (3, 11):
            module.BaseExceptionGroup = ()
        exec(compile(SHARED[name], f"{OWN}{name}.py", "exec", dont_inherit=True), module.__dict__)
    if sys.version_info < (3, 11):
        fit_old_python(sys.modules["_dormouse.errors"])


def fit_old_python(errors):
    """Before Python 3.11 code knows neither the class of a function nor columns."""
    errors.column_of = lambda code, last: None
    errors.step_text = lambda code, line: errors.clean(f"{code.co_name} ({code.co_filename}:{line})")

    def drop_driver(shown, seen):
        if shown is None or id(shown) in seen:
            return
        seen.add(id(shown))
        shown.stack[:] = [frame for frame in shown.stack if not frame.filename.startswith(OWN)]
        drop_driver(shown.__cause__, seen)
        drop_driver(shown.__context__, seen)

    errors.drop_driver = drop_driver


class Streams:
    """Descriptors 0 to 2 and the streams of `sys`: the same ones at the start of every call, whatever the last one did."""

    def __init__(self, stdout, stderr, open_streams):
        self.kept = (stdout, stderr)
        self.open_streams = open_streams
        self.opened = None

    def begin(self, data):
        for number, descriptor in enumerate(self.kept, 1):
            os.dup2(descriptor, number)
        self.feed(data)
        fresh = self.open_streams()
        self.opened = (fresh[0], *(self.opened or fresh)[1:])
        for name, stream in zip(("stdin", "stdout", "stderr"), self.opened):
            setattr(sys, name, stream)
            setattr(sys, f"__{name}__", stream)

    def feed(self, data):
        if not data:
            source = os.open(os.devnull, os.O_RDONLY)
        elif hasattr(os, "memfd_create"):
            source = os.memfd_create("stdin")
        else:
            import tempfile
            with tempfile.TemporaryFile() as file:
                source = os.dup(file.fileno())
        if data:
            write_all(source, data)
            os.lseek(source, 0, os.SEEK_SET)
        os.dup2(source, 0)
        os.close(source)

    def flush(self):
        whole = True
        for stream in (sys.stdout, sys.stderr, *self.opened[1:]):
            try:
                stream.flush()
            except BaseException:
                whole = whole and stream not in self.opened
        if not whole:
            self.opened = None


def parse(text, name):
    """The code of a snippet without its last expression, and the code of that expression, or None."""
    flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
    if "\0" in text:
        raise SyntaxError("source code string cannot contain null bytes")
    text = text[1:] if text.startswith("\ufeff") else text
    try:
        tree = compile(text, name, "exec", flags | ast.PyCF_ONLY_AST, dont_inherit=True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        body = compile(tree, name, "exec", flags, dont_inherit=True)
        return body, last and compile(ast.Expression(last.value), name, "eval", flags, dont_inherit=True)
    except RecursionError:
        # The compiler itself takes deeper code than a tree of Python objects can show.
        return compile(text, name, "exec", flags, dont_inherit=True), None


class Loop:
    """The event loop that all snippets share, so that tasks live on between them."""

    loop = None

    @classmethod
    def run(cls, coroutine):
        import asyncio
        if cls.loop is None or cls.loop.is_closed():
            cls.loop = asyncio.new_event_loop()
        asyncio.set_event_loop(cls.loop)
        try:
            return cls.loop.run_until_complete(coroutine)
        except BaseException as error:
            step = error.__traceback__
            while step is not None and step.tb_frame.f_code is not coroutine.cr_code:
                step = step.tb_next
            error.__traceback__ = step or error.__traceback__
            raise


CO_COROUTINE = 0x80


def run_code(code, names):
    value = eval(code, names, names)
    return Loop.run(value) if code.co_flags & CO_COROUTINE else value


class Interpreter:
    """Serves requests until nobody asks."""

    def __init__(self, channel, sources, streams):
        self.channel, self.sources, self.streams = channel, sources, streams
        self.input = []
        modules = sys.modules
        self.values, self.errors = modules["_dormouse.values"], modules["_dormouse.errors"]
        self.session, self.kept = modules["_dormouse.session"], modules["_dormouse.kept"]
        self.served = {b"E": self.eval, b"G": self.get, b"S": self.set, b"V": self.vars, b"Z": self.reset,
                       b"P": self.save, b"L": self.load}

    def serve(self):
        while True:
            kind, request, payload = self.channel.receive()
            if kind == b"I":
                self.input.append(payload)
                continue
            asked = json.loads(payload)
            data, self.input = b"".join(self.input), []
            self.channel.request = request
            if kind == b"L":
                asked["data"], data = data, b""
            self.streams.begin(data)
            kind, text = self.served[kind](asked)
            self.streams.flush()
            if os.getpid() != self.channel.owner:
                # A copy that the snippet made, and that came back here.
                os._exit(0 if kind == b"R" else 1)
            with self.channel.lock:
                self.channel.request = 0
                self.channel.send(kind, text if isinstance(text, bytes) else text.encode("utf-8", "replace"), request)

    def outcome(self, bounds, run):
        try:
            value = run()
            own = references(value) - (self.session.main.get("_") is value) <= ALONE
            return b"R", self.values.encode(value, bounds["depth"], bounds["items"], bounds["string_bytes"],
                                            bounds["total_bytes"], bounds["offset"], own)
        except SystemExit as error:
            return b"Q", str(exit_status(error))
        except BaseException as error:
            return b"X", self.raised(error, bounds)

    def raised(self, error, bounds):
        try:
            return self.errors.encode(error, bounds["depth"], bounds["items"], bounds["string_bytes"],
                                      bounds["total_bytes"], bounds["frames"])
        except BaseException:
            known = [kind.__name__ for kind in (MemoryError, RecursionError) if isinstance(error, kind)]
            return json.dumps({"class": (known or ["Exception"])[0], "message": "this exception could not be described"})

    def eval(self, asked):
        return self.outcome(asked["bounds"], lambda: self.run(asked))

    def run(self, asked):
        self.surroundings(asked)
        # A `str` of its own, which stands for this snippet.
        name = "".join(list(asked["name"]))
        self.sources.add(name, asked["code"])
        body, last = parse(asked["code"], name)
        names = self.session.main
        run_code(body, names)
        value = run_code(last, names) if last else None
        if value is not None:
            names["_"] = value
        return value

    def surroundings(self, asked):
        for name, value in asked["environment"] or ():
            os.environ[name] = value
        if asked["arguments"] is not None:
            sys.argv[:] = asked["arguments"]
        if asked["environment"] or asked["arguments"]:
            for folder in reversed(os.environ.get("PYTHONPATH", "").split(":")):
                if folder and folder not in sys.path:
                    sys.path.insert(0, folder)
        if asked["directory"] is not None:
            os.chdir(asked["directory"])
            if "" not in sys.path:
                sys.path.insert(0, "")

    def get(self, asked):
        return self.outcome(asked["bounds"], lambda: self.session.get(asked["name"], asked["query"]))

    def set(self, asked):
        try:
            problem = self.session.set(asked["name"], asked["json"])
        except BaseException:
            problem = "out of memory"
        return (b"K", "") if problem is None else (b"N", problem)

    def vars(self, asked):
        try:
            return b"V", self.session.vars(asked["bounds"]["total_bytes"])
        except BaseException:
            return b"V", "[]"

    def save(self, asked):
        """What of the namespace can be kept over a stop."""
        try:
            own = (self.channel.requests, self.channel.messages, *self.streams.kept)
            return self.kept.copied(asked["bytes"], asked["seconds"], own)
        except BaseException as error:
            return b"N", self.kept.why(error)

    def load(self, asked):
        try:
            self.surroundings({"environment": None, "arguments": None, "directory": asked["directory"]})
            return b"V", self.kept.load(asked["data"])
        except BaseException as error:
            return b"N", self.kept.why(error)

    def reset(self, _asked):
        self.session.reset()
        gc.collect()
        return b"K", ""


def exit_status(error):
    """Anything but a number or None is a last message."""
    code = getattr(error, "code", None)
    if code is None:
        return 0
    if isinstance(code, int):
        return (int(code) + 2**31) % 2**32 - 2**31
    try:
        print(code, file=sys.stderr)
    except BaseException:
        pass
    return 1


def main():
    given = os.environ.get("LC_CTYPE")
    if given == "C.UTF-8" and not read_environment().get(b"LC_CTYPE"):
        # Python has set it for itself.
        del os.environ["LC_CTYPE"]
    requests, messages, stdout, stderr = split()
    channel, sources = Channel(requests, messages), Sources()
    load_shared(channel, sources)
    sys.modules["_dormouse.errors"].install()
    packages = sys.modules["_dormouse.packages"]
    sys.path.append(packages.FOLDER)
    sys.meta_path.append(packages.Installed)
    sys.argv[:] = [""]
    sys.modules["_dormouse.session"].reset()
    streams = Streams(stdout, stderr, sys.modules["_dormouse.world"].open_streams)
    channel.send(b"H", json.dumps({"protocol": PROTOCOL, "version": sys.version.split()[0]}).encode())
    try:
        Interpreter(channel, sources, streams).serve()
    except (Gone, OSError):
        pass
    os._exit(0)


def read_environment():
    try:
        with open("/proc/self/environ", "rb") as file:
            return dict(entry.partition(b"=")[::2] for entry in file.read().split(b"\0") if entry)
    except OSError:
        return {}


main()

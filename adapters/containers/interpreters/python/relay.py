"""Python in a container: the relay, which keeps the host's descriptors, and the interpreter below it (src/interpreter.rs).

`interpreter.py` goes on where this ends: both are one module.

Values, exceptions and the namespace are the Wasm guest's own code, which comes in `SHARED`. What that code takes from C
there is the module `_dormouse_host` here. Runs on CPython 3.9 and later.
"""

import _thread
import ast
import builtins
import fcntl
import gc
import itertools
import json
import os
import select
import signal
import struct
import sys
import types

PROTOCOL = 1
CHUNK = 65536
DRAINED = 4 << 20  # bytes of one stream that may go before a message
HIGH = 200  # descriptors from here on are the interpreter's own
MOST_ARGUMENTS = 1 << 20
OWN = "/<dormouse>/"


# The relay


def write_all(descriptor, data):
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view):]


class Relay:
    """Passes on what the interpreter says and writes, in frames, until it has ended."""

    def __init__(self, child, messages, streams, requests):
        self.child, self.messages, self.requests = child, messages, requests
        self.streams = dict(zip((1, 2), streams))
        self.woken, self.wake = os.pipe()
        self.status = None
        for descriptor in (messages, *streams):
            os.set_blocking(descriptor, False)

    def send(self, channel, data):
        write_all(1, struct.pack(">IB", len(data), channel) + data)

    def pass_requests(self):
        try:
            while True:
                data = os.read(0, CHUNK)
                if not data:
                    break
                write_all(self.requests, data)
        except OSError:
            pass
        # Nobody asks any more, or nobody answers.
        try:
            os.kill(self.child, signal.SIGKILL)
        except OSError:
            pass

    def await_child(self):
        _, self.status = os.waitpid(self.child, 0)
        os.write(self.wake, b".")

    def read(self, descriptor):
        """Some bytes; none when there are none now."""
        try:
            return os.read(descriptor, CHUNK)
        except BlockingIOError:
            return None

    def drain(self):
        """What was written before a message goes before it."""
        for channel, descriptor in list(self.streams.items()):
            left = DRAINED
            while left > 0:
                data = self.read(descriptor)
                if not data:
                    if data == b"":
                        del self.streams[channel]
                    break
                left -= len(data)
                self.send(channel, data)

    def run(self):
        _thread.start_new_thread(self.pass_requests, ())
        _thread.start_new_thread(self.await_child, ())
        open_messages = True
        while True:
            waited = [self.woken, *self.streams.values(), *([self.messages] if open_messages else [])]
            ready = select.select(waited, [], [])[0]
            data = self.read(self.messages) if self.messages in ready else None
            self.drain()
            if data:
                self.send(3, data)
            elif data == b"":
                open_messages = False
            if self.woken in ready:
                break
        data = self.read(self.messages) if open_messages else None
        self.drain()
        while data:
            self.send(3, data)
            data = self.read(self.messages)
        ended = {"signal": os.WTERMSIG(self.status)} if os.WIFSIGNALED(self.status) else {"exit": os.WEXITSTATUS(self.status)}
        self.send(4, json.dumps(ended).encode())


def high(descriptor):
    """Out of the way of the numbers that a snippet's files get."""
    try:
        moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, HIGH)
    except OSError:
        return descriptor
    os.close(descriptor)
    return moved


def split():
    """Two processes of one. Returns in the interpreter's; the relay's ends here."""
    requests, to_child = os.pipe()
    messages, from_child = os.pipe()
    output, stdout = os.pipe()
    errors, stderr = os.pipe()
    child = os.fork()
    if child:
        for descriptor in (requests, from_child, stdout, stderr):
            os.close(descriptor)
        try:
            Relay(child, messages, (output, errors), to_child).run()
        except OSError:
            os.kill(child, signal.SIGKILL)
        os._exit(0)
    # A signal to the snippet's group does not end the relay.
    os.setsid()
    for descriptor in (to_child, messages, output, errors):
        os.close(descriptor)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(stdout, 1)
    os.dup2(stderr, 2)
    return high(requests), high(from_child), high(stdout), high(stderr)

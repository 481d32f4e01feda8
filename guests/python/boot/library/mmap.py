"""Files in memory, by copy: a mapping reads its part of the file when it is made, and writes the bytes that have changed back when
it is flushed or closed, or when a program ends. Two mappings of one file do not see each other's changes before that."""

import atexit as _atexit
import errno as _errno
import gc as _gc
import io as _io
import os as _os
import weakref as _weakref
from operator import index as _index

error = OSError
ACCESS_DEFAULT, ACCESS_READ, ACCESS_WRITE, ACCESS_COPY = range(4)
MAP_SHARED, MAP_PRIVATE, MAP_FIXED, MAP_ANON, MAP_ANONYMOUS = 1, 2, 16, 32, 32
MAP_POPULATE, MAP_STACK, MAP_NORESERVE = 0x8000, 0x20000, 0x4000
PROT_READ, PROT_WRITE, PROT_EXEC = 1, 2, 4
MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL, MADV_WILLNEED, MADV_DONTNEED, MADV_FREE = 0, 1, 2, 3, 4, 8
PAGESIZE = 4096
ALLOCATIONGRANULARITY = 65536
_all = _weakref.WeakSet()


def _opened(fileno, write):
    """A descriptor of one's own for an open file, as `dup` would give. None: its name is not known, or leads elsewhere by now."""
    meant = _os.fstat(fileno)
    for file in _gc.get_objects():
        if type(file) is not _io.FileIO or file.closed or file.fileno() != fileno:
            continue
        if write and not file.writable():
            raise PermissionError(_errno.EACCES, _os.strerror(_errno.EACCES))
        if not isinstance(file.name, (str, bytes)):
            continue
        try:
            own = _os.open(file.name, _os.O_RDWR if write else _os.O_RDONLY)
        except OSError:
            continue
        found = _os.fstat(own)
        if (found.st_dev, found.st_ino) == (meant.st_dev, meant.st_ino):
            return own
        _os.close(own)
    return None


def _flush_all():
    for mapping in list(_all):
        try:
            mapping.flush()
        except (OSError, ValueError):
            pass


_atexit.register(_flush_all)


class mmap:
    """A part of a file, or memory of its own (`fileno` -1)."""

    _data, _own = None, False

    def __new__(cls, fileno, length, flags=MAP_SHARED, prot=PROT_READ | PROT_WRITE, access=ACCESS_DEFAULT, offset=0, *,
                trackfd=True):
        self = super().__new__(cls)
        self._begin(fileno, length, flags, prot, access, offset)
        self._tracks = trackfd
        return self

    def __init__(self, *args, **options):
        """Everything is done already."""

    def _begin(self, fileno, length, flags, prot, access, offset):
        if access not in range(4):
            raise ValueError("mmap invalid access parameter.")
        if access != ACCESS_DEFAULT and (flags != MAP_SHARED or prot != PROT_READ | PROT_WRITE):
            raise ValueError("mmap can't specify both access and flags, prot.")
        if length < 0 or offset < 0:
            raise OverflowError("memory mapped length must be positive" if length < 0 else "memory mapped offset must be positive")
        if offset % PAGESIZE:
            raise OSError(_errno.EINVAL, _os.strerror(_errno.EINVAL))
        self._at, self._file, self._access, self._clean = 0, -1, access, b""
        self._writes = access in (ACCESS_WRITE, ACCESS_COPY) or access == ACCESS_DEFAULT and bool(prot & PROT_WRITE)
        self._shared = self._writes and access != ACCESS_COPY and (fileno == -1 or not flags & MAP_PRIVATE)
        self._offset = offset
        if fileno == -1:
            if length == 0:
                raise ValueError("cannot mmap an empty file")
            self._data = bytearray(length)
            return
        size = _os.fstat(fileno).st_size
        if length == 0:
            if size == 0:
                raise ValueError("cannot mmap an empty file")
            if offset >= size:
                raise ValueError("mmap offset is greater than file size")
            length = size - offset
        elif offset + length > size:
            raise ValueError("mmap length is greater than file size")
        data = bytearray()
        while len(data) < length:
            piece = _os.pread(fileno, length - len(data), offset + len(data))
            if not piece:
                break
            data += piece
        data.extend(bytes(length - len(data)))
        own = _opened(fileno, self._shared)
        self._file, self._own = (fileno, False) if own is None else (own, True)
        about = _os.fstat(self._file)
        self._identity = about.st_dev, about.st_ino
        self._data = data
        if self._shared:
            self._clean = bytes(data)
            _all.add(self)

    def _open(self):
        if self._data is None:
            raise ValueError("mmap closed or invalid")
        return self._data

    def _writable(self):
        data = self._open()
        if not self._writes:
            raise TypeError("mmap can't modify a readonly memory map.")
        return data

    closed = property(lambda self: self._data is None)

    def __buffer__(self, flags, /):
        view = memoryview(self._open())
        return view if self._writes else view.toreadonly()

    def __len__(self):
        return len(self._open())

    def __getitem__(self, index, /):
        index = self._place(index)
        found = self._open()[index]
        return found if isinstance(found, int) else bytes(found)

    def _place(self, index):
        """An index that runs no code of the caller's any more: what it runs may close the mapping."""
        size = len(self._open())
        if not isinstance(index, slice):
            index = _index(index)
            if not -size <= index < size:
                raise IndexError("mmap index out of range")
            return index
        start, stop, step = index.indices(size)
        return slice(0, 0, step) if start < 0 else slice(start, None if stop < 0 else stop, step)

    def __setitem__(self, index, value, /):
        self._writable()
        index = self._place(index)
        if not isinstance(index, slice):
            value = _index(value)
        data = self._writable()
        if isinstance(index, slice):
            if len(range(*index.indices(len(data)))) != len(value):
                raise IndexError("mmap slice assignment is wrong size")
        data[index] = value

    def __iter__(self):
        return (bytes((byte,)) for byte in bytes(self._open()))

    def __contains__(self, item, /):
        return item in self._open()

    def __enter__(self):
        self._open()
        return self

    def __exit__(self, *about):
        self.close()

    def __del__(self):
        try:
            self.close()
        except (OSError, BufferError):
            pass

    def __repr__(self):
        if self._data is None:
            return f"<{type(self).__module__}.{type(self).__qualname__} closed=True>"
        access = ("ACCESS_DEFAULT", "ACCESS_READ", "ACCESS_WRITE", "ACCESS_COPY")[self._access]
        return (f"<{type(self).__module__}.{type(self).__qualname__} closed=False, access={access}, length={len(self)}, "
                f"pos={self._at}, offset={self._offset}>")

    def close(self):
        """Writes back what has changed, and forgets it."""
        if self._data is None:
            return
        self._check_exports("cannot close exported pointers exist")
        try:
            self.flush()
        finally:
            self._data = None
            if self._own:
                self._own = False
                _os.close(self._file)

    def _check_exports(self, message):
        try:
            self._data.append(0)
        except BufferError:
            raise BufferError(message) from None
        del self._data[-1]

    def __reduce__(self):
        raise TypeError("cannot pickle 'mmap.mmap' object")

    def _checked_file(self):
        """Its descriptor, if that is still the file that was mapped."""
        about = _os.fstat(self._file)
        if (about.st_dev, about.st_ino) != self._identity:
            raise OSError(_errno.EBADF, "the file of this mapping was closed before the mapping")
        return about

    def flush(self, offset=0, size=None, /, *, flags=0):
        """Writes back the bytes that have changed."""
        data = self._open()
        if self._file < 0 or not self._shared or data == self._clean:
            return
        # What the file has lost meanwhile does not come back.
        end = min(len(data), max(0, self._checked_file().st_size - self._offset))
        for start in range(0, end, PAGESIZE):
            page, before = data[start:min(start + PAGESIZE, end)], self._clean[start:start + PAGESIZE]
            if page == before[:len(page)]:
                continue
            at = 0
            while at < len(page):
                if at < len(before) and page[at] == before[at]:
                    at += 1
                    continue
                stop = at + 1
                while stop < len(page) and not (stop < len(before) and page[stop] == before[stop]):
                    stop += 1
                while at < stop:
                    at += _os.pwrite(self._file, page[at:stop], self._offset + start + at)
        self._clean = bytes(data)

    def madvise(self, option, start=0, length=None, /):
        """Does nothing."""
        size, start = len(self._open()), _index(start)
        length = size if length is None else _index(length)
        if not 0 <= start < size:
            raise ValueError("madvise start out of bounds")
        if length < 0:
            raise ValueError("madvise length invalid")
        if start + length > 0x7FFFFFFF:
            raise OverflowError("madvise length too large")

    def size(self):
        """Bytes of the file; of memory of its own, its length."""
        self._open()
        if not self._tracks:
            raise OSError(_errno.EBADF, _os.strerror(_errno.EBADF))
        return self._checked_file().st_size if self._file >= 0 else len(self)

    def resize(self, newsize, /):
        """Changes its length, and the file's."""
        newsize = _index(newsize)
        data = self._writable()
        if not self._shared:
            raise TypeError("mmap can't resize a readonly or copy-on-write memory map.")
        if not self._tracks:
            raise ValueError("mmap can't resize with trackfd=False")
        self._check_exports("mmap can't resize with extant buffers exported.")
        if self._file >= 0:
            self._checked_file()
            _os.ftruncate(self._file, self._offset + newsize)
        if newsize < len(data):
            del data[newsize:]
        else:
            data.extend(bytes(newsize - len(data)))

    def tell(self):
        """Where reading goes on."""
        self._open()
        return self._at

    def seek(self, pos, whence=_os.SEEK_SET, /):
        """Goes to a place. Answers where that is."""
        pos = _index(pos)
        base = {_os.SEEK_SET: 0, _os.SEEK_CUR: self._at, _os.SEEK_END: len(self._open())}.get(whence)
        if base is None:
            raise ValueError("unknown seek type")
        if not 0 <= base + pos <= len(self._open()):
            raise ValueError("seek out of range")
        self._at = base + pos
        return self._at

    def seekable(self):
        """Yes."""
        return True

    def read(self, n=None, /):
        """The next bytes."""
        n = -1 if n is None else _index(n)
        data = self._open()
        taken = bytes(data[self._at:len(data) if n < 0 else self._at + n])
        self._at += len(taken)
        return taken

    def read_byte(self):
        """The next byte as a number."""
        if self._at >= len(self._open()):
            raise ValueError("read byte out of range")
        self._at += 1
        return self._data[self._at - 1]

    def readline(self):
        """The bytes up to the next line feed."""
        end = self._open().find(b"\n", self._at)
        return self.read(None if end < 0 else end + 1 - self._at)

    def write(self, bytes, /):
        """Writes at the place where reading goes on."""
        data, view = self._writable(), memoryview(bytes).cast("B")
        if self._at + len(view) > len(data):
            raise ValueError("data out of range")
        data[self._at:self._at + len(view)] = view
        self._at += len(view)
        return len(view)

    def write_byte(self, byte, /):
        """Writes one byte."""
        self._writable()
        byte = _index(byte)
        data = self._writable()
        if self._at >= len(data):
            raise ValueError("write byte out of range")
        data[self._at] = byte
        self._at += 1

    def move(self, dest, src, count, /):
        """Copies bytes within."""
        self._writable()
        dest, src, count = map(_index, (dest, src, count))
        data = self._writable()
        if min(dest, src, count) < 0 or max(dest, src) + count > len(data):
            raise ValueError("source, destination, or count out of range")
        data[dest:dest + count] = data[src:src + count]

    def find(self, view, start=None, end=None, /):
        """Where bytes are, from where reading goes on. -1: nowhere."""
        return self._found("find", view, start, end)

    def rfind(self, view, start=None, end=None, /):
        """The same from the end."""
        return self._found("rfind", view, start, end)

    def _found(self, search, view, start, end):
        self._open()
        start = self._at if start is None else _index(start)
        end = 0x7FFFFFFF if end is None else _index(end)
        return getattr(self._open(), search)(view, start, end)

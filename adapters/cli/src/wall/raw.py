"""Puts the filters that are given on standard input before itself, and tells what the kernel answers to calls that no safe
function makes. A line for each: its name and the error's number, 0 for none.
"""
import ctypes
import os
import struct
import sys

libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long

print(os.getpid(), flush=True)
filters = [bytes.fromhex(line) for line in iter(sys.stdin.readline, "\n")]
numbers = dict(line.split("=") for line in sys.stdin.readline().split())
here, there = os.openpty()
told = []


def call(name, number, *arguments):
    """What the kernel answers, by the error's number."""
    words = [ctypes.c_ulong(word & (2**64 - 1)) if isinstance(word, int) else word for word in arguments]
    answer = libc.syscall(ctypes.c_long(number), *words)
    told.append(f"{name} {ctypes.get_errno() if answer < 0 else 0}")
    return answer


def of(name):
    return int(numbers[name])


libc.prctl(38, 1, 0, 0, 0)  # no new privileges
for program in filters:
    space = ctypes.create_string_buffer(program, len(program))
    rules = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(space))
    if libc.syscall(of("seccomp"), 1, 0, rules) != 0:
        sys.exit("the kernel does not take a filter")

# What is asked for; none of them is to do anything.
THREAD = 0x3D0F00
call("getpid", of("getpid"))
call("clone-user", of("clone"), 0x10000000 | 17, 0, 0, 0, 0)
call("clone-user-thread", of("clone"), 0x10000000 | THREAD, 0, 0, 0, 0)
call("clone-process", of("clone"), 17, 0, 0, 0, 0)
call("clone3", of("clone3"), b"\0" * 88, 88)
call("unshare", of("unshare"), 0x10000000)
call("setns", of("setns"), 0, 0)
call("execve", of("execve"), b"/bin/true\0", 0, 0)
call("execveat", of("execveat"), -100, b"/bin/true\0", 0, 0, 0)
call("tiocsti", of("ioctl"), there, 0x5412, b"x")
call("tiocsti-high", of("ioctl"), there, 0x100005412, b"x")
call("tioclinux", of("ioctl"), there, 0x541C, b"\x02")
call("tcgets", of("ioctl"), there, 0x5401, ctypes.create_string_buffer(256))
call("ptrace", of("ptrace"), 16, os.getppid(), 0, 0)
call("process_vm_readv", of("process_vm_readv"), os.getppid(), 0, 0, 0, 0, 0)
call("pidfd_open", of("pidfd_open"), os.getppid(), 0)
call("pidfd_getfd", of("pidfd_getfd"), 0, 0, 0)
call("mount_setattr", of("mount_setattr"), -100, b"/\0", 0, 0, 0)
call("keyctl", of("keyctl"), 0, 0, 0)
call("bpf", of("bpf"), 0, 0, 0)
call("perf_event_open", of("perf_event_open"), 0, 0, 0, 0, 0)
call("userfaultfd", of("userfaultfd"), 0)
call("io_uring_setup", of("io_uring_setup"), 1, b"\0" * 120)
call("signal", of("tgkill"), os.getppid(), os.getppid(), 0)
call("signal-own", of("tgkill"), os.getpid(), os.getpid(), 0)
call("owner", of("fcntl"), there, 8, os.getppid())
call("limits", of("prlimit64"), os.getppid(), 7, 0, 0)
call("mode", of("fchmodat"), -100, b"/nowhere\0", 0)
call("sendto-address", of("sendto"), 0, b"x", 1, 0, b"\2\0\0\x09\x7f\0\0\1" + b"\0" * 8, 16)
call("sendto-fastopen", of("sendto"), 0, b"x", 1, 0x20000000, 0, 0)
call("unknown", 4095)
if of("x32"):
    call("x32-getpid", of("getpid") | 0x40000000)
    call("x32-execve", 520 | 0x40000000, b"/bin/true\0", 0, 0)
    call("x32-socket", of("socket") | 0x40000000, 1, 1, 0)
print("\n".join(told), flush=True)

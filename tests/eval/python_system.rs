//! Python: the user, the machine and the modules of a Unix system, as programs take them for granted.

use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{PYTHON, sandbox};
use serde_json::json;

/// Each line is true.
fn all_true(lines: &[&str]) {
    for code in lines {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], json!(true), "{code}");
    }
}

#[test]
fn a_program_finds_its_user_its_home_and_a_plain_linux() {
    all_true(&[
        "import os, pathlib; [os.environ['HOME'], str(pathlib.Path.home()), os.path.expanduser('~/x')] == ['/tmp', '/tmp', '/tmp/x']",
        "import getpass, os; [getpass.getuser(), os.getlogin()] == ['sandbox'] * 2",
        "import os; [os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.getgroups()] == [1000, 1000, 1000, 1000, [1000]]",
        "import pwd; u = pwd.getpwuid(1000); [u.pw_name, u.pw_dir, u[2], pwd.getpwnam('sandbox') == u, pwd.getpwall()[0] == u, pwd.getpwuid(0).pw_name] == ['sandbox', '/workspace', 1000, True, True, 'root']",
        "import grp; g = grp.getgrgid(1000); [g.gr_name, g.gr_mem, grp.getgrnam('sandbox') == g] == ['sandbox', [], True]",
        "import pwd\ntry: pwd.getpwnam('nobody')\nexcept KeyError as e: found = str(e)\n'nobody' in found",
        "import os; [os.umask(0o77), os.umask(0o22), os.umask(0o22)] == [0o22, 0o77, 0o22]",
        "import os; [os.getpriority(os.PRIO_PROCESS, 0), os.nice(1), os.cpu_count(), os.sched_getaffinity(0), os.getppid()] == [0, 0, 1, {0}, 1]",
        "import os, platform, socket; [os.uname().sysname, platform.system(), platform.machine(), platform.node(), socket.gethostname()] == ['Linux', 'Linux', 'wasm32', 'dormouse', 'dormouse']",
        "import sys, platform; [sys.executable, platform.python_implementation()] == ['/usr/bin/python3', 'CPython'] and platform.platform().startswith('Linux-')",
        "import os\ntry: os.chmod('/tmp/none', 0o600)\nexcept FileNotFoundError: found = True\nopen('/tmp/f', 'w').close(); os.chown('/tmp/f', 1000, -1)\ntry: os.chown('/tmp/f', 0, 0)\nexcept PermissionError: found = [found]\nfound == [True]",
        "import os, stat; open('/tmp/f', 'w').close(); f, d = os.stat('/tmp/f'), os.stat('/tmp'); [f.st_uid, stat.filemode(f.st_mode), stat.filemode(d.st_mode)] == [1000, '-rw-r--r--', 'drwxr-xr-x']",
    ]);
}

#[test]
fn timers_send_signals_between_bytecodes_and_in_sleeps() {
    all_true(&[
        "import signal, time\ndef ring(number, frame): raise TimeoutError\nsignal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.02)\ntry:\n  while True: pass\nexcept TimeoutError: found = True\nfound",
        "import signal, time\ndef ring(number, frame): raise TimeoutError\nsignal.signal(signal.SIGALRM, ring); signal.setitimer(signal.ITIMER_REAL, 0.02); begin = time.monotonic()\ntry: time.sleep(5)\nexcept TimeoutError: found = time.monotonic() - begin < 4\nfound",
        "import signal, time; seen = []; signal.signal(signal.SIGALRM, lambda *a: seen.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01); time.sleep(0.2); signal.setitimer(signal.ITIMER_REAL, 0); count = len(seen); time.sleep(0.05); count > 2 and len(seen) == count",
        "import signal; [signal.alarm(5), 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= 5, signal.alarm(0), signal.alarm(0), signal.getitimer(0)] == [0, True, 5, 0, (0.0, 0.0)]",
        "import signal; seen = []; signal.signal(signal.SIGALRM, lambda *a: seen.append(1)); signal.setitimer(signal.ITIMER_REAL, 0.02); signal.pause(); seen == [1]",
        "import signal\ntry: signal.pause()\nexcept RuntimeError as e: found = 'waits for ever' in str(e)\nfound",
        "import signal\nfound = []\nfor bad in (lambda: signal.setitimer(7, 1), lambda: signal.setitimer(0, -1), lambda: signal.setitimer(0, float('nan')), lambda: signal.setitimer(0, 1e300)):\n  try: bad()\n  except signal.ItimerError: found.append(True)\nfound == [True] * 4",
    ]);
    assert_ends(
        &sandbox::eval(PYTHON, "import signal; signal.setitimer(0, 0.01)\nwhile True: pass"),
        &["exited 142"],
    );
    assert_ends(
        &sandbox::eval(PYTHON, "import signal, time; signal.setitimer(0, 0.01); time.sleep(9)"),
        &["exited 142"],
    );
}

#[test]
fn there_is_a_folder_of_devices_and_what_the_system_says_of_itself() {
    all_true(&[
        "import os; [os.path.isdir('/dev'), sorted(os.listdir('/dev')), [e.is_file() for e in os.scandir('/dev')][0]] == [True, ['null', 'random', 'stderr', 'stdin', 'stdout', 'urandom', 'zero'], False]",
        "import platform; platform.freedesktop_os_release()['ID'] == 'dormouse'",
        "f = open('/etc/os-release', 'rb'); a = f.read(4); f.seek(-1, 2); b = f.read(); f.seek(0); [a, b, len(f.read()) > 20, f.read()] == [b'NAME', b'\\n', True, b'']",
        "import os\nfound = []\nfor path, flags in (('/dev', os.O_WRONLY), ('/etc/os-release', os.O_RDWR)):\n  try: os.open(path, flags)\n  except OSError as e: found.append(type(e).__name__)\nfound == ['IsADirectoryError', 'PermissionError']",
        "import os; listed = [os.listdir('/dev') for _ in range(40)]; len(listed) == 40",
    ]);
}

#[test]
fn a_home_that_is_given_is_taken() {
    let mut request = sandbox::request(
        PYTHON,
        "import os, pwd; [os.environ, os.path.expanduser('~'), pwd.getpwuid(1000).pw_dir]",
    );
    request.context.grants.environment = vec![("HOME".into(), "/tmp".into()), ("A".into(), "b".into())];
    let found = value(&sandbox::run_request(request));
    assert_eq!(found["value"][1]["value"], json!("/tmp"), "{found}");
    // As on any system: the user's entry says what it says.
    assert_eq!(found["value"][2]["value"], json!("/workspace"));
}

#[test]
fn ctypes_has_types_structures_and_buffers_and_no_libraries() {
    all_true(&[
        "from ctypes import *; [sizeof(c_int), sizeof(c_void_p), sizeof(c_longlong), alignment(c_double)] == [4, 4, 8, 8]",
        "from ctypes import *\nclass P(Structure): _fields_ = [('x', c_int), ('y', c_double), ('b', c_uint8, 3)]\np = P(1, 2.5, 7); p.x += 1; [p.x, p.y, p.b, sizeof(P), bytes(p)[:4]] == [2, 2.5, 7, 24, b'\\x02\\0\\0\\0']",
        "from ctypes import *\nclass U(Union): _fields_ = [('i', c_uint32), ('f', c_float)]\nu = U(); u.f = 1.0; u.i == 0x3f800000",
        "from ctypes import *; b = create_string_buffer(b'abc', 8); memmove(byref(b, 3), b'de', 2); [b.value, b.raw, string_at(b, 2), string_at(addressof(b) + 1)] == [b'abcde', b'abcde\\0\\0\\0', b'ab', b'bcde']",
        "from ctypes import *; a = (c_int * 3)(1, 2, 3); p = cast(a, POINTER(c_int)); memset(a, 0, 4); [p[0], p[2], list(a), cast(p, c_void_p).value == addressof(a)] == [0, 3, [0, 2, 3], True]",
        "from ctypes import *; f = CFUNCTYPE(c_double, c_int, c_double)(lambda a, b: a * b); [f(3, 2.5), CFUNCTYPE(c_int, c_int)(lambda a: a + 1)(1, 2)] == [7.5, 2]",
        "from ctypes import *; w = create_unicode_buffer('äü'); [w.value, wstring_at(w)] == ['äü', 'äü']",
        "from ctypes import *; b = bytearray(b'abcd'); c_char.from_buffer(b, 1).value == b'b'",
        "from ctypes.util import find_library; find_library('c') is None",
        "import ctypes\nfound = []\nfor open in (lambda: ctypes.CDLL('libc.so.6'), lambda: ctypes.cdll.LoadLibrary('x')):\n  try: open()\n  except OSError as e: found.append('there are no native libraries' in str(e))\nfound == [True, True]",
        "import ctypes\ntry: ctypes.pythonapi.PyRun_SimpleString\nexcept AttributeError as e: found = str(e)\n'no native libraries' in found",
    ]);
}

/// A wrong address ends this run's instance, and nothing else.
#[test]
fn lng_01_ctypes_reads_and_calls_within_the_guest_alone() {
    for code in [
        "import ctypes; ctypes.string_at(0xfffffff0, 64)",
        "import ctypes; ctypes.CFUNCTYPE(None)(3)()",
        "import ctypes; ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_double, ctypes.c_double)(5)(1.0, 2.0)",
        "import ctypes; ctypes.memset(0xffff0000, 1, 0xffff)",
    ] {
        let outcome = sandbox::run_request(sandbox::request(PYTHON, code));
        assert_ends(&outcome, &["guest_trap"]);
    }
    assert_eq!(sandbox::value_of(PYTHON, "1 + 1")["value"], json!(2));
}

/// Whoever writes to any address can make code.
#[test]
fn lng_02_without_eval_there_is_no_ctypes() {
    let mut request = sandbox::request(PYTHON, "import ctypes");
    request.allow_eval = false;
    let outcome = sandbox::run_request(request);
    let raised = exception(&outcome);
    assert!(
        raised.class == "ModuleNotFoundError" && raised.message.contains("eval is not allowed"),
        "{raised:?}"
    );
}

#[test]
fn modules_of_unix_import_and_refuse_only_what_is_not_there() {
    all_true(&[
        "import fcntl\nwith open('/tmp/l', 'w') as f: fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB); fcntl.lockf(f, fcntl.LOCK_UN); found = fcntl.fcntl(f, fcntl.F_GETFL)\nfound == 0",
        "import resource; resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, -1)); [resource.getrlimit(resource.RLIMIT_STACK), resource.getrusage(resource.RUSAGE_SELF).ru_utime >= 0] == [(1 << 20, -1), True]",
        "import termios, tty, pty\ntry: termios.tcgetattr(0)\nexcept termios.error as e: found = e.args\nfound[1] == 'Not a tty' or 'Inappropriate' in found[1]",
        "import syslog; syslog.openlog('a'); syslog.syslog(syslog.LOG_ERR, 'b'); syslog.LOG_UPTO(syslog.LOG_ERR) == 15",
        "import readline; readline.add_history('a'); readline.parse_and_bind('tab: complete'); [readline.get_history_item(1), readline.get_current_history_length()] == ['a', 1]",
        "import curses, curses.ascii, curses.textpad\ntry: curses.initscr()\nexcept curses.error as e: found = str(e)\n'no terminal' in found and curses.KEY_UP == 259 and curses.ascii.isalpha('a')",
        "import ssl; c = ssl.create_default_context(); c.minimum_version = ssl.TLSVersion.TLSv1_2; [c.verify_mode, c.check_hostname, ssl.Purpose.SERVER_AUTH.oid, ssl.HAS_TLSv1_3] == [ssl.CERT_REQUIRED, True, '1.3.6.1.5.5.7.3.1', True]",
        "import ssl, urllib.request\ntry: urllib.request.urlopen('https://example.com')\nexcept OSError as e: found = str(e)\n'no network' in found",
        "import logging.handlers, imaplib, smtplib, http.client; http.client.HTTPSConnection('a').host == 'a'",
        "import multiprocessing.heap, multiprocessing.sharedctypes; True",
    ]);
}

#[test]
fn mappings_are_of_memory_or_of_files_by_copy() {
    all_true(&[
        "import mmap; m = mmap.mmap(-1, 13); m.write(b'Hello'); m[5:7] = b', '; m.seek(0); [m.read(7), m.tell(), len(m), m.find(b'lo', 0)] == [b'Hello, ', 7, 13, 3]",
        "import mmap\nopen('/tmp/f', 'wb').write(b'one\\ntwo\\n')\nwith open('/tmp/f', 'r+b') as f:\n  m = mmap.mmap(f.fileno(), 0)\n  lines = [m.readline(), m.readline(), m.readline()]\n  m[:3] = b'ONE'; m.flush(); seen = open('/tmp/f', 'rb').read(); m.close()\n[lines, seen, m.closed] == [[b'one\\n', b'two\\n', b''], b'ONE\\ntwo\\n', True]",
        "import mmap\nopen('/tmp/f', 'wb').write(b'abc')\nwith open('/tmp/f', 'rb') as f, mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:\n  try: m[0] = 1\n  except TypeError as e: found = str(e)\n  both = [bytes(m), bytes(memoryview(m)[1:])]\n[found, both] == [\"mmap can't modify a readonly memory map.\", [b'abc', b'bc']]",
        // The mapping has the file for itself, as by `dup`: it may be closed before, and its number may become another's.
        "import mmap\nopen('/tmp/a', 'wb').write(b'aaaaaaaa'); open('/tmp/b', 'wb').write(b'bb')\nwith open('/tmp/a', 'r+b') as f: m = mmap.mmap(f.fileno(), 0)\ng = open('/tmp/b', 'r+b'); m[0] = 88; m.close(); g.close(); [open('/tmp/a').read(), open('/tmp/b').read()] == ['Xaaaaaaa', 'bb']",
        "import mmap, os\nn = os.open('/tmp/a', os.O_RDWR | os.O_CREAT); os.write(n, b'aaaa'); m = mmap.mmap(n, 0); os.close(n); g = open('/tmp/b', 'w+b'); g.write(b'bbbb'); g.flush(); m[0] = 88\ntry: m.flush()\nexcept OSError as e: found = 'closed before' in str(e)\n[found, open('/tmp/b').read()] == [True, 'bbbb']",
        // Only what has changed is written: what others wrote beside it stays.
        "import mmap\nf = open('/tmp/a', 'w+b'); f.write(b'aaaa'); f.flush(); m = mmap.mmap(f.fileno(), 0); f.seek(0); f.write(b'ZZ'); f.flush(); m[3] = 88; m.flush(); open('/tmp/a').read() == 'ZZaX'",
        "import mmap\nopen('/tmp/f', 'wb').write(b'x' * 9000); f = open('/tmp/f', 'r+b'); a, b = (mmap.mmap(f.fileno(), 0) for _ in range(2)); a[0] = 65; a[8999] = 67; b[1] = 66; a.flush(); b.flush(); d = open('/tmp/f').read(); [d[:3], d[-2:], len(d)] == ['ABx', 'xC', 9000]",
        "import mmap\nf = open('/tmp/a', 'w+b'); f.write(b'a' * 100); f.flush(); m = mmap.mmap(f.fileno(), 0); f.truncate(10); m[50] = 1; m[5] = 66; m.flush(); open('/tmp/a', 'rb').read() == b'aaaaaBaaaa'",
        "import mmap\nf = open('/tmp/a', 'a+b'); f.truncate(0); f.write(b'aaaa'); f.flush(); m = mmap.mmap(f.fileno(), 0); m[0] = 88; m.flush(); open('/tmp/a').read() == 'Xaaa'",
        "import mmap\nopen('/tmp/a', 'wb').write(b'aaaa'); f = open('/tmp/a', 'r+b'); m = mmap.mmap(f.fileno(), 0); v = memoryview(m)\ntry: m.close()\nexcept BufferError: found = True\nv.release(); m.close(); found",
        "import mmap\nopen('/tmp/a', 'wb').write(b'aaaa'); f = open('/tmp/a', 'rb')\ntry: mmap.mmap(f.fileno(), 0)\nexcept PermissionError: found = True\nfound",
        "import mmap, re; m = mmap.mmap(-1, 8); m[:] = b'ab12cd34'; re.findall(rb'\\d+', m) == [b'12', b'34']",
        "import mmap\nopen('/tmp/f', 'wb').write(b'abc')\nf = open('/tmp/f', 'r+b'); m = mmap.mmap(f.fileno(), 3); m.resize(5); m[3:] = b'de'; m.close(); open('/tmp/f', 'rb').read() == b'abcde'",
    ]);
}

//! Escape, in Python.

use super::*;

#[test]
fn esc_01_the_object_graph_and_hand_made_code_stay_inside() {
    case(&[PYTHON], || {
        let outcomes = Attack::new(PYTHON).wall(3_000).ends(&CONTAINED).run(&[
            "[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == 'FileIO'][0]('/etc/passwd').read()",
            "import gc; [o for o in gc.get_objects() if callable(o)][:10] and 1",
            "def f(): pass\nf.__code__ = f.__code__.replace(co_code=b'\\xff' * 64)\nf()",
            "def f(): pass\nf.__code__ = f.__code__.replace(co_code=bytes(range(256)), co_stacksize=0)\nf()",
            "def f(): pass\nf.__code__ = f.__code__.replace(co_consts=(), co_names=(), co_code=b'\\x64\\xff' * 10)\nf()",
            "import marshal; exec(marshal.loads(b'\\xe3' + bytes(200)))",
            "import types; types.CodeType(0, 0, 0, 0, 0, 0, b'', (), (), (), '', '', '', 1, b'', b'')",
            "import sys; sys._getframe().f_globals['__builtins__'].clear(); 1",
            "import builtins; vars(builtins).clear(); 1",
            "import sys; [sys.modules.pop(n) for n in list(sys.modules)]; import os; os.listdir('/')",
            "import _dormouse_host\nfor n in dir(_dormouse_host):\n try: getattr(_dormouse_host, n)(*[b'x'] * 3)\n except BaseException: pass",
            "import _dormouse\nfor m in list(vars(_dormouse).values()):\n try: vars(m).clear()\n except TypeError: pass\n1",
            "import sys\nfor n, m in list(sys.modules.items()):\n if n.startswith('_dormouse'): vars(m).clear()\n1",
            "import sys\nfor n, m in list(sys.modules.items()):\n if n.startswith('_dormouse'):\n  for k in list(vars(m)): setattr(m, k, lambda *a, **o: '{}')\n1",
        ]);
        for outcome in &outcomes {
            assert!(!answer(outcome).to_string().contains("root:"), "a file of the host was read");
        }
    });
}

#[test]
fn esc_02_native_doors_are_missing_and_say_so() {
    case(&[PYTHON], || {
        for module in ["_interpreters", "_posixsubprocess", "_posixshmem", "_multiprocessing"] {
            let outcome = sandbox::eval(PYTHON, &format!("import {module}"));
            let exception = exception(&outcome);
            assert_eq!(exception.class, "ModuleNotFoundError", "{module}");
            assert!(exception.message.contains("not available in this sandbox"), "{}", exception.message);
        }
        // What imports because programs expect it leads nowhere.
        for (code, class) in [
            ("import ctypes; ctypes.CDLL('libc.so.6')", "OSError"),
            ("import ctypes; ctypes.CDLL('/usr/lib/x86_64-linux-gnu/libc.so.6')", "OSError"),
            ("import ctypes; ctypes.CDLL(None).system", "AttributeError"),
            ("import ctypes; ctypes.pythonapi.PyRun_SimpleString", "AttributeError"),
            ("import _ctypes; _ctypes.dlopen('libc.so.6', 2)", "OSError"),
            ("import fcntl; fcntl.ioctl(0, 0x5413)", "OSError"),
            ("import termios; termios.tcgetattr(0)", "termios.error"),
            ("import pty; pty.spawn('sh')", "OSError"),
            ("import mmap; mmap.mmap(-1, 1 << 30)", "MemoryError"),
            ("import socket; socket.create_connection(('127.0.0.1', 443))", "PermissionError"),
        ] {
            assert_eq!(exception(&sandbox::eval(PYTHON, code)).class, class, "{code}");
        }
        for module in ["wasi", "cffi", "js", "pyodide", "_xxsubinterpreters"] {
            assert_ends(&sandbox::eval(PYTHON, &format!("import {module}")), &["raised ModuleNotFoundError"]);
        }
    });
}

#[test]
fn esc_03_starting_a_process_is_a_clear_error() {
    case(&[PYTHON], || {
        for code in [
            "import os; os.system('id')",
            "import os; os.popen('id').read()",
            "import subprocess; subprocess.run(['id'])",
            "import subprocess; subprocess.check_output('id', shell=True)",
            "import multiprocessing; multiprocessing.Process(target=print).start()",
            "from concurrent.futures import ProcessPoolExecutor; ProcessPoolExecutor()",
            "import asyncio; asyncio.run(asyncio.create_subprocess_exec('id'))",
        ] {
            let outcome = sandbox::eval(PYTHON, code);
            let exception = exception(&outcome);
            assert_eq!(exception.class, "OSError", "{code}");
            assert!(
                exception.message.contains("no processes in this sandbox"),
                "{code}: {}",
                exception.message
            );
        }
        for name in ["fork", "execv", "posix_spawn", "spawnv", "setuid", "chroot", "forkpty"] {
            let code = format!("import os; os.{name}");
            assert_ends(&sandbox::eval(PYTHON, &code), &["raised AttributeError"]);
        }
        // There is no other process.
        assert_ends(&sandbox::eval(PYTHON, "import os; os.kill(2, 9)"), &["raised ProcessLookupError"]);
        let thread =
            sandbox::eval(PYTHON, "import threading; threading.Thread(target=print, daemon=True).start()");
        assert!(
            exception(&thread).message.contains("no threads in this sandbox"),
            "{}",
            exception(&thread).message
        );
    });
}

#[test]
fn esc_04_source_and_data_bombs_are_errors_or_limits() {
    case(&[PYTHON], || {
        let ends = ["raised", "limit_time", "limit_memory", "limit_stack"];
        Attack::new(PYTHON).wall(4_000).ends(&ends).run(&[
            &format!("{}1{}", "(".repeat(1_000_000), ")".repeat(1_000_000)),
            &format!("x = {}", "-".repeat(1_000_000) + "1"),
            &format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)),
            &format!("1{}", "+1".repeat(1_000_000)),
            "eval('(' * 1_000_000)",
            "eval('lambda: ' * 100_000 + '1')",
            "compile('f\"' + '{f\"' * 1000, '', 'eval')",
            "import ast; ast.literal_eval('[' * 100_000 + ']' * 100_000)",
            "import pickle; pickle.loads(b'\\x80\\x04' + b'(' * 10_000_000)",
            "import pickle; pickle.loads(b'\\x80\\x04\\x8d' + b'\\xff' * 8)",
            "import pickle\nd = pickle.loads(b'\\x80\\x04' + b']' * 300_000 + b'a' * 299_999 + b'.')\nrepr(d)",
            "import zlib; b = zlib.compress(bytes(1 << 26)); zlib.decompress(b * 8) and [zlib.decompress(b) for _ in range(9)]",
            "import plistlib; plistlib.loads(b'<plist>' + b'<array>' * 100_000)",
        ]);
        let laughs: String =
            (1..30).map(|n| format!("<!ENTITY a{n} '{}'>", format!("&a{};", n - 1).repeat(10))).collect();
        let xml = format!(
            "import xml.etree.ElementTree as e; e.fromstring(\"\"\"<!DOCTYPE x [<!ENTITY a0 'ha'>{laughs}]><x>&a29;</x>\"\"\")"
        );
        Attack::new(PYTHON).wall(4_000).ends(&ends).run(&[&xml]);
    });
}

#[test]
fn esc_05_a_patched_interpreter_is_gone_with_its_run() {
    case(&[PYTHON], || {
        Attack::new(PYTHON).wall(3_000).ends(&CONTAINED).run(&[
            "import builtins; builtins.print = builtins.len = lambda *a: 666; builtins.canary = 1",
            "import sys, json; json.dumps = lambda *a: '666'; sys.modules['math'] = json; sys.path.insert(0, '/tmp')",
            "import sys; sys.settrace(lambda *a: 1 / 0); 1",
            "import sys; sys.setprofile(lambda *a: exit(0)); 1",
            "import faulthandler; faulthandler.enable(); 1",
            "import faulthandler; faulthandler._sigsegv()",
            "import gc; gc.disable(); import random; random.seed(1); import os; os.environ['PATH'] = 'x'; os.chdir('/tmp')",
        ]);
        let aborts =
            "import signal; signal.signal(signal.SIGINT, lambda *a: 0); signal.raise_signal(signal.SIGABRT)";
        assert_ends(&sandbox::eval(PYTHON, aborts), &["exited 134"]);
        let clean = "import sys, json, os, math, gc\n\
            [len([1, 2]), json.dumps(1), hasattr(__builtins__, 'canary'), '/tmp' in sys.path, dict(os.environ) == {'HOME': '/tmp'}, os.getcwd(), \
            math.pi > 3, sys.gettrace() is None, gc.isenabled()]";
        let found = value(&sandbox::eval(PYTHON, clean));
        let flat: Vec<_> =
            found["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(json!(flat), json!([2, "1", false, false, true, "/tmp", true, true, true]));
    });
}

#[test]
fn esc_06_configuration_tricks_have_no_effect_on_the_wall() {
    case(&[PYTHON], || {
        let canary = canary::path();
        let mut request = sandbox::request(
            PYTHON,
            format!("import os\nos.environ['LD_PRELOAD'] = '/tmp/x.so'\nopen({:?}).read()", canary.display()),
        );
        request.context.grants.environment = [
            ("LD_PRELOAD", "/tmp/x.so"),
            ("PYTHONSTARTUP", "/etc/passwd"),
            ("PYTHONPATH", "/usr/lib/python3"),
            ("PYTHONHOME", "/"),
            ("PYTHONINSPECT", "1"),
            ("WASMTIME_BACKTRACE_DETAILS", "1"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
        let outcome = sandbox::run_request(request);
        assert_ends(&outcome, &["raised FileNotFoundError", "raised PermissionError"]);
    });
}

#[test]
fn esc_08_only_what_was_granted_is_seen_of_the_surroundings() {
    case(&[PYTHON], || {
        let code = "import os, sys, socket, platform, getpass, locale, time\n\
            [dict(os.environ), sys.argv, os.getcwd(), socket.gethostname(), platform.node(), os.getpid(), \
            sys.executable, sys.prefix, __file__ if '__file__' in globals() else None, time.tzname[0], os.path.expanduser('~')]";
        let outcome = sandbox::eval(PYTHON, code);
        nothing_of_the_host(&answer(&outcome).to_string());
        // The home is the sandbox's own; no variable was granted.
        assert_eq!(
            value(&outcome)["value"][0]["value"],
            json!({"HOME": {"type": "string", "value": "/tmp"}})
        );
        let granted = sandbox::snippet(PYTHON, "import os; os.environ.pop('HOME'); dict(os.environ)")
            .env("ONLY", "this");
        let value = value(&sandbox::run(granted));
        assert_eq!(value["value"], json!({"ONLY": {"type": "string", "value": "this"}}));
    });
}

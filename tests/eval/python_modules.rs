//! Python: system calls, digests, compression and databases that packages take for granted, where WASI or the build lacks them.

use std::fs;
use std::time::Duration;

use dormouse::Access;
use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::lasting::{close, named, open, shown};
use dormouse_tests::{PYTHON, sandbox};
use serde_json::json;

/// Each line is true.
fn all_true(lines: &[&str]) {
    for code in lines {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], json!(true), "{code}");
    }
}

#[test]
fn numbers_of_errors_are_those_of_linux() {
    all_true(&[
        "import errno; [errno.EPERM, errno.ENOENT, errno.EINTR, errno.EAGAIN, errno.EACCES, errno.EEXIST, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ETIMEDOUT] == [1, 2, 4, 11, 13, 17, 95, 95, 110] and errno.errorcode[2] == 'ENOENT' and not hasattr(errno, 'ENOTCAPABLE')",
        "def number(f):\n    try: f()\n    except OSError as e: return e.errno, type(e).__name__\nimport os; [number(lambda: open('/nothing')), number(lambda: os.mkdir('/tmp')), number(lambda: open('/tmp')), number(lambda: os.write(99, b'')), number(lambda: open('/proc/x', 'w'))] == [(2, 'FileNotFoundError'), (17, 'FileExistsError'), (21, 'IsADirectoryError'), (9, 'OSError'), (1, 'PermissionError')]",
        "import os; [os.strerror(n) for n in (2, 13, 999)] == ['No such file or directory', 'Permission denied', 'Unknown error 999']",
        "[type(OSError(n, 'x')).__name__ for n in (1, 2, 3, 4, 10, 11, 13, 17, 20, 21, 32, 104, 110, 111)] == ['PermissionError', 'FileNotFoundError', 'ProcessLookupError', 'InterruptedError', 'ChildProcessError', 'BlockingIOError', 'PermissionError', 'FileExistsError', 'NotADirectoryError', 'IsADirectoryError', 'BrokenPipeError', 'ConnectionResetError', 'TimeoutError', 'ConnectionRefusedError']",
        "import os; r, w = os.pipe(); os.set_blocking(r, False)\ntry: os.read(r, 1)\nexcept BlockingIOError as e: n = e.errno\nn == 11",
    ]);
}

#[test]
fn devices_that_programs_name_can_be_opened() {
    all_true(&[
        "a, b = (open('/dev/urandom', 'rb').read(1000) for _ in 'ab'); len(a) == 1000 and a != b and len(set(a)) > 100",
        "open('/dev/zero', 'rb').read(3) == bytes(3) and open('/dev/zero', 'wb').write(b'abc') == 3 and open('/dev/stdin').read() == ''",
        "import os, stat; all(stat.S_ISCHR(os.stat(f'/dev/{n}').st_mode) for n in ('null', 'zero', 'random', 'urandom', 'stdin', 'stdout', 'stderr')) and os.stat('/dev/zero').st_rdev != os.stat('/dev/null').st_rdev",
        "try: open('/dev/zero', 'x')\nexcept FileExistsError: found = True\nfound and not __import__('os').path.exists('/dev/sda')",
    ]);
    let outcome = sandbox::eval(
        PYTHON,
        "with open('/dev/stdout', 'w') as f: f.write('out')\nwith open('/dev/stderr', 'w') as f: f.write('err')",
    );
    assert_eq!((outcome.stdout.text.as_str(), outcome.stderr.text.as_str()), ("out", "err"));
}

#[test]
fn access_says_what_opening_would() {
    all_true(&[
        "import os; f = '/tmp/f'; open(f, 'w').close(); [os.access(f, m) for m in (os.F_OK, os.R_OK, os.W_OK, os.X_OK, os.R_OK | os.W_OK, os.R_OK | os.X_OK)] == [True, True, True, False, True, False]",
        "import os; [os.access('/tmp', os.R_OK | os.W_OK | os.X_OK), os.listdir('/tmp')] == [True, []]",
        "import os; [os.access('/', m) for m in (os.R_OK, os.X_OK, os.W_OK)] == [True, True, False]",
        "import os; [os.access(n, os.F_OK) for n in ('/tmp/none', '/tmp/none/none', b'/tmp', '')] == [False, False, True, False]",
        "import os, pathlib; os.symlink('none', '/tmp/l'); [os.access('/tmp/l', os.F_OK), os.access('/tmp/l', os.F_OK, follow_symlinks=False), os.access(pathlib.Path('/tmp'), os.W_OK)] == [False, True, True]",
        "import os; open('/tmp/f', 'w').close(); d = os.open('/tmp', os.O_RDONLY); [os.access('f', os.W_OK, dir_fd=d), os.access('g', os.F_OK, dir_fd=d), os.access in os.supports_dir_fd] == [True, False, True]",
        "import os\ntry: os.access('a\\0b', os.F_OK)\nexcept ValueError: found = True\ntry: os.access(3, os.F_OK)\nexcept TypeError: found = [found]\nfound == [True]",
        "import os, shutil; open('/tmp/tool', 'w').close(); shutil.which('tool', path='/tmp') is None",
    ]);
}

#[test]
fn clients_can_name_the_options_of_sockets() {
    all_true(&[
        "import socket; [socket.SO_KEEPALIVE, socket.SO_REUSEADDR, socket.SOL_SOCKET] == [9, 2, socket.SOL_SOCKET]",
        "import socket\ntry: socket.create_connection(('example.com', 80))\nexcept OSError as error: found = str(error)\n'no network' in found",
    ]);
}

#[test]
fn access_knows_a_mount_that_is_only_read() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in.txt"), "given").unwrap();
    let code = "import os; [os.access(n, m) for n in ('/data', '/data/in.txt') for m in (os.R_OK, os.W_OK)]";
    for (access, may) in [(Access::ReadOnly, false), (Access::ReadWrite, true)] {
        let found =
            value(&sandbox::run(sandbox::snippet(PYTHON, code).mount(folder.path(), "/data", access)));
        let told: Vec<_> =
            found["value"].as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
        assert_eq!(told, [json!(true), json!(may), json!(true), json!(may)]);
        // Asking changes nothing.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn the_null_device_takes_everything_and_gives_nothing() {
    all_true(&[
        "import os\nwith open(os.devnull, 'w') as f: n = f.write('x' * 100000); print('y', file=f)\n[n, f.name, open('/dev/null').read(), open('/dev/null', 'rb').read(5)] == [100000, '/dev/null', '', b'']",
        // No quota counts what is written to it.
        "with open('/dev/null', 'wb') as f:\n  for _ in range(100): f.write(bytes(1 << 20))\nimport os; [f.closed, os.listdir('/tmp')] == [True, []]",
        "import io, os, pathlib; p = pathlib.Path('/dev/null'); [io.open('/dev/null', 'a').write('x'), p.write_text('abc'), p.read_bytes(), p.exists(), p.is_file(), p.is_char_device(), os.path.exists(os.devnull)] == [1, 3, b'', True, False, True, True]",
        "import os; d = os.open(os.devnull, os.O_RDWR); s = os.fstat(d); found = [os.write(d, b'abc'), os.read(d, 5), os.lseek(d, 9, 0), s.st_size, os.path.samestat(s, os.stat(os.devnull)), os.isatty(d)]; os.close(d); found == [3, b'', 0, 0, True, False]",
        "import os, stat; [oct(os.stat('/dev/null').st_mode), os.access('/dev/null', os.W_OK), os.access('/dev/null', os.X_OK)] == ['0o20666', True, False]",
        // The way of a file that was opened for one thing alone, and its number, which the next file gets.
        "import os\nd = os.open('/dev/null', os.O_RDONLY)\ntry: os.write(d, b'x')\nexcept OSError: refused = True\nos.close(d); f = open('/tmp/f', 'w+b'); f.write(b'abc'); f.seek(0); [refused, f.fileno() == d, f.read()] == [True, True, b'abc']",
        "import contextlib, os\nwith open(os.devnull, 'w') as f, contextlib.redirect_stdout(f): print('lost')\nos.path.samefile('/dev/null', os.devnull)",
        "import shutil; open('/tmp/f', 'w').write('abc'); shutil.copyfile('/tmp/f', '/dev/null') == '/dev/null'",
        "import subprocess, os; [subprocess.DEVNULL, os.devnull] == [-3, '/dev/null']",
    ]);
    assert_ends(&sandbox::eval(PYTHON, "import os; os.remove(os.devnull)"), &["raised FileNotFoundError"]);
}

#[test]
fn a_pipe_gives_what_was_written_to_it() {
    all_true(&[
        "import os; r, w = os.pipe(); os.write(w, b'abc'); found = [os.read(r, 2), os.read(r, 9)]; os.write(w, b'd'); found.append(os.read(r, 9)); os.close(w); found.append(os.read(r, 9)); [found, os.listdir('/tmp')] == [[b'ab', b'c', b'd', b''], []]",
        "import os, stat; r, w = os.pipe(); os.set_blocking(r, False); os.set_blocking(w, False); found = [stat.S_ISFIFO(os.fstat(r).st_mode), os.get_blocking(r), os.write(w, bytes(70000))]\nfor call in (lambda: os.write(w, b'x'), lambda: [os.read(r, 70000), os.read(r, 1)], lambda: os.lseek(r, 0, 0), lambda: [os.close(r), os.write(w, b'x')]):\n  try: call()\n  except OSError as e: found.append(type(e).__name__)\nfound == [True, False, 65536, 'BlockingIOError', 'BlockingIOError', 'OSError', 'BrokenPipeError']",
        // Nobody else could write meanwhile.
        "import os\nr, w = os.pipe()\ntry: os.read(r, 1)\nexcept OSError as e: found = str(e)\n'deadlock' in found",
        "import asyncio, os\nasync def main():\n  r, w = os.pipe(); loop = asyncio.get_running_loop(); got = loop.create_future(); loop.add_reader(r, lambda: got.set_result(os.read(r, 9))); loop.call_later(0.01, os.write, w, b'abc')\n  return [await got, loop.remove_reader(r), loop.remove_reader(r)]\nasyncio.run(main()) == [b'abc', True, False]",
        "import asyncio, os\nasync def main(): asyncio.get_running_loop().add_reader(os.pipe()[0], print); await asyncio.Event().wait()\ntry: asyncio.run(main())\nexcept RuntimeError as e: found = 'never happen' in str(e)\nfound",
        "import os; r, w = os.pipe()\nwith os.fdopen(w, 'w') as out: out.write('one\\ntwo\\n')\nwith os.fdopen(r) as source: lines = source.readlines()\nlines == ['one\\n', 'two\\n']",
    ]);
}

#[test]
fn there_is_room_for_what_a_run_may_keep_and_no_terminal() {
    all_true(&[
        "import os; s = os.statvfs('/tmp'); [s.f_frsize * s.f_blocks, s.f_bavail == s.f_bfree == s.f_blocks - 1, s.f_namemax, os.fstatvfs(os.open('/tmp', os.O_RDONLY)) == s] == [64 << 20, True, 255, True]",
        "import shutil; u = shutil.disk_usage('/tmp'); [u.total, u.used, u.free] == [64 << 20, 4096, (64 << 20) - 4096]",
        "import os\ntry: os.statvfs('/tmp/none')\nexcept FileNotFoundError: found = True\nfound",
        "import os, shutil\ntry: os.get_terminal_size()\nexcept OSError as e: found = e.errno == __import__('errno').ENOTTY\n[found, tuple(shutil.get_terminal_size())] == [True, (80, 24)]",
        "import time; a = time.thread_time(); b = time.thread_time_ns(); [0 <= a < b / 1e9 + 1, time.get_clock_info('thread_time').monotonic, time.get_clock_info('time').adjustable] == [True, True, True]",
    ]);
}

#[test]
fn signals_reach_the_program_itself() {
    all_true(&[
        "import os, signal; seen = []; signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number)); os.kill(os.getpid(), signal.SIGUSR1); signal.raise_signal(signal.SIGUSR1); os.killpg(os.getpgrp(), signal.SIGUSR1); seen == [signal.SIGUSR1] * 3",
        "import os, signal\ntry: os.kill(0, signal.SIGINT)\nexcept KeyboardInterrupt: found = signal.getsignal(signal.SIGINT) is signal.default_int_handler\nfound",
        "import asyncio, os, signal\nasync def main():\n  event, loop = asyncio.Event(), asyncio.get_running_loop(); loop.add_signal_handler(signal.SIGUSR1, event.set); os.kill(os.getpid(), signal.SIGUSR1); await event.wait()\n  return [loop.remove_signal_handler(signal.SIGUSR1), loop.remove_signal_handler(signal.SIGUSR1), signal.getsignal(signal.SIGUSR1) is signal.SIG_DFL]\nasyncio.run(main()) == [True, False, True]",
        "import os, signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); os.kill(os.getpid(), signal.SIGTERM); os.kill(os.getpid(), signal.SIGCHLD); os.kill(os.getpid(), 0) is None",
        "import os\nfound = []\nfor pid, number in ((99999, 0), (99999, 15), (1, 0), (os.getpid(), 999), (os.getpid(), -1)):\n  try: os.kill(pid, number)\n  except OSError as e: found.append(type(e).__name__)\nfound == ['ProcessLookupError', 'ProcessLookupError', 'PermissionError', 'OSError', 'OSError']",
    ]);
    // What nobody handles ends the program, as a shell would tell it.
    for (code, status) in [
        ("import os, signal; os.kill(os.getpid(), signal.SIGTERM)", "exited 143"),
        (
            "import signal; signal.signal(signal.SIGTERM, print); signal.raise_signal(signal.SIGKILL)",
            "exited 137",
        ),
    ] {
        assert_ends(&sandbox::eval(PYTHON, code), &[status]);
    }
    assert_eq!(sandbox::value_of(PYTHON, "1 + 1")["value"], json!(2));
}

/// Test vectors of the standards: the authors' page of RIPEMD-160, FIPS 180-4, GB/T 32905, RFC 6070, RFC 7914.
#[test]
fn hashlib_has_the_digests_that_openssl_gives_it_elsewhere() {
    all_true(&[
        "import hashlib; [hashlib.new('ripemd160', m).hexdigest() for m in (b'', b'abc', b'a' * 1000000)] == ['9c1185a5c5e9fc54612808977ee8f548b2258d31', '8eb208f7e05d987a9b044a8e98c6b087f15a0bfc', '52783243c1697bdbe16d37f97f68f08325dc1528']",
        "import hashlib; [hashlib.new('sha512_256', b'abc').hexdigest(), hashlib.new('sha512_224', b'abc').hexdigest()] == ['53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23', '4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa']",
        "import hashlib; [hashlib.new('sm3', m).hexdigest() for m in (b'abc', b'abcd' * 16)] == ['66c7f0f462eeedd9d1f2d46bdc10e4e24167c4875cf2f7a2297da02b8f4ba8e0', 'debe9ff92275b8a138604889c18e5a4d6fdb70e5387e5765293dcba39c0c5732']",
        "import hashlib; h = hashlib.new('sm3', b'a', usedforsecurity=False); g = h.copy(); h.update(b'bc'); [h.hexdigest() == hashlib.new('sm3', b'abc').hexdigest(), g.digest() == hashlib.new('SM3', b'a').digest(), h.name, h.block_size, h.digest_size, len(h.digest())] == [True, True, 'sm3', 64, 32, 32]",
        "import hashlib; [hashlib.new(n).name for n in ('SHA256', 'SHA-256', 'sha2-256', 'SHA512_256', 'SHA512-256', 'SHA2-512/256', 'RIPEMD160', 'rmd160', 'SHA3-256', 'shake128', 'BLAKE2b512', 'MD5', 'sha-1')] == ['sha256', 'sha256', 'sha256', 'sha512_256', 'sha512_256', 'sha512_256', 'ripemd160', 'ripemd160', 'sha3_256', 'shake_128', 'blake2b', 'md5', 'sha1']",
        "import hashlib; [{'ripemd160', 'sm3', 'sha512_256', 'sha512_224'} <= hashlib.algorithms_available, all(hashlib.new(n) for n in hashlib.algorithms_available), 'sm3' in hashlib.algorithms_guaranteed] == [True, True, False]",
        "import hashlib\nfound = []\nfor bad in (lambda: hashlib.new('md4'), lambda: hashlib.new(1), lambda: hashlib.new('sm3', 'text'), lambda: hashlib.new('sm3').update(3)):\n  try: bad()\n  except (ValueError, TypeError) as e: found.append(type(e).__name__)\nfound == ['ValueError', 'TypeError', 'TypeError', 'TypeError']",
        "import hashlib, io; open('/tmp/f', 'wb').write(b'abc')\nwith open('/tmp/f', 'rb') as f: d = hashlib.file_digest(f, 'SHA-256')\n[d.hexdigest()[:8], hashlib.file_digest(io.BytesIO(b'abc'), 'sm3').hexdigest()[:8]] == ['ba7816bf', '66c7f0f4']",
        "import hmac; [hmac.new(b'key', b'The quick brown fox jumps over the lazy dog', n).hexdigest() for n in ('SHA256', 'md5')] == ['f7bc83f430538424b13298e6aa6fb143ef4d59a14946175997479dbc2d1a3cd8', '80070713463e7749b90c2dc24911e275']",
        "import hmac; [hmac.new(b'k', b'm', n).digest() == hmac.digest(b'k', b'm', n) for n in ('ripemd160', 'sm3', 'sha512_256')] == [True] * 3",
        "import hmac; hmac.new(b'\\x0b' * 20, b'Hi There', 'ripemd160').hexdigest() == '24cb4bd67d20fc1a5d2ed7732dcc39377f0a5668'",
    ]);
}

#[test]
fn keys_are_derived_from_passwords() {
    all_true(&[
        "import hashlib; [hashlib.pbkdf2_hmac('sha1', b'password', b'salt', n, 20).hex() for n in (1, 2, 4096)] == ['0c60c80f961f0e71f3a9b524af6012062fe037a6', 'ea6c014dc72d6f8ccd1ed92ace1d41f0d8de8957', '4b007901b765489abead49d926f721d065a429c1']",
        "import hashlib; hashlib.pbkdf2_hmac('sha1', b'passwordPASSWORDpassword', b'saltSALTsaltSALTsaltSALTsaltSALTsalt', 4096, 25).hex() == '3d2eec4fe41c849b80c8d83662c0e44a8b291a964cf2f07038'",
        "import hashlib; [hashlib.pbkdf2_hmac('SHA256', b'passwd', b'salt', 1, 64).hex(), hashlib.pbkdf2_hmac('sha256', b'Password', b'NaCl', 80000, 64).hex()] == ['55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc49ca9cccf179b645991664b39d77ef317c71b845b1e30bd509112041d3a19783', '4ddcd8f60b98be21830cee5ef22701f9641a4418d04c0414aeff08876b34ab56a1d425a1225833549adb841b51c9b3176a272bdebba1d078478f62b397f33c8d']",
        "import hashlib; [hashlib.pbkdf2_hmac('sha3_256', b'p', b's', 3, 40).hex(), hashlib.pbkdf2_hmac('sha512', b'p', b's', 3).hex()[:20]] == ['4f24af1949a4edb7253a1913084c2688ec45787f06afb2ed9ba5d87d246dc73940ff54150e7eaab4', 'f03104b7e5cd21965935']",
        "import hashlib; [hashlib.scrypt(p, salt=s, n=n, r=r, p=k).hex()[:32] for p, s, n, r, k in ((b'', b'', 16, 1, 1), (b'password', b'NaCl', 1024, 8, 16), (b'pleaseletmein', b'SodiumChloride', 16384, 8, 1))] == ['77d6576238657b203b19ca42c18a0497', 'fdbabe1c9d3472007856e7190d01e9fe', '7023bdcb3afd7348461c06cd81fd38eb']",
        "import hashlib\nfound = []\nfor options in (dict(n=3, r=1, p=1), dict(n=1 << 20, r=8, p=1), dict(n=2, r=0, p=1), dict(n=2, r=1, p=1 << 30), dict(n=(1 << 32) + 2, r=1, p=1), dict(n=2, r=1, p=1, dklen=0), dict(n=2, r=1, p=1, maxmem=-1)):\n  try: hashlib.scrypt(b'', salt=b'', **options)\n  except ValueError: found.append(True)\nlen(found) == 7",
        "import hashlib\nfound = []\nfor arguments in (('sha1', b'', b'', 0), ('sha1', b'', b'', 1, 0), ('none', b'', b'', 1), ('sha1', 'text', b'', 1), (1, b'', b'', 1), ('sha1', 5, b'', 1)):\n  try: hashlib.pbkdf2_hmac(*arguments)\n  except (ValueError, TypeError) as e: found.append(type(e).__name__[0])\n''.join(found) == 'VVVTTT'",
    ]);
}

/// What a key may take is bounded by the run's memory and time.
#[test]
fn lng_03_keys_that_cost_too_much_end_in_an_error() {
    let memory = "import hashlib; hashlib.scrypt(b'', salt=b'', n=1 << 20, r=8, p=1, maxmem=(1 << 31) - 1)";
    assert_ends(&sandbox::eval(PYTHON, memory), &["raised MemoryError"]);
    let length = "import hashlib; hashlib.pbkdf2_hmac('sha1', b'', b'', 1, (1 << 31) - 1)";
    assert_ends(&sandbox::eval(PYTHON, length), &["raised OverflowError"]);
    let mut request =
        sandbox::request(PYTHON, "import hashlib; hashlib.pbkdf2_hmac('sha512', b'', b'', (1 << 31) - 1)");
    request.context.limits.wall = Duration::from_secs(1);
    assert_ends(&sandbox::run_request(request), &["limit_time"]);
}

#[test]
fn zstandard_compresses_and_reads_what_others_compressed() {
    all_true(&[
        "from compression import zstd; b = b'abc' * 10000; c = zstd.compress(b); [len(c) < 100, zstd.decompress(c) == b, c[:4].hex()] == [True, True, '28b52ffd']",
        "from compression import zstd; b = bytes(range(256)) * 64; [zstd.decompress(zstd.compress(b, level=n)) == b for n in (-5, 1, 3, 19)] == [True] * 4",
        // Of the program `zstd`.
        "from compression import zstd; zstd.decompress(bytes.fromhex('28b52ffd0468550000186162630100d2d40d01e599dbf8')) == b'abcabc' * 20",
        "from compression import zstd\nwith zstd.open('/tmp/f.zst', 'wt') as f: f.write('one\\ntwo\\n')\nwith zstd.open('/tmp/f.zst', 'rt') as f: lines = f.readlines()\nlines == ['one\\n', 'two\\n']",
        "from compression import zstd; c = zstd.ZstdCompressor(level=3); parts = c.compress(b'ab') + c.compress(b'cd', mode=c.FLUSH_BLOCK) + c.flush(); d = zstd.ZstdDecompressor(); [d.decompress(parts + b'rest'), d.eof, d.unused_data] == [b'abcd', True, b'rest']",
        "from compression import zstd; samples = [(f'user {i} said hello to user {i * 7 % 100} about topic {i % 5}; ' * 3).encode() for i in range(400)]; d = zstd.train_dict(samples, 4096); c = zstd.compress(samples[3], zstd_dict=d); [zstd.decompress(c, zstd_dict=d) == samples[3], len(c) < len(zstd.compress(samples[3]))] == [True, True]",
        "import shutil, tarfile, zipfile, io; open('/tmp/a', 'w').write('x')\nwith tarfile.open('/tmp/t.tar.zst', 'w:zst') as t: t.add('/tmp/a', 'a')\nz = zipfile.ZipFile(io.BytesIO(), 'w', zipfile.ZIP_ZSTANDARD); z.writestr('b', 'y'); [tarfile.open('/tmp/t.tar.zst').getnames(), z.read('b'), 'zstdtar' in dict((f[0], 1) for f in shutil.get_archive_formats())] == [['a'], b'y', True]",
        "from compression import zstd; [zstd.zstd_version_info >= (1, 5), zstd.CompressionParameter.nb_workers.bounds()] == [True, (0, 0)]",
    ]);
}

/// A frame that wants 2 GiB, one that does not end, one that is garbage, and one that grows to more than there is room for.
#[test]
fn lng_04_hostile_zstandard_ends_in_an_error() {
    for (code, ends) in [
        // The window's descriptor is 0xA8: 2 GiB; then 1 GiB, which the caller allows and the memory does not.
        (
            "from compression import zstd; zstd.decompress(bytes.fromhex('28b52ffd00a8010000'))",
            &["raised compression.zstd.ZstdError"][..],
        ),
        (
            "from compression import zstd; zstd.decompress(bytes.fromhex('28b52ffd00a0') + b'\\x00\\x00\\x10' + bytes(1 << 17), options={zstd.DecompressionParameter.window_log_max: 30})",
            &["raised MemoryError", "raised compression.zstd.ZstdError", "limit_memory"],
        ),
        (
            "from compression import zstd; zstd.decompress(zstd.compress(b'abc')[:-1])",
            &["raised compression.zstd.ZstdError"],
        ),
        ("from compression import zstd; zstd.decompress(b'garbage')", &["raised compression.zstd.ZstdError"]),
        (
            "from compression import zstd; c = zstd.ZstdCompressor(); whole = b''.join([c.compress(bytes(1 << 20)) for _ in range(512)] + [c.flush()]); zstd.decompress(whole)",
            &["raised MemoryError", "limit_memory"],
        ),
        (
            "from compression import zstd; zstd.compress(b'abc', options={zstd.CompressionParameter.window_log: 30, zstd.CompressionParameter.hash_log: 30})",
            &["raised MemoryError", "raised compression.zstd.ZstdError", "returned"],
        ),
    ] {
        assert_ends(&sandbox::eval(PYTHON, code), ends);
    }
    assert_eq!(sandbox::value_of(PYTHON, "1 + 1")["value"], json!(2));
}

#[test]
fn uuids_of_time_and_node_are_made_at_once() {
    all_true(&[
        "import uuid; a, b = uuid.uuid1(), uuid.uuid1(); [a.version, a.variant, a != b, a.time < b.time, a.node == b.node == uuid.getnode(), a.node >> 40 & 1] == [1, uuid.RFC_4122, True, True, True, 1]",
        "import uuid, datetime; (datetime.datetime(1582, 10, 15) + datetime.timedelta(microseconds=uuid.uuid1().time // 10)).date() == datetime.datetime.now().date()",
        "import uuid; [uuid.uuid3(uuid.NAMESPACE_DNS, 'python.org').hex, uuid.uuid5(uuid.NAMESPACE_DNS, 'python.org').hex, uuid.uuid7().version, uuid.uuid6().version] == ['6fa459eaee8a3ca4894edb77e160355e', '886313e13b8a53729b900c9aee199e5d', 7, 6]",
        "import uuid; len({uuid.uuid1() for _ in range(2000)}) == 2000",
    ]);
}

#[test]
fn dbm_makes_databases_of_sqlite() {
    all_true(&[
        "import dbm\nwith dbm.open('/tmp/d', 'c') as d: d['a'] = 'b'; d[b'c'] = b'd'\nwith dbm.open('/tmp/d') as d: found = [d['a'], sorted(d.keys()), d.get('x')]\n[dbm.whichdb('/tmp/d'), found] == ['dbm.sqlite3', [b'b', [b'a', b'c'], None]]",
        "import shelve\nwith shelve.open('/tmp/s') as s: s['k'] = {'a': [1]}\nwith shelve.open('/tmp/s') as s: found = s['k']\nfound == {'a': [1]}",
    ]);
}

#[test]
fn a_home_is_there_also_without_a_sandbox() {
    all_true(&[
        "import os, pathlib; [os.environ['HOME'], os.environb[b'HOME'], os.getenv('HOME'), dict(os.environ)['HOME'], str(pathlib.Path.home()), os.path.isdir(os.path.expanduser('~'))] == ['/tmp', b'/tmp', '/tmp', '/tmp', '/tmp', True]",
        "import pathlib; f = pathlib.Path.home() / '.config' / 'tool'; f.parent.mkdir(parents=True); f.write_text('x'); f.read_text() == 'x'",
        "import os; os.environ['HOME'] = '/workspace'; [os.environ['HOME'], os.path.expanduser('~/a')] == ['/workspace', '/workspace/a']",
        "import os; del os.environ['HOME']; [os.environ.get('HOME'), os.path.expanduser('~')] == [None, '/workspace']",
        "import os; os.reload_environ(); os.environ['HOME'] == '/tmp'",
    ]);
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "home");
    assert_eq!(
        shown(&kept, PYTHON, "import os; os.environ['HOME'] + os.path.expanduser('~')"),
        "/workspace/workspace"
    );
    close(dormouse);
}

#[test]
fn commands_of_notebooks_are_told_what_to_write_instead() {
    for (code, told) in [
        ("x = 1\n%timeit x + 1", "timeit.timeit("),
        ("%%time\nsum(range(10))", "time.perf_counter()"),
        ("%pip install requests", "sandbox_install"),
        ("!pip install requests", "sandbox_install"),
        ("import os\n!ls -l", "sandbox_exec"),
        ("names = !ls", "sandbox_exec"),
        ("%matplotlib inline\nimport math", "leave it out"),
        ("print?", "help("),
    ] {
        let outcome = sandbox::eval(PYTHON, code);
        let raised = exception(&outcome);
        let hint = raised.hint.as_deref().unwrap_or_default();
        assert!(raised.class == "SyntaxError" && hint.contains(told), "{code}: {raised:?}");
    }
    let other = sandbox::eval(PYTHON, "x = (1\n!= )");
    assert_eq!(exception(&other).hint, None);
}

#[test]
fn a_program_asks_and_is_helped() {
    let asked =
        sandbox::snippet(PYTHON, "name = input('Who? '); age = int(input()); [name, age]").stdin("Ann\n42\n");
    let outcome = sandbox::run(asked);
    assert_eq!(value(&outcome)["value"][0]["value"], "Ann");
    assert_eq!(value(&outcome)["value"][1]["value"], 42);
    assert!(outcome.stdout.text.starts_with("Who? "), "{:?}", outcome.stdout);
    for (code, told) in [
        ("help(len)", "Return the number of items in a container."),
        ("def f(a, b=1):\n  'Adds.'\nhelp(f)", "f(a, b=1)\n    Adds."),
        ("help('for')", "The \"for\" statement"),
        ("help()", "Welcome to Python"),
    ] {
        let outcome = sandbox::eval(PYTHON, code);
        assert!(outcome.stdout.text.contains(told), "{code}: {outcome:?}");
    }
}

#[test]
fn ctypes_reaches_what_packages_ask_pythonapi_for() {
    all_true(&[
        "import ctypes, sys\nclass A: pass\na = A(); ctypes.pythonapi.Py_IncRef(ctypes.py_object(a)); n = sys.getrefcount(a); ctypes.pythonapi.Py_DecRef(ctypes.py_object(a)); n - sys.getrefcount(a) == 1",
        "from ctypes import *; new = pythonapi.PyCapsule_New; new.restype, new.argtypes = py_object, (c_void_p, c_char_p, c_void_p); b = create_string_buffer(b'x'); n = b'name'; c = new(addressof(b), n, None); get = pythonapi.PyCapsule_GetPointer; get.restype, get.argtypes = c_void_p, (py_object, c_char_p); [type(c).__name__, get(c, b'name') == addressof(b)] == ['PyCapsule', True]",
        "from ctypes import *; f = pythonapi.PyBytes_FromStringAndSize; f.restype, f.argtypes = py_object, (c_char_p, c_ssize_t); f(b'abcd', 2) == b'ab'",
        "import ctypes\ntry: ctypes.pythonapi.PyRun_SimpleString\nexcept AttributeError: found = True\nfound",
    ]);
}

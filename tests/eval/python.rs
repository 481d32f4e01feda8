//! Python: its library, its event loop, its time zones.

use std::collections::BTreeMap;

use dormouse_tests::ending::{assert_ends, exception, value};
use dormouse_tests::{PYTHON, sandbox};
use serde_json::{Value as Json, json};

/// Modules of the standard library that cannot be here, and the sentence that their import says.
const ABSENT: &str = include_str!("absent_modules.txt");

fn absent() -> BTreeMap<&'static str, &'static str> {
    ABSENT.lines().filter_map(|line| line.split_once(": ")).collect()
}

#[test]
fn every_module_of_the_library_imports_or_says_why_not() {
    let sweep = "import sys, importlib, io, warnings\n\
        from _dormouse import importlib_bootstrap as library\n\
        warnings.simplefilter('ignore')\n\
        sys.stdout = io.StringIO()\n\
        failed, seen = {}, 0\n\
        for name in sorted(set(sys.stdlib_module_names) | set(library._modules)):\n \
         if name.split('.')[-1] in ('antigravity', 'this', '__main__'): continue\n \
         try: importlib.import_module(name); seen += 1\n \
         except BaseException as e: failed[name] = f'{type(e).__name__}, {e}'\n\
        [seen, failed]";
    let mut request = sandbox::request(PYTHON, sweep);
    request.context.limits.wall = std::time::Duration::from_secs(60);
    request.context.limits.memory = 512 << 20;
    request.context.bounds.items = 1_000;
    let found = value(&sandbox::run_request(request));
    assert!(found["value"][0]["value"].as_u64() > Some(400), "too few modules were tried: {found}");
    let found: BTreeMap<String, String> = found["value"][1]["value"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, why)| (name.clone(), why["value"].as_str().unwrap_or_default().to_owned()))
        .collect();
    let absent = absent();
    let mut wrong = Vec::new();
    for (name, why) in &found {
        match absent.get(name.as_str()) {
            None => wrong.push(format!("not listed: {name}: {why}")),
            Some(wanted) if wanted != why => wrong.push(format!("says something else: {name}: {why}")),
            Some(_) => {}
        }
    }
    wrong.extend(
        absent
            .keys()
            .filter(|name| !found.contains_key(**name))
            .map(|name| format!("listed, but imports: {name}")),
    );
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_cannot_be_here_is_said_in_words_for_people() {
    // Below the top there are modules of other systems, which say so in words of their own.
    // And pydantic-core is there, but for a package that an installation brings.
    let here = |name: &str| name.contains('.') || name == "pydantic_core";
    for (name, why) in absent().into_iter().filter(|(name, _)| !here(name)) {
        assert!(why.contains(&format!("`{name}` is not available in this sandbox: ")), "{name}: {why}");
    }
}

#[test]
fn libraries_in_c_do_their_work() {
    for (code, wanted) in [
        ("import zlib; zlib.decompress(zlib.compress(b'a' * 1000)) == b'a' * 1000", json!(true)),
        ("import bz2; bz2.decompress(bz2.compress(b'a')) == b'a'", json!(true)),
        ("import lzma; lzma.decompress(lzma.compress(b'a', preset=1)) == b'a'", json!(true)),
        ("import sqlite3; sqlite3.connect(':memory:').execute('select 6 * 7').fetchone()[0]", json!(42)),
        (
            "import sqlite3; c = sqlite3.connect('/tmp/x.db'); c.execute('create table t (a)'); c.execute('insert into t values (1)'); c.commit(); c.execute('select count(*) from t').fetchone()[0]",
            json!(1),
        ),
        ("import hashlib; hashlib.sha256(b'a').hexdigest()[:8]", json!("ca978112")),
        (
            "import hashlib; [hashlib.new(n, b'').hexdigest()[:4] for n in ('md5', 'sha1', 'sha512', 'sha3_256', 'blake2b')] == ['d41d', 'da39', 'cf83', 'a7ff', '786a']",
            json!(true),
        ),
        ("import hashlib; hashlib.pbkdf2_hmac('sha256', b'p', b's', 1).hex()[:8]", json!("372cc981")),
        ("import decimal; str(decimal.Decimal('0.1') + decimal.Decimal('0.2'))", json!("0.3")),
        (
            "import math, cmath; [math.comb(10, 3), round(math.erf(1), 6), cmath.exp(0).real] == [120, 0.842701, 1.0]",
            json!(true),
        ),
        (
            "import json, csv, io; json.loads('[1]') == [1] and list(csv.reader(io.StringIO('a,b'))) == [['a', 'b']]",
            json!(true),
        ),
        ("import re; re.sub(r'(?P<a>\\w+) (\\w+)', r'\\2 \\1', 'b a')", json!("a b")),
        ("import unicodedata; unicodedata.name('🐀')", json!("RAT")),
        (
            "import struct, array, binascii; [struct.unpack('<I', b'\\1\\0\\0\\0')[0], array.array('i', [1])[0], binascii.crc32(b'a')] == [1, 1, 3904355907]",
            json!(true),
        ),
        ("import pickle; pickle.loads(pickle.dumps({'a': (1, {2})})) == {'a': (1, {2})}", json!(true)),
        ("import xml.etree.ElementTree as e; e.fromstring('<a><b>c</b></a>').find('b').text", json!("c")),
        (
            "import zipfile, io; b = io.BytesIO(); z = zipfile.ZipFile(b, 'w', zipfile.ZIP_DEFLATED); z.writestr('a', 'b'); z.close(); zipfile.ZipFile(b).read('a').decode()",
            json!("b"),
        ),
        (
            "import datetime; str(datetime.date(2024, 2, 28) + datetime.timedelta(days=2))",
            json!("2024-03-01"),
        ),
        (
            "import statistics, fractions; statistics.median([1, 2, 3]) + fractions.Fraction(1, 2) == fractions.Fraction(5, 2)",
            json!(true),
        ),
        ("import tomllib, configparser, textwrap; tomllib.loads('a = 1')['a']", json!(1)),
        (
            "import importlib.resources, inspect; inspect.signature(lambda a, b=1: 0).__str__()",
            json!("(a, b=1)"),
        ),
        ("import ast; ast.unparse(ast.parse('x=1+2'))", json!("x = 1 + 2")),
        ("import difflib; difflib.SequenceMatcher(None, 'abcd', 'bcde').ratio()", json!(0.75)),
        (
            "'ä'.encode('latin-1') + 'ä'.encode('cp1252') + 'ä'.encode('utf-16-le') == b'\\xe4\\xe4\\xe4\\x00'",
            json!(true),
        ),
    ] {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], wanted, "{code}");
    }
}

#[test]
fn connections_to_one_database_have_locks() {
    let code = "import sqlite3\n\
        a, b = (sqlite3.connect('/tmp/x.db', timeout=0, isolation_level=None) for _ in range(2))\n\
        a.execute('create table t (x)'); a.execute('begin immediate'); a.execute('insert into t values (1)')\n\
        seen = [b.execute('select count(*) from t').fetchone()[0]]\n\
        try: b.execute('insert into t values (2)')\n\
        except sqlite3.OperationalError as e: seen.append(str(e))\n\
        a.execute('commit'); b.execute('insert into t values (2)')\n\
        seen.append(a.execute('select count(*) from t').fetchone()[0])\n\
        str(seen)";
    assert_eq!(sandbox::value_of(PYTHON, code)["value"], "[0, 'database is locked', 2]");
}

#[test]
fn modules_of_the_image_load_again() {
    for (code, wanted) in [
        // As the package `markdown` does.
        (
            "import importlib.util as u; s = u.find_spec('html.parser'); m = u.module_from_spec(s); s.loader.exec_module(m); m.HTMLParser.__name__",
            json!("HTMLParser"),
        ),
        (
            "import sys; [sys.modules.pop(n) for n in list(sys.modules) if 'zoneinfo' in n]; import zoneinfo; \
             [len(zoneinfo.available_timezones()) > 400, str(zoneinfo.ZoneInfo('America/Argentina/Ushuaia'))] == [True, 'America/Argentina/Ushuaia']",
            json!(true),
        ),
        ("import importlib, json; importlib.reload(json); json.loads('1')", json!(1)),
        (
            "import warnings\nwith warnings.catch_warnings(record=True) as w:\n  warnings.simplefilter('always')\n  import sre_compile\nw[0].filename",
            json!("<snippet>"),
        ),
        ("import os; os.putenv('A', 'b'); os.reload_environ(); os.environ['A']", json!("b")),
        (
            "import sys; [s.name for s in (sys.stdin, sys.stdout, sys.stderr)] == ['<stdin>', '<stdout>', '<stderr>']",
            json!(true),
        ),
    ] {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], wanted, "{code}");
    }
}

#[test]
fn the_event_loop_runs() {
    let code = "import asyncio, time\n\
        async def f(n):\n await asyncio.sleep(0.01 * n); return n\n\
        async def main():\n \
         async with asyncio.timeout(5), asyncio.TaskGroup() as group: tasks = [group.create_task(f(n)) for n in (3, 1, 2)]\n \
         queue = asyncio.Queue(); queue.put_nowait(9)\n \
         return [t.result() for t in tasks] + [await queue.get(), await asyncio.to_thread(len, 'abc')]\n\
        asyncio.run(main())";
    let numbers = sandbox::value_of(PYTHON, code)["value"].clone();
    let numbers: Vec<_> = numbers.as_array().unwrap().iter().map(|item| item["value"].clone()).collect();
    assert_eq!(json!(numbers), json!([3, 1, 2, 9, 3]));
    let timeout = "import asyncio\nasyncio.run(asyncio.wait_for(asyncio.sleep(60), 0.05))";
    assert_ends(&sandbox::eval(PYTHON, timeout), &["raised TimeoutError"]);
    let stuck =
        sandbox::eval(PYTHON, "import asyncio\nasync def f(): await asyncio.Future()\nasyncio.run(f())");
    assert!(exception(&stuck).message.contains("can never happen"), "{}", exception(&stuck).message);
}

#[test]
fn to_wait_for_a_thread_that_cannot_be_is_an_error_of_the_language() {
    for code in [
        "import threading\nlock = threading.Lock(); lock.acquire(); lock.acquire()",
        "import threading\nthreading.Event().wait()",
        "import queue\nqueue.Queue().get()",
        "import queue\nqueue.SimpleQueue().get()",
    ] {
        let stuck = sandbox::eval(PYTHON, code);
        assert_ends(&stuck, &["raised RuntimeError"]);
        assert!(exception(&stuck).message.contains("waits for ever"), "{}", exception(&stuck).message);
    }
    let code = "import threading\nlock = threading.Lock(); lock.acquire()\n\
        [lock.acquire(timeout=0.01), lock.acquire(blocking=False), threading.Event().wait(0.01), lock.release()]";
    assert_ends(&sandbox::eval(PYTHON, code), &["returned"]);
}

/// What would run in another thread is run at once, where that is an order in which it could have happened.
#[test]
fn threads_that_end_by_themselves_run_at_once() {
    for code in [
        "import threading; seen = []; threads = [threading.Thread(target=seen.append, args=(i,)) for i in range(3)]; [t.start() for t in threads]; [t.join() for t in threads]; seen == [0, 1, 2] and not any(t.is_alive() for t in threads)",
        "import threading; seen = []; t = threading.Thread(target=lambda: seen.append(threading.current_thread().name), name='other'); t.start(); [seen, threading.current_thread() is threading.main_thread(), threading.active_count()] == [['other'], True, 1]",
        "import queue, threading; q = queue.Queue(); seen = []\ndef take():\n  while (item := q.get()) is not None: seen.append(item)\np = threading.Thread(target=lambda: [q.put(i) for i in (1, 2, None)]); c = threading.Thread(target=take); p.start(); c.start(); p.join(); c.join(); seen == [1, 2]",
        "from concurrent.futures import *; pool = ThreadPoolExecutor(2)\nwith pool: found = list(pool.map(lambda x: x * x, range(4))), [f.result() for f in as_completed([pool.submit(pow, 2, 5)])], type(pool.submit(lambda: 1 / 0).exception()).__name__\ntry: pool.submit(print)\nexcept RuntimeError: found += ('closed',)\nfound == ([0, 1, 4, 9], [32], 'ZeroDivisionError', 'closed')",
        "from concurrent.futures import ThreadPoolExecutor; seen = []; pool = ThreadPoolExecutor(initializer=seen.append, initargs=(1,)); [pool.submit(seen.append, 2).result(), pool.submit(pool.submit, seen.append, 3).result().result(), seen] == [None, None, [1, 2, 3]]",
        "import asyncio, threading\nasync def inner(): return 5\nasync def main():\n  seen = []; t = threading.Thread(target=lambda: seen.append(asyncio.run(inner()))); t.start(); t.join()\n  return seen + [asyncio.current_task() is not None, await asyncio.to_thread(len, 'abc')]\nasyncio.run(main()) == [5, True, 3]",
        "import threading\nfound = []\nfor thread in (threading.Thread(target=print, daemon=True), threading.Timer(9, print)):\n  try: thread.start()\n  except RuntimeError as e: found.append('no threads in this sandbox' in str(e))\nfound == [True, True]",
        "import threading\nt = threading.Thread(target=len, args=('',)); t.start()\ntry: t.start()\nexcept RuntimeError as e: found = str(e)\nfound == 'threads can only be started once'",
    ] {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], json!(true), "{code}");
    }
    // As anywhere: what a thread raises is told, and ends it alone.
    let told =
        sandbox::eval(PYTHON, "import threading, queue; threading.Thread(target=queue.Queue().get).start()");
    assert_ends(&told, &["returned"]);
    assert!(told.stderr.text.contains("waits for ever"), "{}", told.stderr.text);
}

#[test]
fn await_works_at_the_top_level() {
    let code = "import asyncio\nawait asyncio.sleep(0.01)\n[x async for x in (lambda: (i for i in [1]))()] if False else 5";
    assert_ends(&sandbox::eval(PYTHON, code), &["returned", "raised TypeError"]);
    assert_eq!(
        sandbox::value_of(PYTHON, "import asyncio\nawait asyncio.sleep(0, 'slept')")["value"],
        "slept"
    );
    assert_eq!(sandbox::value_of(PYTHON, "async def f(): return 7\nx = await f()\nx")["value"], 7);
}

#[test]
fn time_zones_have_data() {
    let code = "from zoneinfo import ZoneInfo, available_timezones\nfrom datetime import datetime\n\
        f'{datetime(2024, 7, 1, 12, tzinfo=ZoneInfo(\"Europe/Berlin\")).utcoffset()} {len(available_timezones()) > 400}'";
    assert_eq!(sandbox::value_of(PYTHON, code)["value"], "2:00:00 True");
    let missing = sandbox::eval(PYTHON, "from zoneinfo import ZoneInfo; ZoneInfo('Nowhere/Here')");
    assert_ends(
        &missing,
        &["raised zoneinfo._common.ZoneInfoNotFoundError", "raised zoneinfo.ZoneInfoNotFoundError"],
    );
}

#[test]
fn modules_of_a_mount_are_imported() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("mine.py"), "value = 41\ndef more(): return value + 1\n").unwrap();
    let mut request = sandbox::request(PYTHON, "import mine; mine.more()");
    request.context.grants.environment = vec![("PYTHONPATH".into(), "/mnt".into())];
    request.context.grants.mounts.push(dormouse::Mount {
        source: folder.path().into(),
        target: dormouse::GuestPath::parse("/mnt").unwrap(),
        access: dormouse::Access::ReadOnly,
    });
    assert_eq!(value(&sandbox::run_request(request))["value"], 42);
}

#[test]
fn the_last_expression_is_the_value() {
    for (code, wanted) in [
        ("x = 1\nx + 1", json!(2)),
        ("def f(): return 3\nf()", json!(3)),
        ("if True: 5", Json::Null),
        ("1; 2", json!(2)),
        ("1\n# a comment\n", json!(1)),
        ("'a' 'b'", json!("ab")),
        ("print('x')", Json::Null),
        ("x = 1", Json::Null),
        ("(y := 6)", json!(6)),
        ("lambda: 0\nNone", Json::Null),
    ] {
        assert_eq!(sandbox::value_of(PYTHON, code)["value"], wanted, "{code}");
    }
    assert_eq!(sandbox::value_of(PYTHON, "__name__")["value"], "__main__");
    let recursive =
        "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n[fib(n) for n in range(10)][-1]";
    assert_eq!(sandbox::value_of(PYTHON, recursive)["value"], 34, "functions see each other as globals");
}

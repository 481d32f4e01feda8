//! Files that are open are ordinary: they are saved with the memory that uses them and are open again wherever it goes on.

use std::fs;
use std::time::Duration;

use dormouse::sandbox::{Handle, Include, Owner};
use dormouse::{EvalRequest, Language, PersistentSandbox, Recovery};
use dormouse_tests::ending::{assert_ends, ending};
use dormouse_tests::lasting::{close, named, open, run, sandboxes, shown};
use dormouse_tests::wire::{PATIENCE, Wire};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};
use serde_json::{Value as Json, json};

/// In each language: leave files open, go on with them, and what that gives the first, second and third time.
const LANGUAGES: [(&str, &str, &str, [&str; 3]); 3] = [
    (
        PYTHON,
        "import os, logging, tempfile
log = open('/workspace/log', 'a')
log.write('0')
lines = open('/workspace/lines', 'w+b', buffering=0)
lines.write(b'abcdefgh'); lines.seek(2)
gone = open('/workspace/gone', 'w+')
gone.write('gone'); gone.flush(); os.unlink('/workspace/gone'); gone.seek(0)
temp = tempfile.TemporaryFile()
temp.write(b'xyz'); temp.seek(0)
plain = os.open('/tmp/plain', os.O_RDWR | os.O_CREAT)
os.write(plain, b'123456'); os.lseek(plain, 0, os.SEEK_SET)
logging.basicConfig(filename='/workspace/logging', level=logging.INFO)
logging.info('zero')",
        "n = log.write('+'); log.flush(); logging.info('more')
' '.join([open('/workspace/log').read(), lines.read(1).decode(), gone.read(1), temp.read(1).decode(),
  os.read(plain, 1).decode(), str(len(open('/workspace/logging').readlines())), str(os.path.exists('/workspace/gone'))])",
        ["0+ c g x 1 2 False", "0++ d o y 2 3 False", "0+++ e n z 3 4 False"],
    ),
    (
        PHP,
        "$log = fopen('/workspace/log', 'a'); fwrite($log, '0');
$lines = fopen('/workspace/lines', 'w+'); fwrite($lines, 'abcdefgh'); fseek($lines, 2);
$gone = fopen('/workspace/gone', 'w+'); fwrite($gone, 'gone'); unlink('/workspace/gone'); rewind($gone);
$temp = tmpfile(); fwrite($temp, 'xyz'); rewind($temp);
file_put_contents('/tmp/object', \"1\\n2\\n3\\n4\\n\"); $object = new SplFileObject('/tmp/object'); return 0;",
        "fwrite($log, '+'); return implode(' ', [file_get_contents('/workspace/log'), fread($lines, 1), fread($gone, 1),
  fread($temp, 1), trim($object->fgets()), file_exists('/workspace/gone') ? 'True' : 'False']);",
        ["0+ c g x 1 False", "0++ d o y 2 False", "0+++ e n z 3 False"],
    ),
    (
        JAVASCRIPT,
        "const fs = require('fs'); const log = fs.openSync('/workspace/log', 'a'); fs.writeSync(log, '0');
const [lines, gone] = ['lines', 'gone'].map((name) => fs.openSync(`/workspace/${name}`, 'w+'));
fs.writeSync(lines, 'abcdefgh'); fs.readSync(lines, new Uint8Array(2), 0, 2, 0); fs.writeSync(gone, 'gone'); fs.unlinkSync('/workspace/gone');
let count = 0; const byte = new Uint8Array(1); const next = (file) => (fs.readSync(file, byte, 0, 1, count), String.fromCharCode(byte[0]))",
        "fs.writeSync(log, '+'); fs.writeSync(lines, String(count));
const told = [fs.readFileSync('/workspace/log', 'utf8'), next(lines), next(gone), fs.fstatSync(lines).size, fs.existsSync('/workspace/gone')].join(' '); count++; told",
        ["0+ a g 9 false", "0++ b o 10 false", "0+++ c n 11 false"],
    ),
];

fn command(kept: &PersistentSandbox, line: &str) -> String {
    sandbox::wait(kept.exec(line)).unwrap().outcome.stdout.text
}

#[test]
fn open_files_go_on_in_every_language_after_a_stop_and_in_another_process() {
    let folder = tempfile::tempdir().unwrap();
    for (language, leave, go_on, [first, second, third]) in LANGUAGES {
        let dormouse = open(folder.path());
        let kept = named(&dormouse, language);
        let left = run(&kept, language, leave);
        assert!(left.is_ok(), "{language}: {}", dormouse_tests::ending::told(&left));
        assert_eq!(shown(&kept, language, go_on), first, "{language}");
        sandbox::wait(kept.stop()).unwrap();
        assert_eq!(shown(&kept, language, go_on), second, "{language}: after a stop");
        close(dormouse);
        let dormouse = open(folder.path());
        let kept = named(&dormouse, language);
        let woken = run(&kept, language, go_on);
        assert_eq!(woken.closed_files, [] as [&str; 0], "{language}");
        assert_eq!(dormouse_tests::ending::value(&woken)["value"], third, "{language}: in another process");
        close(dormouse);
    }
}

#[test]
fn a_shell_keeps_its_own_descriptors_and_here_documents() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "shell");
    command(&kept, "exec 3>/workspace/three; echo one >&3");
    sandbox::wait(kept.stop()).unwrap();
    command(&kept, "echo two >&3");
    assert_eq!(command(&kept, "cat /workspace/three"), "one\ntwo\n");
    assert_eq!(command(&kept, "cat <<END\nhere\nEND"), "here\n");
    close(dormouse);
}

#[test]
fn a_checkpoint_and_forks_open_the_files_as_they_were_and_share_no_position() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    for (language, leave, go_on, [first, second, third]) in LANGUAGES {
        let kept = named(&dormouse, language);
        assert!(run(&kept, language, leave).is_ok());
        assert_eq!(shown(&kept, language, go_on), first);
        let (owner, id) = (Owner::local(), kept.id().as_str().to_owned());
        let handle = Handle::IdOrName(&id);
        let taken = sandboxes(&dormouse).checkpoint(&owner, &handle, None, Include::Both);
        let (checkpoint, closed) = sandbox::wait(taken).unwrap();
        assert!(closed.is_empty(), "{closed:?}");
        assert_eq!(shown(&kept, language, go_on), second, "{language}: goes on");
        let forks = sandbox::wait(kept.fork(2)).unwrap();
        for fork in &forks {
            assert_eq!(shown(fork, language, go_on), third, "{language}: a fork");
        }
        assert_eq!(shown(&kept, language, go_on), third, "{language}: beside its forks");
        for _ in 0..2 {
            sandbox::wait(kept.restore(&checkpoint)).unwrap();
            assert_eq!(shown(&kept, language, go_on), second, "{language}: restored");
        }
    }
    close(dormouse);
}

#[test]
fn a_time_out_beside_an_open_file_costs_no_variables_and_the_file_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(run(&kept, PYTHON, "log = open('/workspace/log', 'a'); x = 0").is_ok());
    for n in 1..=5 {
        assert!(run(&kept, PYTHON, &format!("x = {n}; log.write('{n}')")).is_ok());
    }
    let mut request = EvalRequest::new(Language::python(), "x = 99\nwhile True: pass");
    request.context.limits.wall = Duration::from_secs(1);
    let stopped = sandbox::wait(kept.run(request)).unwrap();
    assert_eq!((ending(&stopped).as_str(), stopped.recovery), ("limit_time", Some(Recovery::BeforeRun)));
    assert_eq!(
        shown(&kept, PYTHON, "n = log.write('6'); log.flush(); [x, open('/workspace/log').read()]")[1]["value"],
        "123456"
    );
    assert_eq!(shown(&kept, PYTHON, "x"), 5);
    close(dormouse);
}

/// A caller that gives up loses the run and nothing before it.
#[test]
fn a_run_that_is_given_up_beside_an_open_file_costs_no_variables() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(run(&kept, PYTHON, "log = open('/workspace/log', 'a'); x = 1").is_ok());
    assert!(run(&kept, PYTHON, "x = 2").is_ok());
    sandbox::wait(async {
        let endless = kept.eval(PYTHON, "x = 3\nwhile True: pass");
        assert!(tokio::time::timeout(Duration::from_secs(1), endless).await.is_err());
    });
    assert_eq!(shown(&kept, PYTHON, "n = log.write('a'); log.flush(); x"), 2);
    close(dormouse);
}

const SQLITE: &str = "import sqlite3
db = sqlite3.connect('/workspace/a.db', isolation_level=None)
db.execute('create table t (n)')
db.execute('insert into t values (1)')
db.execute('begin')
db.execute('insert into t values (2)')
db.execute('pragma cache_size = 1')
for n in range(500): db.execute('insert into t values (?)', ('x' * 500,))
db.execute('pragma journal_mode').fetchone()[0]";

#[test]
fn sqlite_goes_on_in_the_middle_of_a_transaction() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(shown(&kept, PYTHON, SQLITE), "delete");
    close(dormouse);
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    let count = "db.execute('select count(*) from t').fetchone()[0]";
    assert_eq!(shown(&kept, PYTHON, count), 502);
    let forks = sandbox::wait(kept.fork(2)).unwrap();
    assert!(run(&forks[0], PYTHON, "db.execute('commit'); 0").is_ok());
    assert!(run(&forks[1], PYTHON, "db.execute('rollback'); 0").is_ok());
    for (fork, rows) in forks.iter().zip([502, 1]) {
        let elsewhere = format!(
            "sqlite3.connect('/workspace/a.db').execute('select count(*) from t').fetchone()[0] * 1000 + {count}"
        );
        assert_eq!(shown(fork, PYTHON, &elsewhere), rows * 1001);
        assert_eq!(shown(fork, PYTHON, "db.execute('pragma integrity_check').fetchone()[0]"), "ok");
    }
    // PHP's own.
    let leave = "$db = new PDO('sqlite:/workspace/p.db'); $db->exec('create table t (n)'); $db->beginTransaction(); $db->exec('insert into t values (1)'); return 0;";
    assert!(run(&kept, PHP, leave).is_ok());
    sandbox::wait(kept.stop()).unwrap();
    let commit = "$db->commit(); return (int) $db->query('select count(*) from t')->fetchColumn();";
    assert_eq!(shown(&kept, PHP, commit), 1);
    close(dormouse);
}

/// Ends a run by its time, after all that it does before it loops.
fn stopped(kept: &PersistentSandbox, code: &str) {
    let mut request = EvalRequest::new(Language::python(), code);
    request.context.limits.wall = Duration::from_secs(2);
    let stopped = sandbox::wait(kept.run(request)).unwrap();
    assert_eq!(
        (ending(&stopped).as_str(), stopped.recovery),
        ("limit_time", Some(Recovery::BeforeRun)),
        "{code}"
    );
}

/// Memory goes back to before a run that is stopped, and files do not.
#[test]
fn a_database_that_a_stopped_run_has_changed_in_a_transaction_from_before_it_is_closed_and_whole() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let fill = "for n in range(300): db.execute('insert into t values (?)', ('x' * 500,))";
    let query = "cursor = db.execute('select n from t'); cursor.fetchone()";
    let begin = "db.execute('begin'); db.execute('insert into t values (2)')";
    let locked = [
        // What was before the run, what the run does, and how many rows there are then.
        (begin, format!("{fill}\ndb.execute('commit')"), 305),
        (begin, format!("db.execute('commit'); db.execute('begin')\n{fill}"), 5),
        (begin, format!("db.execute('rollback'); db.execute('begin')\n{fill}"), 4),
        ("db.execute('begin immediate')", format!("{fill}\ndb.execute('commit')"), 304),
        (query, fill.to_owned(), 304),
        (
            "db.execute('pragma locking_mode=exclusive'); db.execute('insert into t values (2)')",
            fill.into(),
            305,
        ),
    ];
    let fresh = "import sqlite3
new = sqlite3.connect('/workspace/a.db')
f\"{new.execute('select count(*) from t').fetchone()[0]} {new.execute('pragma integrity_check').fetchone()[0]}\"";
    for (n, (before, run_code, rows)) in locked.into_iter().enumerate() {
        let kept = named(&dormouse, &format!("locked-{n}"));
        let setup = "import sqlite3
db = sqlite3.connect('/workspace/a.db', isolation_level=None)
db.execute('pragma cache_size = 1'); db.execute('create table t (n)')
for n in range(4): db.execute('insert into t values (1)')";
        assert!(run(&kept, PYTHON, &format!("{setup}\n{before}")).is_ok(), "{before}");
        stopped(&kept, &format!("{run_code}\nwhile True: pass"));
        let use_it = "seen = []
for what in ['insert into t values (9)', 'commit', 'rollback', 'select count(*) from t']:
  try: db.execute(what).fetchall(); seen.append(what)
  except sqlite3.Error: pass
if 'cursor' in globals(): cursor.close()
db.close()
seen";
        let told = run(&kept, PYTHON, use_it);
        assert!(told.is_ok(), "{}", dormouse_tests::ending::told(&told));
        assert!(told.closed_files.contains(&"/workspace/a.db".into()), "{before}: {:?}", told.closed_files);
        let left = dormouse_tests::ending::value(&told);
        // A change may still come into its memory, and no further.
        assert!(!["commit", "select"].iter().any(|done| left.to_string().contains(done)), "{before}: {left}");
        assert_eq!(shown(&kept, PYTHON, fresh), format!("{rows} ok"), "{before}; {run_code}");
    }
    close(dormouse);
}

#[test]
fn a_database_that_is_as_it_was_or_is_not_locked_goes_on_after_a_stopped_run() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let setup = "import sqlite3
db = sqlite3.connect('/workspace/a.db', isolation_level=None)
db.execute('create table t (n)'); db.execute('insert into t values (1)')";
    let count = "db.execute('commit') if db.in_transaction else 0
f\"{db.execute('select count(*) from t').fetchone()[0]} {db.execute('pragma integrity_check').fetchone()[0]}\"";
    for (n, (before, code, rows)) in [
        ("0", "db.execute('insert into t values (2)')", 2),
        ("0", "db.execute('begin'); db.execute('insert into t values (2)')", 1),
        (
            "db.execute('begin'); db.execute('insert into t values (2)')",
            "db.execute('insert into t values (3)')",
            2,
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let kept = named(&dormouse, &format!("free-{n}"));
        assert!(run(&kept, PYTHON, &format!("{setup}\n{before}")).is_ok(), "{before}");
        stopped(&kept, &format!("{code}\nwhile True: pass"));
        let told = run(&kept, PYTHON, count);
        assert_eq!(told.closed_files, [] as [&str; 0], "{before}; {code}");
        assert_eq!(dormouse_tests::ending::value(&told)["value"], format!("{rows} ok"), "{before}; {code}");
    }
    // PHP, and memory that is restored without its files.
    let kept = named(&dormouse, "php");
    let leave = "$db = new PDO('sqlite:/workspace/p.db'); $db->exec('create table t (n)'); $db->beginTransaction(); $db->exec('insert into t values (1)'); return 0;";
    assert!(run(&kept, PHP, leave).is_ok());
    let (owner, id) = (Owner::local(), kept.id().as_str().to_owned());
    let handle = Handle::IdOrName(&id);
    let taken = sandboxes(&dormouse).checkpoint(&owner, &handle, None, Include::Memory);
    let (checkpoint, _) = sandbox::wait(taken).unwrap();
    assert!(run(&kept, PHP, "$db->commit(); return 0;").is_ok());
    sandbox::wait(kept.restore(&checkpoint)).unwrap();
    let told = run(
        &kept,
        PHP,
        "return (int) (new PDO('sqlite:/workspace/p.db'))->query('select count(*) from t')->fetchColumn();",
    );
    assert!(told.closed_files.contains(&"/workspace/p.db".into()), "{:?}", told.closed_files);
    assert_eq!(dormouse_tests::ending::value(&told)["value"], 1);
    close(dormouse);
}

#[test]
fn a_descriptor_has_its_number_again_and_gaps_are_free() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    let leave = "import os
files = [os.open(f'/workspace/f{n}', os.O_RDWR | os.O_CREAT) for n in range(20)]
for n in range(20): os.write(files[n], b'%d' % n)
for n in range(0, 20, 3): os.close(files[n])
folder = os.scandir('/workspace'); first = next(folder).name
files";
    let numbers = shown(&kept, PYTHON, leave);
    sandbox::wait(kept.stop()).unwrap();
    let again = "for n in range(20):
  if n % 3:
    os.lseek(files[n], 0, 0); assert os.read(files[n], 9) == b'%d' % n, n
fresh = [os.open('/workspace/f0', os.O_RDONLY) for n in range(8)]
assert not set(fresh) & {files[n] for n in range(20) if n % 3}, fresh
rest = sorted([first] + [one.name for one in folder])
assert rest == sorted([f'f{n}' for n in range(20)] + ['outputs']), rest
files";
    let woken = run(&kept, PYTHON, again);
    assert_eq!(
        dormouse_tests::ending::value(&woken)["value"],
        numbers,
        "{}",
        dormouse_tests::ending::told(&woken)
    );
    // As many as there may be, no more after a wake than before.
    let fill = "more = []
try:
  while True: more.append(os.open('/workspace/f0', os.O_RDONLY))
except OSError: pass
for one in more: os.close(one)
len(more)";
    let before = shown(&kept, PYTHON, fill);
    sandbox::wait(kept.stop()).unwrap();
    assert_eq!(shown(&kept, PYTHON, fill), before);
    close(dormouse);
}

#[test]
fn a_file_that_is_removed_after_it_was_saved_is_kept_for_who_has_it_open() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    assert!(
        run(
            &kept,
            PYTHON,
            "import os\nf = open('/workspace/f', 'w+'); f.write('kept'); f.flush(); f.seek(0)"
        )
        .is_ok()
    );
    // Another language takes the name away, and a new file takes it.
    assert!(run(&kept, JAVASCRIPT, "const fs = require('fs'); fs.unlinkSync('/workspace/f'); fs.writeFileSync('/workspace/f', 'other')").is_ok());
    close(dormouse);
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    assert_eq!(shown(&kept, PYTHON, "[f.read(), open('/workspace/f').read()]")[0]["value"], "kept");
    // Once it is closed it takes no room any more.
    let large = "g = open('/workspace/g', 'wb'); g.truncate(150 << 20); os.unlink('/workspace/g')";
    assert!(run(&kept, PYTHON, large).is_ok());
    sandbox::wait(kept.stop()).unwrap();
    assert_ends(&run(&kept, PYTHON, "open('/workspace/h', 'wb').truncate(150 << 20)"), &["raised OSError"]);
    assert!(run(&kept, PYTHON, "os.unlink('/workspace/h'); g.close()").is_ok());
    sandbox::wait(kept.stop()).unwrap();
    assert!(run(&kept, PYTHON, "n = open('/workspace/h', 'wb').truncate(150 << 20)").is_ok());
    close(dormouse);
}

/// One start of a server over a state folder.
fn served(state: &str, arguments: &[&str]) -> Wire {
    Wire::greeted(&[&["--state-dir", state, "--tools", "all"], arguments].concat())
}

fn eval(wire: &mut Wire, id: i64, code: &str) -> Json {
    wire.call(id, "sandbox_eval", json!({"sandbox": "box", "code": code}))["structuredContent"].take()
}

#[test]
fn a_killed_server_has_saved_what_came_beside_open_files_and_others_get_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().to_str().unwrap();
    let mut first = served(state, &[]);
    first.call(1, "sandbox_create", json!({"name": "box"}));
    eval(&mut first, 2, "log = open('/workspace/log', 'a'); n = log.write('one'); log.flush(); x = 1");
    // It is saved, and let go of, though the file is open: another process has it before its patience ends.
    let mut second = served(state, &[]);
    let seen = eval(
        &mut second,
        3,
        "n = log.write(' two'); log.flush(); x += 1; [x, open('/workspace/log').read()]",
    );
    assert_eq!(seen["result"]["value"][1]["value"], "one two", "{seen}");
    // A moment without a call, and it is on the disk.
    second.wait_for_rest(4, &json!({"sandbox": "box"}));
    second.kill();
    let seen =
        eval(&mut first, 5, "n = log.write(' three'); log.flush(); [x, open('/workspace/log').read()]");
    assert_eq!(seen["result"]["value"][0]["value"], 2, "{seen}");
    assert_eq!(seen["result"]["value"][1]["value"], "one two three", "{seen}");
    first.end(PATIENCE);
}

#[test]
fn a_file_below_a_mount_goes_on_and_one_whose_mount_is_gone_is_told_and_closed() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("state");
    let data = folder.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("in"), "abcdef").unwrap();
    let mount = format!("{}:/data:rw", data.to_str().unwrap());
    let state = state.to_str().unwrap();
    let given = ["--mount", mount.as_str(), "--allow-writes"];
    let mut first = served(state, &given);
    first.call(1, "sandbox_create", json!({"name": "box", "allow_writes": true}));
    let left = "f = open('/data/in', 'rb', buffering=0); out = open('/data/out', 'a'); own = open('/workspace/own', 'w')
f.read(2).decode() + str(out.write('1'))";
    assert_eq!(eval(&mut first, 2, left)["result"]["value"], "ab1");
    first.end(PATIENCE);
    let mut second = served(state, &given);
    let seen = eval(
        &mut second,
        3,
        "n = out.write('2'); out.flush(); f.read(2).decode() + open('/data/out').read()",
    );
    assert_eq!((&seen["result"]["value"], &seen["closed_files"]), (&json!("cd12"), &Json::Null), "{seen}");
    second.end(PATIENCE);
    fs::remove_file(data.join("in")).unwrap();
    let mut third = served(state, &given);
    let seen =
        eval(&mut third, 4, "try:\n  f.read(1)\nexcept OSError as e: told = e.errno\n[told, out.write('3')]");
    assert_eq!(seen["closed_files"], json!(["/data/in"]), "{seen}");
    assert_eq!(seen["result"]["value"][0]["value"], 9, "EBADF: {seen}");
    assert_eq!(eval(&mut third, 5, "out.flush()")["closed_files"], Json::Null, "told once");
    third.end(PATIENCE);
    assert_eq!(fs::read_to_string(data.join("out")).unwrap(), "123");
    let mut fourth = served(state, &[]);
    let seen = eval(&mut fourth, 6, "own.write('x')");
    assert_eq!(seen["closed_files"], json!(["/data/out"]), "{seen}");
    let seen = eval(
        &mut fourth,
        7,
        "[open('/workspace/new', 'w').fileno() in (out.fileno(), f.fileno()), own.flush()]",
    );
    assert_eq!(seen["result"]["value"][0]["value"], false, "{seen}");
    fourth.end(PATIENCE);
}

/// Prints what a save costs beside ten open files and without; the assertion is for a machine that does other work.
#[test]
fn a_save_beside_open_files_costs_little_more() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let (plain, beside) = (named(&dormouse, "plain"), named(&dormouse, "beside"));
    let leave = "files = [open(f'/workspace/f{n}', 'w+b', buffering=0) for n in range(10)]";
    assert!(run(&beside, PYTHON, leave).is_ok());
    let saved = |kept: &PersistentSandbox, number: usize| {
        assert!(run(kept, PYTHON, &format!("x = {number}")).is_ok());
        let begin = std::time::Instant::now();
        sandbox::wait(kept.checkpoint()).unwrap();
        begin.elapsed()
    };
    let mut times: [Vec<Duration>; 2] = Default::default();
    for number in 0..40 {
        times[0].push(saved(&plain, number));
        times[1].push(saved(&beside, number));
    }
    let [plain, beside] = times.map(|mut times| {
        times.sort();
        times[times.len() / 2]
    });
    eprintln!("a checkpoint takes {plain:?}, beside ten open files {beside:?}");
    assert!(beside < plain * 2 + Duration::from_millis(5), "{plain:?}, {beside:?}");
    close(dormouse);
}

/// Not only the first MiB of a device, and not in the end of the shell.
#[test]
fn devices_give_as_much_as_was_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = named(&dormouse, "box");
    let line =
        "dd if=/dev/urandom of=u bs=1M count=3 status=none && wc -c < u; head -c 3000000 /dev/zero | wc -c";
    assert_eq!(command(&kept, line), "3145728\n3000000\n");
    assert_eq!(command(&kept, "dd if=/dev/zero of=z bs=1M count=200 status=none; wc -c < z"), "209715200\n");
    close(dormouse);
}

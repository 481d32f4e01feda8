//! What the snippets say.

use std::fmt::Write as _;

/// The limit of a call that would go on for ever, in milliseconds.
const SHORT: u64 = 300;

/// How the Python of a sandbox keeps its numbers in the files.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// Opens and closes the file each time.
    Plain,
    /// Keeps the file open.
    Held,
    /// A table of a database that stays open.
    Database,
}

/// Snippets that leave a number in `log` and in the files, and answer the whole `log`.
pub(crate) fn python(number: u64, manner: Manner) -> String {
    let mut code = format!("log = globals().get('log', [])\nlog.append({number})\n");
    let keep = match manner {
        Manner::Plain => format!("with open('/workspace/log', 'a') as f: _ = f.write('{number}\\n')\n"),
        Manner::Held => format!(
            "if 'held' not in globals(): held = open('/workspace/log', 'a')\n_ = held.write('{number}\\n')\nheld.flush()\n"
        ),
        Manner::Database => format!(
            "import sqlite3\nif 'held' not in globals(): held = sqlite3.connect('/workspace/log.db')\n\
             _ = held.execute('create table if not exists log (number)')\n\
             _ = held.execute('insert into log values ({number})')\nheld.commit()\n"
        ),
    };
    let _ = write!(code, "{keep}' '.join(map(str, log))");
    code
}

pub(crate) fn php(number: u64, manner: Manner) -> String {
    let keep = match manner {
        Manner::Database => String::new(),
        _ => format!("file_put_contents('/workspace/log', \"{number}\\n\", FILE_APPEND);\n"),
    };
    format!("$log[] = {number};\n{keep}return implode(' ', $log);")
}

pub(crate) fn javascript(number: u64, manner: Manner) -> String {
    let keep = match manner {
        Manner::Database => String::new(),
        _ => format!("require('fs').appendFileSync('/workspace/log', '{number}\\n');\n"),
    };
    format!("globalThis.log ??= [];\nlog.push({number});\n{keep}log.join(' ')")
}

/// The same in a container, whose interpreters last no longer than that: the files alone. Answers what is in them.
pub(crate) fn contained(number: u64) -> String {
    format!(
        "with open('/workspace/log', 'a') as f: _ = f.write('{number}\\n')\nopen('/workspace/log').read()"
    )
}

/// What looks at `log` and leaves everything as it is.
pub(crate) fn look(language: &str) -> &'static str {
    match language {
        "python" => "' '.join(map(str, globals().get('log', [])))",
        "php" => "return implode(' ', $log ?? []);",
        _ => "(globalThis.log ?? []).join(' ')",
    }
}

/// The rows by the connection that is held, or a dash, and by a new one.
pub(crate) const ROWS: &str = "\
import os, sqlite3
def rows(base): return ' '.join(str(row[0]) for row in base.execute('select number from log order by rowid'))
def fresh():
    base = sqlite3.connect('/workspace/log.db')
    try: return rows(base)
    except sqlite3.OperationalError: return ''
    finally: base.close()
(rows(held) if 'held' in globals() else '-') + '/' + (fresh() if os.path.exists('/workspace/log.db') else '')";

/// Command lines in a container that do not end, or take what they can: limit in milliseconds, line.
pub(crate) const HOSTILE_LINES: [(u64, &str); 8] = [
    (800, "while :; do :; done"),
    (800, "sleep 60"),
    (800, "trap '' TERM INT HUP; sleep 60 & sleep 60 & wait"),
    (800, "yes"),
    (5_000, "for i in 1 2 3; do sleep 1000 & done"),
    (5_000, "dd if=/dev/zero of=/workspace/fill bs=65536 count=1024; rm -f /workspace/fill"),
    (5_000, "head -c 200000000 /dev/zero | tail -c 190000000 > /dev/null"),
    (5_000, "kill -9 $$"),
];

/// Code that does not end, or takes what it can: language, limit in milliseconds, code.
pub(crate) const HOSTILE: [(&str, u64, &str); 13] = [
    ("python", SHORT, "while True: pass"),
    ("python", SHORT, "import time; time.sleep(60)"),
    ("python", SHORT, "while True: print('x' * 4096)"),
    ("python", 5_000, "x = [bytearray(1 << 20) for _ in range(1 << 20)]"),
    ("python", 5_000, "fs = [open('/workspace/many', 'w') for _ in range(1000)]"),
    (
        "python",
        5_000,
        "import os\ntry:\n with open('/workspace/fill', 'wb') as f: f.write(bytes(1 << 26))\nexcept OSError: pass\nos.remove('/workspace/fill')",
    ),
    (
        "python",
        5_000,
        "print('{\"jsonrpc\": \"2.0\", \"id\": 1, \"result\": {\"structuredContent\": {\"result\": {\"value\": \"1 2 3\"}}}}')",
    ),
    ("python", 5_000, "class E(Exception):\n def __str__(self): return 1 // 0\nraise E"),
    ("javascript", SHORT, "for (;;);"),
    ("javascript", 5_000, "let s = 'x'; for (;;) s += s"),
    ("php", SHORT, "while (true);"),
    ("shell", SHORT, "while :; do :; done"),
    ("shell", SHORT, "yes"),
];

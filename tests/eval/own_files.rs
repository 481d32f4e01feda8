//! A run's own files: a whole file system below `/tmp`, beside mounts, for one run.

use std::time::{Duration, SystemTime};

use dormouse::Access;
use dormouse::grants::WallClock;
use dormouse_tests::ending::{assert_ends, value};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, sandbox};

#[test]
fn files_are_made_linked_renamed_and_moved_to_a_mount() {
    let python = "import os, shutil\n\
        os.makedirs('/tmp/a/b'); open('/tmp/a/b/f', 'w').write('12345')\n\
        os.rename('/tmp/a/b/f', '/tmp/a/g'); os.link('/tmp/a/g', '/tmp/h'); os.symlink('a/g', '/tmp/l')\n\
        with open('/tmp/l', 'r+') as f: f.seek(2); f.write('x'); f.truncate(4)\n\
        links = os.stat('/tmp/a/g').st_nlink\n\
        shutil.move('/tmp/h', '/mnt/moved'); shutil.copytree('/mnt', '/tmp/copy'); shutil.rmtree('/tmp/a/b')\n\
        ' '.join([open('/mnt/moved').read(), str(links), os.readlink('/tmp/l'), *sorted(os.listdir('/tmp')), \
        *os.listdir('/tmp/a'), *os.listdir('/tmp/copy')])";
    let javascript = "const fs = require('fs');\n\
        fs.mkdirSync('/tmp/a/b', { recursive: true }); fs.writeFileSync('/tmp/a/b/f', '12');\n\
        fs.appendFileSync('/tmp/a/b/f', 'x4'); fs.renameSync('/tmp/a/b/f', '/tmp/a/g');\n\
        fs.writeFileSync('/mnt/moved', fs.readFileSync('/tmp/a/g')); fs.mkdirSync('/tmp/copy');\n\
        fs.writeFileSync('/tmp/copy/moved', ''); fs.rmdirSync('/tmp/a/b'); fs.writeFileSync('/tmp/l', '');\n\
        fs.writeFileSync('/tmp/h', ''); fs.unlinkSync('/tmp/h'); let into = 0;\n\
        try { fs.renameSync('/tmp/l', '/mnt/l') } catch (error) { into = error.code === 'EXDEV' ? 2 : error.code }\n\
        [fs.readFileSync('/mnt/moved', 'utf8'), into, 'a/g', ...fs.readdirSync('/tmp').sort(), \
        ...fs.readdirSync('/tmp/a'), ...fs.readdirSync('/tmp/copy')].join(' ')";
    let php = "mkdir('/tmp/a/b', 0777, true); file_put_contents('/tmp/a/b/f', '12345');\n\
        rename('/tmp/a/b/f', '/tmp/a/g'); link('/tmp/a/g', '/tmp/h'); symlink('a/g', '/tmp/l');\n\
        $f = fopen('/tmp/l', 'r+'); fseek($f, 2); fwrite($f, 'x'); ftruncate($f, 4); fclose($f);\n\
        $links = stat('/tmp/a/g')['nlink']; copy('/tmp/h', '/mnt/moved'); unlink('/tmp/h'); mkdir('/tmp/copy');\n\
        copy('/mnt/moved', '/tmp/copy/moved'); rmdir('/tmp/a/b');\n\
        $in = fn($d) => array_diff(scandir($d), ['.', '..']);\n\
        return implode(' ', [file_get_contents('/mnt/moved'), $links, readlink('/tmp/l'), ...$in('/tmp'), \
        ...$in('/tmp/a'), ...$in('/tmp/copy')]);";
    for (language, code) in [(PYTHON, python), (JAVASCRIPT, javascript), (PHP, php)] {
        let folder = tempfile::tempdir().unwrap();
        let ran =
            sandbox::run(sandbox::snippet(language, code).mount(folder.path(), "/mnt", Access::ReadWrite));
        assert_eq!(value(&ran)["value"], "12x4 2 a/g a copy l g moved", "{language}");
        assert_eq!(std::fs::read_to_string(folder.path().join("moved")).unwrap(), "12x4", "{language}");
    }
}

#[test]
fn a_fixed_clock_is_the_time_of_files_too() {
    for (language, code) in [
        (PYTHON, "import os; open('/tmp/f', 'w').write('x'); os.stat('/tmp/f').st_mtime"),
        (
            JAVASCRIPT,
            "const fs = require('fs'); fs.writeFileSync('/tmp/f', 'x'); fs.statSync('/tmp/f').mtimeMs / 1000",
        ),
        (PHP, "file_put_contents('/tmp/f', 'x'); filemtime('/tmp/f')"),
    ] {
        let mut request = sandbox::request(language, code);
        request.context.grants.clock =
            WallClock::Fixed(SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000));
        assert_eq!(value(&sandbox::run_request(request))["value"].as_f64(), Some(1e9), "{language}");
    }
}

#[test]
fn what_is_removed_gives_room_and_what_is_written_is_counted() {
    let code = "import os\n\
        for i in range(5):\n open('/tmp/f', 'wb').write(bytes(900)); os.mkdir('/tmp/d'); os.rmdir('/tmp/d')\n\
        os.path.getsize('/tmp/f')";
    let mut request = sandbox::request(PYTHON, code);
    (request.context.limits.disk, request.context.limits.files) = (1_000, 2);
    let ran = sandbox::run_request(request.clone());
    assert_eq!(value(&ran)["value"], 900);
    assert_eq!(ran.usage.disk_written, 4_500);
    request.context.limits.files = 1;
    assert_ends(&sandbox::run_request(request), &["raised OSError"]);
    let nothing = {
        let mut request = sandbox::request(PYTHON, "import os; os.listdir('/tmp') or open('/tmp/f', 'w')");
        (request.context.limits.disk, request.context.limits.files) = (0, 0);
        request
    };
    assert_ends(&sandbox::run_request(nothing), &["raised OSError"]);
}

#[test]
fn a_tree_is_copied_and_files_are_cut_and_linked_as_node_does() {
    let code = "const fs = require('fs');\n\
        fs.writeFileSync('/tmp/f', '12345'); fs.truncateSync('/tmp/f', 2); const short = fs.readFileSync('/tmp/f', 'utf8');\n\
        fs.truncateSync('/tmp/f', 4); const padded = fs.readFileSync('/tmp/f').length;\n\
        fs.mkdirSync('/tmp/from/in', { recursive: true }); fs.writeFileSync('/tmp/from/in/f', 'x'); fs.symlinkSync('in/f', '/tmp/from/link');\n\
        const codes = [];\n\
        const tried = (work) => { try { work() } catch (error) { codes.push(error.code) } };\n\
        tried(() => fs.cpSync('/tmp/from', '/tmp/to')); tried(() => fs.cpSync('/tmp/from', '/tmp/from/in/x', { recursive: true }));\n\
        fs.cpSync('/tmp/from', '/tmp/new/to', { recursive: true }); fs.writeFileSync('/tmp/new/to/in/f', 'kept');\n\
        await fs.promises.cp('/tmp/from', '/tmp/new/to', { recursive: true, force: false });\n\
        tried(() => fs.cpSync('/tmp/from', '/tmp/new/to', { recursive: true, force: false, errorOnExist: true }));\n\
        tried(() => fs.truncateSync('/tmp/none')); tried(() => fs.symlinkSync('x', '/tmp/from/link'));\n\
        [short, padded, fs.readlinkSync('/tmp/new/to/link'), fs.readFileSync('/tmp/new/to/link', 'utf8'), ...codes].join(' ')";
    assert_eq!(
        sandbox::value_of(JAVASCRIPT, code)["value"],
        "12 4 in/f kept ERR_FS_EISDIR ERR_FS_CP_EINVAL ERR_FS_CP_EEXIST ENOENT EEXIST"
    );
}

#[test]
fn open_files_are_read_and_written_by_their_descriptors_as_node_does() {
    let code = r"const fs = require('fs');
        const codes = [];
        const tried = (work) => { try { work() } catch (error) { codes.push(error.code) } };
        const file = fs.openSync('/tmp/f', 'w+');
        const counts = [fs.writeSync(file, 'hello world'), fs.writeSync(file, new Uint8Array([33, 34]), 0, 1), fs.writeSync(file, 'J', 0)];
        const bytes = new Uint8Array(8);
        counts.push(fs.readSync(file, bytes, 0, 5, 6), fs.readSync(file, bytes, { offset: 5, position: 0 }), fs.readSync(file, bytes));
        const read = new TextDecoder().decode(bytes);
        fs.ftruncateSync(file, 4); fs.fsyncSync(file);
        const size = fs.fstatSync(file).size;
        fs.closeSync(file);
        tried(() => fs.readSync(file, bytes)); tried(() => fs.readSync(3, bytes)); tried(() => fs.closeSync(4));
        tried(() => fs.openSync('/tmp/none')); tried(() => fs.openSync('/tmp/f', 'wx')); tried(() => fs.openSync('/tmp/f', 'q'));
        const again = fs.openSync('/tmp/f', 'a+');
        tried(() => fs.readSync(again, bytes, 9)); tried(() => fs.readSync(again, 'text'));
        fs.appendFileSync(again, '!'); fs.closeSync(again);
        const handle = await fs.promises.open('/tmp/f');
        const lines = []; for await (const line of handle.readLines({ autoClose: false })) lines.push(line);
        const { bytesRead } = await handle.read({ buffer: bytes, position: 1 });
        await handle.close(); await handle.close();
        const called = await new Promise((done) => fs.open('/tmp/f', 'r', (error, file) => fs.read(file, bytes, 0, 2, 0, (error, count, view) => fs.close(file, () => done([count, view === bytes])))));
        fs.writeSync(1, 'to the output\n');
        [counts, read, size, codes, lines, bytesRead, called].join(' ')";
    let outcome = sandbox::value_of(JAVASCRIPT, code);
    assert_eq!(
        outcome["value"],
        "11,1,1,5,3,0 worldJel 4 EBADF,EBADF,EBADF,ENOENT,EEXIST,ERR_INVALID_ARG_VALUE,ERR_INVALID_ARG_TYPE,ERR_INVALID_ARG_TYPE Jell! 4 2,true"
    );
}

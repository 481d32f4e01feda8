//! Files, in PHP.

use super::*;

#[test]
fn fs_01_nothing_of_the_host_is_there() {
    case(&[PHP], || {
        let refused = "set_error_handler(function ($n, $m) { throw new ErrorException($m); });";
        let attack = Attack::new(PHP).ends(&["raised"]);
        for act in [
            "file_get_contents(PATH);",
            "if (!stat(PATH)) throw new Exception;",
            "file_put_contents(PATH, 'x', FILE_APPEND);",
            "scandir(PATH);",
            "include PATH;",
            "new SplFileObject(PATH);",
            "new PDO('sqlite:' . PATH, options: [PDO::SQLITE_ATTR_OPEN_FLAGS => 1]);",
        ] {
            // Without a slash it is a name in `/tmp`; a stream of data is no file, and `/dev/null` is the interpreter's own.
            let codes: Vec<String> = FOREIGN
                .iter()
                .filter(|path| path.contains('/') && !path.starts_with("data:") && **path != "/dev/null")
                .map(|path| format!("{refused} {}", act.replace("PATH", &format!("'{path}'"))))
                .collect();
            attack.run(&codes);
        }
        let canary = canary::path();
        let canary = canary.display();
        attack.run(&[
            format!("{refused} file_get_contents('{canary}');"),
            format!("{refused} file_put_contents('{canary}', 'x');"),
            format!("{refused} unlink('{canary}');"),
            format!("{refused} rename('{canary}', '/tmp/x');"),
            format!("{refused} copy('{canary}', '/tmp/x');"),
            format!("{refused} symlink('{canary}', '/tmp/x'); file_get_contents('/tmp/x');"),
            format!("{refused} link('{canary}', '/tmp/x');"),
            format!("{refused} touch('{canary}');"),
            format!("{refused} file_get_contents('file://{canary}');"),
            format!("{refused} file_get_contents('php://filter/read=string.rot13/resource={canary}');"),
            format!("{refused} file_get_contents('compress.zlib://{canary}');"),
            format!("{refused} new Phar('{canary}');"),
            format!("{refused} fopen('glob://{canary}*', 'r');"),
        ]);
        let entity = format!(
            "$d = new DOMDocument; @$d->loadXML('<!DOCTYPE a [<!ENTITY x SYSTEM \"file://{canary}\">]><a>&x;</a>', LIBXML_NOENT | LIBXML_DTDLOAD); return $d->textContent;"
        );
        assert_eq!(value(&sandbox::eval(PHP, &entity))["value"], "", "an entity is no way to a file");
        let seen = sandbox::eval(PHP, "@scandir('/') ?: []");
        let names = value(&seen)["value"].clone();
        let text = names.to_string();
        assert!(!text.contains("etc") && !text.contains("proc"), "the root shows {names}");
    });
}

#[test]
fn fs_03_links_are_not_followed_out_of_a_mount() {
    case(&[PHP], || {
        let project = Project::new();
        let attack = Attack::new(PHP).ends(&["raised", "returned"]);
        let (out, knots) = (project.with_links(), project.with_knots());
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let mut requests = Vec::new();
            for path in out.iter().chain(&knots) {
                for act in ["file_get_contents", "scandir", "file", "realpath", "filesize"] {
                    let mut request =
                        attack.request(&format!("[@{act}('/mnt/{path}'), @include '/mnt/{path}']"));
                    project.mount(&mut request, "/mnt", access);
                    requests.push(request);
                }
            }
            for outcome in attack.run_requests(requests) {
                let whole = answer(&outcome).to_string();
                assert!(!whole.contains(canary::SONG), "the canary sang: {whole}");
            }
        }
    });
}

#[test]
fn fs_05_a_read_only_mount_stays_read_only_through_every_path() {
    case(&[PHP], || {
        let code = r"
$done = [];
$attempt = function (string $name, callable $act) use (&$done) {
    try { if (@$act() !== false) $done[] = $name; } catch (Throwable) {}
};
file_put_contents('/tmp/new', 'x');
foreach (['', '/'] as $end) {
    $attempt('write' . $end, fn() => file_put_contents('/mnt/x' . $end, 'y'));
    $attempt('append' . $end, fn() => file_put_contents('/mnt/x' . $end, 'y', FILE_APPEND));
    $attempt('plus' . $end, fn() => fopen('/mnt/x' . $end, 'r+'));
    $attempt('create' . $end, fn() => fopen('/mnt/n' . $end, 'x'));
    $attempt('truncate' . $end, fn() => fopen('/mnt/x' . $end, 'w'));
    $attempt('copy' . $end, fn() => copy('/mnt/d/y', '/mnt/z' . $end));
    $attempt('rename' . $end, fn() => rename('/mnt/d', '/mnt/e' . $end));
    $attempt('rename-back' . $end, fn() => rename('/mnt/e', '/mnt/d' . $end));
    $attempt('rename-in' . $end, fn() => rename('/tmp/new', '/mnt/in' . $end));
    $attempt('mkdir' . $end, fn() => mkdir('/mnt/m' . strlen($end) . $end));
    $attempt('touch' . $end, fn() => touch('/mnt/t' . $end));
    $attempt('link' . $end, fn() => link('/mnt/x', '/mnt/l' . $end));
    $attempt('symlink' . $end, fn() => symlink('x', '/mnt/s' . $end));
    $attempt('unlink' . $end, fn() => unlink('/mnt/d/y' . $end));
    $attempt('rmdir' . $end, fn() => rmdir('/mnt/d' . $end));
    $attempt('temp' . $end, fn() => str_starts_with(tempnam('/mnt' . $end, 'p'), '/mnt'));
    $attempt('sqlite' . $end, fn() => (new SQLite3('/mnt/base' . $end))->exec('create table t(a)'));
    $attempt('pdo' . $end, fn() => (new PDO('sqlite:/mnt/pdo' . $end))->exec('create table t(a)'));
    $attempt('zlib' . $end, fn() => file_put_contents('compress.zlib:///mnt/gz' . $end, 'y'));
    $attempt('object' . $end, fn() => (new SplFileObject('/mnt/o' . $end, 'w'))->fwrite('y'));
}
return $done;";
        only_with_write_access(
            PHP,
            code,
            &["write", "append", "create", "copy", "rename", "mkdir", "unlink", "pdo"],
        );
    });
}

#[test]
fn fs_06_moving_does_not_carry_files_out_of_a_read_only_mount() {
    case(&[PHP], || {
        let (shown, own) = (Project::new(), Project::new());
        let before = shown.state();
        let attack = Attack::new(PHP).ends(&["returned"]);
        let codes = [
            "@rename('/ro/x', '/rw/moved')",
            "@rename('/rw/x', '/ro/moved')",
            "@link('/ro/x', '/rw/linked') && file_put_contents('/rw/linked', 'y')",
            "@symlink('/ro/x', '/rw/soft') && @file_put_contents('/rw/soft', 'y')",
        ];
        let requests = codes.map(|code| {
            let mut request = attack.request(code);
            shown.mount(&mut request, "/ro", Access::ReadOnly);
            own.mount(&mut request, "/rw", Access::ReadWrite);
            request
        });
        attack.run_requests(requests.into());
        assert_eq!(shown.state(), before);
    });
}

#[test]
fn fs_08_full_files_are_an_error_and_the_host_is_bounded() {
    case(&[PHP], || {
        let stop = "set_error_handler(function ($n, $m) { throw new ErrorException($m); });";
        let attack = Attack::new(PHP).wall(30_000).files(2_000).ends(&["raised"]);
        let outcomes = bounded(|| {
            attack.run(&[
            format!("{stop} $b = str_repeat('x', 1 << 20); while (true) file_put_contents('/tmp/f', $b, FILE_APPEND);"),
            format!("{stop} for ($i = 0; ; $i++) file_put_contents(\"/tmp/$i\", '');"),
            format!("{stop} for ($i = 0; ; $i++) mkdir(\"/tmp/$i\");"),
            format!("{stop} $p = '/tmp'; while (true) mkdir($p .= '/d');"),
            format!("{stop} $f = fopen('/tmp/f', 'w'); while (true) {{ fseek($f, 1 << 40); fwrite($f, 'x'); }}"),
            format!("{stop} $d = new SQLite3('/tmp/f'); $d->enableExceptions(true); $d->exec('create table t(a)'); while (true) $d->exec(\"insert into t values(zeroblob(1000000))\");"),
        ])
        });
        assert!(outcomes[0].usage.disk_written <= 64 << 20);
        let code =
            format!("{stop} $b = str_repeat('x', 1 << 20); while (true) file_put_contents('/tmp/f', $b);");
        overwriting_ends(PHP, &code, "raised");
    });
}

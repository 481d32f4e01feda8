//! Files, in JavaScript.

use super::*;

/// `fs` as a snippet gets it.
fn with_fs(code: &str) -> String {
    format!("const fs = require('fs'); {code}")
}

#[test]
fn fs_01_nothing_of_the_host_is_there() {
    case(&[JAVASCRIPT], || {
        let attack = Attack::new(JAVASCRIPT).ends(&["raised Error"]);
        for act in [
            "fs.readFileSync(PATH)",
            "fs.statSync(PATH)",
            "fs.appendFileSync(PATH, 'x')",
            "fs.readdirSync(PATH)",
        ] {
            // Without a slash it is a name in `/tmp`. `/dev/null` is the interpreter's own, and no file of the host.
            let codes: Vec<String> = FOREIGN
                .iter()
                .filter(|path| path.contains('/') && **path != "/dev/null")
                .map(|path| with_fs(&act.replace("PATH", &format!("\"{path}\""))))
                .collect();
            attack.run(&codes);
        }
        let canary = canary::path();
        let canary = canary.display();
        attack.run(&[
            with_fs(&format!("fs.readFileSync('{canary}')")),
            with_fs(&format!("fs.writeFileSync('{canary}', 'x')")),
            with_fs(&format!("fs.unlinkSync('{canary}')")),
            with_fs(&format!("fs.renameSync('{canary}', '/tmp/x')")),
            with_fs(&format!("fs.rmSync('{canary}', {{ recursive: true }})")),
            with_fs(&format!("fs.copyFileSync('{canary}', '/tmp/x')")),
            with_fs(&format!("fs.readFileSync(new URL('file://{canary}'))")),
        ]);
        let seen = sandbox::eval(
            JAVASCRIPT,
            &with_fs("let names = []; try { names = fs.readdirSync('/') } catch {} names"),
        );
        let names = value(&seen)["value"].clone();
        let only = [json!([]), json!([{"type": "string", "value": "tmp"}])];
        assert!(only.contains(&names), "the root shows {names}");
    });
}

#[test]
fn fs_03_links_are_not_followed_out_of_a_mount() {
    case(&[JAVASCRIPT], || {
        let project = Project::new();
        let attack = Attack::new(JAVASCRIPT).ends(&["raised"]);
        let (out, knots) = (project.with_links(), project.with_knots());
        for access in [Access::ReadOnly, Access::ReadWrite] {
            let mut requests = Vec::new();
            for path in out.iter().chain(&knots) {
                for act in ["readFileSync", "statSync", "readdirSync"] {
                    let mut request = attack.request(&with_fs(&format!("fs.{act}('/mnt/{path}', 'utf8')")));
                    project.mount(&mut request, "/mnt", access);
                    requests.push(request);
                }
                let mut request =
                    attack.request(&format!("import all from '/mnt/{path}'; export default all"));
                project.mount(&mut request, "/mnt", access);
                requests.push(request);
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
    case(&[JAVASCRIPT], || {
        let code = r"
const fs = require('fs');
const done = [];
const attempt = (name, act) => { try { act(); done.push(name) } catch {} };
fs.writeFileSync('/tmp/new', 'x');
for (const end of ['', '/']) {
  attempt('write' + end, () => fs.writeFileSync('/mnt/x' + end, 'y'));
  attempt('append' + end, () => fs.appendFileSync('/mnt/x' + end, 'y'));
  attempt('create' + end, () => fs.writeFileSync('/mnt/n' + end, 'y', { flag: 'wx' }));
  attempt('copy' + end, () => fs.copyFileSync('/mnt/x', '/mnt/z' + end));
  attempt('rename' + end, () => fs.renameSync('/mnt/d', '/mnt/e' + end));
  attempt('rename-back' + end, () => fs.renameSync('/mnt/e', '/mnt/d' + end));
  attempt('rename-in' + end, () => fs.renameSync('/tmp/new', '/mnt/in' + end));
  attempt('rename-out' + end, () => fs.renameSync('/mnt/x' + end, '/tmp/out'));
  attempt('mkdir' + end, () => fs.mkdirSync('/mnt/m' + (end ? '2' : '1') + end));
  attempt('mkdir-deep' + end, () => fs.mkdirSync('/mnt/p/q' + (end ? '2' : '1') + end, { recursive: true }));
  attempt('unlink' + end, () => fs.unlinkSync('/mnt/d/y' + end));
  attempt('rmdir' + end, () => fs.rmdirSync('/mnt/d' + end));
  attempt('rm' + end, () => fs.rmSync('/mnt/d' + end, { recursive: true }));
}
try { await fs.promises.writeFile('/mnt/later', 'y'); done.push('later') } catch {}
done";
        only_with_write_access(
            JAVASCRIPT,
            code,
            &["write", "append", "create", "copy", "rename", "mkdir", "unlink", "later"],
        );
    });
}

#[test]
fn fs_06_moving_does_not_carry_files_out_of_a_read_only_mount() {
    case(&[JAVASCRIPT], || {
        let (shown, own) = (Project::new(), Project::new());
        let before = shown.state();
        let attack = Attack::new(JAVASCRIPT).ends(&["raised Error"]);
        let codes = [
            "fs.renameSync('/ro/x', '/rw/moved')",
            "fs.renameSync('/rw/x', '/ro/moved')",
            "fs.renameSync('/ro/x', '/tmp/moved')",
        ];
        let requests = codes.map(|code| {
            let mut request = attack.request(&with_fs(code));
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
    case(&[JAVASCRIPT], || {
        let attack = Attack::new(JAVASCRIPT).wall(30_000).files(2_000).ends(&["raised Error"]);
        let outcomes = bounded(|| {
            attack.run(&[
                with_fs("const b = new Uint8Array(1 << 20); for(;;) fs.appendFileSync('/tmp/f', b)"),
                with_fs("for (let i = 0; ; i++) fs.writeFileSync(`/tmp/${i}`, '')"),
                with_fs("for (let i = 0; ; i++) fs.mkdirSync(`/tmp/${i}`)"),
                with_fs("let p = '/tmp'; for(;;) fs.mkdirSync(p += '/d')"),
                with_fs("process.chdir('/tmp'); for(;;) { fs.mkdirSync('d'); process.chdir('d') }"),
            ])
        });
        assert!(outcomes[0].usage.disk_written <= 64 << 20);
        assert_eq!(
            outcomes[0].exception().map(|exception| exception.code.clone()),
            Some(Some("ENOSPC".into()))
        );
        let code = with_fs("const b = new Uint8Array(1 << 20); for(;;) fs.writeFileSync('/tmp/f', b)");
        overwriting_ends(JAVASCRIPT, &code, "raised Error");
    });
}

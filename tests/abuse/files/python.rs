//! Files, in Python.

use super::*;

#[test]
fn fs_01_nothing_of_the_host_is_there() {
    case(&[PYTHON], || {
        let attack = Attack::new(PYTHON).ends(&[
            "raised FileNotFoundError",
            "raised PermissionError",
            "raised OSError",
        ]);
        // The guest's own, in which nothing is.
        let foreign: Vec<&str> = FOREIGN.into_iter().filter(|path| *path != "/dev/null").collect();
        let read: Vec<String> = foreign.iter().map(|path| format!("open(\"{path}\").read()")).collect();
        attack.run(&read);
        let look: Vec<String> =
            foreign.iter().map(|path| format!("import os; os.stat(\"{path}\")")).collect();
        attack.run(&look);
        // Without a slash it is a name in `/tmp`.
        let elsewhere = foreign.iter().filter(|path| path.contains('/'));
        let write: Vec<String> = elsewhere.map(|path| format!("open(\"{path}\", 'a').write('x')")).collect();
        attack.run(&write);
        let canary = canary::path();
        attack.run(&[
            &format!("open({:?}).read()", canary.display()),
            &format!("open({:?}, 'w').write('x')", canary.display()),
            &format!("import os; os.unlink({:?})", canary.display()),
            &format!("import os; os.rename({:?}, '/tmp/x')", canary.display()),
            &format!("import os; os.link({:?}, '/tmp/x')", canary.display()),
            &format!("import os; os.symlink({0:?}, '/tmp/x'); open('/tmp/x').read()", canary.display()),
            "import os; os.symlink('/', '/tmp/root'); os.listdir('/tmp/root/etc')",
            "import os; os.symlink('..', '/tmp/up'); os.listdir('/tmp/up/..')",
        ]);
        let opened = "import urllib.request; urllib.request.urlopen('file:///etc/passwd').read()";
        Attack::new(PYTHON).ends(&["raised urllib.error.URLError"]).run(&[opened]);
        let seen = sandbox::eval(
            PYTHON,
            "import os\ntry: names = os.listdir('/')\nexcept OSError: names = []\nnames",
        );
        let names = value(&seen)["value"].clone();
        let only = [json!([]), json!([{"type": "string", "value": "tmp"}])];
        assert!(only.contains(&names), "the root shows {names}");
    });
}

#[test]
fn fs_03_links_are_not_followed_out_of_a_mount() {
    case(&[PYTHON], || {
        let project = Project::new();
        let attack = Attack::new(PYTHON).ends(&[
            "raised FileNotFoundError",
            "raised PermissionError",
            "raised OSError",
        ]);
        let (out, knots) = (project.with_links(), project.with_knots());
        for access in [Access::ReadOnly, Access::ReadWrite] {
            for path in &out {
                let codes = [
                    format!("open('/mnt/{path}').read()"),
                    format!("open('/mnt/{path}', 'a').write('x')"),
                    format!("import os; os.stat('/mnt/{path}')"),
                    format!("import os; os.link('/mnt/{path}', '/tmp/x'); open('/tmp/x').read()"),
                ];
                let requests = codes.iter().map(|code| {
                    let mut request = attack.request(code);
                    project.mount(&mut request, "/mnt", access);
                    request
                });
                for outcome in attack.run_requests(requests.collect()) {
                    assert!(
                        !answer(&outcome).to_string().contains(canary::SONG),
                        "the canary sang through {path}"
                    );
                }
            }
            let requests = knots.iter().map(|path| {
                let mut request = attack.request(&format!("open('/mnt/{path}').read()"));
                project.mount(&mut request, "/mnt", access);
                request
            });
            Attack::new(PYTHON).ends(&["raised"]).run_requests(requests.collect());
        }
        let mut request = Attack::new(PYTHON)
            .request("import os; os.symlink('d/y', '/mnt/inside'); open('/mnt/inside').read()");
        project.mount(&mut request, "/mnt", Access::ReadWrite);
        assert_eq!(value(&sandbox::run_request(request))["value"], "inner", "links inside of a mount work");
    });
}

#[test]
fn fs_05_a_read_only_mount_stays_read_only_through_every_path() {
    case(&[PYTHON], || {
        let code = r#"
import os, pathlib, shutil
done = []
def attempt(name, act):
    try: act()
    except (OSError, AttributeError, NotImplementedError): return
    done.append(name)
def write(path, mode): 
    with open(path, mode) as file: file.write('x')
def flags(path, flags):
    os.close(os.open(path, flags))
for end in ('', '/'):
    attempt('rename-in' + end, lambda: (write('/tmp/new', 'w'), os.rename('/tmp/new', '/mnt/in' + end)))
    attempt('rename-out' + end, lambda: os.rename('/mnt/x' + end, '/tmp/out'))
    attempt('rename' + end, lambda: os.rename('/mnt/d', '/mnt/e' + end) or os.rename('/mnt/e', '/mnt/d'))
    attempt('mkdir' + end, lambda: os.mkdir('/mnt/new' + (end or '1') + end))
    attempt('symlink' + end, lambda: os.symlink('x', '/mnt/link' + end))
    attempt('rmdir' + end, lambda: os.rmdir('/mnt/empty' + end))
    attempt('utime' + end, lambda: os.utime('/mnt/d' + end, (1, 1)))
    attempt('utime-file' + end, lambda: os.utime('/mnt/x' + end, (1, 1)))
    try: os.chmod('/mnt/x' + end, 0o777)
    except OSError: pass
    attempt('truncate' + end, lambda: os.truncate('/mnt/x' + end, 0))
    attempt('link-in' + end, lambda: os.link('/tmp/kept', '/mnt/hard' + end))
    attempt('unlink' + end, lambda: os.unlink('/mnt/d/y' + end))
    for mode in ('w', 'a', 'r+', 'x', 'w+', 'a+'):
        attempt('open-' + mode + end, lambda: write('/mnt/' + ('n' + mode if mode == 'x' else 'x') + end, mode))
for name in ('O_WRONLY', 'O_RDWR', 'O_TRUNC', 'O_CREAT', 'O_APPEND'):
    both = getattr(os, name) | (0 if name in ('O_WRONLY', 'O_RDWR') else os.O_RDONLY)
    target = '/mnt/created' if name == 'O_CREAT' else '/mnt/x'
    if name != 'O_APPEND':
        attempt(name, lambda: flags(target, both))
    attempt(name + '-write', lambda: os.write(os.open(target, both | os.O_WRONLY), b'x'))
attempt('through-link', lambda: (os.symlink('/mnt/x', '/tmp/l'), write('/tmp/l', 'w')))
attempt('dir-fd', lambda: os.close(os.open('x', os.O_RDWR, dir_fd=os.open('/mnt', os.O_RDONLY))))
attempt('copy', lambda: shutil.copy('/mnt/x', '/mnt/z'))
attempt('rmtree', lambda: shutil.rmtree('/mnt/d'))
done
"#;
        let wanted = [
            "open-w", "open-a", "open-r+", "open-x", "mkdir", "rename", "symlink", "unlink", "utime",
            "O_TRUNC", "rmtree",
        ];
        only_with_write_access(PYTHON, code, &wanted);
    });
}

#[test]
fn fs_06_hard_links_do_not_carry_write_access_across_mounts() {
    case(&[PYTHON], || {
        let (shown, own) = (Project::new(), Project::new());
        let before = shown.state();
        let attack = Attack::new(PYTHON).ends(&[
            "raised PermissionError",
            "raised OSError",
            "raised FileNotFoundError",
        ]);
        let requests = [
            "import os; os.link('/ro/x', '/rw/hard'); open('/rw/hard', 'w').write('x')",
            "import os; os.link('/ro/x', '/tmp/hard'); open('/tmp/hard', 'w').write('x')",
            "import os; os.link('/rw/x', '/ro/hard')",
            "import os; os.rename('/ro/x', '/rw/moved')",
            "import os; os.link('/ro/d', '/rw/d2')",
            "import os; os.link('/rw/../ro/x', '/rw/hard2')",
        ];
        let requests = requests.iter().map(|code| {
            let mut request = attack.request(code);
            shown.mount(&mut request, "/ro", Access::ReadOnly);
            own.mount(&mut request, "/rw", Access::ReadWrite);
            request
        });
        attack.run_requests(requests.collect());
        assert_eq!(shown.state(), before);
    });
}

#[test]
fn fs_08_full_files_are_an_error_and_the_host_is_bounded() {
    case(&[PYTHON], || {
        let attack = Attack::new(PYTHON).wall(30_000).files(2_000).ends(&["raised OSError"]);
        let outcomes = bounded(|| {
            attack.run(&[
                "with open('/tmp/f', 'wb') as f:\n while True: f.write(bytes(1 << 20))",
                "i = 0\nwhile True:\n open(f'/tmp/{i}', 'w').close()\n i += 1",
                "import os\ni = 0\nwhile True:\n os.mkdir(f'/tmp/{i}')\n i += 1",
                "import os\np = '/tmp'\nwhile True:\n p += '/d'\n os.mkdir(p)",
                "import os; os.chdir('/tmp')\nfor _ in range(3_000):\n os.mkdir('d')\n os.chdir('d')",
                "open('/tmp/f', 'wb').truncate(1 << 40)",
                "f = open('/tmp/f', 'wb'); f.seek(1 << 40); f.write(b'x'); f.flush()",
                "import os\ni = 0\nwhile True:\n os.symlink('x' * 200, f'/tmp/{i}')\n i += 1",
            ])
        });
        assert!(outcomes[0].usage.disk_written <= 64 << 20);
        assert_eq!(
            outcomes[0].exception().map(|exception| exception.code.clone()),
            Some(Some(28.into())),
            "ENOSPC, as Linux numbers it"
        );
        let code = "f = open('/tmp/f', 'w+b', buffering=0)\nwhile True:\n f.seek(0); f.write(bytes(1 << 20))";
        overwriting_ends(PYTHON, code, "raised OSError");
    });
}

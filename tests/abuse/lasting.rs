//! Files of sandboxes that last: paths, links, mounts, archives, what fills them, and what a destroyed one leaves.

mod archives;
mod life;
mod rest;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use dormouse::sandbox::{Handle, Name, Owner, SandboxSpec, SpecMount};
use dormouse::sandboxes::Asked;
use dormouse::{Access, Dormouse, ErrorCode, EvalRequest, GuestPath, Language, PersistentSandbox};
use dormouse_tests::case::case;
use dormouse_tests::ending::{answer, ending};
use dormouse_tests::lasting::{self, close, named, open, run, shown};
use dormouse_tests::{JAVASCRIPT, PHP, PYTHON, binary, canary, sandbox};
use dormouse_tools::{CallContext, Surface, Toolset};
use serde_json::{Value as Json, json};

use crate::files::{FOREIGN, Project};

/// The tools over an installation.
fn surface(dormouse: &Dormouse) -> Surface {
    Surface::new(dormouse.runtime().clone()).with_tools(Toolset::All).expect("all tools")
}

/// What a tool answers, which never holds the canary's song.
#[track_caller]
fn call(surface: &Surface, tool: &str, arguments: Json) -> Json {
    let Json::Object(arguments) = arguments else { panic!("not an object") };
    let reply = sandbox::wait(surface.call(tool, arguments, CallContext::default())).expect("a tool");
    assert!(!reply.text.contains(canary::SONG) && !reply.structured.to_string().contains(canary::SONG));
    reply.structured
}

fn code(answer: &Json) -> &str {
    answer["error"]["code"].as_str().unwrap_or("none")
}

fn with(spec: SandboxSpec, dormouse: &Dormouse, name: &str) -> PersistentSandbox {
    let asked = Asked { name: Some(Name::parse(name).unwrap()), spec: Some(spec), ..Asked::default() };
    sandbox::wait(lasting::sandboxes(dormouse).create(&Owner::local(), asked)).expect("a sandbox");
    named(dormouse, name)
}

fn mounted(project: &Project, access: Access) -> SandboxSpec {
    let target = GuestPath::parse("/mnt").unwrap();
    let mounts = vec![SpecMount { source: project.path().into(), target, access }];
    SandboxSpec { mounts, ..SandboxSpec::default() }
}

/// Everything below `/`, with its size.
fn tree(dormouse: &Dormouse, name: &str) -> BTreeMap<String, u64> {
    let (found, owner) = (lasting::sandboxes(dormouse), Owner::local());
    let root = GuestPath::parse("/").unwrap();
    let handle = Handle::IdOrName(name);
    let (entries, total) =
        sandbox::wait(found.list_files(&owner, &handle, root, true, 10_000)).expect("it can be listed");
    assert_eq!(total, entries.len() as u64);
    entries.into_iter().map(|entry| (entry.path, entry.bytes)).collect()
}

#[test]
fn fs_01_a_sandbox_that_lasts_sees_nothing_of_the_host() {
    case(&[PYTHON, JAVASCRIPT, PHP], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let kept = named(&dormouse, "box");
        let canary = canary::path().display().to_string();
        for path in FOREIGN.iter().map(ToString::to_string).chain([canary]) {
            // As a relative path it is a name of `/workspace`, where there is none.
            for (language, code) in [
                (PYTHON, format!("open(\"{path}\").read()")),
                (JAVASCRIPT, format!("require('fs').readFileSync(\"{path}\", 'utf8')")),
                (
                    PHP,
                    format!(
                        "return file_get_contents(\"{path}\") === false ? throw new Exception('none') : 1;"
                    ),
                ),
            ] {
                let outcome = run(&kept, language, &code);
                let harmless = path.starts_with("data:") && language == PHP || path == "/dev/null";
                assert!(!outcome.is_ok() || harmless, "{language} {path}: {}", ending(&outcome));
                assert!(!answer(&outcome).to_string().contains(canary::SONG));
            }
        }
        assert_eq!(
            tree(&dormouse, "box").keys().collect::<Vec<_>>(),
            ["tmp", "workspace", "workspace/outputs"]
        );
        drop(kept);
        close(dormouse);
    });
}

/// Links are made inside, where they lead out; every file tool is then asked to follow them.
#[test]
fn fs_02_no_file_tool_leads_out_of_the_tree() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let kept = named(&dormouse, "box");
        let host = canary::path().display().to_string();
        let links = format!(
            "import os\nos.makedirs('d/e')\nos.symlink('../../../../../..{host}', 'up')\nos.symlink('../../..', 'd/root')\n\
             os.symlink('loop', 'loop')\nos.symlink('nowhere', 'dangling')\nos.symlink('d', 'inner')\n\
             for n in range(60): os.symlink(f'c{{n+1}}', f'c{{n}}')\n\
             refused = []\n\
             for target in ('{host}', '/etc/passwd', '/'):\n\
             \x20try: os.symlink(target, 'absolute'); os.unlink('absolute')\n\
             \x20except OSError: refused.append(target)\n\
             len(refused)"
        );
        assert_eq!(shown(&kept, PYTHON, &links), 3, "a link to an absolute path is refused");
        let before = tree(&dormouse, "box");
        let surface = surface(&dormouse);
        let long = format!("/workspace/{}", "d/".repeat(2_100));
        let wide = format!("/workspace/{}", "n".repeat(256));
        let under = format!("/workspace/up/..{host}");
        let bad = [
            "/workspace/up",
            "/workspace/d/root/etc/passwd",
            "/workspace/loop",
            "/workspace/c0",
            "/workspace/up/x",
            "/workspace/d/root/../../etc/passwd",
            "../../etc/passwd",
            "a/../../b",
            "./..//..",
            "",
            ".",
            "/.",
            "/..",
            "/workspace/",
            "/workspace//x",
            "/workspace/./x",
            "/workspace/../x",
            "/etc/passwd",
            "/workspaces/x",
            "%2e%2e",
            "..\\",
            "C:\\x",
            "file:///etc/passwd",
            "/a\0b",
            &long,
            &wide,
            &under,
        ];
        for path in bad {
            for (tool, more) in [
                ("sandbox_read", json!({})),
                ("sandbox_edit", json!({"old": "a", "new": "b"})),
                ("sandbox_write", json!({"content": "x"})),
                ("sandbox_upload", json!({"content_base64": "eA=="})),
                ("sandbox_files", json!({})),
                ("sandbox_download", json!({})),
            ] {
                if (tool, path) == ("sandbox_files", "") {
                    // An empty text counts as left out, and here it may be.
                    continue;
                }
                let mut arguments = more;
                (arguments["sandbox"], arguments["path"]) = ("box".into(), path.into());
                let answer = call(&surface, tool, arguments);
                let found = code(&answer);
                let refused = [
                    "args_invalid",
                    "not_found",
                    "too_large",
                    "invalid_state",
                    "path_denied",
                    "write_denied",
                ];
                assert!(refused.contains(&found), "{tool} {:?}: {found}", path.get(..60).unwrap_or(path));
                let message = answer["error"]["message"].as_str().unwrap();
                assert!(message.len() < 400, "{tool}: {message}");
            }
        }
        assert_eq!(tree(&dormouse, "box"), before, "a refused call has left something");
        // What a name means on other systems means nothing here.
        for path in ["/workspace/CON", "/workspace/%2e%2e", "/workspace/inner/f", "/tmp/etc/passwd"] {
            let call = |tool, more: Json| {
                let mut arguments = more;
                (arguments["sandbox"], arguments["path"]) = ("box".into(), path.into());
                call(&surface, tool, arguments)
            };
            assert_eq!(code(&call("sandbox_read", json!({}))), "not_found", "{path}");
            assert_eq!(code(&call("sandbox_write", json!({"content": "ours"}))), "none", "{path}");
            assert_eq!(call("sandbox_read", json!({}))["content"], "ours", "{path}");
        }
        drop((kept, surface));
        close(dormouse);
    });
}

#[test]
fn fs_05_a_read_only_mount_of_a_sandbox_that_lasts_stays_so() {
    case(&[PYTHON], || {
        let (folder, project) = (tempfile::tempdir().unwrap(), Project::new());
        let before = project.state();
        let dormouse = open(folder.path());
        let kept = with(mounted(&project, Access::ReadOnly), &dormouse, "box");
        let attempts = "import os
done = []
def attempt(name, act):
    try: act()
    except OSError: return
    done.append(name)
def write(path, mode):
    with open(path, mode) as f: f.write('y')
for end in ('', '/'):
    for mode in ('w', 'a', 'r+', 'x'): attempt(mode + end, lambda: write('/mnt/x' + ('1' if mode == 'x' else '') + end, mode))
    attempt('unlink' + end, lambda: os.unlink('/mnt/x' + end))
    attempt('truncate' + end, lambda: os.truncate('/mnt/x' + end, 0))
    attempt('mkdir' + end, lambda: os.mkdir('/mnt/new' + end))
    attempt('rmdir' + end, lambda: os.rmdir('/mnt/d' + end))
    attempt('utime' + end, lambda: os.utime('/mnt/x' + end, (1, 1)))
    attempt('symlink' + end, lambda: os.symlink('x', '/mnt/l' + end))
    attempt('out' + end, lambda: os.rename('/mnt/x' + end, '/workspace/x'))
    attempt('in' + end, lambda: (write('/workspace/n', 'w'), os.rename('/workspace/n', '/mnt/n' + end)))
    attempt('link out' + end, lambda: os.link('/mnt/x', '/workspace/hard' + end))
    attempt('link in' + end, lambda: os.link('/workspace/n', '/mnt/hard' + end))
done";
        for _ in 0..2 {
            let outcome = run(&kept, PYTHON, attempts);
            assert_eq!(answer(&outcome)["result"]["value"], json!([]), "{}", answer(&outcome));
            assert!(before == project.state(), "the project was changed");
            // The tools know the tree only; where a mount lies they reach what it hides, and never the host.
            let surface = surface(&dormouse);
            for (tool, more) in [
                ("sandbox_write", json!({"content": "y"})),
                ("sandbox_upload", json!({"content_base64": "eQ=="})),
            ] {
                let mut arguments = more;
                (arguments["sandbox"], arguments["path"]) = ("box".into(), "/mnt/x".into());
                call(&surface, tool, arguments);
                assert!(before == project.state(), "{tool} has changed the project");
            }
            assert_eq!(shown(&kept, PYTHON, "open('/mnt/x').read()"), "original");
            sandbox::wait(kept.stop()).unwrap();
        }
        drop(kept);
        close(dormouse);
    });
}

/// FIFO, socket, device, a terabyte of nothing, names that are no text, very many names.
#[test]
fn fs_07_odd_files_below_a_mount_hold_nobody_up() {
    case(&[PYTHON], || {
        let (folder, project) = (tempfile::tempdir().unwrap(), Project::new());
        let path = |name: &str| project.path().join(name);
        let make = |program: &str, words: &[&str]| {
            let ran = binary::finish(binary::started(Path::new(program), words), b"");
            (ran.status == Some(0)).then_some(()).ok_or_else(|| ran.complaint())
        };
        make("mkfifo", &[path("fifo").to_str().unwrap()]).expect("a FIFO can be made");
        let _socket = std::os::unix::net::UnixListener::bind(path("socket")).unwrap();
        if let Err(why) = make("mknod", &[path("device").to_str().unwrap(), "c", "1", "5"]) {
            eprintln!("left out: a device cannot be made: {why}");
        }
        fs::File::create(path("sparse")).unwrap().set_len(1 << 40).unwrap();
        fs::write(path("new\nline"), "n").unwrap();
        fs::write(project.path().join(std::ffi::OsStr::from_bytes(b"not-\xff-text")), "n").unwrap();
        fs::create_dir(path("many")).unwrap();
        for number in 0..30_000 {
            fs::write(path("many").join(number.to_string()), "").unwrap();
        }
        let dormouse = open(folder.path());
        let kept = with(mounted(&project, Access::ReadOnly), &dormouse, "box");
        for snippet in [
            "open('/mnt/fifo').read()",
            "open('/mnt/socket').read()",
            "open('/mnt/device', 'rb').read()",
            "open('/mnt/sparse', 'rb').read()",
            "open('/mnt/sparse', 'rb').seek(1 << 60); open('/mnt/sparse', 'rb').read(1 << 40)",
            "import os; len(os.listdir('/mnt/many'))",
            "import os; os.listdir('/mnt'); open('/mnt/new\\nline').read()",
        ] {
            let mut request = EvalRequest::new(Language::python(), snippet);
            request.context.limits.wall = Duration::from_secs(3);
            let begin = Instant::now();
            let outcome = sandbox::wait(kept.run(request)).unwrap();
            assert!(begin.elapsed() < Duration::from_secs(6), "{snippet}: {:?}", begin.elapsed());
            let found = ending(&outcome);
            let kind = found.split(' ').next().unwrap();
            assert!(
                ["returned", "raised", "limit_time", "limit_memory", "limit_host"].contains(&kind),
                "{snippet}: {found}"
            );
            assert!(kind != "returned" || snippet.contains("listdir"), "{snippet}: {found}");
            assert_eq!(shown(&kept, PYTHON, "open('/mnt/x').read()"), "original", "{snippet}");
        }
        // What has no name that could be shown hides none of the others.
        let listing = "import os; '|'.join(sorted(n for n in os.listdir('/mnt') if n == 'x' or 'n' in n))";
        assert_eq!(shown(&kept, PYTHON, listing), "many|new\nline|x");
        drop(kept);
        close(dormouse);
    });
}

#[test]
fn fs_08_what_fills_a_sandbox_that_lasts_is_an_error_and_is_not_saved_twice() {
    case(&[PYTHON], || {
        let folder = tempfile::tempdir().unwrap();
        let dormouse = open(folder.path());
        let spec = SandboxSpec { disk: 8 << 20, files: 500, ..SandboxSpec::default() };
        let kept = with(spec, &dormouse, "box");
        for fill in [
            "import os\nwith open('big', 'wb') as f:\n while True: f.write(os.urandom(1 << 20))",
            "n = 0\nwhile True: open(f'f{n}', 'w').close(); n += 1",
            "f = open('sparse', 'wb'); f.truncate(1 << 40)",
            "with open('grown', 'wb') as f:\n while True: f.seek(1 << 20, 1); f.write(b'x'); f.flush()",
            "import os\nwhile True: os.mkdir('d'); os.chdir('d')",
        ] {
            let outcome = run(&kept, PYTHON, fill);
            assert!(ending(&outcome).starts_with("raised"), "{fill}: {}", ending(&outcome));
            let raised = &answer(&outcome)["exception"]["class"];
            assert!(raised == "OSError" || raised == "FileNotFoundError", "{fill}: {raised}");
        }
        let (size, entries) =
            tree(&dormouse, "box").values().fold((0, 0), |(size, count), bytes| (size + bytes, count + 1));
        assert!(size <= 8 << 20 && entries <= 500, "{size} bytes, {entries} names");
        let error = sandbox::wait(kept.write("/workspace/big", vec![1; 9 << 20])).unwrap_err();
        assert_eq!(error.code(), ErrorCode::LimitDisk);
        let surface = surface(&dormouse);
        let long: String = "x".repeat(1 << 20);
        let full = call(
            &surface,
            "sandbox_write",
            json!({"sandbox": "box", "path": "/workspace/more", "content": long}),
        );
        assert!(["limit_disk", "none"].contains(&code(&full)), "{full}");
        // Full as it is, it is saved, woken, and emptied.
        sandbox::wait(kept.stop()).unwrap();
        let cleared = "import os, shutil\nos.chdir('/workspace')\nfor n in os.listdir('.'):\n shutil.rmtree(n) if os.path.isdir(n) else os.remove(n)\nlen(os.listdir('.'))";
        assert_eq!(shown(&kept, PYTHON, cleared), 0);
        sandbox::wait(kept.write("/workspace/big", vec![1; 7 << 20])).unwrap();
        let state = fs::metadata(folder.path().join("state.db")).unwrap().len();
        assert!(state < 48 << 20, "{state} bytes for 8 MiB of files");
        drop((kept, surface));
        close(dormouse);
    });
}

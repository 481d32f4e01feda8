//! Programs of `dormouse run`: a mount at `/` is the root, of snippets too, and reaches no further than its folder; a program
//! knows its name.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use dormouse_tests::binary::{Ran, dormouse};

/// Prints the folders that it was given, in their order.
const FOLDERS: &str = r#"(module
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_dir_name" (func $name (param i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (func (export "_start") (local $fd i32) (local $length i32)
    (local.set $fd (i32.const 3))
    (block $end (loop $next
      (br_if $end (call $get (local.get $fd) (i32.const 0)))
      (local.set $length (i32.load (i32.const 4)))
      (drop (call $name (local.get $fd) (i32.const 64) (local.get $length)))
      (i32.store8 (i32.add (i32.const 64) (local.get $length)) (i32.const 10))
      (i32.store (i32.const 16) (i32.const 64))
      (i32.store (i32.const 20) (i32.add (local.get $length) (i32.const 1)))
      (drop (call $write (i32.const 1) (i32.const 16) (i32.const 1) (i32.const 32)))
      (local.set $fd (i32.add (local.get $fd) (i32.const 1)))
      (br $next)))))"#;

/// Makes the file PATH below the first folder, and exits with the number of the error.
const MAKER: &str = r#"(module
  (import "wasi_snapshot_preview1" "path_open"
    (func $open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (data (i32.const 64) "PATH")
  (func (export "_start")
    (call $exit (call $open (i32.const 3) (i32.const 1) (i32.const 64) (i32.const LENGTH) (i32.const 1)
      (i64.const 64) (i64.const 0) (i32.const 0) (i32.const 0)))))"#;

/// Exits with the number of its arguments, its name among them.
const COUNTER: &str = r#"(module
  (import "wasi_snapshot_preview1" "args_sizes_get" (func $sizes (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $exit (param i32)))
  (memory (export "memory") 1)
  (func (export "_start")
    (drop (call $sizes (i32.const 0) (i32.const 4)))
    (call $exit (i32.load (i32.const 0)))))"#;

/// `perm` of preview 1.
const NOT_PERMITTED: i32 = 63;

/// A folder to be mounted, within another that nothing may reach, and a place for programs.
struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("root/tmp")).unwrap();
        fs::write(folder.path().join("root/given"), "given").unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        symlink("..", folder.path().join("root/up")).unwrap();
        Self { folder }
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("root")
    }

    fn mount(&self, access: &str) -> String {
        format!("{}:/{access}", self.root().display())
    }

    fn run(&self, text: &str, options: &[&str]) -> Ran {
        let program = self.folder.path().join("program.wasm");
        fs::write(&program, wat::parse_str(text).unwrap()).unwrap();
        dormouse(&[&["run"], options, &[program.to_str().unwrap()]].concat(), b"")
    }

    fn make(&self, path: &str, options: &[&str]) -> Option<i32> {
        self.run(&MAKER.replace("PATH", path).replace("LENGTH", &path.len().to_string()), options).status
    }
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_program_finds_a_mount_at_the_root_first_and_no_other_root() {
    let place = Place::new();
    assert_eq!(place.run(FOLDERS, &[]).text(), "/tmp\n/\n");
    assert_eq!(place.run(FOLDERS, &["--mount", &place.mount("")]).text(), "/\n/tmp\n");
    let data = format!("{}:/data", place.root().display());
    assert_eq!(place.run(FOLDERS, &["--mount", &data]).text(), "/tmp\n/\n/data\n");
    let both = ["--mount", &data, "--mount", &place.mount("")];
    assert_eq!(place.run(FOLDERS, &both).text(), "/\n/tmp\n/data\n");
}

#[test]
fn a_mount_at_the_root_ends_at_its_folder() {
    let place = Place::new();
    let writable = ["--writes", "--mount", &place.mount(":rw")];
    assert_eq!(place.make("made", &writable), Some(0));
    for path in ["../made", "/made", "up/made", "up/secret", "tmp/../../made"] {
        assert_eq!(place.make(path, &writable), Some(NOT_PERMITTED), "{path}");
    }
    assert_eq!(names(&place.root()), ["given", "made", "tmp", "up"]);
    assert_eq!(place.make("more", &["--mount", &place.mount("")]), Some(NOT_PERMITTED));
    assert_eq!(names(place.folder.path()), ["program.wasm", "root", "secret"]);
    assert_eq!(names(&place.root()), ["given", "made", "tmp", "up"]);
}

#[test]
fn a_snippet_has_its_own_tmp_below_a_mount_at_the_root() {
    let place = Place::new();
    for (language, code) in [
        (
            "python",
            "import os\nopen('/made-py', 'w').write('x')\nopen('/tmp/own', 'w').write('y')\n\
             print(open('/given').read(), os.listdir('/tmp'), sorted(os.listdir('/')))\n\
             try: open('/up/secret').read()\nexcept OSError as error: print(type(error).__name__)",
        ),
        (
            "js",
            "const fs = require('fs'); fs.writeFileSync('/made-js', 'x'); fs.writeFileSync('/tmp/own', 'y');\n\
             console.log(fs.readFileSync('/given', 'utf8'), fs.readdirSync('/tmp').join(), fs.readdirSync('/').sort().join());\n\
             try { fs.readFileSync('/up/secret') } catch (error) { console.log('no') }",
        ),
    ] {
        let mount = place.mount(":rw");
        let ran = dormouse(&["eval", "-l", language, "--writes", "--mount", &mount, code], b"");
        assert_eq!(ran.status, Some(0), "{language}: {}", ran.complaint());
        let told = ran.text();
        assert!(told.starts_with("given ") && told.contains("own"), "{language}: {told}");
        assert!(
            told.contains("given") && told.contains("up") && !told.contains("secret"),
            "{language}: {told}"
        );
        assert_eq!(told.lines().count(), 2, "{language}: {told}");
    }
    assert_eq!(names(&place.root()), ["given", "made-js", "made-py", "tmp", "up"]);
    assert!(names(&place.root().join("tmp")).is_empty(), "the run's own");
}

#[test]
fn a_program_has_its_name_with_and_without_arguments() {
    let place = Place::new();
    assert_eq!(place.run(COUNTER, &[]).status, Some(1));
    let program = place.folder.path().join("program.wasm");
    let ran = dormouse(&["run", program.to_str().unwrap(), "a", "b"], b"");
    assert_eq!(ran.status, Some(3), "{}", ran.complaint());
}

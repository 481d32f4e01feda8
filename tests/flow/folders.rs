//! Names of files through the doors: folders page by page, removing, renaming, copying of folders, files in pieces; notes of
//! checkpoints; one id for all doors.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use dormouse_tests::binary::{Ran, dormouse};
use dormouse_tests::served::Served;
use dormouse_tests::wire::Wire;
use serde_json::{Value as Json, json};

struct Commands(String);

impl Commands {
    fn run(&self, words: &[&str]) -> Ran {
        dormouse(&[&["sandbox", "--state-dir", &self.0], words].concat(), b"")
    }

    #[track_caller]
    fn ok(&self, words: &[&str]) -> String {
        let ran = self.run(words);
        assert_eq!(ran.status, Some(0), "{words:?}: {}", ran.complaint());
        ran.text()
    }

    #[track_caller]
    fn refused(&self, words: &[&str], code: &str) -> String {
        let ran = self.run(words);
        let told = ran.complaint();
        assert!(ran.status != Some(0) && told.contains(&format!("error[{code}]")), "{words:?}: {told}");
        told
    }
}

/// Every file below a folder, with its bytes.
fn tree(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(next).unwrap().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => left.push(entry.path()),
                false => {
                    let name = entry.path().strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
                    found.insert(name, fs::read(entry.path()).unwrap());
                }
            }
        }
    }
    found
}

#[test]
fn cp_copies_folders_and_large_files_and_takes_names_with_colons() {
    let place = tempfile::tempdir().unwrap();
    let at = |name: &str| place.path().join(name).to_str().unwrap().to_owned();
    let commands = Commands(at("state"));
    let source = place.path().join("project");
    fs::create_dir_all(source.join("a/b")).unwrap();
    fs::create_dir(source.join("empty")).unwrap();
    fs::write(source.join("one:two.txt"), "eins").unwrap();
    fs::write(source.join("a/b/two.txt"), "zwei").unwrap();
    let large: Vec<u8> = (0..20_000_003_u32).map(|at| (at % 251) as u8).collect();
    fs::write(source.join("a/large"), &large).unwrap();
    let wanted = tree(&source);
    std::os::unix::fs::symlink("/etc/passwd", source.join("link")).unwrap();

    commands.ok(&["create", "a:b"]);
    let ran = commands.run(&["cp", &at("project"), "a:b:/workspace/"]);
    assert_eq!(ran.status, Some(0), "{}", ran.complaint());
    assert!(ran.complaint().contains("link` is left out: it is a link"), "{}", ran.complaint());
    assert_eq!(
        commands.ok(&["files", "a:b", "/workspace/project", "-r"]).lines().count(),
        6,
        "each file and folder, and not the link"
    );
    commands.ok(&["cp", "a:b:/workspace/project", &at("copy")]);
    assert!(tree(&place.path().join("copy")) == wanted);
    assert!(place.path().join("copy/empty").is_dir());
    // Into what is there it goes by its own name, on both sides.
    fs::create_dir(place.path().join("into")).unwrap();
    commands.ok(&["cp", "a:b:/workspace/project/one:two.txt", &at("into")]);
    assert_eq!(fs::read(place.path().join("into/one:two.txt")).unwrap(), b"eins");
    commands.ok(&["cp", &at("project/one:two.txt"), "a:b:/workspace"]);
    commands.ok(&["cp", "a:b:/workspace/one:two.txt", &at("again")]);
    assert_eq!(fs::read(place.path().join("again")).unwrap(), b"eins");

    // Nothing is written where a link of the folder leads.
    let outside = place.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(place.path().join("trap/project")).unwrap();
    std::os::unix::fs::symlink(&outside, place.path().join("trap/project/a")).unwrap();
    commands.refused(&["cp", "a:b:/workspace/project", &at("trap")], "args_invalid");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    commands.refused(&["cp", &at("nothing"), "a:b:/workspace"], "not_found");
    commands.refused(&["cp", &at("project"), &at("other")], "args_invalid");
    commands.refused(&["cp", "a:b:/workspace/nothing", &at("other")], "not_found");
    assert!(!commands.ok(&["files", "a:b", "/workspace", "-r"]).contains(".upload-"));
}

#[test]
fn files_are_renamed_and_removed_and_a_full_place_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let commands = Commands(place.path().to_str().unwrap().to_owned());
    commands.ok(&["create", "work"]);
    commands.ok(&["exec", "work", "mkdir -p d/e && echo 1 > d/one && echo 2 > two && ln -s d link"]);
    commands.ok(&["mkdir", "work", "/workspace/new/deep"]);
    commands.ok(&["mv", "work", "/workspace/d/one", "/workspace/far/away/one"]);
    commands.refused(&["mv", "work", "/workspace/two", "/workspace/far/away/one"], "args_invalid");
    commands.ok(&["mv", "work", "--replace", "/workspace/two", "/workspace/far/away/one"]);
    assert_eq!(commands.ok(&["exec", "work", "cat far/away/one"]), "2\n");
    commands.refused(&["mv", "work", "/workspace/far", "/workspace/far/in/itself"], "args_invalid");
    commands.refused(&["rm-file", "work", "/workspace/far"], "args_invalid");
    for stays in ["/", "/workspace", "/tmp"] {
        let ran = commands.run(&["rm-file", "work", "-r", stays]);
        assert_ne!(ran.status, Some(0), "{stays}");
    }
    commands.ok(&["rm-file", "work", "/workspace/link"]);
    commands.ok(&["rm-file", "work", "-r", "/workspace/far"]);
    commands.refused(&["rm-file", "work", "/workspace/far"], "not_found");
    let left = commands.ok(&["exec", "work", "find . | sort | tr '\\n' ' '"]);
    assert_eq!(left.trim(), ". ./d ./d/e ./new ./new/deep ./outputs");
}

#[test]
fn long_folders_come_in_pages_and_files_in_pieces() {
    let place = tempfile::tempdir().unwrap();
    let server = Served::start(&["--state-dir", place.path().to_str().unwrap()]);
    let ask = |method: &str, path: &str, body: Option<Json>| {
        let told = server.ask(method, &format!("/api/sandboxes{path}"), None, body.as_ref());
        (told.status, told.json())
    };
    ask("POST", "", Some(json!({"name": "work"})));
    let many = "mkdir -p m/d; for i in $(seq 1 1500); do : > m/$i; done; : > m/d/x; : > m/d.txt";
    assert_eq!(ask("POST", "/work/exec", Some(json!({"command": many}))).1["exit_code"], 0);
    let (mut paths, mut cursor) = (Vec::new(), String::new());
    loop {
        let query = format!("/work/files?path=/workspace/m&recursive=true&limit=700{cursor}");
        let (status, page) = ask("GET", &query, None);
        assert_eq!((status, &page["total"]), (200, &json!(1503)), "{page}");
        let entries = page["entries"].as_array().unwrap();
        paths.extend(entries.iter().map(|entry| entry["path"].as_str().unwrap().to_owned()));
        if paths.len() == 700 {
            // What is removed between two pages is missed by nobody.
            ask("DELETE", "/work/files?path=/workspace/m/1", None);
            ask("PUT", "/work/files/content?path=/workspace/m/1", None);
        }
        match page["next_cursor"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => break,
        }
    }
    let mut sorted = paths.clone();
    sorted.sort_by(|one, other| one.split('/').cmp(other.split('/')));
    sorted.dedup();
    assert_eq!((paths.len(), &paths), (1503, &sorted));

    let whole: Vec<u8> = (0..9_500_000_u32).map(|at| (at % 253) as u8).collect();
    let put = |offset: usize, bytes: &[u8]| {
        let path = format!("/api/sandboxes/work/files/content?path=/workspace/.part&offset={offset}");
        let told = server.send("PUT", &path, &[("Content-Type", "application/octet-stream")], bytes);
        (told.status, told.json())
    };
    let too_large = server.send("PUT", "/api/sandboxes/work/files/content?path=/workspace/x", &[], &whole);
    assert_eq!(too_large.code(), "too_large");
    assert!(too_large.json()["error"]["hint"].as_str().unwrap().contains("offset"));
    let (first, second) = whole.split_at(8 << 20);
    assert_eq!(put(0, first).1["size_bytes"], first.len());
    assert_eq!(put(first.len(), second).1["size_bytes"], whole.len());
    // Sent again, because the answer was lost.
    let (status, again) = put(first.len(), second);
    assert_eq!((status, again["error"]["code"].as_str()), (409, Some("conflict")));
    assert!(again["error"]["hint"].as_str().unwrap().contains("9500000"), "{again}");
    let renamed = json!({"path": "/workspace/.part", "to": "/workspace/whole"});
    assert_eq!(ask("POST", "/work/files/rename", Some(renamed)).0, 200);
    let found = server.send("GET", "/api/sandboxes/work/files/content?path=/workspace/whole", &[], b"");
    assert!(found.body == whole);
    assert_eq!(ask("POST", "/work/files/folder", Some(json!({"path": "/workspace/f/g"}))).0, 200);
    assert_eq!(server.end().status, Some(0));
}

#[test]
fn checkpoints_are_described_listed_with_sizes_and_keep_their_notes() {
    let place = tempfile::tempdir().unwrap();
    let commands = Commands(place.path().to_str().unwrap().to_owned());
    commands.ok(&["create", "work"]);
    commands.ok(&["exec", "work", "echo 12345 > kept"]);
    let note = "before / deploy!\nsecond line";
    let made = commands.ok(&["checkpoint", "work", "--label", "good", "--note", note]);
    let id = made.split_whitespace().find(|word| word.starts_with("ckpt-")).unwrap().to_owned();
    let fields = |listed: &str| listed.trim().split('\t').map(str::to_owned).collect::<Vec<_>>();
    let listed = fields(&commands.ok(&["checkpoints", "work"]));
    assert_eq!(
        (listed[0].as_str(), listed[3].as_str(), listed[4].as_str()),
        (id.as_str(), "good", "before / deploy! second line")
    );
    assert!(listed[2].parse::<u64>().unwrap() > 0, "{listed:?}");
    commands.ok(&["describe-checkpoint", "work", "good", "--label", "better"]);
    commands.refused(&["restore", "work", "good"], "unknown_checkpoint");
    commands.ok(&["restore", "work", "better"]);
    commands.ok(&["describe-checkpoint", "work", &id, "--label", ""]);
    let listed = fields(&commands.ok(&["checkpoints", "work"]));
    assert_eq!((listed[3].as_str(), listed.len()), ("-", 5), "a note without a label stays a note");
    commands.ok(&["describe-checkpoint", "work", &id, "--note", ""]);
    assert_eq!(fields(&commands.ok(&["checkpoints", "work"])).len(), 3);
    for label in ["step-2", "..", "\u{200b}", "a\u{202e}b", id.as_str()] {
        commands.refused(&["checkpoint", "work", "--label", label], "args_invalid");
        commands.refused(&["describe-checkpoint", "work", &id, "--label", label], "args_invalid");
    }
    commands.refused(&["describe-checkpoint", "work", &id, "--note", &"x".repeat(1001)], "args_invalid");
    commands.ok(&["rm-checkpoint", "work", &id]);
    assert_eq!(commands.ok(&["checkpoints", "work"]), "");
}

#[test]
fn b_25_one_id_is_known_to_all_doors_and_no_name_hides() {
    let place = tempfile::tempdir().unwrap();
    let commands = Commands(place.path().to_str().unwrap().to_owned());
    let id = commands.ok(&["create", "work"]).split_whitespace().nth(1).unwrap().to_owned();
    let sprite = id.replace("sb-", "sprite-");
    assert_eq!(commands.ok(&["eval", &sprite, "6 * 7"]), "42\n");
    commands.ok(&["files", &sprite]);
    let mut wire =
        Wire::greeted(&["--state-dir", place.path().to_str().unwrap(), "--profile", "sprites,sandbox"]);
    let told = wire.call(1, "sprite_exec", json!({"name": sprite, "command": "echo hi"}));
    assert_eq!(told["structuredContent"]["stdout"], "hi\n", "{told}");
    let told = wire.call(2, "sandbox_exec", json!({"sandbox": sprite, "command": "echo ho"}));
    assert_eq!(
        (&told["structuredContent"]["stdout"], &told["structuredContent"]["sandbox_id"]),
        (&json!("ho\n"), &json!(id))
    );
    for name in [sprite.as_str(), id.as_str(), ".", "..", "\u{200b}", "a\u{202e}b"] {
        commands.refused(&["create", name], "args_invalid");
        let told = wire.call(3, "sprite_create", json!({"name": name}));
        assert_eq!(told["isError"], true, "{name:?}: {told}");
    }
    let listed = wire.ask(4, "tools/list", json!({}))["result"]["tools"].to_string();
    assert!(listed.contains("\"sandbox_job\""), "what starts in the background is looked after");
    drop(wire);
    // Who says `delete` or `destroy` means just that, and loses nothing else.
    for word in ["delete", "destroy"] {
        commands.ok(&["create", word]);
        commands.ok(&[word, word]);
        commands.refused(&["show", word], "unknown_sandbox");
    }
    assert_eq!(commands.ok(&["list"]).lines().count(), 1);
}

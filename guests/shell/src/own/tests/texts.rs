//! `diff`, `patch` and `split`.

use super::Shell;

const OLD: &str = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n";
const NEW: &str = "one\n2\nthree\nfour\nfive\nsix\n7\neight\n";

fn with_files() -> Shell {
    let shell = Shell::new();
    shell.write("/home/old", OLD.as_bytes());
    shell.write("/home/new", NEW.as_bytes());
    shell
}

#[test]
fn diff_shows_changes_in_its_forms() {
    let mut shell = with_files();
    let normal = shell.run("diff old new");
    assert_eq!(normal.out, "2c2\n< two\n---\n> 2\n7c7,8\n< seven\n---\n> 7\n> eight\n");
    assert_eq!((normal.err.as_str(), normal.status), ("", 1));
    let unified = shell.run("diff -U1 --label a --label b old new").out;
    assert_eq!(
        unified,
        "--- a\n+++ b\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n@@ -6,2 +6,3 @@\n six\n-seven\n+7\n+eight\n"
    );
    assert_eq!(
        shell.run("diff -q old new"),
        super::Came { out: "Files old and new differ\n".to_owned(), err: String::new(), status: 1 }
    );
    assert_eq!(shell.out("diff old old"), "");
    assert_eq!(shell.run("diff old none").status, 2);
}

#[test]
fn diff_leaves_out_what_it_is_told_to() {
    let mut shell = Shell::new();
    shell.out("printf 'A  b\\n\\nc\\n' > x; printf 'a b \\nc\\r\\n' > y");
    assert_eq!(shell.run("diff x y").status, 1);
    shell.out("diff -i -b -B --strip-trailing-cr x y");
    shell.out("mkdir d e; echo 1 > d/f; echo 1 > e/f; touch d/g; diff -r d e -x g");
    assert_eq!(shell.run("diff -r d e").out, "Only in d: g\n");
}

#[test]
fn a_missing_line_feed_at_the_end_is_said() {
    let mut shell = Shell::new();
    let shown = shell.run("printf 'a' > x; printf 'a\\n' > y; diff x y").out;
    assert_eq!(shown, "1c1\n< a\n\\ No newline at end of file\n---\n> a\n");
}

#[test]
fn patch_applies_and_takes_back_what_diff_shows() {
    let mut shell = with_files();
    shell.run("diff -u old new > p");
    assert_eq!(shell.out("patch old < p"), "patching file old\n");
    assert_eq!(shell.read("/home/old"), NEW);
    assert_eq!(shell.out("patch -R old p"), "patching file old\n");
    assert_eq!(shell.read("/home/old"), OLD);
    shell.run("diff -u --label a/dir/f --label b/dir/f old new > p; mkdir dir; cp old dir/f");
    assert_eq!(shell.out("patch -p1 --dry-run < p"), "checking file dir/f\n");
    assert_eq!(shell.read("/home/dir/f"), OLD);
    shell.out("patch -s -p1 < p");
    assert_eq!(shell.read("/home/dir/f"), NEW);
}

#[test]
fn patch_finds_a_hunk_that_has_moved_and_keeps_one_that_fits_nowhere() {
    let mut shell = with_files();
    shell.run("diff -u old new > p; { echo 0; cat old; } > moved");
    let came = shell.run("patch moved p");
    assert!(came.out.contains("succeeded at 2 (offset 1 line)"), "{}", came.out);
    assert_eq!(shell.read("/home/moved"), format!("0\n{NEW}"));
    shell.write("/home/other", b"a\nb\n");
    let came = shell.run("patch other p");
    assert_eq!(came.status, 1);
    assert!(came.out.contains("hunk FAILED -- saving rejects to file other.rej"), "{}", came.out);
    assert_eq!(shell.read("/home/other"), "a\nb\n");
    assert!(shell.read("/home/other.rej").contains("-two\n+2\n"));
}

#[test]
fn patch_writes_to_no_file_that_a_name_leads_out_to() {
    let mut shell = Shell::new();
    shell.out("mkdir in");
    shell.write("/home/in/p", b"--- /dev/null\n+++ ../out\n@@ -0,0 +1 @@\n+x\n");
    assert_ne!(shell.run("cd in && patch -p0 < p").status, 0);
    assert_eq!(shell.run("test -e /home/out").status, 1);
}

#[test]
fn split_cuts_by_lines_bytes_and_number() {
    let mut shell = Shell::new();
    shell.out("seq 10 > f; split -l 4 f; split -b 8 f b.; split -n 3 -d f n.");
    assert_eq!(shell.out("cat xaa; wc -l < xac; cat xaa xab xac | cmp - f"), "1\n2\n3\n4\n2\n");
    assert_eq!(
        shell.out("wc -c < b.aa; cat b.* | cmp - f; ls n.*; cat n.* | cmp - f"),
        "8\nn.00\nn.01\nn.02\n"
    );
    shell.out("split -b 1K --additional-suffix=.txt f s; cmp saa.txt f");
    assert_eq!(shell.failure("split -l 0 f").1, 1);
    assert_eq!(shell.failure("split -b x f").1, 1);
}

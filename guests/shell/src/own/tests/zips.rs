//! `zip` and `unzip`.

use super::Shell;

#[test]
fn zip_keeps_modes_and_times_and_unzip_lists_them() {
    let mut shell = Shell::new();
    shell.out(
        "mkdir -p d/e; seq 1000 > d/e/f; chmod 700 d/e/f; touch -d '2020-01-02 03:04:06' d/e/f; zip -qr a d",
    );
    assert_eq!(shell.out("unzip -l a.zip | grep d/e/f"), "     3893  2020-01-02 03:04   d/e/f\n");
    shell.out("mkdir x; unzip -q a.zip -d x; cmp d/e/f x/d/e/f");
    assert_eq!(shell.out("stat -c '%a %Y' x/d/e/f"), "700 1577934246\n");
    assert_eq!(shell.out("unzip -p a.zip d/e/f | tail -1"), "1000\n");
    let came = shell.run("echo 2 > d/e/f; zip -r a.zip d");
    assert_eq!(came.out, "updating: d/\nupdating: d/e/\nupdating: d/e/f\n");
    assert_eq!(shell.out("unzip -p a d/e/f"), "2\n");
}

#[test]
fn unzip_replaces_nothing_unless_told_to() {
    let mut shell = Shell::new();
    shell.out("echo 1 > f; zip -q a f; echo 2 > f");
    let came = shell.run("unzip a.zip");
    assert_eq!(
        (came.err.as_str(), came.status),
        ("unzip: f is there already; use -o to replace it or -n to keep it\n", 1)
    );
    shell.out("unzip -qn a.zip");
    assert_eq!(shell.read("/home/f"), "2\n");
    shell.out("unzip -qo a.zip");
    assert_eq!(shell.read("/home/f"), "1\n");
}

/// An archive with one file of this name, stored.
fn zipped(shell: &mut Shell, name: &str) {
    shell.out("echo x > NAME; zip -q0 plain.zip NAME");
    let bytes = shell.bytes("/home/plain.zip");
    let mut changed = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some(at) = rest.windows(4).position(|four| four == b"NAME") {
        changed.extend_from_slice(&rest[..at]);
        changed.extend_from_slice(name.as_bytes());
        rest = &rest[at + 4..];
    }
    changed.extend_from_slice(rest);
    shell.write("/home/made.zip", &changed);
}

#[test]
fn unzip_writes_to_no_place_that_a_name_leads_out_to() {
    let mut shell = Shell::new();
    zipped(&mut shell, "../x");
    shell.out("mkdir in");
    let came = shell.run("unzip made.zip -d in");
    assert_eq!((came.err.as_str(), came.status), ("warning:  skipped \"..\" path component(s) in ../x\n", 1));
    assert_eq!(shell.run("test -e x").status, 1);
    zipped(&mut shell, "/tmp");
    shell.out("unzip -q made.zip -d in");
    assert_eq!(shell.out("cat in/tmp"), "x\n");
}

#[test]
fn unzip_goes_on_behind_what_it_cannot_make() {
    let mut shell = Shell::new();
    shell.out("mkdir d; echo 1 > d/f; echo 2 > g; zip -qr a d g; mkdir x; echo file > x/d");
    let came = shell.run("cd x; unzip ../a.zip; echo went on $?; cd ..");
    let why = "checkdir error:  d exists but is not directory\n                 unable to process d/.\n\
               checkdir error:  d exists but is not directory\n                 unable to process d/f.\n";
    assert_eq!(came.err, why);
    assert_eq!(came.out, "Archive:  ../a.zip\n extracting: g                       \nwent on 2\n");
    assert_eq!(shell.out("cat x/d x/g"), "file\n2\n");
    let came = shell.run("mkdir -p y/g; unzip -qo a.zip -d y; echo $?; cat y/d/f");
    assert_eq!(came.err, "error:  cannot delete old y/g\n        Is a directory\n");
    assert_eq!(came.out, "50\n1\n");
    let (err, status) = shell.failure("unzip -q a.zip -d g");
    assert!(err.starts_with("checkdir:  cannot create extraction directory: g\n"), "{err}");
    assert_eq!(status, 2);
}

#[test]
fn zip_keeps_links_when_told_to_and_unzip_makes_them() {
    let mut shell = Shell::new();
    shell.out("mkdir d; echo 1 > d/f; ln -s f d/l; ln -s nowhere d/m; zip -qry a d");
    // An archive that is added to keeps the links that it has.
    shell.out("echo 2 > g; zip -q a g; rm -r d; unzip -q a.zip -d x");
    assert_eq!(shell.out("readlink x/d/l x/d/m; cat x/d/l x/g"), "f\nnowhere\n1\n2\n");
    let came = shell.run("unzip a.zip -d x");
    assert!(came.err.contains("unzip: d/l is there already"), "{}", came.err);
    shell.out("unzip -qo a.zip -d x");
    let shown = shell.out("unzip a.zip d/l -d y");
    let line = "    linking: y/d/l                   -> f \n";
    let end = "finishing deferred symbolic links:\n  y/d/l                  -> f\n";
    assert_eq!(shown, format!("Archive:  a.zip\n{line}{end}"));
}

#[test]
fn unzip_writes_through_no_link_of_the_archive() {
    let mut shell = Shell::new();
    shell.out("mkdir out l in; ln -s /home/out l/d; cd l; zip -qy ../a d; rm d; mkdir d; echo x > d/f");
    shell.out("zip -q ../a d/f; cd ..");
    let came = shell.run("unzip -q a.zip -d in");
    assert_eq!(came.err, "error:  cannot create in/d\n        File exists\n");
    assert_eq!(shell.out("ls out; cat in/d/f"), "x\n");
    // Nor through one that was there in place of a file.
    shell.out("echo kept > kept; mkdir w; ln -s /home/kept w/g; echo 2 > g; zip -q b g; unzip -qo b -d w");
    assert_eq!(shell.out("cat kept w/g"), "kept\n2\n");
}

#[test]
fn zip_warns_of_what_it_leaves_out() {
    let mut shell = Shell::new();
    shell.out("mkdir d; echo 1 > d/f; ln -s nowhere d/l");
    let came = shell.run("zip -r a d");
    assert_eq!(came.err, "\tzip warning: name not matched: d/l\n");
    assert_eq!((came.out.as_str(), came.status), ("  adding: d/\n  adding: d/f\n", 0));
    let (err, status) = shell.failure("zip b none");
    assert_eq!(
        (err.as_str(), status),
        ("\tzip warning: name not matched: none\n\nzip error: Nothing to do! (b.zip)\n", 12)
    );
}

#[test]
fn unzip_shows_every_name_on_one_line() {
    let mut shell = Shell::new();
    zipped(&mut shell, "a\nb\x7f");
    assert!(shell.out("unzip -l made.zip").contains("   a^Jb^?\n"));
}

#[test]
fn unzip_warns_of_a_name_that_fits_nothing() {
    let mut shell = Shell::new();
    shell.out("echo 1 > f; zip -q a f");
    let came = shell.run("unzip -p a none f");
    assert_eq!((came.out.as_str(), came.status), ("1\n", 11));
    assert_eq!(came.err, "caution: filename not matched:  none\n");
}

#[test]
fn a_zip_may_stand_behind_other_bytes() {
    let mut shell = Shell::new();
    shell.out("echo inside > f; zip -q a f; { echo '#!/bin/sh'; cat a.zip; } > b.zip");
    assert_eq!(shell.out("unzip -p b.zip"), "inside\n");
}

#[test]
fn a_damaged_zip_is_an_error() {
    let mut shell = Shell::new();
    shell.out("seq 1000 > f; zip -q a f");
    let whole = shell.bytes("/home/a.zip");
    shell.write("/home/cut.zip", &whole[..whole.len() - 30]);
    assert_eq!(shell.run("unzip -l cut.zip").status, 9);
    let mut bytes = whole.clone();
    bytes[60] ^= 0x55;
    shell.write("/home/bad.zip", &bytes);
    assert_ne!(shell.run("unzip -p bad.zip").status, 0);
    shell.write("/home/junk.zip", b"junk");
    assert_eq!(shell.run("unzip junk.zip").status, 9);
}

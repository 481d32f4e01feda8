//! `tar`, `zip` and `unzip`.

use super::Shell;

#[test]
fn tar_keeps_modes_times_and_links() {
    let mut shell = Shell::new();
    shell.out(
        "mkdir -p d/e; echo 1 > d/e/f; chmod 750 d/e/f; touch -d '2020-01-02 03:04:05' d/e/f; ln -s e/f d/l",
    );
    for letter in ["", "z", "j"] {
        shell.out(&format!("tar c{letter}f t.tar d; rm -rf x; mkdir x; tar xpf t.tar -C x"));
        let shown = shell.out("stat -c '%a %Y' x/d/e/f; readlink x/d/l; cat x/d/l");
        assert_eq!(shown, "750 1577934245\ne/f\n1\n", "-{letter}");
    }
    assert_eq!(shell.out("tar tf t.tar | sort"), "d/\nd/e/\nd/e/f\nd/l\n");
}

#[test]
fn tar_takes_names_of_any_length() {
    let mut shell = Shell::new();
    let long = ["a".repeat(90), "b".repeat(200), "f".repeat(250)].join("/");
    shell.out(&format!(
        "mkdir -p {0}; echo x > {long}; ln -s {long} l; tar cf t.tar {1} l",
        &long[..291],
        &long[..90]
    ));
    assert_eq!(shell.out("tar tf t.tar | tail -2"), format!("{long}\nl\n"));
    shell.out(&format!("rm -r {} l; tar xf t.tar", &long[..90]));
    assert_eq!(shell.out("cat l"), "x\n");
}

#[test]
fn tar_selects_strips_and_leaves_out() {
    let mut shell = Shell::new();
    shell.out(
        "mkdir -p d/e; echo 1 > d/a.py; echo 2 > d/e/b.py; touch d/c.log; tar cf t.tar --exclude='*.log' d",
    );
    assert_eq!(shell.out("tar tf t.tar | sort"), "d/\nd/a.py\nd/e/\nd/e/b.py\n");
    assert_eq!(shell.out("tar xOf t.tar d/e/b.py"), "2\n");
    shell.out("mkdir x; tar xf t.tar -C x --strip-components=1 d/e");
    assert_eq!(shell.out("find x -type f"), "x/e/b.py\n");
    let came = shell.run("tar tf t.tar none");
    assert_eq!(
        came.err,
        "tar: none: Not found in archive\ntar: Exiting with failure status due to previous errors\n"
    );
    assert_eq!(came.status, 2);
}

#[test]
fn tar_writes_to_no_place_that_a_name_leads_out_to() {
    let mut shell = Shell::new();
    shell.out("mkdir -p a b in; echo 1 > a/f; cd b; tar -cPf ../t.tar ../a/f; cd ../in");
    let came = shell.run("tar xf ../t.tar");
    assert!(came.err.contains("Member name contains '..'"), "{}", came.err);
    assert_eq!((came.status, shell.out("cd /home; ls -A in").as_str()), (2, ""));
    // A link of the archive is made last, so nothing is written through it.
    shell.out("cd /home; mkdir l; ln -s /home/b l/d; tar cf l.tar -C l d; rm l/d; mkdir l/d; echo x > l/d/f; tar rf l.tar -C l d/f");
    shell.run("cd in; tar xf ../l.tar");
    assert_eq!(shell.out("cd /home; ls -A b"), "");
}

#[test]
fn a_damaged_tar_is_an_error() {
    let mut shell = Shell::new();
    shell.out("seq 2000 > f; tar cf t.tar f; head -c 2000 t.tar > cut.tar");
    assert_eq!(shell.run("tar tf cut.tar").status, 2);
    let mut bytes = shell.bytes("/home/t.tar");
    bytes[0] ^= 1;
    shell.write("/home/bad.tar", &bytes);
    let came = shell.run("tar tf bad.tar");
    assert!(came.err.contains("does not look like a tar archive"), "{}", came.err);
    shell.write("/home/junk.tar", b"junk");
    assert_eq!(shell.run("tar tf junk.tar").status, 2);
    // Sizes and numbers that lead out of the file.
    for at in [124, 257] {
        let mut bytes = shell.bytes("/home/t.tar");
        bytes[at..at + 8].copy_from_slice(b"\xff\xff\xff\xff\xff\xff\xff\xff");
        shell.write("/home/bad.tar", &bytes);
        assert_eq!(shell.run("tar xf bad.tar").status, 2, "{at}");
    }
}

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

//! `tar`.

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
fn an_empty_file_is_no_tar_archive() {
    let mut shell = Shell::new();
    let none = "tar: This does not look like a tar archive\n\
                tar: Exiting with failure status due to previous errors\n";
    for line in ["touch e; tar tf e", "tar xf e", "tar tf - < e", "echo junk > j; tar xf j"] {
        assert_eq!(shell.failure(line), (none.to_owned(), 2), "{line}");
    }
    assert_eq!(shell.out("echo 1 > f; tar rf e f; tar tf e"), "f\n");
}

#[test]
fn tar_says_once_that_a_folder_is_none() {
    let mut shell = Shell::new();
    shell.out("mkdir d; touch d/f d/g file; tar cf t.tar d");
    let end = "tar: Error is not recoverable: exiting now\n";
    for line in ["tar xf t.tar -C /nope", "tar tf t.tar -C /nope", "tar cf u.tar -C /nope d/f d/g"] {
        let why = format!("tar: /nope: Cannot open: No such file or directory\n{end}");
        assert_eq!(shell.failure(line), (why, 2), "{line}");
    }
    let why = format!("tar: file: Cannot open: Not a directory\n{end}");
    assert_eq!(shell.failure("tar xf t.tar -C file"), (why, 2));
}

#[test]
fn tar_names_the_compressions_that_it_has() {
    let mut shell = Shell::new();
    shell.out("echo 1 > f");
    shell.write("/home/b.tar.xz", b"\xfd7zXZ\0\0\x04");
    shell.write("/home/b.tar.zst", b"\x28\xb5\x2f\xfd\x04");
    for (line, kind) in [
        ("tar xf b.tar.xz", "xz"),
        ("tar tf b.tar.zst", "zstd"),
        ("tar cJf c.tar.xz f", "xz"),
        ("tar c --zstd -f c.tar.zst f", "zstd"),
        ("tar caf c.tar.xz f", "xz"),
    ] {
        let (err, status) = shell.failure(line);
        let why = format!("compression with {kind} is not supported; gzip (-z) and bzip2 (-j) are");
        assert!(err.contains(&why), "{line}: {err}");
        assert_eq!(status, 2, "{line}");
    }
    assert_eq!(shell.run("test -e c.tar.xz").status, 1);
    // A name may begin as what is compressed does.
    shell.out("echo 1 > ']'; tar cf t.tar ']'");
    assert_eq!(shell.out("tar tf t.tar"), "]\n");
}

#[test]
fn commands_have_a_help() {
    let mut shell = Shell::new();
    for name in ["tar", "zip", "unzip", "ls", "cp", "rm", "bc"] {
        let text = shell.out(&format!("{name} --help"));
        assert!(text.starts_with(&format!("Usage: {name} ")) && text.contains("--help  "), "{text}");
    }
    assert_eq!(shell.out("touch ./--help; ls -- --help"), "--help\n");
}

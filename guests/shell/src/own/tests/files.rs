//! Commands for files, folders, links and permission bits.

use super::Shell;

#[test]
fn cp_copies_files_and_folders_with_their_links() {
    let mut shell = Shell::new();
    shell.out("mkdir -p d/e; echo 1 > d/e/f; ln -s e d/l; cp -r d c; cp -a d a");
    assert_eq!(shell.out("cat c/e/f a/e/f; readlink a/l"), "1\n1\ne\n");
    assert_eq!(shell.out("echo 2 > b; cp -v b d/e; cat d/e/b"), "'b' -> 'd/e/b'\n2\n");
    let (why, status) = shell.failure("cp d x");
    assert_eq!((why.as_str(), status), ("cp: -r not specified; omitting directory 'd'\n", 1));
    assert_eq!(shell.failure("cp none x").1, 1);
}

#[test]
fn cp_and_mv_keep_what_is_there_when_asked() {
    let mut shell = Shell::new();
    shell.out("echo old > to; echo new > from; cp -n from to");
    assert_eq!(shell.read("/home/to"), "old\n");
    shell.out("mv -n from to");
    assert_eq!(shell.read("/home/to"), "old\n");
    shell.out("mv -b from to");
    assert_eq!((shell.read("/home/to"), shell.read("/home/to~")), ("new\n".to_owned(), "old\n".to_owned()));
}

#[test]
fn mv_moves_into_folders_and_not_into_itself() {
    let mut shell = Shell::new();
    shell.out("mkdir d e; echo 1 > f; mv f d; mv d e");
    assert_eq!(shell.out("cat e/d/f"), "1\n");
    let (why, status) = shell.failure("mv e e/d");
    assert!(why.contains("to a subdirectory of itself"), "{why}");
    assert_eq!(status, 1);
}

#[test]
fn mkdir_and_rm_say_what_they_cannot() {
    let mut shell = Shell::new();
    assert_eq!(shell.out("mkdir -pv a/b"), "mkdir: created directory 'a'\nmkdir: created directory 'a/b'\n");
    assert_eq!(shell.failure("mkdir a"), ("mkdir: cannot create directory 'a': File exists\n".to_owned(), 1));
    assert_eq!(shell.failure("rm a"), ("rm: cannot remove 'a': Is a directory\n".to_owned(), 1));
    assert_eq!(shell.failure("rm x"), ("rm: cannot remove 'x': No such file or directory\n".to_owned(), 1));
    shell.out("rm -f x; rm -r a; test ! -e a");
    assert_eq!(shell.run("rm -rf /").status, 1);
}

#[test]
fn a_mode_is_changed_by_numbers_and_by_letters() {
    let mut shell = Shell::new();
    shell.out("touch f; chmod 640 f");
    for (change, mode) in [("u+x", "740"), ("go=", "700"), ("a+r,o+w", "746"), ("-r", "302"), ("+X", "313")] {
        assert_eq!(shell.out(&format!("chmod {change} f; stat -c %a f")).trim(), mode, "{change}");
    }
    assert_eq!(shell.failure("chmod 9 f"), ("chmod: invalid mode: '9'\n".to_owned(), 1));
    assert_eq!(shell.failure("chmod u*x f").1, 1);
    shell.out("mkdir -p d/e; touch d/e/g; chmod -R 700 d");
    assert_eq!(shell.out("stat -c %a d d/e d/e/g"), "700\n700\n700\n");
}

#[test]
fn links_lead_where_they_say() {
    let mut shell = Shell::new();
    shell.out("mkdir -p a/b; touch a/b/f; ln -s a/b l; ln -s l/f m");
    assert_eq!(shell.out("readlink m; readlink -f m; realpath l"), "l/f\n/home/a/b/f\n/home/a/b\n");
    assert_eq!(shell.out("realpath --relative-to=a/b ."), "../..\n");
    assert_eq!(shell.out("realpath -m x/../y/./z"), "/home/y/z\n");
    let (why, status) = shell.failure("realpath none/none");
    assert_eq!((why.as_str(), status), ("realpath: none/none: No such file or directory\n", 1));
    shell.out("ln -s p q; ln -s q p");
    assert_eq!(shell.failure("realpath p").0, "realpath: p: Too many levels of symbolic links\n");
}

#[test]
fn ls_and_stat_describe_files() {
    let mut shell = Shell::new();
    shell.out("mkdir d; echo hello > d/f; touch d/.h; ln -s f d/l; chmod 750 d/f");
    assert_eq!(shell.out("ls d; ls -A d"), "f\nl\n.h\nf\nl\n");
    assert_eq!(shell.out("ls -F d"), "f*\nl@\n");
    let long = shell.out("ls -l d/f");
    assert!(long.starts_with("-rwxr-x--- 1 ") && long.ends_with(" d/f\n") && long.contains(" 6 "), "{long}");
    assert_eq!(shell.out("stat -c '%n %s %A %F' d/f"), "d/f 6 -rwxr-x--- regular file\n");
    shell.out("touch -d '2024-02-03 04:05:06' d/f");
    assert_eq!(
        shell.out("stat -c %y d/f; ls -l --time-style=+%F d/f | cut -d' ' -f6"),
        "2024-02-03 04:05:06.000000000 +0000\n2024-02-03\n"
    );
    assert_eq!(shell.failure("ls none").1, 2);
}

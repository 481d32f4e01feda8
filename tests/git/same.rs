//! The same commands, here and in Debian's git: the same words, the same statuses, the same commits.

use crate::{Desk, has_git, real, real_text};

/// Command lines in the order in which they run, in a new repository. What is compared: standard output and the status.
const LINES: &[&str] = &[
    "git init -q -b main",
    "git status",
    "git status --short",
    "git log",
    "git config user.name 'Some One' && git config user.name",
    "git config --get core.nothing",
    "printf 'one\\ntwo\\nthree\\n' > a.txt; mkdir -p src/deep; printf 'fn main() {\\n    one();\\n}\\n' > src/main.rs; echo x > src/deep/x",
    "git status",
    "git status -s",
    "git status --porcelain -uall",
    "git add a.txt",
    "git status",
    "git status -s",
    "git diff --cached",
    "git add -A",
    "git ls-files",
    "git ls-files -s",
    "git commit -m 'First commit' -m 'With a body
of two lines.'",
    "git rev-parse HEAD",
    "git rev-parse --short HEAD",
    "git rev-parse --abbrev-ref HEAD",
    "git rev-parse --verify -q nothing",
    "git log",
    "git log --oneline",
    "git log --format='%H|%h|%T|%P|%s|%b|%an|%ae|%ad|%cn|%cI|%ai|%at|%n%%'",
    "git log --pretty=format:'%h %s'",
    "git log --pretty=fuller --date=iso",
    "git log --stat",
    "git log -p",
    "git log --name-only --oneline",
    "git log --name-status --format=%h",
    "git show",
    "git show --stat",
    "git show HEAD:a.txt",
    "git show HEAD:none",
    "git status",
    "git commit -m nothing",
    "printf 'one\\n2\\nthree\\nfour\\n' > a.txt; rm src/deep/x; echo new > new.txt",
    "git status",
    "git status -s",
    "git status --porcelain",
    "git status -sb",
    "git diff",
    "git diff --stat",
    "git diff --numstat",
    "git diff --shortstat",
    "git diff --name-only",
    "git diff --name-status",
    "git diff -- src",
    "git diff HEAD -- a.txt",
    "git diff --quiet",
    "git diff --exit-code --name-only",
    "git diff -U0 a.txt",
    "cd src && git status && git status -s",
    "git commit -q -am 'Second commit'",
    "git log --oneline -n 1",
    "git log -1 --format=%s",
    "git diff HEAD~1 HEAD",
    "git diff HEAD~1..HEAD --stat",
    "git diff HEAD~1",
    "git log --oneline -- src/deep/x",
    "git log --format=%s --reverse",
    "git branch",
    "git branch topic",
    "git branch",
    "git branch -v",
    "git checkout topic",
    "git checkout -b other",
    "git branch --show-current",
    "git switch topic",
    "git switch -c fresh",
    "git switch none",
    "git checkout none",
    "git branch -d other",
    "git branch fresh",
    "git mv a.txt b.txt",
    "git status",
    "git status -s",
    "git commit -m 'Rename'",
    "git show --stat --format=%s",
    "git show --format=%s",
    "git diff --name-status HEAD~1 HEAD",
    "git add new.txt && git commit -m 'A new file'",
    "echo changed >> new.txt; git checkout -- new.txt; cat new.txt",
    "echo changed >> new.txt; git restore new.txt; cat new.txt",
    "echo staged >> new.txt; git add new.txt; git restore --staged new.txt; git status -s",
    "git add new.txt; git reset -q; git status -s",
    "git reset --hard",
    "git checkout main",
    "git merge fresh",
    "git log --oneline",
    "git rm new.txt",
    "git status -s",
    "git reset --hard HEAD",
    "git reset --soft HEAD~1; git status -s",
    "git commit -m 'Again'",
    "git commit --amend -m 'Again, in other words'",
    "git tag v1; git tag -a v2 -m 'Second'; git tag",
    "git show v2 --format=%s --stat",
    "git log --oneline --decorate",
    "printf '*.log\\nbuild/\\n' > .gitignore; echo x > a.log; mkdir build; echo x > build/y; git status -s",
    "git status -s --ignored",
    "git add a.log",
    "git add none",
    "git add .gitignore; git commit -q -m ignore; git status",
    "printf 'a\\0b' > bin; git add bin; git diff --cached; git commit -m binary",
    "printf 'c\\0d' > bin; git diff --stat; git diff --numstat; git diff; git checkout -q bin",
    "printf x > 'with space'; printf x > 'ünïcode'; git add -A; git status -s; git status; git commit -q -m names; git ls-files",
    "git checkout -q HEAD~2; git status; git checkout -q main",
    "git cat-file -t HEAD; git cat-file -p HEAD; git cat-file -p HEAD^{tree}",
    "git commit --allow-empty -m empty",
    "git log --format=%an --author=Thor | sort | uniq -c",
    "git log --oneline --grep=Rename",
    "git remote add origin https://example.com/x.git; git remote -v; git remote",
    "cd src && git rev-parse --show-prefix",
    "git checkout -q -b left main; echo left > side; git add side; git commit -q -m left; git checkout -q main; echo right > other; \
git add other; git commit -q -m right; git merge -m merged left; git log --oneline; git show --format=%p -s",
    "git checkout -q -b c1; echo 1 > side; git commit -qam one; git checkout -q main; echo 2 > side; git commit -qam two; \
git merge c1 > /dev/null; git status -s; cat side; git merge --abort; git status -s",
    "git checkout -q -b ahead main; echo 1 > ahead; git add ahead; git commit -q -m ahead; git checkout -q main; \
git merge -q ahead; git merge --quiet ahead; git log -1 --format=%s; git reset -q --hard HEAD~1",
    "git checkout -q -b aside main; echo 1 > aside; git add aside; git commit -q -m aside; git checkout -q main; \
echo 2 > here; git add here; git commit -q -m here; git merge -q -m both aside; git log -1 --format=%s; git reset -q --hard HEAD~2",
    "git -C src rev-parse --is-inside-work-tree",
    "git diff nothing",
    "git log nothing",
    "echo root >> b.txt; git add . && git status -s && git reset -q . && git status -s && git checkout . && git status -s",
    "echo root >> b.txt; git restore . && git status -s; git diff -- . ; git log --oneline -1 -- .; git ls-files .",
    "echo root >> b.txt; git commit -m 'By path' . ; cd src && git add . && git status -s . && git add ..",
    "git rm -r --cached -q . && git status -s | head -3; git reset -q --hard",
    "git blame-it-on-me",
];

/// Lines whose words differ, and why; their status is compared nevertheless.
const OTHER_WORDS: &[(&str, &str)] = &[("git blame-it-on-me", "the list of commands is ours")];

#[test]
fn the_same_commands_say_the_same_as_debians_git() {
    if !has_git("the_same_commands_say_the_same_as_debians_git") {
        return;
    }
    let (desk, folder) = (Desk::new(), tempfile::tempdir().unwrap());
    let here = folder.path().join("r");
    std::fs::create_dir(&here).unwrap();
    desk.text("mkdir -p /workspace/r");
    let mut differ = Vec::new();
    for line in LINES {
        let (ours, theirs) = (desk.run_in("/workspace/r", line), real(&here, line));
        let words = OTHER_WORDS.iter().any(|(other, _)| other == line);
        let same = ours.status == theirs.status || (words && ours.status != 0 && theirs.status != 0);
        if !same || (!words && ours.out != theirs.out) {
            differ.push(format!(
                "--- {line}\nours {}: {}{}\ntheirs {}: {}{}",
                ours.status, ours.out, ours.err, theirs.status, theirs.out, theirs.err
            ));
        }
    }
    assert!(differ.is_empty(), "{} of {} lines differ\n{}", differ.len(), LINES.len(), differ.join("\n"));
}

/// What is said on standard error, with the same words.
#[test]
fn failures_are_told_in_gits_words() {
    if !has_git("failures_are_told_in_gits_words") {
        return;
    }
    let (desk, folder) = (Desk::new(), tempfile::tempdir().unwrap());
    let here = folder.path().join("r");
    std::fs::create_dir(&here).unwrap();
    desk.text("mkdir -p /workspace/r");
    for line in [
        "git status",
        "git init -q -b main",
        "git log",
        "git checkout none",
        "git add none",
        "echo x > a; git add a; git commit -q -m one; git checkout -b two",
        "git checkout main",
        "git checkout main",
        "git switch none",
        "git branch two",
        "git rev-parse none",
        "git show HEAD:none",
        "echo y > a; git commit -qam two; git checkout -q two; echo z > a; git checkout main",
        "git rm none",
        "git commit -m ''",
    ] {
        let (ours, theirs) = (desk.run_in("/workspace/r", line), real(&here, line));
        assert_eq!((ours.status, ours.err), (theirs.status, theirs.err), "{line}");
    }
}

#[test]
fn each_works_on_what_the_other_has_written() {
    if !has_git("each_works_on_what_the_other_has_written") {
        return;
    }
    let desk = Desk::new();
    let shared = desk.shared();
    let ours = |line: &str| {
        let said = desk.run_in("/shared", line);
        assert_eq!(said.status, 0, "{line}: {said:?}");
        said.out
    };
    ours(
        "git init -q -b main; mkdir -p a/b; seq 1 5000 > a/b/c; echo d > d; git add -A; git commit -q -m one; git branch side",
    );
    ours(
        "for i in 1 2 3 4 5; do echo $i >> d; git commit -q -am \"number $i\"; done; git tag -a v1 -m tagged",
    );
    assert_eq!(
        real_text(
            &shared,
            "git fsck --strict --full 2>&1 | grep -v -i '^check\\|^notice'; git status --porcelain"
        ),
        ""
    );
    assert_eq!(real_text(&shared, "git log --oneline | wc -l").trim(), "6");
    assert_eq!(real_text(&shared, "git log --format=%H%D"), ours("git log --format=%H%D"));
    // Theirs packs everything, with deltas, and goes on.
    real_text(
        &shared,
        "seq 1 5001 > a/b/c; git commit -q -am theirs; git gc -q; git pack-refs --all; git checkout -q -b back side",
    );
    assert_eq!(ours("git status --porcelain; git branch --show-current"), "back\n");
    assert_eq!(ours("git log --oneline main | wc -l").trim(), "7");
    assert_eq!(ours("git diff side main --stat"), real_text(&shared, "git diff side main --stat"));
    ours("git checkout -q main; git rm -q -r a; git commit -q -m gone");
    assert_eq!(
        real_text(
            &shared,
            "git fsck --strict --full 2>&1 | grep -v -i '^check\\|^notice'; git status --porcelain; ls"
        ),
        "d\n"
    );
}

//! Repositories that want out, or want everything: each ends with a name, and nothing escapes.

use std::fs;

use crate::{Desk, has_git, real_text};

/// A tree with one entry, made byte by byte, and a commit of it on `main`.
fn commit_tree(desk: &Desk, repository: &str, mode: &str, name: &str, content: &str) {
    let line = format!(
        "git init -q --bare -b main {repository} && cd {repository} && blob=$(printf '%s' '{content}' | git hash-object -w --stdin) && \
         tree=$( (printf '{mode} {name}\\0'; raw $blob) | git hash-object -t tree -w --stdin --literally) && \
         git update-ref refs/heads/main $(git commit-tree $tree -m evil)"
    );
    real_text(&desk.shared(), &line);
}

#[test]
fn git_01_names_that_lead_elsewhere_are_not_checked_out() {
    if !has_git("git_01_names_that_lead_elsewhere_are_not_checked_out") {
        return;
    }
    let desk = Desk::new();
    for (place, name) in
        ["..", ".git", ".GIT", ".git/config", "../x", "/etc", "a/../../b", ".", ".Git"].iter().enumerate()
    {
        commit_tree(&desk, &format!("bad{place}"), "100644", name, "evil");
        let said =
            desk.run(&format!("git clone -q /shared/bad{place} out; s=$?; ls -A out 2>/dev/null; exit $s"));
        let config = desk.run("cat out/.git/config 2>/dev/null; ls -A /workspace; ls -A /; rm -rf out");
        assert!(!config.out.contains("evil"), "{name}: {config:?}");
        assert!(said.status == 128 || said.out == ".git\n", "{name}: {said:?}");
    }
    assert!(!desk.folder.path().join("x").exists() && !desk.shared().join("x").exists());
}

#[test]
fn git_02_links_are_not_followed_out_of_the_tree() {
    if !has_git("git_02_links_are_not_followed_out_of_the_tree") {
        return;
    }
    let desk = Desk::new();
    // The index says that `a` is a link and that `a/passwd` is a file.
    real_text(
        &desk.shared(),
        "git init -q --bare -b main l && cd l && link=$(printf ../target | git hash-object -w --stdin) && \
         blob=$(echo evil | git hash-object -w --stdin) && sub=$(printf \"100644 blob $blob\\tfile\\n\" | git mktree) && \
         tree=$( (printf '120000 a\\0'; raw $link; printf '40000 a\\0'; raw $sub) | \
         git hash-object -t tree -w --stdin --literally) && git update-ref refs/heads/main $(git commit-tree $tree -m evil)",
    );
    desk.text("mkdir target");
    desk.run("git clone -q /shared/l out");
    assert_eq!(desk.text("ls -A target"), "");
    // A repository whose parts are links to other places.
    let outside = desk.folder.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "outside-secret").unwrap();
    real_text(
        &desk.shared(),
        "git init -q -b main s && cd s && echo x > x && git add x && git commit -q -m x",
    );
    for part in ["objects", "refs", "HEAD", "config"] {
        real_text(
            &desk.shared(),
            &format!(
                "cp -r s s-{part} && rm -rf s-{part}/.git/{part} && ln -s {}/secret s-{part}/.git/{part}",
                outside.display()
            ),
        );
        for line in [
            format!("git clone -q /shared/s-{part} y"),
            format!("cd /shared/s-{part} && git log && git status && git show HEAD"),
        ] {
            let said = desk.run(&line);
            assert!(
                said.status != 0
                    && !said.out.contains("outside-secret")
                    && !said.err.contains("outside-secret"),
                "{line}: {said:?}"
            );
        }
        desk.text("rm -rf y");
    }
    // Objects of a folder that the sandbox does not see.
    real_text(
        &desk.shared(),
        &format!(
            "cp -r s alt && rm -rf alt/.git/objects/?? && mkdir -p alt/.git/objects/info && cp -r s/.git/objects {}/objects && echo {}/objects > alt/.git/objects/info/alternates",
            outside.display(),
            outside.display()
        ),
    );
    assert_ne!(desk.run("cd /shared/alt && git show HEAD").status, 0);
    assert_eq!(
        real_text(&desk.shared(), "cd alt && git log --format=%s"),
        "x\n",
        "outside of the sandbox it would be found"
    );
}

#[test]
fn git_03_what_a_repository_configures_does_not_run() {
    if !has_git("git_03_what_a_repository_configures_does_not_run") {
        return;
    }
    let desk = Desk::new();
    let line = "git init -q -b main h; cd h; for h in pre-commit post-commit post-checkout; do printf '#!/bin/bash\\ntouch /workspace/ran' \
        > .git/hooks/$h 2>/dev/null || { mkdir -p .git/hooks; printf '#!/bin/bash\\ntouch /workspace/ran' > .git/hooks/$h; }; done; \
        git config core.fsmonitor 'touch /workspace/ran'; git config core.sshCommand 'touch /workspace/ran'; \
        git config filter.x.clean 'touch /workspace/ran'; git config filter.x.smudge 'touch /workspace/ran'; \
        git config diff.external 'touch /workspace/ran'; git config core.pager 'touch /workspace/ran'; echo '* filter=x' > .gitattributes; \
        echo 1 > a; git add -A; git commit -q -m one; echo 2 > a; git diff; git status; git checkout -q -b b; git checkout -- a; git log -p; ls /workspace";
    assert!(desk.text(line).ends_with("\nh\noutputs\n"));
}

#[test]
fn git_04_what_is_too_large_ends_with_a_name() {
    if !has_git("git_04_what_is_too_large_ends_with_a_name") {
        return;
    }
    let desk = Desk::new();
    let shared = desk.shared();
    // 2 GiB of zeros in an object of 2 MB; and an object that says it has 2^60 bytes.
    real_text(
        &shared,
        "git init -q --bare -b main bomb && cd bomb && git config core.bigFileThreshold 1m && \
         blob=$(head -c 2147483648 /dev/zero | git hash-object -w --stdin) && tree=$(printf \"100644 blob $blob\\tzeros\\n\" | git mktree) && \
         git update-ref refs/heads/main $(git commit-tree $tree -m bomb)",
    );
    let said = desk.run("git clone -q /shared/bomb out");
    assert_ne!(said.status, 0, "{said:?}");
    assert!(!said.err.is_empty());
    assert_eq!(desk.text("echo alive"), "alive\n");
    real_text(
        &shared,
        "git init -q --bare -b main huge && cd huge && git update-ref refs/heads/main $(git commit-tree $(git mktree < /dev/null) -m x)",
    );
    // The same in zlib's form: `blob 1152921504606846976`, and one byte.
    let lie = b"\x78\x9c\x4b\xca\xc9\x4f\x52\x30\x34\x34\x35\xb2\x34\x32\x34\x35\x30\x31\x33\x30\xb3\x30\x31\xb3\x34\x37\x63\xa8\x00\x00\x59\x05\x06\x1a";
    fs::create_dir_all(shared.join("huge/objects/11")).unwrap();
    fs::write(shared.join("huge/objects/11").join("1".repeat(38)), lie).unwrap();
    let said = desk.run("cd /shared/huge && git cat-file -p 1111111111111111111111111111111111111111");
    assert!(said.status != 0 && !said.err.is_empty(), "{said:?}");
    // A hundred thousand branches.
    real_text(
        &shared,
        "git init -q --bare -b main many && cd many && id=$(git commit-tree $(git mktree < /dev/null) -m x) && \
         git update-ref refs/heads/main $id && (echo '# pack-refs with: peeled fully-peeled sorted '; \
         for i in $(seq 100000 199999); do echo \"$id refs/heads/b$i\"; done) > packed-refs",
    );
    let said =
        desk.run("cd /shared/many && git branch | wc -l && git log --oneline --all --decorate | wc -l");
    assert_eq!(said.out, "100001\n1\n", "{said:?}");
    // A header that lies, and rubbish where a repository should be.
    fs::create_dir_all(shared.join("rubbish/.git/objects/pack")).unwrap();
    fs::create_dir_all(shared.join("rubbish/.git/refs")).unwrap();
    fs::write(shared.join("rubbish/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(
        shared.join("rubbish/.git/index"),
        [b"DIRC\0\0\0\x02\xff\xff\xff\xff".as_slice(), &[0xff; 4096]].concat(),
    )
    .unwrap();
    fs::write(shared.join("rubbish/.git/packed-refs"), [0xff; 65536]).unwrap();
    for command in ["status", "log", "branch", "ls-files", "add .", "diff"] {
        let said = desk.run(&format!("cd /shared/rubbish && git {command}"));
        assert!(said.status != 0 || said.err.is_empty(), "{command}: {said:?}");
        assert!(!said.err.contains("unreachable") && !said.err.contains("panicked"), "{command}: {said:?}");
    }
}

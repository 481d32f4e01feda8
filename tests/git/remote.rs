//! Remote repositories: over HTTP from a real server, and by their folders.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use dormouse::sandbox::{Handle, Name, Owner};
use dormouse::sandboxes::{Asked, CommandLine};
use dormouse_tests::{lasting, sandbox, wait_until};

use crate::server::Server;
use crate::{Desk, allowed, has_git, real_text};

/// The password of the server. Nothing but the server may ever see it.
const SECRET: &str = "me:pass-0123456789-word";
/// The same as the header says it.
const HEADER: &str = "Basic bWU6cGFzcy0wMTIzNDU2Nzg5LXdvcmQ=";

/// A folder with one bare repository, `team/r.git`, of three commits and two branches.
fn served() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let bare = folder.path().join("team/r.git");
    std::fs::create_dir_all(&bare).unwrap();
    real_text(&bare, "git init -q --bare -b main && git config http.receivepack true");
    let work = folder.path().join("work");
    std::fs::create_dir(&work).unwrap();
    real_text(
        &work,
        "git init -q -b main; for i in 1 2 3; do seq 1 $((i * 1000)) > numbers; git add -A; git commit -q -m \"number $i\"; done; \
         git branch side HEAD~1; git tag v1; git push -q ../team/r.git main side v1",
    );
    (folder, bare)
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn clones_fetches_and_pushes_over_http_with_the_operators_credential() {
    if !has_git("clones_fetches_and_pushes_over_http_with_the_operators_credential") {
        return;
    }
    let (folder, bare) = served();
    let server = Server::start(folder.path(), Some(HEADER));
    let desk = Desk::with(vec![allowed(&server.url, Some(SECRET))]);
    let url = format!("{}/team/r.git", server.url);
    let said = desk.run(&format!("git clone {url}"));
    assert_eq!((said.status, said.err.as_str()), (0, "Cloning into 'r'...\n"), "{said:?}");
    assert_eq!(desk.text("cd r && git log --format=%H"), real_text(&bare, "git log --format=%H main"));
    assert_eq!(
        desk.text("cd r && git status -sb && git branch -a && git tag && wc -l < numbers"),
        "## main...origin/main\n* main\n  remotes/origin/HEAD -> origin/main\n  remotes/origin/main\n  remotes/origin/side\nv1\n3000\n"
    );
    // Shallow, and another branch.
    desk.text(&format!("git clone -q --depth 1 --branch side {url} shallow"));
    assert_eq!(
        desk.text("cd shallow && git log --oneline | wc -l; git branch --show-current").trim(),
        "1\nside"
    );
    // Someone else goes on.
    real_text(
        &folder.path().join("work"),
        "echo four > four; git add -A; git commit -q -m four; git push -q ../team/r.git main",
    );
    let fetched = desk.run("cd r && git fetch");
    assert!(fetched.status == 0 && fetched.err.contains("main       -> origin/main"), "{fetched:?}");
    assert!(
        desk.text("cd r && git status")
            .contains("is behind 'origin/main' by 1 commit, and can be fast-forwarded")
    );
    let pulled = desk.text("cd r && git pull --ff-only");
    assert!(
        pulled.contains(
            "Fast-forward\n four | 1 +\n 1 file changed, 1 insertion(+)\n create mode 100644 four\n"
        ),
        "{pulled}"
    );
    // And we.
    let pushed = desk.run("cd r && git checkout -q -b ours && echo five > five && git add five && git commit -q -m five && git push -u origin ours");
    assert_eq!(pushed.status, 0, "{pushed:?}");
    assert_eq!(real_text(&bare, "git log -1 --format=%s ours; git fsck --strict 2>/dev/null"), "five\n");
    // The credential went to the server with each request, and nowhere else.
    let seen = server.seen();
    assert!(seen.authorizations.iter().all(|shown| shown.as_deref() == Some(HEADER)));
    let found = desk.run("grep -r -e pass-0123456789 -e bWU6cGFzcy /workspace /tmp; env | grep -e pass-0123456789; git config -l --global");
    assert_eq!(found.out, "", "{found:?}");
    let paths = seen.requests.iter().all(|request| {
        ["/info/refs?service=git-", "/git-upload-pack", "/git-receive-pack"]
            .iter()
            .any(|part| request.contains(part))
    });
    assert!(paths, "{:?}", seen.requests);
    // Answers lie in the sandbox no longer than they are read.
    assert_eq!(desk.text("ls -A /tmp"), "");
}

#[test]
fn git_05_what_is_not_allowed_is_not_asked_for() {
    if !has_git("git_05_what_is_not_allowed_is_not_asked_for") {
        return;
    }
    let (folder, _) = served();
    let server = Server::start(folder.path(), Some(HEADER));
    let desk = Desk::with(vec![
        allowed(&format!("{}/team/", server.url), None),
        allowed(&format!("{}/moved", server.url), Some(SECRET)),
        allowed(&format!("{}/page", server.url), None),
    ]);
    let host = server.url.trim_start_matches("http://");
    for (address, why) in [
        (format!("{}/other/r.git", server.url), "the operator does not allow this address"),
        (format!("{}/team/../other/r.git", server.url), "the operator does not allow this address"),
        (format!("{}/team/%2e%2e/other/r.git", server.url), "the operator does not allow this address"),
        (format!("{}/teams", server.url), "the operator does not allow this address"),
        ("https://127.0.0.1:1/team/r.git".into(), "the operator does not allow this address"),
        (format!("http://a:b@{host}/team/r.git"), "without user or password"),
        (format!("{}/team/r.git", server.url), "asks for a credential"),
        (format!("{}/moved/team/r.git", server.url), "which is not followed"),
        (format!("{}/page/r.git", server.url), "does not speak git's smart protocol"),
        ("git@example.com:team/r.git".into(), "ssh"),
        ("ssh://example.com/team/r.git".into(), "unsupported URL protocol"),
        ("git://127.0.0.1/team/r.git".into(), "only http:// and https:// reach other machines"),
    ] {
        let said = desk.run(&format!("git clone '{address}' x"));
        assert_eq!(said.status, 128, "{address}: {said:?}");
        assert!(said.err.contains(why), "{address}: {said:?}");
        assert!(!said.err.contains("secret words"), "{said:?}");
        assert_eq!(desk.text("ls"), "outputs\n", "nothing is left behind");
    }
    // The redirect was not followed with the credential.
    let seen = server.seen();
    assert!(seen.requests.iter().all(|request| !request.contains("/other")), "{:?}", seen.requests);
    assert!(desk.run("git-remote-http git-upload-pack get http://h/x").err.contains("usage"));
}

/// Without `--allow-git`, over the sandbox's own network: the user and the password of an address are its own.
#[test]
fn clones_fetches_and_pushes_over_the_network_of_the_sandbox() {
    if !has_git("clones_fetches_and_pushes_over_the_network_of_the_sandbox") {
        return;
    }
    let (folder, bare) = served();
    let server = Server::start(folder.path(), Some(HEADER));
    let (open, port) = (Server::start(folder.path(), None), |server: &Server| {
        server.url.rsplit(':').next().unwrap().parse::<u16>().unwrap()
    });
    // Another address is allowed for git, which changes nothing here.
    let other = vec![allowed("https://git.example/team/", None)];
    let desk = Desk::with_network(other, &[port(&server), port(&open)]);
    let url = format!("{}/team/r.git", server.url).replace("http://", &format!("http://{SECRET}@"));
    let said = desk.run(&format!("git clone {url}"));
    assert_eq!((said.status, said.err.as_str()), (0, "Cloning into 'r'...\n"), "{said:?}");
    assert_eq!(desk.text("cd r && git log --format=%H"), real_text(&bare, "git log --format=%H main"));
    desk.text(&format!("git clone -q --depth 1 --branch side {url} shallow"));
    real_text(
        &folder.path().join("work"),
        "echo four > four; git add -A; git commit -q -m four; git push -q ../team/r.git main",
    );
    assert!(desk.text("cd r && git pull --ff-only").contains(" four | 1 +\n"));
    let pushed = desk.run("cd r && git checkout -q -b ours && head -c 300000 /dev/urandom > five && git add five && git commit -q -m five && git push -u origin ours");
    assert_eq!(pushed.status, 0, "{pushed:?}");
    assert!(pushed.err.contains(&format!("To {}/team/r.git\n", server.url)), "{pushed:?}");
    assert_eq!(real_text(&bare, "git log -1 --format=%s ours; git fsck --strict 2>/dev/null"), "five\n");
    assert!(server.seen().authorizations.iter().all(|shown| shown.as_deref() == Some(HEADER)));
    // A repository that has moved is asked for at its new place.
    desk.text(&format!("git clone -q {}/moved/team/r.git moved && cd moved && git fetch", open.url));
    for (address, why) in [
        (
            format!("{}/team/r.git", server.url),
            "asks for a credential, or refuses the one of the address (HTTP 401)",
        ),
        (format!("{}/team/none.git", open.url), "repository not found (HTTP 404)"),
        (format!("{}/page/r.git", open.url), "does not speak git's smart protocol"),
        (
            "https://git.example.com/r.git".into(),
            "--allow-git lists those that are allowed; no rule allows the host",
        ),
    ] {
        let said = desk.run(&format!("git clone '{address}' x"));
        assert!(said.status == 128 && said.err.contains(why), "{address}: {said:?}");
        assert!(!said.err.contains("pass-0123"), "{said:?}");
    }
}

#[test]
fn git_06_a_server_that_is_silent_or_never_ends_costs_a_bounded_share() {
    if !has_git("git_06_a_server_that_is_silent_or_never_ends_costs_a_bounded_share") {
        return;
    }
    let (folder, _) = served();
    let server = Server::start(folder.path(), None);
    let desk = Desk::with(vec![allowed(&server.url, None)]);
    // Its silence is longer than the command's own time, which ends it.
    let said =
        desk.run_for("/workspace", &format!("git clone {}/silent/r.git", server.url), Duration::from_secs(2));
    assert_eq!(said.status, 124, "{said:?}");
    let said = desk.run(&format!("git clone {}/endless/r.git other", server.url));
    assert!(said.status == 128 && said.err.contains("has more than 256 MiB"), "{said:?}");
    assert_eq!(desk.text("ls -d other 2>/dev/null; echo alive"), "alive\n");
}

#[test]
fn without_an_operators_word_nothing_is_reached() {
    if !has_git("without_an_operators_word_nothing_is_reached") {
        return;
    }
    let said = Desk::new().run("git clone https://example.com/team/r.git");
    assert_eq!(said.status, 128);
    assert!(
        said.err.contains("reaches no remote repositories") && said.err.contains("--allow-git"),
        "{said:?}"
    );
}

#[test]
fn repositories_in_folders_are_cloned_without_the_host() {
    if !has_git("repositories_in_folders_are_cloned_without_the_host") {
        return;
    }
    let (folder, bare) = served();
    let desk = Desk::new();
    real_text(folder.path(), &format!("cp -r team/r.git {}/r.git", path(&desk.shared())));
    for address in ["file:///shared/r.git", "/shared/r.git", "../shared/r.git"] {
        desk.text(&format!("rm -rf x && git clone -q {address} x"));
        assert_eq!(
            desk.text("cd x && git log --format=%H"),
            real_text(&bare, "git log --format=%H main"),
            "{address}"
        );
    }
    desk.text("git clone -q /workspace/x y && cd y && echo z > z && git add z && git commit -q -m z");
    assert_eq!(
        desk.text("cd y && git log -1 --format=%s && git remote -v | head -1"),
        "z\norigin\t/workspace/x (fetch)\n"
    );
    let said = desk.run("git clone /nowhere/at/all");
    assert_eq!(
        (said.status, said.err.lines().last().unwrap()),
        (128, "fatal: repository '/nowhere/at/all' does not exist")
    );
}

/// A server that trickles holds its own caller up and nobody else, however often that one asks.
#[test]
fn git_06_a_server_that_trickles_for_one_owner_keeps_no_other_waiting() {
    if !has_git("git_06_a_server_that_trickles_for_one_owner_keeps_no_other_waiting") {
        return;
    }
    let (folder, _) = served();
    let server = Server::start(folder.path(), None);
    let desk = Desk::with(vec![allowed(&server.url, None)]);
    let sandboxes = lasting::sandboxes(&desk.dormouse).clone();
    let ready = |owner: &str, name: &str| {
        let (owner, name) = (Owner::parse(owner).unwrap(), Name::parse(name).unwrap());
        let asked = Asked { name: Some(name), ..Asked::default() };
        sandbox::wait(sandboxes.create(&owner, asked)).unwrap();
    };
    let run = |owner: &str, name: &str, line: String| {
        let (sandboxes, owner, name) = (sandboxes.clone(), Owner::parse(owner).unwrap(), name.to_owned());
        async move {
            let mut line = CommandLine::new(line);
            line.wall = Duration::from_secs(30);
            sandboxes.exec(&owner, &Handle::IdOrName(&name), line).await.unwrap().1.outcome
        }
    };
    ready("bob", "b");
    let url = format!("{}/team/r.git", server.url);
    let mut slow = Vec::new();
    for number in 0..6 {
        let name = format!("a{number}");
        ready("ann", &name);
        slow.push(sandbox::spawn(run("ann", &name, format!("git clone -q {}/trickle/r.git", server.url))));
    }
    let mut asked = 0;
    wait_until("the server is asked twice", Duration::from_secs(60), || {
        asked += server.seen().requests.len();
        asked >= 2
    });
    let begin = Instant::now();
    let cloned =
        sandbox::wait(run("bob", "b", format!("git clone -q {url} && cd r && git log --format=%s -1")));
    assert_eq!(cloned.stdout.text, "number 3\n", "{cloned:?}");
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let trickling = asked + server.seen().requests.iter().filter(|one| one.contains("trickle")).count();
    assert!(trickling <= 4, "of one owner half at a time, and not {trickling}");
    slow.into_iter().for_each(|call| call.abort());
}

//! `curl`, `wget` and what else of the shell reaches for a network: with rules, and without.

mod server;

use std::path::Path;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use dormouse::ErrorCode;
use dormouse::PersistentSandbox;
use dormouse::sandboxes::CommandLine;
use dormouse_tests::lasting::{named, open};
use dormouse_tests::{binary, sandbox, wait_until};

use server::{World, run};

static WORLD: LazyLock<World> = LazyLock::new(World::new);

/// Command lines that Debian's curl and ours are to answer in the same way, each in a folder of its own.
const LINES: &str = include_str!("curl.txt");
/// What is there before each of them.
const BEFORE: &str =
    "printf 'one\\ntwo\\r\\n' > lines; printf 'A: 1\\n' > heads; printf 01234 > part; printf x > a.html";

/// Output of what must work.
#[track_caller]
fn output(kept: &PersistentSandbox, line: &str) -> String {
    let (status, out, err) = run(kept, line);
    assert_eq!((status, err.as_str()), (0, ""), "{line}: {out}");
    out
}

/// A text without what differs between the two: names of programs, and what is drawn anew each time.
fn plain(text: &str) -> String {
    let text = text.replace("curl/7.88.1", "AGENT").replace("curl/8.0.0", "AGENT");
    let text = text.replace("'curl --help' or 'curl --manual'", "'curl --help'");
    let boundary =
        text.lines().find_map(|line| line.split_once("boundary=")).map(|(_, word)| word.trim().to_owned());
    let text = boundary.map_or(text.clone(), |word| text.replace(&word, "BOUNDARY"));
    let kept = |line: &&str| !["* ", "{ [", "} ["].iter().any(|mark| line.starts_with(mark));
    // The case of names does not count.
    let line = |line: &str| match line.split_once(':') {
        Some((name, value))
            if !name.trim_start_matches(['<', '>', ' ']).contains(' ') && !name.starts_with("curl") =>
        {
            format!("{}: {}", name.to_lowercase(), value.trim())
        }
        _ => line.to_owned(),
    };
    text.lines().filter(kept).map(line).collect::<Vec<_>>().join("\n")
}

#[test]
fn curl_answers_as_debians_curl_does() {
    let name = "curl_answers_as_debians_curl_does";
    let Some(found) = binary::installed("curl", name) else { return };
    let version = binary::finish(binary::started(&found, &["--version"]), b"").text();
    if !version.starts_with("curl 7.88.") {
        eprintln!("{name}: skipped, for this machine's curl is another than Debian 12's");
        return;
    }
    let kept = WORLD.sandbox("same");
    let mut wrong = Vec::new();
    for line in LINES.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let folder = tempfile::tempdir().unwrap();
        let whole = format!("U=http://127.0.0.1:{}; {BEFORE}; {line}", WORLD.port);
        let mut command = binary::started(Path::new("bash"), &["-c", &whole]);
        command.current_dir(folder.path()).env("HOME", folder.path()).env("LC_ALL", "C.UTF-8");
        let real = binary::finish(command, b"");
        let real = (real.status.unwrap_or(-1), plain(&real.text()), plain(&real.complaint()));
        let (status, out, err) = run(&kept, &format!("d=$(mktemp -d); cd $d; {BEFORE}; {line}"));
        let ours = (status, plain(&out), plain(&err));
        if real != ours {
            wrong.push(format!("{line}\n--- curl: {real:#?}\n--- here: {ours:#?}"));
        }
    }
    assert!(wrong.is_empty(), "{} lines differ:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn https_is_spoken_and_wget_gets_files() {
    let kept = WORLD.sandbox("https");
    assert_eq!(
        output(&kept, "curl -s $U/gzip | gzip -dc; wget -qO- --compression=auto $U/gzip"),
        "unpacked\nunpacked\n"
    );
    assert_eq!(
        output(&kept, "curl -s --json '{\"a\": 1}' $S/echo | jq -r '.headers[\"content-type\"], .body'"),
        "application/json\n{\"a\": 1}\n"
    );
    assert_eq!(
        output(
            &kept,
            "wget -q $U/digits && printf 012 > part && wget -qc -O part $U/digits && cat digits part"
        ),
        "01234567890123456789"
    );
    let (status, _, err) = run(&kept, "wget $S/status/404");
    assert!(status == 8 && err.contains("ERROR 404: Not Found."), "{err}");
    assert_eq!(output(&kept, "curl -sI $S/status/200 | tr -d '\\r' | head -n 1"), "HTTP/1.1 200 OK\n");
    assert_eq!(output(&kept, "curl -sLc jar $S/cookie | jq -r .headers.cookie"), "a=1\n");
    assert_eq!(
        output(&kept, "head -c 1000000 /dev/zero | curl -s --data-binary @- $S/echo | jq '.body | length'"),
        "1000000\n"
    );
    assert_eq!(output(&kept, "curl -s $U/digits | python3 -c 'print(input())'"), "0123456789\n");
    assert_eq!(output(&kept, "x=$(curl -sf $U/digits) && echo \"[$x]\""), "[0123456789]\n");
}

/// What is not allowed leaves nothing: no question about a name, no connection.
#[test]
fn net_01_no_way_out_without_a_grant() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let dormouse = open(folder.path());
    let kept = world.named(named(&dormouse, "alone"));
    let begun = Instant::now();
    let sentence = "this sandbox has no network: the operator grants one (--allow-net HOST, --network FILE), and a sandbox (`network`) or a call (`allow_network`) asks for it";
    for (line, status, told) in [
        ("curl $U/echo", 7, format!("curl: (7) {sentence}\n")),
        ("curl -s $S/echo", 7, format!("curl: (7) {sentence}\n")),
        ("curl -sS --retry 5 --retry-all-errors -d x $U/echo", 7, format!("curl: (7) {sentence}\n")),
        ("wget -q $U/echo", 4, format!("wget: {sentence}\n")),
        ("wget -nv $S/echo", 4, format!("{sentence}\n")),
    ] {
        assert_eq!(run(&kept, line), (status, String::new(), told), "{line}");
    }
    let (status, _, err) = run(&kept, "git clone $U/r.git");
    assert!(status == 128 && err.contains(sentence), "{err}");
    for line in
        ["exec 3<>/dev/tcp/127.0.0.1/80", "echo x > /dev/udp/127.0.0.1/53", "cat < /dev/tcp/api.test/443"]
    {
        let (status, _, err) = run(&kept, line);
        assert!(
            status == 1 && err.contains("a redirection opens no connection in a sandbox"),
            "{line}: {err}"
        );
    }
    for command in ["nc", "ping", "nslookup", "dig"] {
        assert_eq!(run(&kept, &format!("{command} 127.0.0.1")).0, 127, "{command}");
    }
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
    assert_eq!((world.outside.asked(), world.outside.accepted(), world.seen.accepted()), (Vec::new(), 0, 0));
}

#[test]
fn what_rules_do_not_allow_is_told_with_the_reason() {
    let kept = WORLD.sandbox("rules");
    for (line, status, told) in [
        ("curl -s http://no.test/", 7, "curl: (7) no rule allows the host `no.test`"),
        ("curl http://127.0.0.1:2/", 7, "curl: (7) no rule"),
        ("curl $GONE/", 7, "curl: (7) Failed to connect to gone.test port "),
        ("curl http://none.invalid/", 6, "curl: (6) Could not resolve host: none.invalid"),
        ("curl -fd x $READ/echo", 22, "curl: (22) The requested URL returned error: 403 ("),
        ("curl -f $READ/digits", 22, "curl: (22) The requested URL returned error: 403 ("),
        ("wget -q $READ/digits", 8, "ERROR 403: Forbidden. ("),
        ("wget -nv http://no.test/", 4, "no rule allows the host `no.test`"),
        ("wget -nv http://none.invalid/", 4, "unable to resolve host address ‘none.invalid’"),
        ("wget -nv $GONE/", 4, "failed: Connection refused."),
    ] {
        let (code, out, err) = run(&kept, line);
        assert!(code == status && out.is_empty() && err.contains(told), "{line}: {code} {err}");
    }
    assert!(output(&kept, "curl -sd x $READ/echo").contains("\"reason\":\"method\""));
    // Where a redirect leads is asked for as anything else.
    let (status, _, err) = run(&kept, "curl -sSL \"$S/hops/1?http://no.test/\"");
    assert!(status == 7 && err.contains("`no.test`"), "{err}");
}

/// Whatever is set in a sandbox, the host checks.
#[test]
fn net_12_certificates_that_are_not_trusted() {
    let kept = WORLD.sandbox("certificates");
    for (line, status, told) in [
        ("curl -s -S $SELF/", 60, "curl: (60) SSL certificate problem: "),
        ("curl -skS $SELF/", 60, "curl: (60) SSL certificate problem: "),
        ("curl -sS --insecure --cacert /dev/null $SELF/", 60, "the host checks it"),
        ("wget -nv $SELF/", 5, "ERROR: cannot verify self.test's certificate: "),
        ("wget -nv --no-check-certificate $SELF/", 5, "the host checks it"),
        ("git clone $SELF/r.git", 128, "the host checks it"),
    ] {
        let (code, out, err) = run(&kept, line);
        assert!(code == status && out.is_empty() && err.contains(told), "{line}: {code} {err}");
    }
}

#[test]
fn a_secret_is_put_in_on_its_way_and_stays_at_home() {
    let kept = WORLD.sandbox("secret");
    // The host that the secret is for.
    output(&kept, "S=${S/api.test/keys.test}");
    let secret = WORLD.outside.secret();
    let stars = "*".repeat(secret.len());
    for line in [
        "curl -s -H \"Authorization: Bearer $KEY\" $S/echo",
        "curl -s --oauth2-bearer $KEY $S/echo",
        "wget -qO- --header \"Authorization: Bearer $KEY\" $S/echo",
    ] {
        let told = output(&kept, &format!("{line} | jq -r .headers.authorization"));
        assert_eq!(told, format!("Bearer {stars}\n"), "{line}");
    }
    for line in [
        "curl -s -u me:$KEY $S/echo",
        "curl -s https://me:$KEY@${S#https://}/echo",
        "wget -qO- --user me --password $KEY $S/echo",
    ] {
        let told = output(&kept, &format!("{line} | jq -r .headers.authorization"));
        assert!(told.starts_with("Basic ") && told.contains('*'), "{line}: {told}");
    }
    // Anywhere else it goes nowhere, and to another host neither.
    for line in [
        "curl -sf -A $KEY $S/echo",
        "curl -sf -H \"Authorization: Bearer $KEY\" $U/echo",
        "curl -sfG -d key=$KEY $S/echo",
    ] {
        assert_eq!(run(&kept, line).0, 22, "{line}");
    }
    // What the command says of who asks is for its own server alone.
    let far = format!("$U/far/{}", WORLD.outside.code("$HTTP"));
    let told = output(
        &kept,
        &format!(
            "curl -sL -u a:b -b c=d -H 'Authorization: e' -H 'X-F: g' {far} | jq -c '.headers | [.authorization, .cookie, .[\"x-f\"]]'"
        ),
    );
    assert_eq!(told, "[null,null,\"g\"]\n");
    assert_eq!(output(&kept, &format!("grep -r {secret} /workspace /tmp; env | grep {secret}; true")), "");
}

#[test]
fn bodies_come_piece_by_piece() {
    let kept = WORLD.sandbox_of("small", 48 << 20);
    // More than the memory of the sandbox, and less than the budget of a run.
    assert_eq!(output(&kept, "curl -s $U/big/60000 | cat > big; stat -c %s big; rm big"), "61440000\n");
    assert_eq!(output(&kept, "curl -s -o big $U/big/60000; stat -c %s big; rm big"), "61440000\n");
    assert_eq!(output(&kept, "wget -q -O big $U/big/60000; stat -c %s big; rm big"), "61440000\n");
    let begun = Instant::now();
    assert_eq!(output(&kept, "curl -s $U/without-end | head -n 2"), "and so on\nand so on\n");
    let (status, out, _) = run(&kept, "timeout 0.5 curl -sN $U/without-end");
    assert!(status == 124 && out.starts_with("and so on\n"), "{status} {out}");
    let (status, out, err) = run(&kept, "curl -sS -m 0.5 $U/without-end > some; echo $?; head -n 1 some");
    assert_eq!((status, out.as_str()), (0, "28\nand so on\n"), "{err}");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

#[test]
fn several_wait_at_the_same_time() {
    let kept = WORLD.sandbox("several");
    let each = "for n in 1 2 3 4 5 6 7 8; do curl -s $U/late/500 & done; wait";
    for line in [each, "curl -sZ $U/late/500?[1-8]"] {
        let begun = Instant::now();
        assert_eq!(output(&kept, line), "late\n".repeat(8), "{line}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{line}: {:?}", begun.elapsed());
    }
}

#[test]
fn requests_beyond_the_budget_wait_for_their_turn() {
    let world = World::narrow(3);
    let kept = world.sandbox("turns");
    for line in [
        "for n in $(seq 40); do curl -s $U/late/20 & done; wait",
        "for n in $(seq 40); do wget -qO- $U/late/20 & done; wait",
        "for n in $(seq 10); do curl -sd x $U/late/20 & done; wait",
        "curl -s --parallel-max 40 -Z $U/late/20?[1-40]",
    ] {
        let lines = if line.contains("40") { 40 } else { 10 };
        assert_eq!(output(&kept, line), "late\n".repeat(lines), "{line}");
    }
    // The turn of one that others wait for does not come: that is told.
    let world = World::narrow(1);
    let kept = world.sandbox("never");
    let line = "curl -s $U/without-end | while read -r line; do curl -s $U/digits; break; done";
    let (_, out, err) = run(&kept, line);
    assert!(out.is_empty() && err.contains("1 connections at one time"), "{out} {err}");
}

/// What a run leaves behind when it is cut off: nothing is sent twice, and the server sees one end.
#[test]
fn net_24_a_transfer_that_is_cut_off() {
    let world = World::new();
    let kept = world.sandbox("cut");
    let saved = sandbox::wait(kept.checkpoint()).unwrap();
    let left = |count: usize| {
        wait_until("the server's connection ends", Duration::from_secs(20), || world.seen.left() == count);
    };
    let mut line = CommandLine::new("curl -s $U/without-end > /tmp/some; echo after");
    line.wall = Duration::from_secs(1);
    let outcome = sandbox::wait(kept.exec_line(line)).unwrap().outcome;
    assert_eq!(outcome.stopped().map(dormouse::Error::code), Some(ErrorCode::LimitTime));
    assert_eq!(outcome.stdout.text, "");
    left(1);
    assert_eq!(world.seen.requests(), ["GET /without-end HTTP/1.1"]);
    assert_eq!(output(&kept, "curl -s $U/digits"), "0123456789");
    // A job, and the sandbox goes back under it.
    let job = sandbox::wait(kept.start_job(CommandLine::new("curl -s $U/without-end > /tmp/more"))).unwrap();
    let asked = || world.seen.requests.lock().unwrap().iter().any(|request| request.contains("without-end"));
    wait_until("the server is asked", Duration::from_secs(20), asked);
    sandbox::wait(kept.restore(&saved)).unwrap();
    left(2);
    drop(job);
    assert_eq!(output(&kept, "curl -s $U/digits; ls /tmp"), "0123456789");
    let asked = world.seen.requests();
    assert_eq!(asked.iter().filter(|request| request.contains("without-end")).count(), 1, "{asked:?}");
}

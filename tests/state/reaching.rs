//! Programs that outlive their call and have a network: what they have sent when their process ends is not sent again, and only a
//! process that gives them their network goes on with them.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use dormouse::ErrorCode;
use dormouse::connections::Decision;
use dormouse::network::NetworkGrant;
use dormouse::sandbox::{CallState, Owner, RunState};
use dormouse_egress::{Audit, Gate, Options, Outside, file};
use dormouse_tests::{PYTHON, lasting};

use crate::background::{Process, Seen, value};

/// What a server has been asked, by its methods.
#[derive(Default)]
struct Asked {
    get: AtomicUsize,
    post: AtomicUsize,
}

/// A server that answers `ok`, and the first time nothing at all to `/slow`. Its port.
fn server() -> (u16, Arc<Asked>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (port, asked) = (listener.local_addr().unwrap().port(), Arc::<Asked>::default());
    let seen = asked.clone();
    std::thread::spawn(move || {
        let mut kept = Vec::new();
        let mut slow = 0;
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut head = [0; 4_096];
            let Ok(length) = stream.read(&mut head) else { continue };
            let head = String::from_utf8_lossy(&head[..length]).into_owned();
            let count = if head.starts_with("POST") { &seen.post } else { &seen.get };
            count.fetch_add(1, Ordering::SeqCst);
            if head.contains(" /slow ") {
                slow += 1;
                if slow == 1 {
                    kept.push(stream);
                    continue;
                }
            }
            let _sent =
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\nok");
        }
    });
    (port, asked)
}

/// A process whose sandboxes reach this port of this host.
fn reaching(folder: &Path, seen: &Arc<Seen>, port: u16) -> Process {
    let process = Process::new(folder, seen);
    let rules = format!(
        "[[profile.default.allow]]\nhost = \"127.0.0.1\"\nport = {port}\nprotocol = \"http\"\n\
         [[profile.default.allow]]\nhost = \"localhost\"\nport = {port}\nprotocol = \"http\"\naddresses = [\"127.0.0.0/8\"]\n\
         [budget]\nrequests = 4\n"
    );
    let settings = file::parse(&rules, &folder.join("net.toml")).unwrap();
    let options =
        Options { settings, names: None, audit: Audit::none(), key: None, cassette: None, operator: None };
    let gate = process.wait(Gate::open(options)).unwrap();
    let outside = Arc::new(Outside::new(gate));
    process.dormouse.runtime().set_network(outside, Some(NetworkGrant::default()));
    process
}

fn program(port: u16, rest: &str) -> String {
    format!(
        "import asyncio, urllib.request\ndef ask(path, data=None):\n    \
         return urllib.request.urlopen(f'http://127.0.0.1:{port}{{path}}', data).read().decode()\n{rest}"
    )
}

#[test]
fn run_65_a_request_that_was_sent_before_its_process_ended_is_not_sent_again() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let (port, asked) = server();
    let first = reaching(folder.path(), &seen, port);
    let run = first.start("box", PYTHON, &program(port, "ask('/order', b'one')\nask('/slow')"));
    first.until(&run, |_| asked.get.load(Ordering::SeqCst) == 1);
    drop(first);
    let second = reaching(folder.path(), &seen, port);
    second.go_on();
    let ended = second.ended(&run);
    assert_eq!(ended.state, RunState::Failed);
    let cause = ended.end.unwrap().error.unwrap();
    assert_eq!(cause.code, ErrorCode::Conflict);
    assert!(cause.message.contains(&format!("`POST http://127.0.0.1:{port}/order`")), "{}", cause.message);
    assert_eq!(asked.post.load(Ordering::SeqCst), 1);

    // What is only read is asked again; and what was sent before a wait is behind it.
    let (port, asked) = server();
    let third = reaching(folder.path(), &seen, port);
    let code = program(port, "ask('/order', b'one')\nawait asyncio.sleep(1.1)\nask('/a') + ask('/slow')");
    let run = third.start("other", PYTHON, &code);
    third.until(&run, |_| asked.get.load(Ordering::SeqCst) == 2);
    drop(third);
    let fourth = reaching(folder.path(), &seen, port);
    fourth.go_on();
    let ended = fourth.ended(&run);
    assert_eq!((ended.state, value(&ended)), (RunState::Done, serde_json::json!("okok")));
    assert_eq!(asked.post.load(Ordering::SeqCst), 1);
    // A wait does not fill the run's budget again.
    let code = program(
        port,
        "told = []\nfor _ in range(3):\n    for _ in range(2):\n        try: told.append(ask('/a'))\n        except Exception as error: told.append(error.code)\n    await asyncio.sleep(1.1)\nrepr(told)",
    );
    let spends = fourth.start("spends", PYTHON, &code);
    let ended = fourth.ended(&spends);
    assert_eq!(value(&ended), "['ok', 'ok', 'ok', 'ok', 429, 429]");
    let network = ended.network.unwrap();
    assert_eq!((network.requests, network.denied[0].reason.as_ref()), (4, "requests"), "{network:?}");
    let ended = fourth.run(&run);
    let calls = fourth.calls(&run);
    assert_eq!((calls.len(), calls[0].state), (1, CallState::Done), "{calls:?}");
    assert!(ended.network.unwrap().requests >= 3);
}

#[test]
fn run_66_a_run_with_a_network_is_left_to_a_process_that_has_one() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let (port, _) = server();
    let first = reaching(folder.path(), &seen, port);
    let run = first.start("box", PYTHON, &program(port, "await asyncio.sleep(1.1)\nask('/a')"));
    first.until(&run, |run| run.state == RunState::Waiting);
    drop(first);
    let without = Process::new(folder.path(), &seen);
    without.go_on();
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(without.run(&run).state, RunState::Waiting);
    let refused = without.sandboxes().take_over_run(&without.run(&run)).unwrap_err();
    assert_eq!(refused.code(), ErrorCode::CapabilityUnavailable);
    assert!(refused.hint().unwrap().contains("--network"), "{refused:?}");
    drop(without);
    let with = reaching(folder.path(), &seen, port);
    with.go_on();
    assert_eq!(value(&with.ended(&run)), "ok");
}

#[test]
fn run_67_a_call_that_was_only_asked_about_is_asked_about_again() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let (port, _) = server();
    // With a connection the program stays where it is while somebody is asked.
    let code = program(
        port,
        &format!(
            "from dormouse import tools\nheld = await asyncio.open_connection('127.0.0.1', {port})\nawait tools.mail.send(to='a')"
        ),
    );
    let first = reaching(folder.path(), &seen, port);
    let run = first.start("box", PYTHON, &code);
    first.until(&run, |run| run.state == RunState::Asking);
    drop(first);
    let second = reaching(folder.path(), &seen, port);
    second.go_on();
    let asking = |process: &Process| {
        let calls = process.calls(&run);
        let open: Vec<u32> =
            calls.iter().filter(|call| call.state == CallState::Asking).map(|call| call.number).collect();
        (open, calls.len())
    };
    second.until(&run, |run| run.state == RunState::Asking && asking(&second).1 == 2);
    let (open, _) = asking(&second);
    assert_eq!(open.len(), 1, "the question of before is over");
    let decided = second.wait(async {
        second.sandboxes().decide(&Owner::local(), run.id.as_str(), open[0], Decision::Approved)
    });
    decided.unwrap();
    assert_eq!(value(&second.ended(&run)), "sent");
    assert_eq!(seen.count("mail.send"), 1);
}

/// FS-13: a network that is not given any more.
#[test]
fn fs_13_a_sandbox_says_that_its_network_is_not_given_any_more() {
    let (folder, seen) = (tempfile::tempdir().unwrap(), Arc::new(Seen::default()));
    let process = reaching(folder.path(), &seen, 80);
    let spec = dormouse::sandbox::SandboxSpec {
        network: Some(NetworkGrant::default()),
        ..dormouse::sandbox::SandboxSpec::default()
    };
    let of = |process: &Process| process.sandboxes().effective(&spec).withdrawn;
    assert_eq!(of(&process), []);
    drop(process);
    let without = lasting::open(folder.path());
    let told = lasting::sandboxes(&without).effective(&spec).withdrawn;
    assert_eq!(told.len(), 1);
    assert_eq!(told[0].to_string(), "the network `default` is not given any more");
}

//! Helpers as threads of the test; `tests/flow` has them as processes.

use std::collections::BTreeMap;
use std::os::fd::AsFd as _;
use std::os::unix::net::UnixListener;
use std::thread::JoinHandle;
use std::time::Duration;

use dormouse_core::testing::wait_until_async;
use dormouse_egress::Operator as _;
use rustix::net::{RecvFlags, SendFlags};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;

type Served = JoinHandle<io::Result<()>>;

fn names(engine: Option<Address>) -> (Names, Served) {
    let (ours, theirs) = wire::pair().unwrap();
    (Names(Helper::with(ours)), std::thread::spawn(move || names::serve(theirs, engine)))
}

fn programs(table: Vec<Program>) -> (Programs, Served) {
    let (ours, theirs) = wire::pair().unwrap();
    let served = std::thread::spawn(move || programs::serve(theirs));
    (Programs::with(Helper::with(ours), table).unwrap(), served)
}

fn sh(script: &str) -> Program {
    Program { program: "sh".into(), args: vec!["-c".into(), script.into()], env: BTreeMap::new(), cwd: None }
}

fn is_alive(process: &str) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !status.is_empty() && !status.contains(") Z ")
}

async fn until_gone(process: &str) {
    wait_until_async("the whole group ends", Duration::from_secs(20), || !is_alive(process)).await;
}

#[tokio::test]
async fn names_are_looked_up_at_one_time_and_their_errors_come_back() {
    let (names, served) = names(None);
    let found = names.resolve("localhost").await.unwrap();
    assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    let names = Arc::new(names);
    let many: Vec<_> = (0..100)
        .map(|_| {
            let names = names.clone();
            tokio::spawn(async move { names.resolve("localhost").await })
        })
        .collect();
    for one in many {
        assert_eq!(one.await.unwrap().unwrap(), found);
    }
    for wrong in ["", "no such name", "a\0b", "a\nb", &"x".repeat(256), &"x".repeat(100_000)] {
        assert!(names.resolve(wrong).await.is_err(), "{wrong:?}");
    }
    assert!(names.dial().await.is_err(), "no engine was named");
    drop(names);
    served.join().unwrap().unwrap();
}

#[tokio::test]
async fn a_connection_to_the_engine_is_handed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("engine.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (dialled, served) = names(Some(Address::Socket(path)));
    let client = std::os::unix::net::UnixStream::from(dialled.dial().await.unwrap());
    let (mut server, _) = listener.accept().unwrap();
    io::Write::write_all(&mut &client, b"hello").unwrap();
    drop(client);
    assert_eq!(io::read_to_string(&mut server).unwrap(), "hello");
    drop(dialled);
    served.join().unwrap().unwrap();
    let (gone, _served) = names(Some(Address::Socket("/no/such/socket".into())));
    assert_eq!(gone.dial().await.unwrap_err().kind(), io::ErrorKind::NotFound);
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let (tcp, _served) = names(Some(Address::Tcp("localhost".into(), listener.local_addr().unwrap().port())));
    std::net::TcpStream::from(tcp.dial().await.unwrap()).peer_addr().unwrap();
}

#[tokio::test]
async fn a_program_is_started_spoken_to_asked_and_ended() {
    let table =
        vec![sh("exit 3"), sh("echo $$; read line; echo \"got $line\"; echo no >&2; sleep 1000 & wait")];
    let (starter, served) = programs(table.clone());
    let mut started = starter.start(&table[1]).await.unwrap();
    started.input.write_all(b"a line\n").await.unwrap();
    let mut output = tokio::io::BufReader::new(started.output);
    let mut line = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut output, &mut line).await.unwrap();
    let process = line.trim().to_owned();
    assert!(is_alive(&process));
    line.clear();
    tokio::io::AsyncBufReadExt::read_line(&mut output, &mut line).await.unwrap();
    assert_eq!(line, "got a line\n");
    let mut complaint = [0; 3];
    started.errors.read_exact(&mut complaint).await.unwrap();
    assert_eq!(&complaint, b"no\n");
    assert!(tokio::time::timeout(Duration::from_millis(100), started.process.ended()).await.is_err());
    started.process.ask();
    let how = tokio::time::timeout(Duration::from_secs(20), started.process.ended()).await.unwrap();
    assert_eq!(how, Some(Ended::Signal(15)));
    started.process.kill().await.unwrap();
    until_gone(&process).await;
    // What it started holds the other end of its output.
    output.read_to_end(&mut Vec::new()).await.unwrap();
    let short = starter.start(&table[0]).await.unwrap();
    let how = tokio::time::timeout(Duration::from_secs(20), short.process.ended()).await.unwrap();
    assert_eq!(how, Some(Ended::Status(3)));
    drop((short, starter, started.process));
    served.join().unwrap().unwrap();
}

#[tokio::test]
async fn osw_04_a_program_that_the_files_did_not_name_is_not_started_and_all_end_with_the_server() {
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let hidden = Program { env: [("SECRET".into(), "s-3cr3t".into())].into(), ..sh("echo $$; sleep 1000") };
    assert!(!format!("{hidden:?}").contains("s-3cr3t"));
    let (starter, served) = programs(vec![hidden.clone()]);
    let other = sh(&format!("touch {}", mark.display()));
    assert_eq!(starter.start(&other).await.err().unwrap().kind(), io::ErrorKind::PermissionDenied);
    // Whoever has taken over the server says what it likes to the helper.
    for request in
        [&b"P1"[..], b"P18446744073709551615", b"P-1", b"Psh -c 'touch x'", b"Nlocalhost", b"E", b"?"]
    {
        let (ours, theirs) = wire::pair().unwrap();
        wire::send(&starter.helper.socket, request, &[theirs.as_fd()], SendFlags::empty()).unwrap();
        drop(theirs);
        let (answer, handed) = wire::receive(&ours, RecvFlags::empty()).unwrap();
        assert!(answer.first() != Some(&b'=') && handed.is_empty(), "{request:?}");
    }
    let (_, one) = wire::pair().unwrap();
    wire::send(&starter.helper.socket, b"P0", &[], SendFlags::empty()).unwrap();
    wire::send(&starter.helper.socket, b"P0", &[one.as_fd(), one.as_fd()], SendFlags::empty()).unwrap();
    wire::send(&starter.helper.socket, &[b'N'; 20_000], &[one.as_fd()], SendFlags::empty()).unwrap();
    let started = starter.start(&hidden).await.unwrap();
    let mut output = tokio::io::BufReader::new(started.output);
    let mut process = String::new();
    tokio::io::AsyncBufReadExt::read_line(&mut output, &mut process).await.unwrap();
    assert!(is_alive(process.trim()));
    // As when the server is killed: the kernel closes its ends.
    drop((starter, started.process));
    served.join().unwrap().unwrap();
    until_gone(process.trim()).await;
    assert!(!mark.exists());
}

#[tokio::test]
async fn a_program_that_cannot_be_started_says_why() {
    let missing = Program { program: "/no/such/program".into(), ..sh("") };
    let (starter, _served) = programs(vec![missing.clone()]);
    assert_eq!(starter.start(&missing).await.err().unwrap().kind(), io::ErrorKind::NotFound);
    let large = Program { program: "x".repeat(300 << 10), ..sh("") };
    let (ours, _theirs) = wire::pair().unwrap();
    assert!(Programs::with(Helper::with(ours), vec![large]).is_err());
}

#[tokio::test]
async fn net_37_files_are_opened_by_their_name_and_commands_run_by_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["rules", "other"].map(|name| folder.path().join(name));
    std::fs::write(&path, "one").unwrap();
    std::fs::write(&other, "neighbour").unwrap();
    let (ours, theirs) = wire::pair().unwrap();
    let served_files = std::thread::spawn(move || files::serve(theirs));
    let files = Files::with(Helper::with(ours), vec![path.clone()]).unwrap();
    let commands = ["printf told-by-a-command", "printf noise >&2; exit 3", "yes"];
    let commands = commands.map(|script| ["sh", "-c", script].map(str::to_owned));
    let (programs, served) = programs(commands.iter().map(|words| program(words).unwrap()).collect());
    let helped = Helped { files: Some(Arc::new(files)), programs: Some(Arc::new(programs)) };
    let read = || helped.open(&path).and_then(io::read_to_string);
    assert_eq!(read().unwrap(), "one");
    std::fs::write(folder.path().join("new"), "two").unwrap();
    std::fs::rename(folder.path().join("new"), &path).unwrap();
    assert_eq!(read().unwrap(), "two");
    assert_eq!(helped.open(&other).unwrap_err().kind(), io::ErrorKind::PermissionDenied);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(read().unwrap_err().kind(), io::ErrorKind::NotFound);
    let run = |at: usize| {
        let (helped, words) = (&helped, &commands[at]);
        async move { helped.run(words, 100).await.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()) }
    };
    assert_eq!(run(0).await.unwrap(), "told-by-a-command");
    assert_eq!(run(1).await.unwrap_err(), "the command `sh` failed: exit status: 3");
    assert_eq!(run(2).await.unwrap().len(), 100);
    let unknown = ["sh", "-c", "printf another"].map(str::to_owned);
    assert!(helped.run(&unknown, 100).await.unwrap_err().contains("did not name it"));
    drop(helped);
    served_files.join().unwrap().unwrap();
    served.join().unwrap().unwrap();
}

#[tokio::test]
async fn a_helper_that_has_gone_is_an_error() {
    let (ours, theirs) = wire::pair().unwrap();
    let gone = Names(Helper::with(ours));
    drop(theirs);
    assert!(gone.resolve("localhost").await.is_err());
}

//! What the kernel refuses, asked of the kernel. The wall holds for a thread and those that it starts, so each test puts one
//! thread behind it.

mod raw;

use std::fs;
use std::io::ErrorKind;
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use rustix::io::Errno;
use rustix::net::{AddressFamily, Protocol, RawProtocol, SocketFlags, SocketType, ipproto};
use rustix::net::{socket_with, socketpair};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};

use super::*;

/// Does something in a thread that is confined; the others are not. What the kernel lacks is skipped by name.
fn within<T: Send + 'static>(
    test: &str,
    reach: Reach,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let done = std::thread::spawn(move || match restrict(Confine::Must, &reach) {
        Ok(_) => Ok(work()),
        Err(error) => Err(error),
    });
    match done.join().unwrap() {
        Ok(done) => Some(done),
        Err(error) => {
            let _ = crate::print::err(&format!("skipped {test}: {error}\n"));
            None
        }
    }
}

/// The same with the filter of system calls alone, as on a kernel without Landlock.
fn within_filter<T: Send + 'static>(reach: Reach, work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = std::thread::spawn(move || {
        assert_eq!(filter::restrict(&calls::of_server(&reach, std::process::id())), None);
        work()
    });
    done.join().unwrap()
}

fn denied<T>(result: std::io::Result<T>) -> bool {
    matches!(result, Err(error) if error.kind() == ErrorKind::PermissionDenied)
}

#[test]
fn osw_01_files_that_were_not_named_are_out_of_reach() {
    let (ours, others) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let secret = others.path().join("secret");
    fs::write(&secret, "s").unwrap();
    fs::write(ours.path().join("read"), "r").unwrap();
    let state = tempfile::tempdir().unwrap();
    let reach =
        Reach { read: vec![ours.path().into()], write: vec![state.path().into()], ..Reach::default() };
    let (read, kept) = (ours.path().to_owned(), state.path().to_owned());
    let parent = std::os::unix::process::parent_id();
    within("osw_01_files", reach, move || {
        assert!(denied(fs::read(&secret)));
        for path in ["/etc/passwd", "/etc/shadow", "/etc/ssl/openssl.cnf", "/usr/lib/os-release"] {
            assert!(fs::metadata(path).is_err() || denied(fs::read(path)), "{path}");
        }
        for path in ["/", "/root", "/home", "/proc", "/run", "/dev", "/tmp"] {
            assert!(denied(fs::read_dir(path)), "{path}");
        }
        assert!(denied(fs::write(secret.with_file_name("new"), "x")));
        assert!(denied(fs::remove_file(&secret)));
        assert!(denied(fs::rename(&secret, kept.join("stolen"))));
        assert!(fs::hard_link(&secret, kept.join("stolen")).is_err());
        assert!(denied(fs::OpenOptions::new().write(true).truncate(true).open(&secret)));
        assert!(denied(fs::write(read.join("read"), "x")));
        assert_eq!(fs::read(read.join("read")).unwrap(), b"r");
        fs::write(kept.join("state"), "x").unwrap();
        fs::create_dir(kept.join("folder")).unwrap();
        fs::rename(kept.join("state"), kept.join("folder/state")).unwrap();
        fs::hard_link(kept.join("folder/state"), kept.join("folder/other")).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", kept.join("link")).unwrap();
        assert!(denied(fs::read(kept.join("link"))));
        // Without it each start would hash every artifact anew, and leave the next process to do the same.
        assert!(fs::read_to_string("/proc/sys/kernel/random/boot_id").is_ok());
        // A process of its own is looked at, and no other: neither what it was started with nor what it keeps.
        assert!(fs::read_to_string("/proc/thread-self/status").unwrap().contains("Seccomp:\t2"));
        for file in ["cmdline", "environ", "maps", "mem"] {
            assert!(denied(fs::read(format!("/proc/{parent}/{file}"))), "{file}");
        }
    });
}

#[test]
fn osw_01_modes_and_owners_are_not_changed_by_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    fs::write(&path, "s").unwrap();
    let before = fs::metadata(&path).unwrap().permissions();
    let found = path.clone();
    // Landlock sees none of these, wherever the file is.
    within_filter(Reach::default(), move || {
        let mode = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o777);
        assert!(denied(fs::set_permissions(&path, mode.clone())));
        assert!(denied(fs::File::open(&path).unwrap().set_permissions(mode)));
        assert!(denied(std::os::unix::fs::chown(&path, Some(1), None)));
        assert!(denied(std::os::unix::fs::fchown(fs::File::open(&path).unwrap(), Some(1), None)));
        assert!(denied(std::os::unix::fs::chroot("/")));
        assert!(denied(std::env::set_current_dir("/")));
    });
    assert_eq!(fs::metadata(found).unwrap().permissions(), before);
}

#[test]
fn osw_02_nothing_is_connected_to_and_nobody_listens() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let _by_path = UnixListener::bind(&path).unwrap();
    let abstract_name = SocketAddr::from_abstract_name(path.as_os_str().as_encoded_bytes()).unwrap();
    let _by_name = UnixListener::bind_addr(&abstract_name).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    assert!(UnixStream::connect(&path).is_ok() && TcpStream::connect(address).is_ok());
    let write = vec![folder.path().to_owned()];
    let check = move || {
        assert!(denied(UnixStream::connect(&path)));
        assert!(denied(UnixStream::connect_addr(&abstract_name)));
        assert!(denied(UnixListener::bind(path.with_file_name("new"))));
        assert!(denied(UnixDatagram::unbound()));
        assert!(denied(UdpSocket::bind("127.0.0.1:0")));
        assert!(denied(UdpSocket::bind("[::1]:0")));
        assert!(denied(TcpStream::connect(address)));
        assert!(denied(TcpListener::bind("127.0.0.1:0")));
        // The other end of a pair is another's as soon as it is a datagram's: those are addressed one by one.
        assert_eq!(pair(SocketType::DGRAM), Err(Errno::PERM));
        assert_eq!(pair(SocketType::STREAM), Ok(()));
    };
    let reach = Reach { write, ..Reach::default() };
    within("osw_02_nothing", reach.clone(), check.clone());
    within_filter(reach, check);
}

fn pair(kind: SocketType) -> Result<(), Errno> {
    socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None).map(drop)
}

fn socket(family: AddressFamily, kind: SocketType, protocol: Option<Protocol>) -> Result<(), Errno> {
    socket_with(family, kind, SocketFlags::CLOEXEC, protocol).map(drop)
}

#[test]
fn osw_02_sockets_are_of_no_kind_but_tcp_and_that_only_where_something_needs_it() {
    let mptcp = RawProtocol::new(262).map(Protocol::from_raw);
    let sctp = RawProtocol::new(132).map(Protocol::from_raw);
    let kinds = [
        (AddressFamily::UNIX, SocketType::STREAM, None),
        (AddressFamily::UNIX, SocketType::DGRAM, None),
        (AddressFamily::INET, SocketType::DGRAM, None),
        (AddressFamily::INET6, SocketType::DGRAM, None),
        (AddressFamily::INET, SocketType::RAW, Some(ipproto::ICMP)),
        (AddressFamily::INET, SocketType::DGRAM, Some(ipproto::ICMP)),
        (AddressFamily::INET, SocketType::STREAM, mptcp),
        (AddressFamily::INET, SocketType::STREAM, sctp),
        (AddressFamily::NETLINK, SocketType::RAW, None),
        (AddressFamily::PACKET, SocketType::RAW, None),
        (AddressFamily::from_raw(38), SocketType::SEQPACKET, None),
        (AddressFamily::VSOCK, SocketType::STREAM, None),
    ];
    let none = move || {
        for (family, kind, protocol) in kinds {
            let made = socket(family, kind, protocol);
            assert_eq!(made, Err(Errno::PERM), "{family:?} {kind:?} {protocol:?}");
        }
    };
    let tcp = [AddressFamily::INET, AddressFamily::INET6];
    within_filter(Reach::default(), move || {
        none();
        for family in tcp {
            assert_eq!(socket(family, SocketType::STREAM, None), Err(Errno::PERM));
        }
    });
    within_filter(Reach { connects: true, listens: true, helped: true, ..Reach::default() }, move || {
        none();
        for family in tcp {
            let made = socket(family, SocketType::STREAM, Some(ipproto::TCP));
            assert!(made.is_ok() || made == Err(Errno::AFNOSUPPORT), "{family:?}: {made:?}");
        }
    });
}

#[test]
fn osw_02_what_connects_by_tcp_does_so_and_a_listener_that_was_there_takes_connections() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    within("osw_02_tcp", Reach { connects: true, ..Reach::default() }, move || {
        TcpStream::connect(address).unwrap().set_nodelay(true).unwrap();
        assert!(denied(TcpListener::bind("127.0.0.1:0")));
    });
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let client = std::thread::spawn(move || TcpStream::connect(address).map(drop));
    within("osw_02_tcp", Reach { listens: true, ..Reach::default() }, move || listener.accept().unwrap());
    client.join().unwrap().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    drop(taken);
    within("osw_02_tcp", Reach { connects: true, relays: true, ..Reach::default() }, move || {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let _client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        listener.accept().unwrap();
        assert!(denied(TcpListener::bind(("127.0.0.1", port))), "a port of its own choosing");
    });
}

#[test]
#[allow(clippy::disallowed_methods, reason = "it is to fail")]
fn osw_03_no_program_is_started_and_nobody_is_signalled() {
    let parent = Pid::from_raw(std::os::unix::process::parent_id().cast_signed()).unwrap();
    let check = move || {
        assert!(Command::new("/bin/true").status().is_err());
        // In this process's own place.
        assert!(denied::<()>(Err(Command::new("/bin/true").exec())));
        assert_eq!(test_kill_process(parent), Err(Errno::PERM));
        assert_eq!(kill_process(parent, Signal::CONT), Err(Errno::PERM));
        // Threads are all that is left.
        assert_eq!(std::thread::spawn(|| 7).join().unwrap(), 7);
    };
    within("osw_03_no_program", Reach::default(), check);
    within_filter(Reach::default(), check);
}

#[test]
fn a_kernel_without_a_half_is_told_as_partial_and_refused_where_all_must_be() {
    assert_eq!(restrict(Confine::Off, &Reach::default()).unwrap(), Wall::Off);
    let part = Wall::Part(vec!["files are not confined".into(), "x".into()]);
    assert_eq!((part.word(), part.told().as_str()), ("partial", "partial: files are not confined; x"));
    assert_eq!((Wall::Whole.word(), Wall::Off.word()), ("full", "off"));
    // Under a filter that refuses Landlock, and filters, the kernel has neither.
    let done = std::thread::spawn(|| {
        assert_eq!(filter::restrict(&calls::of_server(&Reach::default(), std::process::id())), None);
        (restrict(Confine::Usual, &Reach::default()), restrict(Confine::Must, &Reach::default()))
    });
    let (usual, must) = done.join().unwrap();
    match usual.unwrap() {
        Wall::Part(missing) => assert_eq!(missing.len(), 2, "{missing:?}"),
        wall => panic!("{wall:?}"),
    }
    let error = must.unwrap_err();
    assert_eq!(error.code(), ErrorCode::CapabilityUnavailable);
    assert!(error.message().contains("files are not confined"), "{error}");
}

#[test]
fn a_folder_that_was_named_and_is_not_there_is_an_error() {
    let reach = Reach { read: vec!["/no/such/folder".into()], ..Reach::default() };
    let error = std::thread::spawn(move || restrict(Confine::Usual, &reach)).join().unwrap();
    match error {
        Err(error) => assert_eq!(error.code(), ErrorCode::PathDenied),
        Ok(wall) => assert_ne!(wall, Wall::Whole, "the kernel has no Landlock"),
    }
}

#[test]
fn a_process_with_two_threads_is_not_confined() {
    let error = raise(Confine::Usual, &Reach::default()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::Internal);
}

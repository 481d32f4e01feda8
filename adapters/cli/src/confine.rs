//! A second wall, around the server's own process (requirements S3-17): after it, the kernel refuses this process what it does not need,
//! whatever code runs in it.
//!
//! Landlock: files below the folders that were named, TCP as far as something needs it, no signals and no abstract sockets
//! to others. seccomp: no other program is started, nobody is traced, nothing is mounted, no namespace is made. Both hold
//! for this thread and those that it starts, so this comes before the first of them, and for ever.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use dormouse::{Error, ErrorCode, Result};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, Ruleset,
    RulesetAttr as _, RulesetCreatedAttr as _, RulesetStatus, Scope, path_beneath_rules,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, SeccompRule};

/// The kernel's rules that we know how to ask for.
const KNOWN: ABI = ABI::V6;
/// What any process needs to read: libraries, how names and certificates are found, the time, itself.
const READ: [&str; 19] = [
    "/usr/lib",
    "/usr/lib64",
    "/usr/share/zoneinfo",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/lib",
    "/lib64",
    "/etc/ld.so.cache",
    "/etc/ssl",
    "/etc/pki",
    "/etc/ca-certificates",
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/host.conf",
    "/etc/nsswitch.conf",
    "/etc/gai.conf",
    "/etc/localtime",
    "/proc",
    "/sys/fs/cgroup",
];
/// Devices that are read, and one that is written.
const DEVICES: [&str; 4] = ["/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"];

/// What the process is to reach still.
#[derive(Debug, Default)]
pub(crate) struct Reach {
    /// Folders and files that are read.
    pub(crate) read: Vec<PathBuf>,
    /// Folders that are written.
    pub(crate) write: Vec<PathBuf>,
    /// Whether TCP connections are made. Which, is decided by name, by the rooms that make them.
    pub(crate) connects: bool,
    /// The port that is listened on; 0 is any.
    pub(crate) listens: Option<u16>,
}

/// Confines this thread and all that it starts.
///
/// # Errors
/// `capability_unavailable` where the kernel cannot; nothing is confined by halves without saying so.
pub(crate) fn confine(reach: &Reach) -> Result<()> {
    restrict(reach).map_err(|error| unable("the kernel has no Landlock, or refuses it", error))?;
    let filter = filter().map_err(|error| unable("the filter of system calls cannot be made", error))?;
    seccompiler::apply_filter(&filter)
        .map_err(|error| unable("the kernel does not take a filter of system calls", error))
}

fn unable(why: &str, cause: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorCode::CapabilityUnavailable, format!("`--confine` cannot be had: {why}"))
        .with_hint("Linux 5.13 and later can; leave the option out where it cannot be had")
        .with_source(cause)
}

/// Landlock, as far as this kernel has it: files since 5.13, TCP since 6.7, signals since 6.12.
fn restrict(reach: &Reach) -> std::result::Result<(), std::io::Error> {
    let failed = std::io::Error::other::<landlock::RulesetError>;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    // Everything but starting programs.
    let write: BitFlags<AccessFs> = AccessFs::from_all(KNOWN) & !BitFlags::from(AccessFs::Execute);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))
        .and_then(|rules| rules.handle_access(AccessNet::BindTcp))
        .and_then(|rules| rules.scope(Scope::from_all(KNOWN)))
        .map_err(failed)?;
    if !reach.connects {
        rules = rules.handle_access(AccessNet::ConnectTcp).map_err(failed)?;
    }
    let mut rules = rules.create().map_err(failed)?;
    let needed = READ.iter().chain(&DEVICES).map(PathBuf::from).chain(reach.read.iter().cloned());
    rules = rules.add_rules(path_beneath_rules(needed, read)).map_err(failed)?;
    let null = [Path::new("/dev/null")];
    rules = rules.add_rules(path_beneath_rules(null, read | AccessFs::WriteFile)).map_err(failed)?;
    rules = rules.add_rules(path_beneath_rules(&reach.write, write)).map_err(failed)?;
    if let Some(port) = reach.listens {
        rules = rules.add_rule(NetPort::new(port, AccessNet::BindTcp)).map_err(failed)?;
    }
    let status = rules.restrict_self().map_err(failed)?;
    match status.ruleset {
        RulesetStatus::NotEnforced => Err(std::io::Error::other("the rules are not enforced")),
        RulesetStatus::PartiallyEnforced => {
            tracing::warn!(
                "the kernel enforces a part of the rules: newer ones restrict TCP and signals too"
            );
            Ok(())
        }
        RulesetStatus::FullyEnforced => Ok(()),
    }
}

/// System calls that answer `EPERM`.
fn filter() -> std::result::Result<BpfProgram, seccompiler::BackendError> {
    let refused = [
        libc::SYS_execve,
        libc::SYS_execveat,
        libc::SYS_ptrace,
        libc::SYS_process_vm_readv,
        libc::SYS_process_vm_writev,
        libc::SYS_mount,
        libc::SYS_umount2,
        libc::SYS_pivot_root,
        libc::SYS_chroot,
        libc::SYS_move_mount,
        libc::SYS_open_tree,
        libc::SYS_fsopen,
        libc::SYS_fsconfig,
        libc::SYS_fsmount,
        libc::SYS_fspick,
        libc::SYS_unshare,
        libc::SYS_setns,
        libc::SYS_bpf,
        libc::SYS_userfaultfd,
        libc::SYS_perf_event_open,
        libc::SYS_add_key,
        libc::SYS_request_key,
        libc::SYS_keyctl,
        libc::SYS_io_uring_setup,
        libc::SYS_kexec_load,
        libc::SYS_kexec_file_load,
        libc::SYS_init_module,
        libc::SYS_finit_module,
        libc::SYS_delete_module,
        libc::SYS_open_by_handle_at,
        libc::SYS_swapon,
        libc::SYS_swapoff,
        libc::SYS_reboot,
        libc::SYS_acct,
        libc::SYS_quotactl,
    ];
    let rules: BTreeMap<i64, Vec<SeccompRule>> = refused.into_iter().map(|call| (call, Vec::new())).collect();
    let denied = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, SeccompAction::Allow, denied, std::env::consts::ARCH.try_into()?)?.try_into()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::process::Command;

    use super::*;

    /// Does something in a thread that is confined; the others are not.
    fn within<T: Send + 'static>(reach: Reach, work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let done = std::thread::spawn(move || match confine(&reach) {
            Ok(()) => Some(work()),
            Err(error) => {
                // A kernel without Landlock, such as one in another sandbox.
                let _ = crate::print::err(&format!("skipped: {error}\n"));
                None
            }
        });
        done.join().unwrap()
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
        within(reach, move || {
            let denied =
                |result: std::io::Result<()>| result.unwrap_err().kind() == ErrorKind::PermissionDenied;
            assert!(denied(fs::read(&secret).map(drop)));
            assert!(denied(fs::read("/etc/shadow").map(drop)));
            assert!(denied(fs::read_dir("/root").map(drop)));
            assert!(denied(fs::write(secret.with_file_name("new"), "x")));
            assert!(denied(fs::write(read.join("read"), "x")));
            assert_eq!(fs::read(read.join("read")).unwrap(), b"r");
            fs::write(kept.join("state"), "x").unwrap();
            fs::create_dir(kept.join("folder")).unwrap();
            fs::rename(kept.join("state"), kept.join("folder/state")).unwrap();
        });
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "it is to fail")]
    fn osw_01_no_program_is_started_and_nothing_is_connected() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        within(Reach::default(), move || {
            assert!(Command::new("/bin/true").status().is_err());
            assert_eq!(TcpStream::connect(address).unwrap_err().kind(), ErrorKind::PermissionDenied);
            assert_eq!(TcpListener::bind("127.0.0.1:0").unwrap_err().kind(), ErrorKind::PermissionDenied);
        });
        within(Reach { connects: true, listens: Some(0), ..Reach::default() }, move || {
            TcpStream::connect(address).unwrap();
            TcpListener::bind("127.0.0.1:0").unwrap();
        });
    }
}

//! The half that Landlock makes: which files this process opens, and that it neither signals others nor reaches their
//! abstract sockets.
//!
//! Linux 6.2 has all of it for files. Before 5.19 a rename from one folder to another is refused wherever it happens, so
//! there it is left out. What newer kernels add (TCP, signals, abstract sockets) is refused by the filter of system calls
//! too, and asked for where it can be had.

use std::path::{Path, PathBuf};

use dormouse::{Error, ErrorCode, Result};
use landlock::{
    ABI, Access as _, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible as _, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr as _, RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
    Scope, path_beneath_rules,
};

use super::Reach;

/// The kernel's rules that we know how to ask for.
const KNOWN: ABI = ABI::V6;
/// What any process reads: the time zone, control groups, the processors, randomness, and which boot of the machine this is,
/// without which each start would hash every artifact anew.
const READ: [&str; 10] = [
    "/etc/localtime",
    "/usr/share/zoneinfo",
    "/sys/fs/cgroup",
    "/sys/devices/system/cpu",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/sys/kernel/random/boot_id",
    "/dev/random",
    "/dev/urandom",
    "/dev/zero",
];
/// This process itself.
const OWN: &str = "/proc/self";
/// What is read and written.
const NULL: &str = "/dev/null";
/// Where systems keep the certificates that they trust; keys lie beside some of them, and are not among these.
const CERTIFICATES: [&str; 14] = [
    "/etc/ssl/certs",
    "/etc/ssl/cert.pem",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/tls/certs",
    "/etc/pki/tls/cert.pem",
    "/etc/pki/tls/cacert.pem",
    "/etc/pki/ca-trust",
    "/etc/ca-certificates",
    "/etc/openssl/certs",
    "/etc/certs",
    "/usr/share/ca-certificates",
    "/usr/local/share/ca-certificates",
    "/usr/local/share/certs",
    "/nix/store",
];
/// Environment variables that name others.
const CERTIFICATE_VARIABLES: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];
/// What the system's resolver reads: its libraries and settings, and what its modules keep.
const NAMES: [&str; 26] = [
    "/lib",
    "/lib64",
    "/usr/lib",
    "/usr/lib64",
    "/nix/store",
    "/etc/ld.so.cache",
    "/etc/gai.conf",
    "/etc/host.conf",
    "/etc/hostname",
    "/etc/hosts",
    "/etc/machine-id",
    "/etc/mdns.allow",
    "/etc/networks",
    "/etc/nsswitch.conf",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/resolvconf",
    "/etc/services",
    "/run/NetworkManager",
    "/run/connman",
    "/run/nscd",
    "/run/resolvconf",
    "/run/systemd/resolve",
    "/var/db/nscd",
    "/var/lib/sss",
    "/proc/sys/net",
];

/// Confines this thread; what the kernel does not have of it.
///
/// # Errors
/// `path_denied` for a folder that was named and cannot be opened.
pub(super) fn restrict(reach: &Reach) -> Result<Option<String>> {
    let mut read: Vec<PathBuf> = READ.iter().map(PathBuf::from).collect();
    if reach.connects {
        read.extend(CERTIFICATES.iter().map(PathBuf::from));
        let named = CERTIFICATE_VARIABLES.into_iter().filter_map(std::env::var_os);
        read.extend(named.flat_map(|paths| std::env::split_paths(&paths).collect::<Vec<_>>()));
    }
    let missing = match supported() {
        Supported::Whole => None,
        Supported::NotTruncate => {
            Some("files outside can be emptied, though not read (Linux 6.2 refuses it)".to_owned())
        }
        Supported::No => {
            let text = "files are not confined: the kernel has no Landlock, or it is switched off (Linux 6.2 has it)";
            return Ok(Some(text.into()));
        }
    };
    let failed = |error: RulesetError| Error::internal("the rules for files cannot be made", error);
    let mut rules = rules().map_err(failed)?;
    if !reach.connects {
        rules = rules.handle_access(AccessNet::ConnectTcp).map_err(failed)?;
    }
    let mut rules = rules.create().map_err(failed)?;
    rules = rules.add_rules(path_beneath_rules(read, reading())).map_err(failed)?;
    rules = rules.add_rules(path_beneath_rules([NULL], reading() | AccessFs::WriteFile)).map_err(failed)?;
    if reach.relays {
        // Port 0 stands for those that the kernel chooses.
        rules = rules.add_rule(NetPort::new(0, AccessNet::BindTcp)).map_err(failed)?;
    }
    let named = reach.read.iter().map(|path| (path, reading()));
    for (path, access) in named.chain(reach.write.iter().map(|path| (path, writing()))) {
        rules = rule(rules, path, access)?;
    }
    rules = with_own(rules).map_err(failed)?;
    enforced(rules).map_err(failed).map(|is| match is {
        true => missing,
        false => Some("files are not confined: the kernel does not enforce its rules".into()),
    })
}

/// Confines this thread to what the system's resolver reads; whether it is.
pub(super) fn restrict_names() -> std::result::Result<bool, RulesetError> {
    let rules = rules()?.create()?;
    let rules = rules.add_rules(path_beneath_rules(NAMES, reading()))?;
    let rules = rules.add_rules(path_beneath_rules([NULL], reading() | AccessFs::WriteFile))?;
    enforced(with_own(rules)?)
}

/// Confines this thread to reading; whether it is.
pub(super) fn restrict_reading() -> std::result::Result<bool, RulesetError> {
    let rules = rules()?.create()?;
    enforced(rules.add_rules(path_beneath_rules(["/"], reading()))?)
}

/// How much of the rules for files this kernel knows.
enum Supported {
    Whole,
    NotTruncate,
    No,
}

fn supported() -> Supported {
    let knows = |access: AccessFs| {
        let asked = Ruleset::default().set_compatibility(CompatLevel::HardRequirement).handle_access(access);
        asked.is_ok()
    };
    match (knows(AccessFs::Truncate), knows(AccessFs::Refer)) {
        (true, _) => Supported::Whole,
        (false, true) => Supported::NotTruncate,
        (false, false) => Supported::No,
    }
}

fn rules() -> std::result::Result<Ruleset, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(KNOWN))?
        .handle_access(AccessNet::BindTcp)?
        .scope(Scope::from_all(KNOWN))
}

fn reading() -> BitFlags<AccessFs> {
    AccessFs::ReadFile | AccessFs::ReadDir
}

/// Files, folders and links; no devices, pipes and sockets, and nothing is started.
fn writing() -> BitFlags<AccessFs> {
    reading()
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::MakeDir
        | AccessFs::MakeSym
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer
}

/// A folder or file that was named: it is there, or something is wrong.
fn rule(rules: RulesetCreated, path: &Path, access: BitFlags<AccessFs>) -> Result<RulesetCreated> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
        Error::new(ErrorCode::PathDenied, format!("`{}` cannot be opened", path.display()))
            .with_hint("name a file or folder that exists and that you can read")
            .with_source(error)
    };
    let opened = PathFd::new(path).map_err(|error| failed(error.into()))?;
    let access = match path.is_dir() {
        true => access,
        false => access & AccessFs::from_file(KNOWN),
    };
    rules.add_rule(PathBeneath::new(opened, access)).map_err(|error| failed(error.into()))
}

/// The kernel makes the folder of a process anew when it has forgotten it, and the rule is not the new one's: it is held
/// open as long as this process lives.
fn with_own(rules: RulesetCreated) -> std::result::Result<RulesetCreated, RulesetError> {
    static HELD: std::sync::OnceLock<PathFd> = std::sync::OnceLock::new();
    let Ok(own) = PathFd::new(OWN) else { return Ok(rules) };
    rules.add_rule(PathBeneath::new(HELD.get_or_init(|| own), reading()))
}

fn enforced(rules: RulesetCreated) -> std::result::Result<bool, RulesetError> {
    Ok(rules.restrict_self()?.ruleset != RulesetStatus::NotEnforced)
}

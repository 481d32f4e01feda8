//! git in a sandbox: the same commands beside Debian's git, both on each other's repositories, and remote repositories
//! behind a real server. Needs `git` on this machine; without it each test says so and ends.

#![allow(clippy::unwrap_used, reason = "a test ends where an answer is not what it must be")]
#![allow(clippy::print_stderr, reason = "what a system does not let a test do is said")]

mod create;
mod hostile;
mod remote;
mod same;
mod server;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use dormouse::network::NetworkGrant;
use dormouse::sandbox::{Handle, Owner, SandboxSpec, SpecMount};
use dormouse::sandboxes::{Asked, CommandLine};
use dormouse::{Access, Dormouse, GuestPath};
use dormouse_egress::{Audit, Gate, Options, Outside, file};
use dormouse_git::{Allowed, Credential, Remotes};
use dormouse_tests::{binary, lasting, sandbox};

/// Who commits, and when: then both make the same commits.
const IDENTITY: [(&str, &str); 6] = [
    ("GIT_AUTHOR_NAME", "A U Thor"),
    ("GIT_AUTHOR_EMAIL", "author@example.com"),
    ("GIT_AUTHOR_DATE", "1700000000 +0100"),
    ("GIT_COMMITTER_NAME", "C O Mitter"),
    ("GIT_COMMITTER_EMAIL", "committer@example.com"),
    ("GIT_COMMITTER_DATE", "1700000000 +0100"),
];

/// Whether Debian's git is there. Where it is not, the test has nothing to compare with.
fn has_git(test: &str) -> bool {
    binary::installed("git", test).is_some()
}

/// What a command came to.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    status: i32,
    out: String,
    err: String,
}

/// A sandbox with a folder of this machine, for writing.
struct Desk {
    dormouse: Dormouse,
    folder: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        Self::with(Vec::new())
    }

    /// With these remote repositories.
    fn with(allowed: Vec<Allowed>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("shared")).unwrap();
        let dormouse = lasting::open(&folder.path().join("state"));
        if !allowed.is_empty() {
            lasting::sandboxes(&dormouse).offer(Arc::new(Remotes::new(allowed).unwrap()));
        }
        let mount = SpecMount {
            source: folder.path().join("shared").canonicalize().unwrap(),
            target: GuestPath::parse("/shared").unwrap(),
            access: Access::ReadWrite,
        };
        let defaults = lasting::sandboxes(&dormouse).rules().defaults.clone();
        let spec = SandboxSpec { mounts: vec![mount], ..defaults };
        let asked = Asked { name: Some("desk".parse_name()), spec: Some(spec), ..Asked::default() };
        sandbox::wait(lasting::sandboxes(&dormouse).create(&Owner::local(), asked)).unwrap();
        Self { dormouse, folder }
    }

    /// With a network in which it reaches these ports of this machine by http.
    fn with_network(allowed: Vec<Allowed>, ports: &[u16]) -> Self {
        let desk = Self::with(allowed);
        let rule = |port: &u16| {
            format!("[[profile.default.allow]]\nhost = \"127.0.0.1\"\nprotocol = \"http\"\nport = {port}\n")
        };
        let settings =
            file::parse(&ports.iter().map(rule).collect::<String>(), &desk.folder.path().join("net.toml"));
        let audit = Audit::file(&desk.folder.path().join("network.jsonl")).unwrap();
        let options = Options {
            settings: settings.unwrap(),
            names: None,
            audit,
            key: None,
            cassette: None,
            operator: None,
        };
        let gate = sandbox::wait(Gate::open(options)).unwrap();
        let usual = Some(NetworkGrant::default());
        desk.dormouse.runtime().set_network(Arc::new(Outside::new(gate)), usual);
        desk
    }

    /// The folder that both see, as this machine sees it.
    fn shared(&self) -> std::path::PathBuf {
        self.folder.path().join("shared")
    }

    /// Runs a command line in the sandbox, in a folder of it.
    fn run_in(&self, folder: &str, line: &str) -> Said {
        self.run_for(folder, line, Duration::from_secs(60))
    }

    /// The same in a time of its own.
    fn run_for(&self, folder: &str, line: &str, wall: Duration) -> Said {
        let exports: String =
            IDENTITY.iter().map(|(name, value)| format!("export {name}='{value}'; ")).collect();
        let mut command = CommandLine::new(format!("{exports}{line}"));
        command.directory = Some(GuestPath::parse(folder).unwrap());
        command.wall = wall;
        let sandboxes = lasting::sandboxes(&self.dormouse);
        let (_, executed) =
            sandbox::wait(sandboxes.exec(&Owner::local(), &Handle::IdOrName("desk"), command)).unwrap();
        let outcome = executed.outcome;
        Said {
            status: outcome.exit_code(),
            out: outcome.stdout.text.clone(),
            err: outcome.stderr.text.clone(),
        }
    }

    fn run(&self, line: &str) -> Said {
        self.run_in("/workspace", line)
    }

    /// Standard output of what must work.
    #[track_caller]
    fn text(&self, line: &str) -> String {
        let said = self.run(line);
        assert_eq!(said.status, 0, "{line}: {said:?}");
        said.out
    }
}

/// A shorter way to a name.
trait ParseName {
    fn parse_name(&self) -> dormouse::sandbox::Name;
}

impl ParseName for str {
    fn parse_name(&self) -> dormouse::sandbox::Name {
        dormouse::sandbox::Name::parse(self).unwrap()
    }
}

/// Runs a command line with Debian's bash and git.
fn real(folder: &Path, line: &str) -> Said {
    // The bytes of a name in hexadecimal digits.
    let raw = r"raw() { printf $(printf %s $1 | sed 's/../\\x&/g'); }; ";
    let mut command = binary::started(Path::new("bash"), &["-c", &format!("{raw}{line}")]);
    command.current_dir(folder).envs(IDENTITY).env("HOME", folder).env("GIT_CONFIG_NOSYSTEM", "1");
    command.env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C.UTF-8");
    command
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "safe.directory")
        .env("GIT_CONFIG_VALUE_0", "*");
    let ran = binary::finish(command, b"");
    Said { status: ran.status.unwrap_or(-1), out: ran.text(), err: ran.complaint() }
}

/// Standard output of what must work.
#[track_caller]
fn real_text(folder: &Path, line: &str) -> String {
    let said = real(folder, line);
    assert_eq!(said.status, 0, "{line}: {said:?}");
    said.out
}

/// An allowed address, with what its server is told.
fn allowed(url: &str, credential: Option<&str>) -> Allowed {
    let allowed = Allowed::new(url).unwrap();
    match credential {
        Some(text) => allowed.with_credential(Credential::parse(text).unwrap()),
        None => allowed,
    }
}

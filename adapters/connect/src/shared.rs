//! What all runs share: the servers and their names, the connections, the rules, the index of their tools.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use dormouse_core::pattern::fits;
use dormouse_core::sandbox::Owner;
use dormouse_core::{Error, ErrorCode, Result};
use dormouse_sources::{MAX_ENTRIES, Outside};
use dormouse_tools::by_likeness;

use crate::connection::{Connection, Verdict};
use crate::names;
use crate::owners::Owners;
use crate::pool::{Bounds, Fresh, Held, Pool};
use crate::rules::Rules;
use crate::search::{Indexes, Lists};
use crate::tools::Tool;

/// Names that are the catalog's own.
const OWN: [&str; 2] = ["describe", "search"];
/// Time that a search gives a server to come up, and a look at a program before it runs; later ones are left out of it.
pub(crate) const SEARCHED: Duration = Duration::from_secs(30);
/// Names that a text tells.
const NAMED: usize = 8;

/// What is connected, and how.
pub struct Settings {
    /// The servers, at most 64, each of a name of its own.
    pub connections: Vec<Connection>,
    /// Rules by `SERVER.TOOL`, in which `*` stands for any characters. Default none.
    pub rules: BTreeMap<String, Verdict>,
    /// Who looks up names, sends requests and starts programs. Default: this process.
    pub outside: Outside,
    /// Connections that are open for one owner. Default 64.
    pub per_owner: usize,
    /// Connections that are open in all. Default 256.
    pub whole: usize,
    /// Time after which a connection is ended that nobody uses. Default 10 min.
    pub idle: Duration,
    /// Time until a server is there and has listed its tools. Default 120 s: some programs are downloaded when they are started first.
    pub open: Duration,
    /// Time for one call. Default 300 s.
    pub call: Duration,
    /// Calls of one owner that are under way at one time; others wait. Default 64.
    pub calls: usize,
    /// Whether the calls that a program's text shows are checked before it runs. Default false.
    pub check: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            connections: Vec::new(),
            rules: BTreeMap::new(),
            outside: Outside::default(),
            per_owner: 64,
            whole: 256,
            idle: Duration::from_secs(600),
            open: Duration::from_secs(120),
            call: Duration::from_secs(300),
            calls: 64,
            check: false,
        }
    }
}

/// What all runs share.
pub(crate) struct Shared {
    pub(crate) connections: Arc<[Connection]>,
    /// Their names in programs, in the same order.
    pub(crate) identifiers: Vec<String>,
    by_name: HashMap<String, usize>,
    pub(crate) pool: Arc<Pool>,
    pub(crate) rules: Rules,
    pub(crate) owners: Owners,
    pub(crate) indexes: Arc<Indexes>,
    pub(crate) call: Duration,
    /// Whether a program's calls are looked at before it runs.
    pub(crate) check: bool,
}

impl Shared {
    pub(crate) fn new(settings: Settings) -> Result<Self> {
        let mut connections = settings.connections;
        connections.sort_by(|one, other| one.name.cmp(&other.name));
        if connections.len() > MAX_ENTRIES {
            return Err(Error::args_invalid(format!("there are more than {MAX_ENTRIES} servers")));
        }
        if let Some(two) = connections.windows(2).find(|two| two[0].name == two[1].name) {
            let message = format!("two servers are called `{}`", two[0].name);
            return Err(Error::args_invalid(message).with_hint("give each a name of its own"));
        }
        connections.iter().try_for_each(|connection| connection.check(&settings.outside))?;
        let raw: Vec<&str> = connections.iter().map(|one| one.name.as_str()).collect();
        let identifiers = names::identifiers(&raw, &OWN);
        let both = connections.iter().zip(&identifiers).enumerate();
        let by_name =
            both.flat_map(|(at, (one, name))| [(name.clone(), at), (one.name.clone(), at)]).collect();
        let rules = Rules::new(&connections, &settings.rules);
        let connections: Arc<[Connection]> = connections.into();
        let bounds = Bounds {
            per_owner: settings.per_owner,
            whole: settings.whole,
            idle: settings.idle,
            open: settings.open,
        };
        Ok(Self {
            identifiers,
            by_name,
            pool: Pool::new(connections.clone(), bounds, settings.outside),
            connections,
            rules,
            owners: Owners::new(settings.calls),
            indexes: Arc::default(),
            call: settings.call,
            check: settings.check,
        })
    }

    /// The server of that name, as it is written in the file or in programs.
    pub(crate) fn server(&self, name: &str) -> Option<usize> {
        if OWN.contains(&name) { None } else { self.by_name.get(name).copied() }
    }

    /// What is told of a server that there is not.
    pub(crate) fn no_server(&self, name: &str) -> String {
        if self.identifiers.is_empty() {
            return "no server is connected".into();
        }
        let names = by_likeness(name, self.identifiers.iter().map(String::as_str));
        format!("the servers are {}", listed(&names))
    }

    /// What is told of a tool that a server does not have.
    pub(crate) fn no_tool(&self, server: usize, held: &Held, name: &str) -> String {
        let (server, tools) = (&self.identifiers[server], &held.tools.list);
        let shown: String = name.escape_debug().take(64).collect();
        if tools.is_empty() {
            return format!("no tool `{server}.{shown}`; the server has no tools");
        }
        let names = by_likeness(name, tools.iter().map(|tool| tool.identifier.as_str()));
        format!("no tool `{server}.{shown}`; the server has {}", listed(&names))
    }

    /// The tools of all servers that can be reached for an owner.
    ///
    /// # Errors
    /// `provider_unavailable` where none can be.
    pub(crate) async fn lists(&self, owner: &Owner) -> Result<Lists> {
        let reached = futures::future::join_all((0..self.connections.len()).map(|server| async move {
            let reached = tokio::time::timeout(SEARCHED, self.pool.reach(server, owner, Fresh::Recent)).await;
            match reached {
                Ok(Ok(held)) => Ok((server, held.tools.clone())),
                Ok(Err(error)) => Err((server, error.message().to_owned())),
                Err(_) => Err((server, format!("it was not there within {} s", SEARCHED.as_secs()))),
            }
        }))
        .await;
        let (mut lists, mut why) = (Vec::new(), None);
        for one in reached {
            match one {
                Ok(list) => lists.push(list),
                Err((server, error)) => {
                    let name = &self.connections[server].name;
                    tracing::warn!(server = name, error, "a server's tools are not searched");
                    why.get_or_insert(format!("the server `{name}` cannot be reached: {error}"));
                }
            }
        }
        match why {
            Some(why) if lists.is_empty() => Err(Error::new(ErrorCode::ProviderUnavailable, why)),
            _ => Ok(lists),
        }
    }

    /// What rules may call a tool: its server and itself, each by its own name or as programs write it.
    pub(crate) fn names(&self, server: usize, tool: &Tool) -> Vec<String> {
        let mut names = Vec::with_capacity(1);
        for server in [&self.connections[server].name, &self.identifiers[server]] {
            for tool in [&tool.listed.name, &tool.identifier] {
                let name = format!("{server}.{tool}");
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Whether the operator says that a call may be made again of which nobody knows whether it was made.
    pub(crate) fn may_repeat(&self, name: &str) -> bool {
        let Some((server, tool)) = name.split_once('.') else { return false };
        let Some(server) = self.server(server) else { return false };
        let identifier = |pattern: &str| {
            pattern
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() || c == '*' { c } else { '_' })
                .collect::<String>()
        };
        let idempotent = &self.connections[server].idempotent;
        idempotent.iter().any(|pattern| fits(pattern, tool) || fits(&identifier(pattern), tool))
    }
}

/// The first of some names, as a text.
fn listed(names: &[&str]) -> String {
    let first = names.iter().take(NAMED).map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED) {
        None | Some(0) => first,
        Some(more) => format!("{first} and {more} more"),
    }
}

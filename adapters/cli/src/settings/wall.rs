//! What is meant by `--confine` and `--no-confine`, what the process is to reach then, and who helps it.

use std::path::PathBuf;
use std::sync::Arc;

use dormouse::{Access, Grants, Resolve, Result};
use dormouse_docker::{Address, Dial};
use dormouse_egress::Operator;
use dormouse_kubernetes::Settings as Cluster;
use dormouse_sources::{Outside, Program};

use super::{docker, kubernetes};
use crate::args::McpArgs;
use crate::broker::{Files, Helped, Names, Programs};
use crate::wall::{Confine, Reach};

/// What a command needs besides what its tools need.
#[derive(Debug)]
pub(crate) struct Further {
    /// Whether it is confined when nothing is said.
    pub(crate) usual: Confine,
    /// Folders that are read.
    pub(crate) read: Vec<PathBuf>,
    /// Folders that are written.
    pub(crate) write: Vec<PathBuf>,
    /// Whether it connects to somewhere by TCP.
    pub(crate) connects: bool,
    /// Whether it listens at ports that the kernel chooses.
    pub(crate) relays: bool,
    /// Programs that its files name.
    pub(crate) programs: Vec<Program>,
    /// Files that it opens again, whatever lies there by then.
    pub(crate) files: Vec<PathBuf>,
    /// A folder that is removed when the process has ended, by a helper where one is needed.
    pub(crate) remove: Option<PathBuf>,
}

impl Further {
    /// Nothing besides, for a server.
    pub(crate) fn server() -> Self {
        Self { usual: Confine::Usual, ..Self::none() }
    }

    /// Nothing besides, and not confined.
    pub(crate) fn none() -> Self {
        Self {
            usual: Confine::Off,
            read: Vec::new(),
            write: Vec::new(),
            connects: false,
            relays: false,
            programs: Vec::new(),
            files: Vec::new(),
            remove: None,
        }
    }
}

/// How a process confines itself.
#[derive(Debug)]
pub(crate) struct Confined {
    /// Whether it does.
    pub(crate) confine: Confine,
    /// What it reaches then.
    pub(crate) reach: Reach,
    names: Option<Arc<Names>>,
    programs: Option<Arc<Programs>>,
    files: Option<Arc<Files>>,
    /// Whether the helper for names connects to the container engine too.
    dials: bool,
    /// The settings of the cluster, if there is one; for a process that is confined with what it reads of the cluster beforehand.
    cluster: Option<Cluster>,
}

impl Confined {
    /// Who looks up names, if this process does not.
    pub(crate) fn resolver(&self) -> Option<Arc<dyn Resolve>> {
        self.names.clone().map(|names| names as Arc<dyn Resolve>)
    }

    /// Who connects to the container engine, if this process does not.
    pub(crate) fn dial(&self) -> Option<Arc<dyn Dial>> {
        self.names.clone().filter(|_| self.dials).map(|names| names as Arc<dyn Dial>)
    }

    /// Who opens the operator's files and runs the operator's commands for the network, if this process does not.
    pub(crate) fn operator(&self) -> Option<Arc<dyn Operator>> {
        let helped = Helped { files: self.files.clone(), programs: self.programs.clone() };
        (self.confine != Confine::Off).then(|| Arc::new(helped) as Arc<dyn Operator>)
    }

    /// The settings of the cluster, if there is one.
    pub(crate) fn cluster(&self) -> Option<Cluster> {
        self.cluster.clone().map(|cluster| Cluster { names: self.resolver(), ..cluster })
    }

    /// Who does what sources need.
    pub(crate) fn outside(&self) -> Outside {
        let usual = Outside { names: self.resolver(), ..Outside::default() };
        match &self.programs {
            Some(programs) => Outside { programs: programs.clone(), ..usual },
            None => usual,
        }
    }
}

/// What the options mean. Starts the helpers that are needed: nothing can be started later.
pub(super) fn confined(
    arguments: &McpArgs,
    grants: &Grants,
    further: Further,
    cluster: Option<Cluster>,
) -> Result<Confined> {
    let confine = match (arguments.confine, arguments.no_confine) {
        (true, _) => Confine::Must,
        (_, true) => Confine::Off,
        _ => further.usual,
    };
    let mut reach = reach(arguments, grants, &further);
    if confine == Confine::Off {
        return Ok(Confined {
            confine,
            reach,
            names: None,
            programs: None,
            files: None,
            dials: false,
            cluster,
        });
    }
    let cluster = match cluster.map(kubernetes::before_the_wall).transpose()? {
        Some((cluster, reads)) => {
            reach.read.extend(reads);
            reach.connects = true;
            Some(cluster)
        }
        None => None,
    };
    let engine = docker::is_on(&arguments.docker)
        .then(|| Address::of(arguments.docker.docker_host.as_deref()))
        .flatten();
    let names = reach.connects || engine.is_some();
    let names = names.then(|| Names::start(engine.as_ref())).transpose()?;
    let started = !further.programs.is_empty() || further.remove.is_some();
    let programs =
        started.then(|| Programs::start(further.programs, further.remove.as_deref())).transpose()?;
    let files = (!further.files.is_empty()).then(|| Files::start(further.files)).transpose()?;
    let reach = Reach { helped: names.is_some() || programs.is_some() || files.is_some(), ..reach };
    Ok(Confined { confine, reach, names, programs, files, dials: engine.is_some(), cluster })
}

/// What the tools read, write and connect to.
fn reach(arguments: &McpArgs, grants: &Grants, further: &Further) -> Reach {
    let model = arguments.model.llm_endpoint.is_some();
    let remotes = !arguments.git.allow_git.is_empty();
    let packages = arguments.packages.packages != "off";
    let mut reach = Reach {
        read: [&arguments.roots[..], &further.read].concat(),
        write: further.write.clone(),
        connects: model || remotes || packages || further.connects,
        relays: further.relays,
        ..Reach::default()
    };
    let project = grants.project.as_ref().map(|project| (&project.source, project.access));
    let mounts = grants.mounts.iter().map(|mount| (&mount.source, mount.access));
    for (folder, access) in mounts.chain(project) {
        match access {
            Access::ReadOnly => reach.read.push(folder.clone()),
            Access::ReadWrite => reach.write.push(folder.clone()),
        }
    }
    reach.write.extend(arguments.downloads.clone());
    reach
}

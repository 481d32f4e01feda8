//! What a command line allows that is refused unless it says so. Each use of it is recorded ([`audit`](crate::audit)).

use std::path::PathBuf;

use dormouse::{Access, Grants, Mount};

use crate::args::{DockerArgs, EvalArgs, McpArgs, NetworkArgs, PackageArgs, RunArgs, SourceArgs, StateArgs};

/// The options that allow something, as they are written, and the folders of the host that can be written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exceptions {
    /// The options.
    pub(crate) options: Vec<&'static str>,
    /// The folders.
    pub(crate) writable: Vec<PathBuf>,
}

impl Exceptions {
    /// Those of these that were given.
    fn given<const N: usize>(options: [(&'static str, bool); N]) -> Self {
        let options = options.into_iter().filter(|(_, given)| *given).map(|(option, _)| option).collect();
        Self { options, writable: Vec::new() }
    }

    /// The same with the folders that these grants let be written, if any.
    pub(super) fn in_folders(mut self, grants: &Grants) -> Self {
        let mounts = grants.mounts.iter().map(|mount| (&mount.source, mount.access));
        let project = grants.project.iter().map(|project| (&project.source, project.access));
        let writable = project.chain(mounts).filter(|(_, access)| *access == Access::ReadWrite);
        self.writable = writable.map(|(folder, _)| folder.clone()).collect();
        self
    }

    /// Whether every guard is lifted.
    pub(crate) fn lift_all(&self) -> bool {
        self.options.contains(&"--unsafe")
    }
}

/// Whether a network is named, in either form.
fn of_network(arguments: &NetworkArgs) -> [(&'static str, bool); 2] {
    [("--allow-net", !arguments.allow_net.is_empty()), ("--network", arguments.network.is_some())]
}

/// Those of `eval`.
pub(super) fn of_eval(arguments: &EvalArgs) -> Exceptions {
    let [allow_net, network] = of_network(&arguments.network);
    Exceptions::given([
        ("--unsafe", arguments.lift_guards),
        ("--writes", arguments.grants.writes),
        allow_net,
        network,
    ])
}

/// Those of `run`.
pub(super) fn of_run(arguments: &RunArgs) -> Exceptions {
    let [allow_net, network] = of_network(&arguments.network);
    Exceptions::given([("--writes", arguments.grants.writes), allow_net, network])
}

/// Those of a command about sandboxes that last, by which packages can be fetched or not.
pub(crate) fn of_state(state: &StateArgs, packages: Option<&PackageArgs>) -> Exceptions {
    let given = Exceptions::given([
        ("--allow-writes", state.given.allow_writes),
        ("--allow-git", !state.git.allow_git.is_empty()),
        ("--allow-net", !state.network.allow_net.is_empty()),
        ("--network", state.network.network.is_some()),
        ("--packages", packages.is_some_and(offers_packages)),
        ("--docker-image", offers_containers(&state.docker)),
        ("--kubernetes", state.docker.kubernetes.is_some()),
        ("--wasm-image", !state.image.wasm_images.is_empty()),
    ]);
    let mut mounts: Vec<Mount> =
        state.given.mounts.iter().filter_map(|text| Mount::parse(text).ok()).collect();
    for mount in &mut mounts {
        mount.source = mount.source.canonicalize().unwrap_or_else(|_| mount.source.clone());
    }
    given.in_folders(&Grants { mounts, ..Grants::default() })
}

/// Those of servers and of scenarios.
pub(super) fn of_tools(arguments: &McpArgs) -> Exceptions {
    Exceptions::given([
        ("--allow-writes", arguments.allow_writes),
        ("--allow-git", !arguments.git.allow_git.is_empty()),
        ("--allow-net", !arguments.network.allow_net.is_empty()),
        ("--network", arguments.network.network.is_some()),
        ("--packages", offers_packages(&arguments.packages)),
        ("--root", !arguments.roots.is_empty()),
        ("--downloads", arguments.downloads.is_some()),
        ("--llm-endpoint", arguments.model.llm_endpoint.is_some()),
        ("--docker-image", offers_containers(&arguments.docker)),
        ("--kubernetes", arguments.docker.kubernetes.is_some()),
        ("--wasm-image", !arguments.image.wasm_images.is_empty()),
        ("--no-confine", arguments.no_confine),
    ])
}

/// Those of a run of scenarios, besides what it shares with servers.
pub(crate) fn of_sources(arguments: &SourceArgs) -> Vec<&'static str> {
    let network = arguments.docker_network && offers_containers(&arguments.docker);
    network.then_some("--docker-network").into_iter().collect()
}

/// Whether packages can be fetched.
fn offers_packages(packages: &PackageArgs) -> bool {
    packages.packages != "off"
}

fn offers_containers(docker: &DockerArgs) -> bool {
    !docker.docker_images.is_empty() && !docker.no_docker
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Arguments, Command};

    fn read(words: &[&str]) -> Command {
        let words = ["dormouse"].iter().chain(words);
        Arguments::try_parse_from(words).unwrap_or_else(|error| panic!("{error}")).command
    }

    #[test]
    fn every_option_that_allows_something_is_an_exception_and_no_other() {
        let of = |words: &[&str]| match read(words) {
            Command::Eval(arguments) => of_eval(&arguments).options,
            Command::Mcp { arguments, .. } => of_tools(&arguments).options,
            Command::Sandbox { state, .. } => of_state(&state, None).options,
            _ => unreachable!("one of these"),
        };
        for (words, options) in [
            (&["eval", "--timeout", "9s", "--mount", "a:/a", "1"][..], &[][..]),
            (&["eval", "--unsafe", "--writes", "1"], &["--unsafe", "--writes"]),
            (&["mcp", "--tools", "all", "--no-docker"], &[]),
            (
                &["mcp", "--allow-writes", "--allow-git", "https://a.example/"],
                &["--allow-writes", "--allow-git"],
            ),
            (
                &["mcp", "--packages", "on", "--downloads", "d", "--root", "r"],
                &["--packages", "--root", "--downloads"],
            ),
            (&["mcp", "--no-confine", "--docker-image", "i"], &["--docker-image", "--no-confine"]),
            (&["mcp", "--docker-image", "i", "--no-docker"], &[]),
            (&["mcp", "--kubernetes", "pods"], &["--kubernetes"]),
            (&["mcp", "--wasm-image", "a=ckpt-b"], &["--wasm-image"]),
            (&["eval", "--allow-net", "a.test", "1"], &["--allow-net"]),
            (&["mcp", "--network", "net.toml"], &["--network"]),
            (&["sandbox", "list"], &[]),
            (&["sandbox", "--allow-writes", "list"], &["--allow-writes"]),
        ] {
            assert_eq!(of(words), options, "{words:?}");
        }
    }

    #[test]
    fn folders_that_can_be_written_are_named() {
        let Command::Sandbox { state, .. } =
            read(&["sandbox", "--allow-writes", "--mount", "/:/a:rw", "--mount", "/b:/b", "list"])
        else {
            unreachable!("the command is sandbox")
        };
        assert_eq!(of_state(&state, None).writable, [PathBuf::from("/")]);
    }
}

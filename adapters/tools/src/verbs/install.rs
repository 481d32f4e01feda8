//! `sandbox_install`: packages of Python and JavaScript (requirements S2-24).

use dormouse_core::packages::{PackageEvent, PackageManager};
use dormouse_core::sandbox::SandboxId;
use dormouse_core::{Error, Result, Stream};

use super::Verb;
use crate::call::{Answer, Caller};
use crate::services::{Services, Target, found};
use crate::spec::{FETCHES, Order, answer, arguments, choice, flag, list_of, texts, words};

words! {
    /// Whose packages.
    pub(crate) enum Manager {
        /// Python's.
        Pip = "pip",
        /// JavaScript's.
        Npm = "npm",
    }
}

impl From<Manager> for PackageManager {
    fn from(manager: Manager) -> Self {
        match manager {
            Manager::Pip => Self::Pip,
            Manager::Npm => Self::Npm,
        }
    }
}

arguments! {
    /// What `sandbox_install` is asked.
    pub(crate) struct Install {
        target: Target = Target::table(),
        packages: Vec<String> = texts(
            100,
            32 << 10,
            "What to install, as requirements: `requests>=2,<3`, `pytest`, `left-pad@^1`.",
        ),
        manager: Manager = choice("Package manager: `pip` (default) or `npm`."),
        upgrade: bool = flag("Newer versions of what is named, if there are any. Default false."),
    }
}

answer! {
    /// What was installed.
    pub(crate) struct Installed {
        sandbox_id: SandboxId = "The sandbox.",
        installed: Vec<Package> = "What is new or has another version.",
        satisfied: Vec<String> = list_of("Name and version.", "What was there already."),
        notes: Vec<String> = list_of("A sentence.", "Notes for the caller."),
    }
}

answer! {
    /// One of the packages.
    pub(crate) struct Package = "A package." {
        name: String = "Its name.",
        version: String = "Its version.",
        replaced: Option<String> = "The version that was there before.",
        files: usize = "Its files.",
    }
}

pub(crate) fn install() -> Verb<Install, Installed> {
    Verb {
        name: "sandbox_install",
        title: "Install packages in a sandbox",
        description: "Installs pure-Python packages (`pip`; those without a wheel are built in a sandbox of their own) or \
            pure-JavaScript packages (`npm`) with their dependencies, from the \
            operator's index; `pip install` and `npm install` in sandbox_exec do the same. Python's go below \
            /workspace/.local, JavaScript's into /workspace/node_modules. Either everything is installed or nothing, \
            and only packages that the operator allows: a package that needs native code or is not allowed is refused by name. No code of a \
            package runs in this sandbox during the installation; `notes` say if its scripts were left out.",
        arguments: Install::table(),
        annotations: FETCHES,
        order: Order::Works,
        run: |services, caller, asked| Box::pin(run(services, caller, asked)),
    }
}

async fn run(services: &Services, caller: &Caller, asked: Install) -> Result<Answer<Installed>> {
    let Install { target, packages, manager, upgrade } = asked;
    if packages.is_empty() {
        return Err(
            Error::args_invalid("no package is named").with_hint("give `packages`, such as [\"pytest\"]")
        );
    }
    let owner = &caller.owner;
    let sandbox = services.get_or_create(&target, owner).await?;
    let output = caller.output.clone();
    // A word for each archive; the bytes in between would be too many.
    let progress = move |event: PackageEvent| {
        let said = match event {
            PackageEvent::Building { name } => format!("building {name}\n"),
            PackageEvent::Compiling { name } => format!("compiling {name}\n"),
            PackageEvent::Unpacking { name } => format!("unpacking {name}\n"),
            PackageEvent::Resolving { .. } | PackageEvent::Downloading { .. } => return,
        };
        if let Some(output) = &output {
            output.write(Stream::Stderr, said.as_bytes());
        }
    };
    let (handle, manager) = (found(&sandbox), manager.into());
    let installing = services.sandboxes.install(owner, &handle, manager, packages, upgrade, &progress);
    let (sandbox_id, added) = installing.await?;
    let installed = added.installed.into_iter().map(|one| Package {
        name: one.name,
        version: one.version,
        replaced: one.replaced,
        files: one.files,
    });
    let satisfied = added.satisfied.iter().map(|one| format!("{} {}", one.name, one.version));
    let answer = Installed {
        sandbox_id,
        installed: installed.collect(),
        satisfied: satisfied.collect(),
        notes: added.notes,
    };
    Ok(answer.into())
}

//! What is made in the engine and is to be removed: containers and volumes.

use bollard::errors::Error as Fault;
use bollard::query_parameters::{RemoveContainerOptionsBuilder, RemoveVolumeOptionsBuilder};
use dormouse_containers::leftovers::Removed;
use dormouse_core::Result;

use crate::engine::Engine;
use crate::fault::is_missing;

/// What is to be removed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    /// A container with its volumes, by id or name.
    Container(String),
    /// A volume, by name.
    Volume(String),
}

impl std::fmt::Display for Thing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Container(id) => write!(f, "container {id}"),
            Self::Volume(name) => write!(f, "volume {name}"),
        }
    }
}

impl Thing {
    pub(crate) fn container(id: &str) -> Self {
        Self::Container(id.to_owned())
    }
}

/// Removes one.
///
/// # Errors
/// `provider_unavailable` when the engine does not say that it is gone.
pub(crate) async fn remove(engine: &Engine, thing: &Thing) -> Result<Removed> {
    let docker = engine.docker().await?;
    let missing = |answer: std::result::Result<(), Fault>| match answer {
        Err(fault) if is_missing(&fault) => Ok(Removed::Missing),
        answer => answer.map(|()| Removed::Done),
    };
    match thing {
        Thing::Container(id) => {
            let options = RemoveContainerOptionsBuilder::default().v(true).force(true).build();
            let removing = async { missing(docker.remove_container(id, Some(options)).await) };
            engine.ask("remove a container", removing).await
        }
        Thing::Volume(name) => {
            let options = RemoveVolumeOptionsBuilder::default().force(true).build();
            let removing = async { missing(docker.remove_volume(name, Some(options)).await) };
            engine.ask("remove a volume", removing).await
        }
    }
}

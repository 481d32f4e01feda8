//! What is meant by the options of packages.

use std::sync::Arc;

use dormouse::{Dormouse, Language, Resolve, Result};
use dormouse_packages::{AllowList, Index, Indexes, Mode, PackagePrograms, Settings};

use crate::args::{PackageArgs, PlaceArgs};

/// The indexes that are named. Connects to nothing.
pub(crate) fn indexes(
    arguments: &PackageArgs,
    place: &PlaceArgs,
    names: Option<Arc<dyn Resolve>>,
) -> Result<Arc<Indexes>> {
    let settings = parsed(arguments)?;
    // Where nothing can be fetched no folder is made.
    let cache = match settings.mode {
        Mode::Off => None,
        _ => Some(super::provider(place)?.cache.join("packages")),
    };
    Ok(Arc::new(Indexes::new(Settings { cache, names, ..settings })?))
}

/// Refuses what [`indexes`] refuses of the options alone.
pub(crate) fn check(arguments: &PackageArgs) -> Result<()> {
    parsed(arguments).map(drop)
}

fn parsed(arguments: &PackageArgs) -> Result<Settings> {
    let index = |url: &Option<String>| url.as_deref().map(Index::parse).transpose();
    Ok(Settings {
        mode: Mode::parse(&arguments.packages)?,
        pip: index(&arguments.pip_index)?,
        npm: index(&arguments.npm_registry)?,
        allow: AllowList::parse(arguments.package_allow.iter().map(String::as_str))?,
        ..Settings::default()
    })
}

/// Lets sandboxes have packages, and command lines `pip` and `npm`.
pub(crate) fn offer(dormouse: &Dormouse, packages: Arc<Indexes>) -> Result<()> {
    let sandboxes = dormouse.sandboxes()?;
    let python = python(dormouse);
    packages.build_in(sandboxes.build_machines());
    sandboxes.offer(Arc::new(PackagePrograms::new(packages.clone(), python.clone())));
    sandboxes.supply(packages, python);
    Ok(())
}

/// The version of the Python that is built, such as `3.14.7`.
fn python(dormouse: &Dormouse) -> String {
    let guests = dormouse.runtime().capabilities().guests;
    let found = guests.iter().find(|guest| guest.language == Language::python());
    let version = found.and_then(|guest| guest.interpreter.rsplit(' ').next());
    version.filter(|text| text.starts_with(|c: char| c.is_ascii_digit())).unwrap_or("3.14.0").to_owned()
}

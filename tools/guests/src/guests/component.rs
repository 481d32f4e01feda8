//! From core module to component: the generated C bindings before, the wrapping and validation after.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use wasi_preview1_component_adapter_provider::{
    WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER,
};
use wasmparser::{Validator, WasmFeatures};
use wit_bindgen_core::Files;
use wit_component::ComponentEncoder;
use wit_parser::{Resolve, WorldId};

use super::job::Job;
use super::{direct, merge};

/// The world of a guest, in the contract of all interpreters and in a guest's own.
const WORLD: &str = "guest";
/// The world of a guest whose programs can wait.
const WAITING_WORLD: &str = "waiting-guest";

/// The generated C side of the contract.
pub(crate) struct Bindings {
    /// The folder of `guest.h`.
    pub(crate) headers: PathBuf,
    /// `guest.c`, to be compiled with the guest.
    pub(crate) source: PathBuf,
    /// An object with nothing but the component's type, to be linked in.
    pub(crate) object: PathBuf,
}

impl Job<'_> {
    /// Name and version of the package that the guest's contract is.
    pub(crate) fn contract(&self) -> Result<String> {
        let (resolve, world) = self.world()?;
        let package = resolve.worlds[world].package.context("the world belongs to no package")?;
        Ok(resolve.packages[package].name.to_string())
    }

    /// The world that the guest is of: that of all interpreters, unless its folder has a contract of its own.
    fn world(&self) -> Result<(Resolve, WorldId)> {
        let own = self.guest.join("wit");
        let folder = if own.is_dir() { own } else { self.workspace.join("wit") };
        let mut resolve = Resolve::default();
        let (package, _) = resolve.push_dir(folder)?;
        let name = if self.waits { WAITING_WORLD } else { WORLD };
        let world = resolve.select_world(&[package], Some(name))?;
        Ok((resolve, world))
    }

    /// Generates the C side of the contract.
    pub(crate) fn bindings(&self) -> Result<Bindings> {
        let (mut resolve, world) = self.world()?;
        let mut files = Files::default();
        let options = wit_bindgen_c::Opts { rename_world: Some(WORLD.into()), ..Default::default() };
        options.build().generate(&mut resolve, world, &mut files)?;
        let folder = self.scratch.join("bindings");
        fs::create_dir_all(&folder)?;
        for (name, contents) in files.iter() {
            let path = folder.join(name);
            if fs::read(&path).ok().as_deref() != Some(contents) {
                fs::write(&path, contents)?;
            }
        }
        let path = |end: &str| folder.join(format!("{WORLD}{end}"));
        Ok(Bindings { source: path(".c"), object: path("_component_type.o"), headers: folder })
    }
}

/// Wraps an initialised core module into a validated component.
pub(crate) fn encode(job: &Job<'_>, core: &Path) -> Result<Vec<u8>> {
    let _step = job.progress.step("make the component");
    let guest = fs::read(core).with_context(|| format!("cannot read `{}`", core.display()))?;
    // The adapter without what the guest does not use is to be had only as a part of a component.
    let beside = ComponentEncoder::default()
        .module(&guest)?
        .adapter(WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER)?
        .encode()
        .context("the module does not fit the contract")?;
    let merged = merge::merge(&guest, merge::adapter_of(&beside)?)?;
    let mut encoder = ComponentEncoder::default().module(&merged)?;
    let component =
        encoder.encode().context("the module does not fit the contract once it has the adapter in it")?;
    let component = direct::direct(&component)?;
    let mut validator = Validator::new_with_features(WasmFeatures::all());
    validator.validate_all(&component).context("the component is not valid without its shim")?;
    Ok(component)
}

#[cfg(test)]
mod tests {
    use wit_parser::{Resolve, SizeAlign, Type, TypeDefKind};

    /// What is told of connections, of which a program waits for so many at most (wit/net.wit).
    const OF_CONNECTIONS: [&str; 2] = ["interest", "ready"];
    const CONNECTIONS: usize = 1024;
    /// What the adapter asks for at once.
    const PAGE: usize = 65_536;

    /// `guests/driver/adapter.c` tells the adapter's requests for memory from those of the contract: a page, aligned to 8 bytes.
    #[test]
    fn no_list_of_a_contract_is_a_page_aligned_to_8_bytes() {
        for folder in ["../../wit", "../../guests/typescript/wit"] {
            let mut resolve = Resolve::default();
            resolve.push_dir(folder).expect("the contract");
            let mut sizes = SizeAlign::default();
            sizes.fill(&resolve);
            let elements = resolve.types.iter().filter_map(|(_, of)| match &of.kind {
                TypeDefKind::List(element) => Some(element),
                _ => None,
            });
            for element in elements {
                let name = match element {
                    Type::Id(id) => resolve.types[*id].name.as_deref().unwrap_or_default(),
                    _ => "",
                };
                let is_short =
                    OF_CONNECTIONS.contains(&name) && sizes.size(element).size_wasm32() * CONNECTIONS < PAGE;
                assert!(
                    is_short || sizes.align(element).align_wasm32() < 8,
                    "{folder}: a list of {element:?}"
                );
            }
        }
    }
}

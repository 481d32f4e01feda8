//! The host functions that a guest can be linked with. What a run may do with them is decided by its [`Host`].

use wasmtime::component::{Component, HasSelf, Linker, Resource};
use wasmtime::{Engine, StoreContextMut};
use wasmtime_wasi_http::WasiHttpView as _;
use wasmtime_wasi_http::p2::bindings::http::types::{HostOutgoingRequest as _, IoError, Method};

use crate::bindings::CONTRACT;
use crate::bindings::dormouse::sandbox::{host, net, programs};
use crate::disk::add_filesystem_to_linker;
use crate::http;
use crate::state::Host;

/// How the names of the interfaces begin that ask for HTTP.
const HTTP: &str = "wasi:http/";
/// The interface that `wasmtime-wasi-http` links, by its exact name.
const HTTP_TYPES: &str = "wasi:http/types@0.2.12";
/// Bytes of a request's method.
const MAX_METHOD: usize = 64;
/// Bytes of a request's path and query: the gate takes no more.
const MAX_PATH: usize = 8 << 10;
/// Bytes of a request's host and port.
const MAX_AUTHORITY: usize = 1 << 10;

/// WASI 0.2 and the contract's own imports.
pub(crate) fn link(engine: &Engine) -> wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    // Sockets are linked as well, because programs import them; the context refuses every use of them.
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    // Our file system takes the place of WASI's, so that every write is charged.
    linker.allow_shadowing(true);
    add_filesystem_to_linker(&mut linker, Host::files)?;
    linker.allow_shadowing(false);
    host::add_to_linker::<_, HasSelf<Host>>(&mut linker, |host| host)?;
    net::add_to_linker::<_, HasSelf<Host>>(&mut linker, |host| host)?;
    link_programs(&mut linker)?;
    Ok(linker)
}

/// The same, with `wasi:http`, whose requests go through the run's door ([`crate::http`]).
pub(crate) fn link_http(linker: &Linker<Host>) -> wasmtime::Result<Linker<Host>> {
    let mut linker = linker.clone();
    wasmtime_wasi_http::p2::add_only_http_to_linker_async(&mut linker)?;
    // What it keeps of a request without a bound of its own.
    linker.allow_shadowing(true);
    let mut types = linker.instance(HTTP_TYPES)?;
    types.func_wrap("[method]outgoing-request.set-method", |mut store, (this, method)| {
        let is_long = matches!(&method, Method::Other(name) if name.len() > MAX_METHOD);
        Ok((if is_long { Err(()) } else { store.data_mut().http().set_method(this, method)? },))
    })?;
    types.func_wrap("[method]outgoing-request.set-path-with-query", |mut store, (this, path)| {
        let is_long = is_longer(&path, MAX_PATH);
        Ok((if is_long { Err(()) } else { store.data_mut().http().set_path_with_query(this, path)? },))
    })?;
    types.func_wrap("[method]outgoing-request.set-authority", |mut store, (this, name)| {
        let is_long = is_longer(&name, MAX_AUTHORITY);
        Ok((if is_long { Err(()) } else { store.data_mut().http().set_authority(this, name)? },))
    })?;
    // It does not know its own errors again.
    types.func_wrap("http-error-code", |store, (error,): (Resource<IoError>,)| {
        Ok((store.data().table.get(&error)?.downcast_ref().map(http::code),))
    })?;
    linker.allow_shadowing(false);
    Ok(linker)
}

fn is_longer(text: &Option<String>, most: usize) -> bool {
    text.as_ref().is_some_and(|text| text.len() > most)
}

/// Whether a component imports some of `wasi:http`.
pub(crate) fn imports_http(component: &Component) -> bool {
    component.component_type().imports(component.engine()).any(|(name, _)| name.starts_with(HTTP))
}

/// The contract's import for programs, by hand: the generated one does not reach the fuel.
fn link_programs(linker: &mut Linker<Host>) -> wasmtime::Result<()> {
    let (package, version) = CONTRACT.split_once('@').unwrap_or((CONTRACT, ""));
    let mut interface = linker.instance(&format!("{package}/programs@{version}"))?;
    interface.func_wrap_async("run", |store, (command,): (programs::Command,)| {
        Box::new(async move { Ok((run_program(store, command).await?,)) })
    })
}

async fn run_program(
    mut store: StoreContextMut<'_, Host>,
    command: programs::Command,
) -> wasmtime::Result<Option<programs::Ended>> {
    let host = store.data();
    let compiler = host.compiler.clone().filter(|compiler| compiler.program() == command.program);
    if let Some(compiler) = compiler {
        let (until, fuel) = ((host.deadline, host.pauses.clone()), store.get_fuel().ok());
        let (ended, spent) = compiler.compile(command, until, fuel).await;
        if let Some(fuel) = fuel {
            store.set_fuel(fuel.saturating_sub(spent))?;
        }
        return Ok(Some(ended));
    }
    match host.programs.clone() {
        Some(launcher) => Ok(launcher.launch(command, host.deadline).await),
        None => Ok(None),
    }
}

impl host::Host for Host {
    async fn call_tool(
        &mut self,
        name: String,
        arguments: String,
    ) -> wasmtime::Result<Result<String, String>> {
        Ok(match self.prepare(&name, &arguments) {
            Ok(call) => {
                let answered = call.await;
                self.take(answered)
            }
            Err(why) => Err(why),
        })
    }

    async fn wait(&mut self, wanted: host::Wanted) -> wasmtime::Result<Vec<host::Answer>> {
        Host::wait(self, wanted).await
    }
}

//! The host functions that a guest can be linked with. What a run may do with them is decided by its [`Host`].

use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Engine, StoreContextMut};

use crate::bindings::CONTRACT;
use crate::bindings::dormouse::sandbox::{host, net, programs};
use crate::disk::add_filesystem_to_linker;
use crate::state::Host;

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

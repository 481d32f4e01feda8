//! The host functions that a guest can be linked with. What a run may do with them is decided by its [`Host`].

use std::sync::atomic::Ordering;

use dormouse_core::Callbacks;
use wasmtime::Engine;
use wasmtime::component::{HasSelf, Linker};

use crate::bindings::dormouse::sandbox::{host, programs};
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
    programs::add_to_linker::<_, HasSelf<Host>>(&mut linker, |host| host)?;
    Ok(linker)
}

impl host::Host for Host {
    async fn call_tool(
        &mut self,
        name: String,
        arguments: String,
    ) -> wasmtime::Result<Result<String, String>> {
        Ok(self.call(&name, &arguments).await)
    }
}

impl Host {
    async fn call(&mut self, name: &str, arguments: &str) -> Result<String, String> {
        let most = Callbacks::MAX_BYTES;
        if arguments.len() > most {
            return Err(format!("the arguments have {} bytes, at most {most} are taken", arguments.len()));
        }
        let Some(callback) = self.callbacks.get(name).cloned() else {
            let names = self.callbacks.names().collect::<Vec<_>>().join(", ");
            let known =
                if names.is_empty() { "this run has none".into() } else { format!("there are: {names}") };
            let shown: String = name.chars().take(Callbacks::MAX_NAME).collect();
            return Err(format!("no tool `{}`; {known}", shown.escape_debug()));
        };
        if self.calls.fetch_add(1, Ordering::Relaxed) >= self.callbacks.max_calls {
            return Err(format!("the run has made its {} tool calls", self.callbacks.max_calls));
        }
        let arguments = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let _pause = callback.stops_clock.then(|| self.pauses.begin());
        let result = callback.call(arguments).await?.to_string();
        if result.len() > most {
            return Err(format!("the result has {} bytes, at most {most} are passed on", result.len()));
        }
        Ok(result)
    }
}

impl programs::Host for Host {
    async fn run(&mut self, command: programs::Command) -> wasmtime::Result<Option<programs::Ended>> {
        match &self.programs {
            Some(launcher) => Ok(launcher.launch(command, self.deadline).await),
            None => Ok(None),
        }
    }
}

//! Calls of the host's functions: `call_tool` in Python and PHP, `callTool` in JavaScript.

use dormouse_core::Callbacks;

use super::clock::Clock;

/// The functions of one run, and how often they were called.
pub(super) struct Tools<'a> {
    callbacks: &'a Callbacks,
    clock: &'a Clock,
    calls: u32,
}

impl<'a> Tools<'a> {
    pub(super) fn new(callbacks: &'a Callbacks, clock: &'a Clock) -> Self {
        Self { callbacks, clock, calls: 0 }
    }

    /// Calls one. The error is what the snippet's exception says.
    pub(super) async fn call(&mut self, name: &str, arguments: &str) -> Result<String, String> {
        let most = Callbacks::MAX_BYTES;
        if arguments.len() > most {
            return Err(format!("the arguments have {} bytes, at most {most} are taken", arguments.len()));
        }
        let Some(callback) = self.callbacks.get(name) else {
            let names = self.callbacks.names().collect::<Vec<_>>().join(", ");
            let known =
                if names.is_empty() { "this run has none".into() } else { format!("there are: {names}") };
            let shown: String = name.chars().take(Callbacks::MAX_NAME).collect();
            return Err(format!("no tool `{}`; {known}", shown.escape_debug()));
        };
        if self.calls >= self.callbacks.max_calls {
            return Err(format!("the run has made its {} tool calls", self.callbacks.max_calls));
        }
        self.calls += 1;
        let arguments = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let _pause = callback.stops_clock.then(|| self.clock.pause());
        let result = callback.call(arguments).await?.to_string();
        if result.len() > most {
            return Err(format!("the result has {} bytes, at most {most} are passed on", result.len()));
        }
        Ok(result)
    }
}

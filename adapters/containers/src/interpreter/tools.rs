//! Calls of the host's functions: `call_tool` in Python and PHP, `callTool` in JavaScript.

use dormouse_core::Callbacks;
use dormouse_core::callback::CallbackCall;

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
            return Err(self.callbacks.missing(name));
        };
        if self.calls >= self.callbacks.max_calls {
            return Err(format!("the run has made its {} tool calls", self.callbacks.max_calls));
        }
        self.calls += 1;
        let arguments = serde_json::from_str(arguments)
            .map_err(|error| format!("the arguments are not JSON: {error}"))?;
        let _pause = callback.stops_clock.then(|| self.clock.pause());
        let answer = callback.call(CallbackCall { arguments, ..CallbackCall::default() }).await?;
        if let Some(file) = answer.files.first() {
            return Err(format!(
                "the tool answered with the file `{}`, which containers do not take",
                file.path
            ));
        }
        let result = answer.value.to_string();
        if result.len() > most {
            return Err(format!("the result has {} bytes, at most {most} are passed on", result.len()));
        }
        Ok(result)
    }
}
